# SPDX-License-Identifier: Apache-2.0
"""The order in which threads take the driver's locks, checked while tests run.

`ROWS` is the table of docs/architecture.md, highest first. A thread that holds a lock takes only locks of lower rows.
install() replaces threading.Lock and threading.RLock: a lock that a module of fpgart makes knows its row by the module
and the name that it is assigned to. Taking one against the order raises `Inversion`; making one that has no row raises
`NoRow`. The driver itself has plain locks.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
from types import TracebackType
from typing import Any

ROWS: tuple[tuple[str, ...], ...] = (
    ("fpgart.bridge.chapters:_loading",),
    ("fpgart.bridge.handles:_REAPING",),
    ("fpgart.bridge.handles:_VIEWING",),
    ("fpgart.bridge.carrying:_making",),
    ("fpgart.runtime.objects.platform:_choosing",),
    ("fpgart.runtime.programs.program:_building",),
    ("fpgart.runtime.programs.pipe:_using",),
    ("fpgart.runtime.scheduling.reaper:_freeing",),
    ("fpgart.runtime.memory.usm:TOUCHING",),
    ("fpgart.runtime.objects.context:placing",),
    ("fpgart.runtime.memory.device:_opening",),
    ("fpgart.board.simulated_board:_opening",),
    ("fpgart.runtime.scheduling.scheduler:_lock",),
    ("fpgart.engine.copying.own_buffers:_running",),
    ("fpgart.engine.mirrors:_lock",),
    ("fpgart.engine.isolated.engine:_starting",),
    ("fpgart.engine.isolated.network:_making",),
    (
        "fpgart.engine.opencl_engine.program:_making",
        "fpgart.engine.isolated.program:_making",
        "fpgart.engine.models:_loading",
    ),
    ("fpgart.engine.compiling.compiler_process:_doing", "fpgart.engine.opencl_engine.engine:_beginning"),
    ("fpgart.engine.isolated.carried:_attaching",),
    ("fpgart.engine.isolated.process:_opening",),
    ("fpgart.engine.isolated.process:_ending",),
    ("fpgart.bridge.watched:_lock",),
    (
        "fpgart.runtime.memory.board_malloc:_lock",
        "fpgart.runtime.memory.registry:_lock",
        "fpgart.runtime.memory.device:_taking",
        "fpgart.board.memory_system:_lock",
        "fpgart.board.keystone.heaps:_lock",
        "fpgart.board.stretch:_lock",
        "fpgart.board.faults:_lock",
        "fpgart.engine.contents:lock",
    ),
    (
        "fpgart.check.mappings:_lock",
        "fpgart.check.host_memory:_lock",
        "fpgart.check.races:_lock",
        "fpgart.check.pages.guarded:_lock",
        "fpgart.check.fpga:_lock",
        "fpgart.check.pages.protection:_lock",
        "fpgart.check.usm:_lock",
        "fpgart.watch.trace.blocks:_lock",
    ),
    ("fpgart.check.findings:_lock", "fpgart.watch.places:_lock", "fpgart.watch.profile:_lock"),
    ("fpgart.watch.trace.file:_lock",),
)
"""As "module:name"."""
ELSEWHERE = ("fpgart.serving", "fpgart.mmd", "fpgart.sycl", "fpgart.usm", "fpgart.boardprocess", "fpgart.cluster")
"""Of other programs and libraries, or of no thread that has another lock: not in the table."""
WAITERS = {"fpgart.runtime.scheduling.scheduler:waiter"}
"""Locks that a thread waits for and another one releases: they guard no state."""
MADE_FOR_CALLERS = {"fpgart.runtime.scheduling.threads"}
TARGET = re.compile(r"(\w+)(?::[^=]+)?\s*=\s")

ranks = {name: number for number, row in enumerate(ROWS) for name in row}
_held = threading.local()
_plain = threading.Lock, threading.RLock


class Inversion(AssertionError):
    """A thread takes a lock that stands above one that it holds, or beside it."""


class NoRow(AssertionError):
    """A lock is made that has no row in the table."""


class RankedLock:
    """A lock that knows its row. `again`: whether its thread may take it again."""

    def __init__(self, name: str, lock: Any, *, again: bool) -> None:
        self.name = name
        self._rank = ranks[name]
        self._lock = lock
        self._again = again

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        held: list[RankedLock] = _held.__dict__.setdefault("locks", [])
        if not (self._again and self in held):
            above = next((other for other in held if other._rank >= self._rank), None)
            if above is not None:
                raise Inversion(
                    f"{self.name} is taken by a thread that holds {above.name}, which is below or beside it"
                )
        taken = bool(self._lock.acquire(blocking, timeout))
        if taken:
            held.append(self)
        return taken

    def release(self) -> None:
        held: list[RankedLock] = _held.__dict__.setdefault("locks", [])
        if self in held:
            held.reverse()
            held.remove(self)
            held.reverse()
        self._lock.release()

    def locked(self) -> bool:
        return bool(self._lock.locked())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def name_of_caller() -> str:
    """ "module:name" of what the lock is assigned to; "" outside the driver."""
    frame = sys._getframe(2)
    module = frame.f_globals.get("__name__", "")
    if module in MADE_FOR_CALLERS and frame.f_back is not None:
        frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
    if not module.startswith("fpgart.") or module.startswith(ELSEWHERE):
        return ""
    found = TARGET.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    return f"{module}:{found[1] if found else '?'}"


def _ranked(plain: Any, *, again: bool) -> Any:
    def make() -> Any:
        name = name_of_caller()
        if not name or name in WAITERS:
            return plain()
        if name not in ranks:
            raise NoRow(f"the lock {name} has no row in tests/lock_ranks.py and docs/architecture.md")
        return RankedLock(name, plain(), again=again)

    return make


def install() -> None:
    """Has the locks that are made from now on check their order, and those that modules of the driver have made."""
    lock, again = _plain
    setattr(threading, "Lock", _ranked(lock, again=False))  # noqa: B010 - they are functions to mypy
    setattr(threading, "RLock", _ranked(again, again=True))  # noqa: B010
    for name in ranks:
        module, _, attribute = name.partition(":")
        made = getattr(sys.modules.get(module), attribute, None)
        if made is not None:
            is_again = type(made) is type(again())
            setattr(sys.modules[module], attribute, RankedLock(name, made, again=is_again))
