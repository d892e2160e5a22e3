# SPDX-License-Identifier: Apache-2.0
"""The boards of this process, as FPGART_BOARD names them."""

from __future__ import annotations

from fpgart import config
from fpgart.board.description import BOARDS, BoardDescription


def chosen_boards() -> list[BoardDescription]:
    """One description per device; raises OptionError for a name that is not known."""
    found = []
    for name in config.BOARD.value:
        if name not in BOARDS:
            raise config.OptionError(f"FPGART_BOARD={name}: not one of {', '.join(BOARDS)}")
        found.append(BOARDS[name])
    return [found[0]] * config.EMULATOR_DEVICES.value if config.EMULATOR_DEVICES.value else found
