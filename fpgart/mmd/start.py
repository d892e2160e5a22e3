# SPDX-License-Identifier: Apache-2.0
"""Handles the first call of libfpgart_mmd.so: chooses the boards and binds the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _fpgart_mmd import ffi, lib

from fpgart._native import lib as native
from fpgart.base import config, log
from fpgart.board.catalogue import chosen_boards
from fpgart.mmd.calls import CallLog
from fpgart.mmd.entry_points import EntryPoints
from fpgart.mmd.library import Library

if TYPE_CHECKING:
    from fpgart.board.description import BoardDescription


def register(functions: str) -> None:
    """Is called once, when the interpreter runs. After an exception there is no board. `functions` is not used."""
    if lib.fpgart_is_secure() and (words := config.distrust_environment()):
        log.warning(words)
    config.stay_in(config.working_folder())
    library = Library(_boards())
    native.exits_close_first(int(ffi.cast("uintptr_t", ffi.addressof(lib, "fpgart_close_at_exit"))))
    EntryPoints(library, CallLog()).serve()
    ffi.def_extern(name="fpgart_busy", error=0)(lambda: library.busy)
    ffi.def_extern(name="fpgart_settle", error=0)(library.shut_down)
    ffi.def_extern(name="fpgart_shut_down", error=0)(library.shut_down)


def _boards() -> list[BoardDescription]:
    """Returns the FPGA boards that FPGART_BOARD names; others are reported and left out."""
    described, faults = chosen_boards()
    for fault in faults:
        log.warning(str(fault))
    for board in described:
        if not board.is_fpga:
            log.warning(f"board '{board.name}' is not an FPGA board: libfpgart_mmd.so skips it")
    boards = [board for board in described if board.is_fpga]
    if not boards:
        raise config.OptionError(f"{config.BOARD.name} names no FPGA board")
    return boards
