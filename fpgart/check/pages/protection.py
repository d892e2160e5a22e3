# SPDX-License-Identifier: Apache-2.0
"""Accesses detected by page protection (families usm and buffers), and marks around blocks that show writes.

While no operation of a device runs, the host cannot access device allocations; board memory outside of blocks and
freed memory is never accessible. The rest of a block's own pages, in front of it and behind, has marks that are
checked after each kernel that used the block. See fpgart/check/pages/faults.c and fpgart/check/pages/guarded.py.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.closed_memory import driver_address
from fpgart.base.output_file import open_output
from fpgart.base.sizes import in_words
from fpgart.board.first_fit import round_up
from fpgart.check.accesses import buffers_of
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.pages import guarded
from fpgart.check.words import allocation_maker, allocation_name, command, launch_command
from fpgart.engine.compiling.cache import cache_folder
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import MOST_FRAMES, Site

FAMILIES = {guarded.USM: "usm", guarded.BUFFERS: "buffers"}
MOST_GONE = 1024
PATIENCE_MS = 2000
"""Milliseconds that a thread which has accessed protected memory waits for the finding's report."""
HOST = 1
"""The origin of an access, as faults.h numbers it; from 2 on the number of an operation, plus 2."""
STRAY = "indirect access that was not announced"
"""The rule of an access to memory that no running operation declared, as faults.c names it."""
SHARED = "shared memory written while a kernel uses it"
"""The rule of a write to memory that a kernel reads, as faults.c names it."""
END = b"end\n"


@dataclass(slots=True)
class _Watched:
    """A block with its pages: `region` is its number in the table of faults.c."""

    region: int
    first: int
    begin: int
    end: int
    last: int
    family: int
    name: str
    maker: str
    made_at: Site | None


