# SPDX-License-Identifier: Apache-2.0
"""Starts the checks that FPGART_CHECK names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fpgart.base import config
from fpgart.base.notices import NOTICES
from fpgart.board.description import BoardDescription
from fpgart.board.memory_system import GlobalMemories, MemorySystem
from fpgart.board.mmd import Mmd

if TYPE_CHECKING:
    from fpgart.check.kernels import KernelCheck


def start_checks(at_end: list[Callable[[], None]], *, owns: bool) -> KernelCheck | None:
    """Let the families listen, before there are boards; `at_end` gets what they do last.

    `owns`: whether the interpreter is ours, not that of a host in Python. Returns the check of kernels, if an engine
    can do that and it is asked for, or does it anyway. Raises OptionError.
    """
    kernels = kernels_are_checked()
    wanted = (*config.CHECK.value, *(("kernels",) if kernels and "kernels" not in config.CHECK.value else ()))
    if not wanted:
        return None
    from fpgart.bridge.callers import callers, places  # the driver alone has what this needs
    from fpgart.check.families import start
    from fpgart.check.findings import Findings
    from fpgart.watch.origins import Origins

    path, origins = config.FINDINGS.value, Origins(callers())
    try:
        findings = Findings(wanted, path, origins=origins, places=places())
    except OSError as error:
        raise config.OptionError(f"FPGART_FINDINGS={path}: {error.strerror}") from None
    findings.host_frees_later = not owns
    findings.asked_for = bool(config.CHECK.value)
    NOTICES.listen(origins)
    NOTICES.listen(findings)
    check = None
    if kernels:
        from fpgart.check.kernels import KernelCheck

        check = KernelCheck(findings)
        NOTICES.listen(check)
    at_end += [part.finish for part in start(findings)]
    at_end.append(findings.sum_up)
    return check


def kernels_are_checked() -> bool:
    """Whether the engine looks at what kernels do. Raises OptionError if it should and cannot."""
    wanted = "kernels" in config.CHECK.value
    if not wanted and not config.ENGINE.is_set:
        return False
    from fpgart.engine.choice import checks_kernels, wanted_engine

    able = checks_kernels(wanted_engine())
    if wanted and not able:
        raise config.OptionError(
            f"FPGART_CHECK=kernels needs the engine oclgrind, but FPGART_ENGINE={config.ENGINE.value}"
        )
    return able


def guarded(mmd: Mmd, board: BoardDescription) -> tuple[Mmd, MemorySystem]:
    """A board's Mmd and memories; with pages of their own for its blocks where checks protect them.

    Boards that map memory for each launch keep their blocks where that needs them.
    """
    memories = board.memory_system()
    if {"usm", "buffers"}.isdisjoint(config.CHECK.value) or type(memories) is not GlobalMemories:
        return mmd, memories
    from fpgart.check.pages.guarded import GuardedMemories, GuardedMmd

    return GuardedMmd(mmd), GuardedMemories(board)
