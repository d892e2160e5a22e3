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
    """Starts the checks, before there are boards. `at_end` gets the functions that they run last.

    `owns`: True if the interpreter is the driver's, not that of a host in Python. Returns the check of kernels if the
    engine does it. Raises OptionError.
    """
    kernels = kernels_are_checked()
    wanted = (*config.CHECK.value, *(("kernels",) if kernels and "kernels" not in config.CHECK.value else ()))
    if not wanted:
        return None
    from fpgart.bridge.checked import CheckedLaunches
    from fpgart.bridge.entry import observe
    from fpgart.bridge.host_calls import callers, places  # only the driver has the functions that it needs
    from fpgart.bridge.watched import NOTES
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
    launches = CheckedLaunches()
    for watcher in (origins, launches, findings):
        NOTICES.listen(watcher, reads_notes=True)
    check = None
    if kernels:
        from fpgart.check.kernels import KernelCheck

        check = KernelCheck(findings)
        NOTICES.listen(check)
    parts = start(findings)
    observe(launches.observe)
    launches.check_with(parts, marks=not {"usm", "buffers"}.isdisjoint(wanted))
    at_end.append(NOTES.close)
    at_end += [part.finish for part in parts]
    at_end.append(findings.sum_up)
    return check


def kernels_are_checked() -> bool:
    """True if the engine checks the kernels' accesses. Raises OptionError if it should and cannot."""
    wanted = "kernels" in config.CHECK.value
    if not wanted and "oclgrind" not in config.ENGINE.value:
        return False
    from fpgart.engine.choice import checks_kernels, wanted_engine  # few hosts need it at the start

    able = checks_kernels(wanted_engine())
    if wanted and not able:
        raise config.OptionError(
            f"FPGART_CHECK=kernels needs the engine oclgrind, but FPGART_ENGINE={config.ENGINE.value}"
        )
    return able


def guarded(mmd: Mmd, board: BoardDescription) -> tuple[Mmd, MemorySystem]:
    """Returns a board's Mmd and memories. Blocks have pages of their own if checks protect them.

    On boards that map memory for each launch, blocks stay where the regions need them.
    """
    memories = board.memory_system()
    if {"usm", "buffers"}.isdisjoint(config.CHECK.value) or type(memories) is not GlobalMemories:
        return mmd, memories
    from fpgart.check.pages.guarded import GuardedMemories, GuardedMmd

    return GuardedMmd(mmd), GuardedMemories(board)
