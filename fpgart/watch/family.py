# SPDX-License-Identifier: Apache-2.0
"""Words for the board that a trace describes: an FPGA board, or a DSP of TI.

An FPGA is programmed, and its driver is called through aocl_mmd.h. A DSP loads programs into its memory, beside each
other, and hosts do not see calls of its driver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MMD = "aocl_mmd_"
PROGRAMMING, LOADING = "programming", "loading programs"
COMPILER = "the engine's compiler"
"""The time of the engine's compiler before a kernel's first run. Boards have none."""


def is_fpga(board: dict[str, Any]) -> bool:
    """True for an FPGA board.

    The facts of a board in older traces do not say it; in these, only DSPs have memories with regions.
    """
    told: bool | None = board.get("fpga")
    return told if told is not None else not any(memory.get("largest_region") for memory in board["memories"])


def loading_of(events: Iterable[dict[str, Any]]) -> str:
    """Returns the word for bringing programs onto the boards of a trace."""
    boards = _boards(events)
    return LOADING if boards and not any(map(is_fpga, boards)) else PROGRAMMING


def dsps_of(events: Iterable[dict[str, Any]]) -> set[int]:
    """Returns the devices of a trace that are no FPGA boards."""
    return {board["device"] for board in _boards(events) if not is_fpga(board)}


def _boards(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["args"] for event in events if event.get("cat") == "fpgart" and event.get("name") == "board"]


def resource(name: str, *, fpga: bool) -> str:
    """Returns the name of a resource of the simulated clock."""
    return LOADING if name == PROGRAMMING and not fpga else name


def movement(call: str, *, fpga: bool) -> str:
    """Returns the name of a call through the MMD: `aocl_mmd_write`, on a DSP `write`."""
    if fpga:
        return call
    name = call.removeprefix(MMD)
    return LOADING if name == "program" else name.replace("_", " ")
