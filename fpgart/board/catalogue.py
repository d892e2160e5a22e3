# SPDX-License-Identifier: Apache-2.0
"""The included boards, and those that FPGART_BOARD names."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from fpgart.base import config
from fpgart.base.personality import ANY, EMULATED, PERSONALITIES, SIMULATED, Personality
from fpgart.board import board_spec
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.description import BoardDescription

FOLDER = os.path.join(os.path.dirname(__file__), "boards")


def shipped() -> list[str]:
    """Returns the names of the included boards."""
    from fpgart.board.keystone import partition

    return sorted([*_own_names(), *partition.shipped()])


def _own_names() -> list[str]:
    return [name.removesuffix(".xml") for name in os.listdir(FOLDER) if name.endswith(".xml")]


def describe(name: str) -> BoardDescription:
    """Returns a board by its name, or by the path of its file or of the folder with a board_spec.xml.

    Raises OptionError for an unknown name, BoardSpecError for a file that describes no board.
    """
    if name in _own_names():
        return _as_compiled(board_spec.read(os.path.join(FOLDER, f"{name}.xml")))
    from fpgart.board.keystone import partition  # boards of another kind, which few hosts use

    if partition.is_one(name):
        return partition.describe(name).description()
    if "/" in name or name.endswith(".xml"):
        return _as_compiled(board_spec.read(name))
    raise config.OptionError(f"FPGART_BOARD={name}: not one of {', '.join(shipped())}, nor the path of a file")


def _as_compiled(board: BoardDescription) -> BoardDescription:
    """Returns the board with separate banks where FPGART_NO_INTERLEAVING asks for them."""
    return with_separate_banks(board, config.NO_INTERLEAVING.value)


def with_separate_banks(board: BoardDescription, names: Collection[str]) -> BoardDescription:
    """Returns the board with the banks of some memories not interleaved, as `aoc -no-interleaving` has them.

    "all" names all memories.
    """
    if not names:
        return board
    memories = tuple(
        memory._replace(interleaved_bytes=0) if "all" in names or memory.name in names else memory
        for memory in board.memories
    )
    return board._replace(memories=memories)


def chosen_names() -> tuple[str, ...]:
    """Returns the names in FPGART_BOARD. The original's variable for an offline device adds one, or replaces them."""
    offline = config.OFFLINE_DEVICE.value
    if offline.startswith("+"):
        return (*config.BOARD.value, offline[1:])
    return (offline,) if offline else config.BOARD.value


def chosen_boards() -> tuple[list[BoardDescription], list[BoardSpecError]]:
    """Returns one description per device, and the errors of the boards that are left out for them.

    Raises OptionError for an unknown name.
    """
    found, faults = chosen_with_names()
    return [board for _, board in found], faults


def chosen_with_names() -> tuple[list[tuple[str, BoardDescription]], list[BoardSpecError]]:
    """Returns the same as chosen_boards(), each description with the name or path that was given."""
    found: list[tuple[str, BoardDescription]] = []
    faults: list[BoardSpecError] = []
    for name in chosen_names():
        try:
            found.append((name, describe(name)))
        except BoardSpecError as error:
            faults.append(error)
    count = config.SIMULATOR_DEVICES.value or config.EMULATOR_DEVICES.value or config.CPU_EMULATE_DEVICES.value
    return (found[:1] * count if count else found), faults


def chosen_personality(boards: Sequence[BoardDescription]) -> Personality:
    """Returns the personality that FPGART_PLATFORM names.

    With "auto" the variables of Intel's emulators and simulator decide, and else the boards. Raises OptionError.
    """
    asked = config.PLATFORM.value
    if asked != "auto":
        return PERSONALITIES[asked]
    if config.SIMULATOR_DEVICES.value:
        return SIMULATED
    if config.EMULATOR_DEVICES.value:
        return EMULATED
    if config.CPU_EMULATE_DEVICES.value:
        return PERSONALITIES["emulator"]
    return PERSONALITIES["ti" if boards and boards[0].has_msmc else ANY]
