# SPDX-License-Identifier: Apache-2.0
"""The host's memory of non-blocking transfers (family buffers), which the host must not use until they have ended.

A checksum of the memory is computed when the transfer is enqueued, and compared when it runs; it is renewed when
commands write there meanwhile. Memory that kernels can access (USM, SVM) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.ranges import Range
from fpgart.base.sizes import in_words
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import buffer_name, command, context_of
from fpgart.runtime.commands.access import AccessMode, MemoryAccess
from fpgart.runtime.commands.operation import DeviceOperation, operation_of
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site

SVM_WRITES = (cl.CL_COMMAND_SVM_MEMCPY, cl.CL_COMMAND_SVM_MEMFILL)


@dataclass(slots=True)
class _Use:
    """The host memory that a command uses, and its checksum."""

    ranges: tuple[Range, ...]
    sum: int
    reads: bool
    user: str
    partner: str
    site: Site | None = None
    """The place at which the host enqueued the command."""

    @property
    def size(self) -> int:
        return sum(end - begin for begin, end in self.ranges)


class HostMemory(CheckPart):
    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._uses: WeakKeyDictionary[Event, _Use] = WeakKeyDictionary()

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        operation = operation_of(event)
        if blocking or operation is None:
            return
        use = _use_of(event, operation)
        if use is None or not all(lib.is_mapped(begin, end - begin) for begin, end in use.ranges):
            return
        with self._lock:
            use.sum = _sum(use.ranges)
            use.site = self._findings.origins.of(event)
            self._uses[event] = use

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        use = self._uses.get(event)
        if use is not None:
            self._check(use)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        use = self._uses.pop(event, None)
        if use is not None and use.reads:
            self._check(use)
        if event.command_type in SVM_WRITES:
            self._renew(None)
        else:
            for written in _written_by(operation):
                self._renew(written)

    def migrated(self, buffer: Buffer, source: Block | None, target: Block | None, begin: int, reason: str) -> None:
        if target is None and source is not None:
            address = buffer.host_address()
            self._renew((address, address + buffer.size))

    def _check(self, use: _Use) -> None:
        if not all(lib.is_mapped(begin, end - begin) for begin, end in use.ranges):
            self._report(use, "freed")
            return
        with self._lock:
            now = _sum(use.ranges)
            changed, use.sum = use.sum != now, now
        if changed:
            self._report(use, "changed or freed")

    def _report(self, use: _Use, what: str) -> None:
        thing = f"{in_words(use.size)} of host memory at {use.ranges[0][0]:#x}"
        purpose = f"copied it to {use.partner}" if use.reads else f"filled it from {use.partner}"
        self._findings.report(
            Finding(
                "buffers",
                "host memory in use by a command",
                thing,
                "",
                use.user,
                f"the host {what} this memory after the non-blocking {use.user}, before that command had {purpose}",
                "keep the memory unchanged until the event of the command is complete, or make the call blocking",
                misused_at=use.site,
            )
        )

    def _renew(self, written: Range | None) -> None:
        """Renews the checksums of uses at host memory that a command has written. None: anywhere."""
        with self._lock:
            for use in list(self._uses.values()):
                if written is None or any(begin < written[1] and written[0] < end for begin, end in use.ranges):
                    use.sum = _sum(use.ranges)


def _sum(ranges: tuple[Range, ...]) -> int:
    found = 0
    for begin, end in ranges:
        found = int(lib.checksum(found, begin, end - begin))
    return found


def _use_of(event: Event, operation: DeviceOperation) -> _Use | None:
    """Returns a transfer's use of the host's plain memory."""
    context = context_of(event)
    if context.unified_memory or operation.launch is not None:
        return None
    touched = operation.accesses()
    partner = next((each for each in touched if not each.on_host), None)
    for access in touched:
        if access.is_given and partner is not None and _is_plain(context, access.ranges[0][0]):
            return _Use(access.ranges, 0, bool(access.mode & AccessMode.READ), command(event), _name_of(partner))
    return None


def _name_of(access: MemoryAccess) -> str:
    if access.buffer is not None:
        return buffer_name(access.buffer)
    assert access.allocation is not None
    return f"allocation {access.allocation.number}"


def _is_plain(context: Context, pointer: int) -> bool:
    return context.usm.find(pointer) is None and context.svm.find(pointer) is None


def _written_by(operation: DeviceOperation) -> Iterator[Range]:
    """Yields the host memory that a transfer has written to."""
    for access in operation.accesses() if operation.launch is None else ():
        if not access.mode & AccessMode.WRITE:
            continue
        begin = 0
        if access.buffer is not None:
            if not access.buffer.owner.on_host:
                continue
            begin = access.buffer.host_address()
        elif access.allocation is not None:
            if access.block is not None:
                continue
            begin = access.allocation.pointer
        for first, end in access.ranges:
            yield begin + first, begin + end
