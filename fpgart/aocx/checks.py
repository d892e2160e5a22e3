# SPDX-License-Identifier: Apache-2.0
"""Checks that a container fits a board, as the board's runtime makes them when a program is loaded."""

from __future__ import annotations

import os
from dataclasses import replace

from fpgart.aocx import container as sections
from fpgart.aocx.autodiscovery import parse
from fpgart.aocx.binary import SIGNATURE
from fpgart.aocx.compiler import memories_of
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.system import Autodiscovery, Memory
from fpgart.board.description import BoardDescription

SKIP_BOARD_NAME = "ACL_PCIE_PROGRAM_SKIP_BOARDNAME_CHECK"


def check(container: Container, board: BoardDescription) -> Autodiscovery:
    """Returns the container's autodiscovery; raises AocxError for the first part that does not fit the board.

    A container of -march=emulator fits any board: it gets the memories of the board that loads it.
    """
    name = container.text(sections.BOARD)
    emulated = name == sections.EMULATOR_BOARD
    if not emulated and name != board.name and not os.environ.get(SKIP_BOARD_NAME):
        raise AocxError(f"it was compiled for board '{name}', this one is '{board.name}'")
    for emulator in sections.EMULATORS:
        if emulator in container:
            raise AocxError(f"it is for the old emulator ({emulator}), not for a board")
    if sections.SIMULATOR in container:
        raise AocxError("it is for a simulator, not for a board")
    if not container[sections.BOARD_IMAGE]:
        raise AocxError(f"section {sections.BOARD_IMAGE} is empty: there is nothing to program the board with")
    ours = container[sections.BOARD_IMAGE].startswith(SIGNATURE)
    if ours and container.identity() != container.text(sections.RANDOM_HASH):
        raise AocxError("it has been changed since it was compiled: its hash is another one")
    system = parse(container.text(sections.AUTODISCOVERY))
    if emulated:
        system = replace(system, memories=memories_of(board))
    _check_memories(system.memories, memories_of(board))
    if system.big_endian:
        raise AocxError("it is for a big-endian host")
    return system


def _check_memories(found: tuple[Memory, ...], expected: tuple[Memory, ...]) -> None:
    if len(found) != len(expected):
        raise AocxError(f"it is for a board with {len(found)} global memories, this one has {len(expected)}")
    for has, wants in zip(found, expected, strict=True):
        for what in ("name", "kind", "banks", "begin", "end"):
            if getattr(has, what) != getattr(wants, what) and (what != "name" or len(found) > 1):
                raise AocxError(
                    f"memory '{has.name}' differs from the board's '{wants.name}': "
                    f"{what} {getattr(has, what)} instead of {getattr(wants, what)}"
                )
        if has.banks > 1 and has.config_address != wants.config_address:
            raise AocxError(
                f"memory '{has.name}': configuration address {has.config_address:#x} "
                f"instead of {wants.config_address:#x}"
            )
