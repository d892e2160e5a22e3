# SPDX-License-Identifier: Apache-2.0
"""Accesses caught as they happen (families usm and buffers), and marks around blocks that tell of writes.

While no operation of a device runs, the host cannot touch device allocations; nobody can touch board memory that
no block has, nor what was freed. What is left of a block's own pages, in front of it and behind, is marked, and
looked at after each kernel that used the block. See fpgart/check/faults.c and fpgart/check/guarded.py.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from fpgart import config
from fpgart._native import ffi, lib
from fpgart.board.first_fit import round_up
from fpgart.check import guarded
from fpgart.check.findings import Finding, Findings
from fpgart.check.words import allocation_maker, allocation_name, command
from fpgart.output_file import open_output
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.words import in_words

MARK = 0xB5
MARK_PATTERN = ffi.from_buffer(bytes([MARK]))
FAMILIES = {guarded.USM: "usm", guarded.BUFFERS: "buffers"}
MOST_GONE = 1024


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


class Protection:
    """Listens to NOTICES, and keeps the table of faults.c as things are."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._lock = threading.RLock()
        self._watched: dict[int, _Watched] = {}
        self._gone: deque[_Watched] = deque()
        self._running = threading.local()
        target = config.LOG.value
        text = open_output(target) if target and target != "stderr" else 2
        wanted = sum(1 << number - 1 for number, family in FAMILIES.items() if family in findings.families)
        lib.faults_start(text, findings.file, wanted)

    def finish(self) -> None:
        """The handler has told what it found."""
        self._findings.add(sum(int(lib.faults_found(number)) for number in FAMILIES))

    # The table

    def block_reserved(self, block: Block) -> None:
        if not isinstance(block.range, guarded.GuardedRange):
            first = block.pointer // guarded.PAGE * guarded.PAGE
            last = round_up(block.pointer + block.range.size, guarded.PAGE)
            lib.faults_open(first, last)
            return
        begin, end = block.pointer, block.pointer + block.range.size
        first, last = begin // guarded.PAGE * guarded.PAGE, round_up(end, guarded.PAGE)
        name = f"buffer {block.owner} of {in_words(block.range.size)}"
        watched = _Watched(-1, first, begin, end, last, guarded.BUFFERS, name, "clCreateBuffer")
        with self._lock:
            self._forget_gone(first, last)
            watched.region = self._add(watched, guarded.OPEN)
            self._watched[begin] = watched
        _mark(watched)

    def _add(self, watched: _Watched, state: int) -> int:
        size = watched.end - watched.begin
        name, maker = watched.name.encode(), watched.maker.encode()
        places = watched.begin, size, watched.first, watched.last
        return int(lib.faults_add(*places, state, watched.family, name, maker))

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
        watched.family = guarded.USM
        lib.faults_name(watched.region, watched.family, watched.name.encode(), watched.maker.encode())
        if allocation.pointer == allocation.address:  # else the host knows no address that could be caught
            lib.faults_state(watched.region, guarded.WHILE_RUNNING)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        if allocation.block is None:
            guarded.NAMES[allocation.pointer] = allocation_name(allocation), allocation_maker(allocation)

    # Operations

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        if operation.name != "host":
            self._running.number = int(lib.faults_begin(command(event, operation).encode()))
            for block in _blocks_of(operation):
                watched = self._watched.get(block.pointer)
                if watched is not None and watched.region >= 0:
                    lib.faults_use(watched.region)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        if operation.name == "host":
            return
        if running_kernel(operation) is not None:
            user = command(event, operation)
            for block in _blocks_of(operation):
                watched = self._watched.get(block.pointer)
                if watched is not None:
                    self._check_marks(watched, user)
        lib.faults_end(self._running.number)

    def _check_marks(self, watched: _Watched, user: str) -> None:
        behind = int(lib.first_other(watched.end, MARK, watched.last - watched.end))
        ahead = int(lib.first_other(watched.first, MARK, watched.begin - watched.first))
        if behind < watched.last - watched.end:
            self._report(watched, "access past the end", f"{user} wrote {_past(behind)}", user)
        if ahead < watched.begin - watched.first:
            distance = watched.begin - watched.first - ahead
            self._report(watched, "access before the begin", f"{user} wrote {distance} bytes before its begin", user)

    def _report(self, watched: _Watched, rule: str, words: str, user: str) -> None:
        _mark(watched)
        family = FAMILIES[watched.family]
        fix = "make it larger, launch fewer work-items, or test the index in the kernel"
        self._findings.report(Finding(family, rule, watched.name, watched.maker, user, words, fix))


def _past(distance: int) -> str:
    return f"{distance} bytes past its end" if distance else "right behind its end"


def _mark(watched: _Watched) -> None:
    lib.fill_bytes(watched.first, MARK_PATTERN, 1, watched.begin - watched.first)
    lib.fill_bytes(watched.end, MARK_PATTERN, 1, watched.last - watched.end)


def _blocks_of(operation: DeviceOperation) -> list[Block]:
    """What an operation is known to touch; a kernel may follow pointers to more."""
    return [access.block for access in operation.accesses() if access.block is not None]


def start(findings: Findings) -> Protection:
    return Protection(findings)
