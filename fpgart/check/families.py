# SPDX-License-Identifier: Apache-2.0
"""The families of checks that FPGART_CHECK can name.

A family consists of parts: modules with a function `start(findings)`, which returns an object whose methods are named
after notices (fpgart/base/notices.py). Its `finish()`, called at the end of the process, may report further findings.

To add a family: name it in fpgart.base.option_values.CHECKS and its modules here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from fpgart.base.notices import NOTICES
from fpgart.check.findings import Findings

PARTS = {
    "usm": ("fpgart.check.pages.protection", "fpgart.check.shared", "fpgart.check.usm"),
    "buffers": (
        "fpgart.check.pages.protection",
        "fpgart.check.races",
        "fpgart.check.host_memory",
        "fpgart.check.mappings",
        "fpgart.check.bounds",
        "fpgart.check.unwritten",
    ),
    "order": ("fpgart.check.races",),
    "fpga": ("fpgart.check.fpga",),
    "kernels": (),  # begins with the engine: startup/start.py
}


class Part(Protocol):
    """A part of a family; it also has methods named after the notices that it listens to."""

    def finish(self) -> None:
        """Reports findings that depend on the whole run."""


def start(findings: Findings, *, reads_notes: bool = False) -> list[Part]:
    """Starts the parts of the families that `findings` wants, each once, and registers them for notices.

    `reads_notes`: they are told of launches that C carries.

    They get the begin of an operation in the order of PARTS and its end in the reverse order, so that protection is off
    while others read memory.
    """
    modules = dict.fromkeys(module for family in findings.families for module in PARTS[family])
    started = [cast(Part, import_module(module).start(findings)) for module in modules]
    others = NOTICES.operation_ended
    for part in started:
        NOTICES.listen(part, reads_notes=reads_notes)
    NOTICES.operation_ended = (*others, *reversed(NOTICES.operation_ended[len(others) :]))
    return started