class Protection(CheckPart):
    """Listens to NOTICES, and keeps the table of faults.c up to date."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._watched: dict[int, _Watched] = {}
        self._gone: deque[_Watched] = deque()
        self._running = threading.local()
        text = open_output(log.file()) if log.file() else 2
        wanted = sum(1 << number - 1 for number, family in FAMILIES.items() if family in findings.families)
        lib.faults_start(text, findings.file, wanted)
        self._operations: dict[int, Event] = {}
        self._reporting = ReportingThread(findings, self._operations)

    def finish(self) -> None:
        """Waits until the handler's findings have been reported."""
        self._reporting.stop()
        self._findings.add(sum(int(lib.faults_found(number)) for number in FAMILIES))

    # The table

    def block_reserved(self, block: Block) -> None:
        if block.range.claimed is None:
            first = block.pointer // guarded.PAGE * guarded.PAGE
            last = round_up(block.pointer + block.range.size, guarded.PAGE)
            lib.faults_open(first, last)
            return
        begin, end = block.pointer, block.pointer + block.range.size
        first, last = begin // guarded.PAGE * guarded.PAGE, round_up(end, guarded.PAGE)
        name = f"buffer {block.owner} of {in_words(block.range.size)}"
        made_at = self._origins.of_number(block.owner)
        watched = _Watched(-1, first, begin, end, last, guarded.BUFFERS, name, "clCreateBuffer", made_at)
        with self._lock:
            self._forget_gone(first, last)
            watched.region = self._add(watched, guarded.OPEN)
            self._watched[begin] = watched
        lib.marks_put(_marks_of(watched))

    def _add(self, watched: _Watched, state: int) -> int:
        size = watched.end - watched.begin
        name, maker = watched.name.encode(), watched.maker.encode()
        places = watched.begin, size, watched.first, watched.last
        number = int(lib.faults_add(*places, state, watched.family, name, maker))
        guarded.SITES[number] = watched.made_at
        return number

    def _forget_gone(self, first: int, last: int) -> None:
        for old in [old for old in self._gone if old.first < last and first < old.last]:
            self._gone.remove(old)
            lib.faults_forget(old.region)

    def block_freed(self, block: Block) -> None:
        with self._lock:
            watched = self._watched.pop(block.pointer, None)
            if watched is None or watched.region < 0:
                return
            lib.faults_state(watched.region, guarded.OPEN)
            self._check_marks(watched, "a command")
            lib.faults_state(watched.region, guarded.GONE)
            self._gone.append(watched)
            if len(self._gone) > MOST_GONE:
                lib.faults_forget(self._gone.popleft().region)

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        watched = self._watched.get(allocation.block.pointer) if allocation.block is not None else None
        if watched is None or watched.region < 0:
            return
        watched.name, watched.maker = allocation_name(allocation), allocation_maker(allocation)
        watched.family, watched.made_at = guarded.USM, self._origins.of(allocation)
        guarded.SITES[watched.region] = watched.made_at
        lib.faults_name(watched.region, watched.family, watched.name.encode(), watched.maker.encode())
        if allocation.pointer == allocation.address:  # otherwise the host has no address that could be protected
            lib.faults_state(watched.region, guarded.WHILE_RUNNING)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        if allocation.block is None:
            made_at = self._origins.of(allocation)
            guarded.NAMES[allocation.pointer] = allocation_name(allocation), allocation_maker(allocation), made_at

    # Operations

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        if operation.name != "host":
            words = command(event, operation).encode()
            number = self._running.number = int(lib.faults_begin(words, _strays(operation)))
            self._operations[number] = event
            for block in _blocks_of(operation):
                watched = self._watched.get(block.pointer)
                if watched is not None and watched.region >= 0:
                    lib.faults_use(watched.region)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        if operation.name == "host":
            return
        if running_kernel(operation) is not None:
            user = command(event, operation), self._origins.of(event)
            for block in _blocks_of(operation):
                watched = self._watched.get(block.pointer)
                if watched is not None:
                    self._check_marks(watched, *user)
        self._operations.pop(self._running.number, None)
        lib.faults_end(self._running.number)

    def wrote_beside(
        self, queue: CommandQueue, launch: LaunchKernel, site: Site, address: int, past: int, before: int
    ) -> None:
        watched = self._watched.get(address)
        if watched is not None:
            self._report_marks(watched, past, before, launch_command(site.call, launch, queue), site)

    def prepares(self, kernel: Kernel) -> bool:
        """True if C cannot check the marks of each buffer by the buffer's address and size (marks.c)."""
        return not all(self._has_marks(buffer.owner) for _, buffer in buffers_of(kernel))

    def _has_marks(self, buffer: Buffer) -> bool:
        home = buffer.home
        watched = self._watched.get(home.pointer) if home is not None else None
        return watched is not None and watched.region >= 0 and watched.end - watched.begin == buffer.size

    def _check_marks(self, watched: _Watched, user: str, site: Site | None = None) -> None:
        block = _marks_of(watched)
        if lib.marks_check(block):
            self._report_marks(watched, block.past, block.before, user, site)

    def _report_marks(self, watched: _Watched, past: int, before: int, user: str, site: Site | None) -> None:
        if past >= 0:
            self._report(watched, "access past the end", f"{user} wrote {_past(past)}", user, site)
        if before:
            words = f"{user} wrote {before} bytes before its start"
            self._report(watched, "access before the start", words, user, site)

    def _report(self, watched: _Watched, rule: str, words: str, user: str, site: Site | None) -> None:
        family = FAMILIES[watched.family]
        fix = "make it larger, launch fewer work-items, or check the index in the kernel"
        sites = watched.made_at, site
        self._findings.report(Finding(family, rule, watched.name, watched.maker, user, words, fix, *sites))


