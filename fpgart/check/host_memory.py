# SPDX-License-Identifier: Apache-2.0
"""The host's memory behind non-blocking transfers (family buffers): it is not the host's until they have ended.

A sum of the memory is taken when the transfer is enqueued, and compared when it runs; what commands write there
meanwhile is summed anew. Memory that kernels reach as well (USM, SVM) is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fpgart import opencl as cl
from fpgart._native import lib
from fpgart.check.accesses import Interval, host_ranges
from fpgart.check.contexts import context_of
from fpgart.check.findings import Finding, Findings
from fpgart.check.words import buffer_name, command
from fpgart.runtime.commands.mapping import MapBuffer
from fpgart.runtime.commands.transfers import FillBuffer, ReadBuffer, ReadRect, WriteBuffer
from fpgart.runtime.commands.usm import UsmFill, UsmTransfer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event, Operation
from fpgart.watch.words import in_words

SVM_WRITES = (cl.CL_COMMAND_SVM_MEMCPY, cl.CL_COMMAND_SVM_MEMFILL)


@dataclass(slots=True)
class _Lent:
    """Host memory that a command was given, and its sum."""

    ranges: tuple[Interval, ...]
    sum: int
    reads: bool
    user: str
    partner: str

    @property
    def size(self) -> int:
        return sum(end - begin for begin, end in self.ranges)


class HostMemory:
    """Listens to NOTICES."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._lent: WeakKeyDictionary[Event, _Lent] = WeakKeyDictionary()
        self._lock = threading.RLock()

    def finish(self) -> None:
        """What has not run tells nothing."""

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        if blocking or event.operation is None:
            return
        lent = _lent_by(event, event.operation)
        if lent is None or not all(lib.is_mapped(begin, end - begin) for begin, end in lent.ranges):
            return
        with self._lock:
            lent.sum = _sum(lent.ranges)
            self._lent[event] = lent

    def operation_began(self, event: Event, operation: Operation) -> None:
        lent = self._lent.get(event)
        if lent is not None:
            self._check(lent)

    def operation_ended(self, event: Event, operation: Operation, begin: int, status: int) -> None:
        lent = self._lent.pop(event, None)
        if lent is not None and lent.reads:
            self._check(lent)
        if event.command_type in SVM_WRITES:
            self._renew(None)
        else:
            for written in _written_by(operation):
                self._renew(written)

    def migrated(self, buffer: Buffer, source: Block | None, target: Block | None, begin: int, reason: str) -> None:
        if target is None and source is not None:
            address = buffer.host_address()
            self._renew((address, address + buffer.size))

    def _check(self, lent: _Lent) -> None:
        if not all(lib.is_mapped(begin, end - begin) for begin, end in lent.ranges):
            self._report(lent, "freed")
            return
        with self._lock:
            now = _sum(lent.ranges)
            changed, lent.sum = lent.sum != now, now
        if changed:
            self._report(lent, "changed or freed")

    def _report(self, lent: _Lent, what: str) -> None:
        thing = f"{in_words(lent.size)} of host memory at {lent.ranges[0][0]:#x}"
        use = f"copied them to {lent.partner}" if lent.reads else f"filled them from {lent.partner}"
        self._findings.report(
            Finding(
                "buffers",
                "host memory in use by a command",
                thing,
                "",
                lent.user,
                f"the host {what} them after {lent.user}, which does not block, and before that had {use}",
                "keep the memory as it is until the command's event is complete, or let the call block",
            )
        )

    def _renew(self, written: Interval | None) -> None:
        """A command wrote to host memory: what others were lent there is right as it is now. None: anywhere."""
        with self._lock:
            for lent in list(self._lent.values()):
                if written is None or any(begin < written[1] and written[0] < end for begin, end in lent.ranges):
                    lent.sum = _sum(lent.ranges)


def _sum(ranges: tuple[Interval, ...]) -> int:
    found = 0
    for begin, end in ranges:
        found = int(lib.checksum(found, begin, end - begin))
    return found


def _lent_by(event: Event, operation: Operation) -> _Lent | None:
    """What a command uses of the host's plain memory."""
    context, user = context_of(event), command(event)
    if context.unified_memory:
        return None
    if isinstance(operation, WriteBuffer) and not isinstance(operation, (FillBuffer, MapBuffer)):
        ranges = host_ranges(operation)
        reads = not isinstance(operation, (ReadBuffer, ReadRect))
        if _is_plain(context, ranges[0][0]):
            return _Lent(ranges, 0, reads, user, buffer_name(operation.buffer))
    transfer = getattr(operation, "transfer", operation)
    if isinstance(transfer, UsmTransfer) and not isinstance(transfer, UsmFill):
        for place, other, reads in zip(transfer.places, reversed(transfer.places), (False, True), strict=True):
            if place.allocation is None and other.allocation is not None and _is_plain(context, place.pointer):
                span = (place.pointer, place.pointer + transfer.size)
                return _Lent((span,), 0, reads, user, f"allocation {other.allocation.number}")
    return None


def _is_plain(context: Context, pointer: int) -> bool:
    return context.usm.find(pointer) is None and context.svm.find(pointer) is None


def _written_by(operation: Operation) -> Iterator[Interval]:
    """The host memory that a command has written to."""
    transfer = getattr(operation, "transfer", operation)
    if isinstance(operation, (ReadBuffer, ReadRect)):
        yield from host_ranges(operation)
    elif isinstance(operation, MapBuffer):
        yield operation.host, operation.host + operation.size
    elif isinstance(operation, WriteBuffer) and operation.buffer.owner.on_host:
        address = operation.buffer.host_address() + operation.offset
        yield address, address + operation.size
    elif isinstance(transfer, UsmTransfer) and transfer.places[0].block is None:
        yield transfer.places[0].pointer, transfer.places[0].pointer + transfer.size


def start(findings: Findings) -> HostMemory:
    return HostMemory(findings)
