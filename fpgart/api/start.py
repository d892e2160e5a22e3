# SPDX-License-Identifier: Apache-2.0
"""What happens when the driver is loaded: the platform is made, the entry points are registered."""

from __future__ import annotations

import atexit
import sys

from _fpgart_icd import ffi, lib

from fpgart import config, log
from fpgart.api import handles
from fpgart.board.catalogue import chosen_boards
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.runtime.platform import Identity, Platform
from fpgart.runtime.scheduler import Scheduler

IDENTITIES = {
    "fpgart": Identity("fpgart", "fpgart", "OpenCL 3.0 fpgart 1.0.0"),
    "intel-fpga-sdk": Identity(
        "Intel(R) FPGA SDK for OpenCL(TM)",
        "Intel(R) Corporation",
        "OpenCL 3.0 Intel(R) FPGA SDK for OpenCL(TM), Version 2025.1 (fpgart)",
    ),
    "intel-fpga-emulator": Identity(
        "Intel(R) FPGA Emulation Platform for OpenCL(TM)",
        "Intel(R) Corporation",
        "OpenCL 3.0 Intel(R) FPGA SDK for OpenCL(TM), Version 20.3 (fpgart)",
        "Intel(R) FPGA Emulation Device ",
    ),
    "ti": Identity("TI KeyStone", "Texas Instruments, Inc.", "OpenCL 3.0 TI product version (fpgart)"),
}
CHAPTERS = ("platform", "device", "context", "queue", "event", "buffer", "svm", "program", "kernel", "execute")


def register(functions: list[tuple[str, list[str]]]) -> None:
    """Called once, when the interpreter is up; whatever is raised here means: no platform.

    `functions`: every API function that Python has to implement, with the names of its parameters.
    """
    from importlib import import_module

    owns = bool(lib.fpgart_owns_interpreter())
    scheduler = Scheduler(guard_collector=not owns)
    boards = [SimulatedBoard(board) for board in chosen_boards()]
    platform = Platform(IDENTITIES[config.PLATFORM.value], list(boards), None, scheduler)
    handles.publish(platform)
    for device in platform.devices:
        handles.publish(device)
    platform.engine_grew = lib.fpgart_close_at_exit
    ffi.def_extern(name="fpgart_host_released")(handles.host_released)
    ffi.def_extern(name="fpgart_host_retained")(handles.host_retained)
    ffi.def_extern(name="fpgart_shut_down")(lambda: shut_down(platform))
    for chapter in (*CHAPTERS, "absent"):
        import_module(f"fpgart.api.{chapter}")
    from fpgart.api.absent import refuse_the_rest

    refuse_the_rest(functions)
    if not owns:
        atexit.register(lib.fpgart_close)


def shut_down(platform: Platform) -> None:
    """The end of the process: nothing more starts, what runs may end, reports are written."""
    if not platform.scheduler.close(config.EXIT_TIMEOUT.value):
        log.note(f"work was still running {config.EXIT_TIMEOUT.value} s after the end of the program")
    if config.SUMMARY.value:
        from fpgart.watch.summary import write_summary

        write_summary(platform, config.SUMMARY.value)
    sys.stdout.flush()
