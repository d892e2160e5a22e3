# SPDX-License-Identifier: Apache-2.0
"""The order in which threads take the driver's locks, checked while tests run.

`ROWS` is the table of docs/dev/locks.md (scripts/generate_locks.py), highest first. A thread that holds a lock takes
only locks of lower rows.

install() replaces threading.Lock and threading.RLock: a lock that a module of fpgart makes knows its row by the module
and the name that it is assigned to. Taking one against the order raises `Inversion`; making one that has no row raises
`NoRow`. lock_order.py checks the locks in C. The driver itself has plain locks.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
from types import TracebackType
from typing import Any, NamedTuple


class Row(NamedTuple):
    """Locks of one rank, which are never held together."""

    guards: str
    held: str
    """What happens, and which further locks are taken, while one is held."""
    locks: tuple[str, ...]
    """As "module:name", or "file:name" in C."""


ROWS = (
    Row("the import of a chapter of the API", "modules are imported", ("fpgart.bridge.chapters:_loading",)),
    Row(
        "the order in which last references are released",
        "destructors; callbacks of the host come afterwards",
        ("fpgart.bridge.handles:_REAPING",),
    ),
    Row(
        "the views of objects that are made when somebody asks for them",
        "a queue, a kernel or a buffer is made: any lock below",
        ("fpgart.bridge.handles:_VIEWING",),
    ),
    Row(
        "that a device has one board of carried commands",
        "it is made: the scheduler's lock",
        ("fpgart.bridge.carrying:_making",),
    ),
    Row("the choice of the engine", "the engine's driver is opened", ("fpgart.runtime.objects.platform:_choosing",)),
    Row(
        "which build is under way, which kernels keep it from beginning",
        "",
        ("fpgart.runtime.programs.program:_building",),
    ),
    Row("what a host pipe has mapped", "packets move: a FIFO's lock", ("fpgart.runtime.programs.pipe:_using",)),
    Row(
        "that what was to be freed is free when a call of free() returns",
        "blocks are freed: any lock below",
        ("fpgart.runtime.scheduling.reaper:_freeing",),
    ),
    Row(
        "the sides of shared memory, and the kernels that may touch it now",
        "watchers are called for what moved",
        ("fpgart.runtime.memory.usm:TOUCHING",),
    ),
    Row(
        "blocks and mappings of the context's buffers",
        "blocks are allocated and freed; watchers are called; no bytes move",
        ("fpgart.runtime.objects.context:placing",),
    ),
    Row(
        "opening a device's board, and closing a shared one",
        "the board's memory is mapped",
        ("fpgart.runtime.memory.device:_opening",),
    ),
    Row("mapping the board's memory", "", ("fpgart.board.simulated_board:_opening",)),
    Row(
        "events, ready lists, occupancies, what Python does with the core's queues; the simulated clock",
        "operations' `claim` and `release`, a thread is started, the engine is asked to notify; nothing runs, is "
        "submitted, is called back, or is destroyed",
        ("fpgart.runtime.scheduling.scheduler:_lock",),
    ),
    Row(
        "an engine that runs one kernel at a time",
        "the engine's driver; that of `Contents`; that of `Mirrors`",
        ("fpgart.engine.copying.own_buffers:_running",),
    ),
    Row(
        "which bytes are newer where",
        "the engine's driver; bytes move, but no kernel runs",
        ("fpgart.engine.mirrors:_lock",),
    ),
    Row("the start of a board process", "the process is started", ("fpgart.engine.isolated.engine:_starting",)),
    Row(
        "the network of an isolated program",
        "messages to the board process",
        ("fpgart.engine.isolated.network:_making",),
    ),
    Row(
        "kernels that are made of what is built; modules of models that are imported",
        "the engine's driver",
        (
            "fpgart.engine.opencl_engine.program:_making",
            "fpgart.engine.isolated.program:_making",
            "fpgart.engine.models:_loading",
        ),
    ),
    Row(
        "the compiler process, which does one step at a time; whether the engine has loaded its compiler",
        "the process is started, messages to it",
        (
            "fpgart.engine.compiling.compiler_process:_doing",
            "fpgart.engine.opencl_engine.engine:_beginning",
        ),
    ),
    Row(
        "that one thread at a time creates the engine's program from SPIR-V",
        "a call of the engine",
        ("fpgart.engine.opencl_engine.steps:_reading_il",),
    ),
    Row(
        "which board process has the ring of carried commands",
        "messages to the board process",
        ("fpgart.engine.isolated.carried:_attaching",),
    ),
    Row("the lanes of a board process", "messages to the board process", ("fpgart.engine.isolated.process:_opening",)),
    Row("whether a board process has ended", "", ("fpgart.engine.isolated.process:_ending",)),
    Row(
        "which thread reads the notes of launches that C carries",
        "the trace's file; that of a container of blocks; those of checks",
        ("fpgart.bridge.watched:_lock",),
    ),
    Row(
        "one container each",
        "",
        (
            "fpgart.runtime.memory.board_malloc:_lock",
            "fpgart.runtime.memory.registry:_lock",
            "fpgart.runtime.memory.device:_taking",
            "fpgart.board.keystone.heaps:_lock",
            "fpgart.board.stretch:_lock",
            "fpgart.board.faults:_lock",
            "fpgart.engine.contents:lock",
            "fpgart.bridge.carrying:_lock",
        ),
    ),
    Row(
        "what parts of checks have recorded",
        "`check.findings:_lock`, the file that they write",
        (
            "fpgart.check.mappings:_lock",
            "fpgart.check.host_memory:_lock",
            "fpgart.check.races:_lock",
            "fpgart.check.pages.guarded:_lock",
            "fpgart.check.fpga:_lock",
            "fpgart.check.pages.protection:_lock",
            "fpgart.check.usm:_lock",
        ),
    ),
    Row(
        "findings, places in the host's code, the profile",
        "the file of a trace",
        (
            "fpgart.check.findings:_lock",
            "fpgart.watch.places:_lock",
            "fpgart.watch.profile:_lock",
        ),
    ),
    Row(
        "the order of lines in the file of a trace",
        "they are compressed and written",
        ("fpgart.watch.trace.file:_lock",),
    ),
    Row("the packets of a FIFO, and who waits for them", "its network's lock", ("fpgart/channels/fifo.h:lock",)),
    Row("the FIFOs and the launches of a network", "", ("fpgart/channels/network.h:lock",)),
    Row("the kernels of a program", "the lock of a kernel's arguments", ("icd/entry/kernels.c:lock",)),
    Row(
        "the arguments of a kernel",
        "allocations are searched; a block is allocated",
        ("icd/entry/arguments.h:lock",),
    ),
    Row(
        "the commands that a board process has",
        "the core notes an end; the output of its kernels is read",
        ("fpgart/engine/isolated/ring.c:lock",),
    ),
    Row(
        "queues, links between commands, statuses, lists of callbacks, of notified ends and of ready commands",
        "no call of the engine, no callback, no destructor, no sleep",
        ("core/queue.c:core_mutex",),
    ),
    Row("the blocks of buffers that C makes", "the heap's lock", ("icd/entry/blocks.c:lock",)),
    Row(
        "one table each",
        "",
        (
            "icd/entry/allocations.c:lock",
            "icd/entry/handles.c:lock",
            "icd/entry/handles.c:released_lock",
            "icd/entry/mappings.c:lock",
            "icd/entry/watched.c:lock",
            "icd/interpreter/switcher.c:mutex",
            "fpgart/board/first_fit.c:lock",
            "fpgart/board/pages.c:watched_lock",
            "fpgart/channels/links.c:opened_lock",
            "fpgart/check/pages/fault_table.c:lock",
            "fpgart/check/pages/faults.c:installing",
            "fpgart/engine/calls.c:arguments_lock",
            "fpgart/engine/containment/environment.c:lock",
            "fpgart/engine/containment/signals.c:lock",
            "fpgart/engine/containment/stacks.c:lock",
            "fpgart/engine/isolated/lanes.c:offers_lock",
            "fpgart/engine/isolated/outlet.c:lock",
        ),
    ),
)
ELSEWHERE = ("fpgart.serving", "fpgart.mmd", "fpgart.sycl", "fpgart.usm", "fpgart.boardprocess", "fpgart.cluster")
"""Of other programs and libraries, or of no thread that has another lock: not in the table."""
WAITERS = {"fpgart.runtime.scheduling.scheduler:waiter"}
"""Locks that a thread waits for and another one releases: they guard no state."""
MADE_FOR_CALLERS = {"fpgart.runtime.scheduling.threads"}
TARGET = re.compile(r"(\w+)(?::[^=]+)?\s*=\s")

ranks = {name: number for number, row in enumerate(ROWS) for name in row.locks}
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
            raise NoRow(f"the lock {name} has no row in tests/lock_ranks.py; scripts/generate_locks.py writes the page")
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