class ReportingThread:
    """A thread that reports the findings of the handler of SIGSEGV, with lines of code, which the handler cannot read.

    The thread that made the access waits for it meanwhile, so that the report precedes a crash of the program. Threads
    of Python hosts do not wait: they may hold the interpreter's lock.
    """

    def __init__(self, findings: Findings, operations: dict[int, Event]) -> None:
        """`operations` has the command of each running operation, by its number in faults.h."""
        self._findings = findings
        self._operations = operations
        self._thread = threading.Thread(target=self._tell_all, name="fpgart teller", daemon=True)
        self._source, self._pipe = os.pipe()
        try:
            self._thread.start()
        except RuntimeError:  # if the system creates no thread, the handler reports alone
            return
        lib.faults_go_through(self._pipe, 0 if findings.host_frees_later else PATIENCE_MS)

    def stop(self) -> None:
        """Waits until all findings have been reported; the handler reports later ones alone."""
        lib.faults_go_through(-1, 0)
        if self._thread.is_alive():
            os.write(self._pipe, END)
            self._thread.join()

    def _tell_all(self) -> None:
        with open(self._source, "rb", closefd=False) as lines:
            for line in lines:
                if line == END:
                    return
                self._tell(json.loads(line.decode(errors="replace")))

    def _tell(self, facts: dict[str, Any]) -> None:
        draft, ticket = facts.pop("draft") - 1, facts.pop("ticket")
        region, code, caller = (facts.pop(name) for name in ("region", "code", "caller"))
        operation = facts.pop("operation")
        if facts["rule"] == STRAY and not self._is_of_a_kernel(code):
            operation = HOST
            _blame_host(facts)
        reader, read_at = guarded.READERS.get(region, ("", None)) if facts["rule"] == SHARED else ("", None)
        made_at, misused_at = guarded.SITES.get(region), self._user(operation, facts["misused_by"], code, caller)
        if lib.faults_claim(draft, ticket):
            sites = {"made_at": made_at, "misused_at": misused_at, "against_at": read_at}
            self._findings.tell(Finding(**facts, **sites, against=reader))  # type: ignore[arg-type]
            lib.faults_told(draft, ticket)

    def _is_of_a_kernel(self, code: int) -> bool:
        """True if the engine has made an instruction: it is in no file, or in one of the engine's cache."""
        file = self._findings.places.file_of(code)
        return not file or Path(file).is_relative_to(cache_folder().folder)

    def _user(self, operation: int, user: str, code: int, caller: int) -> Site | None:
        """Returns where the host makes the access, or has enqueued the command that does; None if unknown."""
        if operation != HOST:
            frames = ffi.new("uintptr_t[]", MOST_FRAMES)
            count = int(lib.faults_call(operation - 2, frames))
            if count:  # C carries it
                return Site(user.partition(" ")[0], tuple(ffi.unpack(frames, count)))
            event = self._operations.get(operation - 2)
            return self._findings.origins.of(event) if event is not None else None
        places = self._findings.places
        if places.is_host(code):
            return Site("", (code + 1,))  # sites have return addresses: the instruction behind the call
        return Site("", (caller,)) if places.is_c_library(code) and places.is_host(caller - 1) else None


def _blame_host(facts: dict[str, Any]) -> None:
    """Attributes an access to the host, not to the kernel that runs."""
    access = facts["words"].removeprefix(facts["misused_by"]).partition(", through")[0]
    facts["rule"], facts["misused_by"] = "device memory accessed by the host", "the host"
    facts["words"] = f"the host{access}, which only the device can access"
    facts["fix"] = "copy with clEnqueueMemcpyINTEL (in SYCL, queue::memcpy), or use a shared or host allocation"


def _strays(operation: DeviceOperation) -> bool:
    """True if it may access device allocations that it does not declare: kernels only if the host has said so."""
    launch = running_kernel(operation)
    if launch is None:
        return True
    return launch.usm is not None and bool(launch.usm.indirect & Indirect.DEVICE)


def _past(distance: int) -> str:
    return f"{distance} bytes past its end" if distance else "directly past its end"


def _marks_of(watched: _Watched) -> Any:
    """Returns the block as marks.h has it."""
    return ffi.new("struct marked *", (driver_address(watched.begin), driver_address(watched.end)))


def _blocks_of(operation: DeviceOperation) -> list[Block]:
    """Returns the blocks that an operation is known to access; a kernel may follow pointers to more."""
    launch = operation.launch
    announced = launch.usm.allocations if launch is not None and launch.usm is not None else ()
    touched = [access.block for access in operation.accesses()] + [allocation.block for allocation in announced]
    return [block for block in touched if block is not None]
