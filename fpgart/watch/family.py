# SPDX-License-Identifier: Apache-2.0
"""Words that are true for the board that a trace is about: an FPGA board, or a DSP of TI.

An FPGA is programmed, and its driver is called through aocl_mmd.h. A DSP loads programs into its memory, beside each
other, and hosts know nothing of calls of its driver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MMD = "aocl_mmd_"
PROGRAMMING, LOADING = "programming", "loading programs"
COMPILER = "the engine's compiler"
"""What runs in front of a kernel's first run here, and on no board."""


def is_fpga(board: dict[str, Any]) -> bool:
    """From the facts of a board in a trace; older versions say nothing, but only DSPs have memories with regions."""
    told: bool | None = board.get("fpga")
    return told if told is not None else not any(memory.get("largest_region") for memory in board["memories"])


def loading_of(events: Iterable[dict[str, Any]]) -> str:
    """What it is called that programs get onto the boards of a trace."""
    boards = _boards(events)
    return LOADING if boards and not any(map(is_fpga, boards)) else PROGRAMMING


def dsps_of(events: Iterable[dict[str, Any]]) -> set[int]:
    """The devices of a trace that are no FPGA boards."""
    return {board["device"] for board in _boards(events) if not is_fpga(board)}


def _boards(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["args"] for event in events if event.get("cat") == "fpgart" and event.get("name") == "board"]


def resource(name: str, *, fpga: bool) -> str:
    """What a resource of the simulated clock is called."""
    return LOADING if name == PROGRAMMING and not fpga else name


def movement(call: str, *, fpga: bool) -> str:
    """What a call through the MMD is called: `aocl_mmd_write`, on a DSP `write`."""
    if fpga:
        return call
    name = call.removeprefix(MMD)
    return LOADING if name == "program" else name.replace("_", " ")
