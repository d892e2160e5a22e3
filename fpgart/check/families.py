# SPDX-License-Identifier: Apache-2.0
"""The families of checks that FPGART_CHECK can name.

A family consists of parts (`CheckPart` in findings.py): classes whose methods are named after notices
(fpgart/base/notices.py), each in a module of its own.

To add a family: name it in fpgart.base.option_values.HOST_CHECKS, its subject in findings.LOOKED_AT, and its parts
here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from fpgart.base.notices import NOTICES
from fpgart.check.findings import CheckPart, Findings

PARTS = {
    "usm": ("pages.protection.Protection", "shared.SharedMemory", "usm.Usm"),
    "buffers": (
        "pages.protection.Protection",
        "races.Races",
        "host_memory.HostMemory",
        "mappings.Mappings",
        "bounds.Bounds",
        "unwritten.Unwritten",
    ),
    "order": ("races.Races",),
    "fpga": ("fpga.Fpga",),
    "kernels": (),  # begins with the engine: startup/start.py
}
"""The parts of each family, by module and class below fpgart.check."""


def start(findings: Findings) -> list[CheckPart]:
    """Starts the parts of the families that `findings` wants, each once, and registers them for notices.

    They get the begin of an operation in the order of PARTS and its end in the reverse order, so that protection is off
    while others read memory.
    """
    names = dict.fromkeys(name for family in findings.families for name in PARTS[family])
    started = [_part(name)(findings) for name in names]
    others = NOTICES.operation_ended
    for part in started:
        NOTICES.listen(part, reads_notes=True)
    NOTICES.operation_ended = (*others, *reversed(NOTICES.operation_ended[len(others) :]))
    return started


def _part(name: str) -> Callable[[Findings], CheckPart]:
    module, _, part = name.rpartition(".")
    found: Callable[[Findings], CheckPart] = getattr(import_module(f"fpgart.check.{module}"), part)
    return found
