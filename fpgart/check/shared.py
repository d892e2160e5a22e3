# SPDX-License-Identifier: Apache-2.0
"""Shared memory that the host writes while a kernel uses it (family usm).

On boards whose shared memory has no concurrent access the kernel then reads undefined values. While only kernels run
that read an allocation, its pages cannot be written, and the handler of SIGSEGV (fpgart/check/pages/faults.c) finds
writes. While an operation runs that may write there, the pages can be written.
"""

from __future__ import annotations

from dataclasses import dataclass

from fpgart._native import lib
from fpgart.board.first_fit import round_up
from fpgart.board.mmd import Capability
from fpgart.check.accesses import READ, accesses
from fpgart.check.findings import CheckPart, Findings
from fpgart.check.pages import guarded
from fpgart.check.words import allocation_maker, allocation_name, command
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.memory.usm import CAPABILITIES, Kind, UsmAllocation
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site


@dataclass(frozen=True, slots=True)
class _Running:
    """An operation: the numbers of shared allocations that it only reads, and of those that it may write."""

    words: str
    site: Site | None
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    anything: bool = False


class SharedMemory(CheckPart):
    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._regions: dict[int, int] = {}
        """The regions of live allocations, by the allocations' numbers."""
        self._running: dict[int, _Running] = {}
        self._closed: set[int] = set()

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        if allocation.kind is not Kind.SHARED or any(
            Capability.CONCURRENT in device.capabilities(CAPABILITIES[Kind.SHARED]) for device in allocation.reached_by
        ):
            return
        first, last = allocation.pointer, allocation.pointer + round_up(allocation.size, guarded.PAGE)
        name, maker = allocation_name(allocation).encode(), allocation_maker(allocation).encode()
        places = allocation.pointer, allocation.size, first, last
        region = int(lib.faults_add(*places, guarded.OPEN, guarded.USM, name, maker))
        if region >= 0 and not first % guarded.PAGE:
            guarded.SITES[region] = self._origins.of(allocation)
            with self._lock:
                self._regions[allocation.number] = region

    def usm_freed(self, allocation: UsmAllocation) -> None:
        with self._lock:
            region = self._regions.pop(allocation.number, -1)
            self._closed.discard(allocation.number)
        if region >= 0:
            lib.faults_state(region, guarded.OPEN)
            lib.faults_forget(region)

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        running = self._described(event, operation)
        with self._lock:
            self._running[id(operation)] = running
            self._settle()

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        with self._lock:
            self._running.pop(id(operation), None)
            self._settle()

    def _described(self, event: Event, operation: DeviceOperation) -> _Running:
        words, site = command(event, operation), self._origins.of(event)
        launch = running_kernel(operation)
        if launch is None or (launch.usm is not None and launch.usm.indirect & Indirect.SHARED):
            return _Running(words, site, anything=True)
        given = {allocation.number for allocation in launch.usm.allocations} if launch.usm is not None else set()
        modes = dict.fromkeys(given, 0)
        for access in accesses(operation):
            kind, number = access.key
            if kind == "allocation":
                modes[number] = modes.get(number, 0) | access.mode
        reads = frozenset(number for number, mode in modes.items() if mode == READ)
        return _Running(words, site, reads, frozenset(modes) - reads)

    def _settle(self) -> None:
        """Protects the allocations that are only read at this time, and no others. The lock is held."""
        wanted: dict[int, _Running] = {}
        if not any(running.anything for running in self._running.values()):
            written = frozenset[int]().union(*(running.writes for running in self._running.values()))
            wanted = {number: running for running in self._running.values() for number in running.reads - written}
        for number in self._closed - set(wanted):
            lib.faults_state(self._regions[number], guarded.OPEN)
        for number in wanted.keys() & self._regions.keys():
            region = self._regions[number]
            guarded.READERS[region] = wanted[number].words, wanted[number].site
            if number not in self._closed:
                lib.faults_state(region, guarded.ONLY_READ)
        self._closed = set(wanted) & set(self._regions)
