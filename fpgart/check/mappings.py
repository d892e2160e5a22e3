# SPDX-License-Identifier: Apache-2.0
"""The use of mapped regions by commands (family buffers; OpenCL 3.0, 5.4.2 and 5.4.3).

A mapped region's contents before and after a kernel show whether the kernel wrote to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fpgart._native import lib
from fpgart.base.closed_memory import driver_address
from fpgart.base.ranges import Range
from fpgart.check.accesses import Access, Mode, accesses, buffers_of
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import buffer_maker, buffer_name, command, context_of, span
from fpgart.runtime.commands.operation import DeviceOperation, operation_of, running_kernel
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site


@dataclass(frozen=True, slots=True)
class _Region:
    """A mapped region, in bytes from the begin of the buffer that owns the contents (number `owner`)."""

    owner: int
    name: str
    maker: str
    pointer: int
    begin: int
    end: int
    flags: int
    made_at: Site | None
    mapped_at: Site | None

    @property
    def for_writing(self) -> bool:
        return bool(self.flags & HOST_WRITES)

    def within(self, access: Access) -> list[Range]:
        """Returns the bytes of the access that are mapped."""
        common = ((max(begin, self.begin), min(end, self.end)) for begin, end in access.where)
        return [(begin, end) for begin, end in common if begin < end]


@dataclass(slots=True)
class _Seen:
    """Records the address in this process and the checksum that a mapped region had before a kernel ran."""

    region: _Region
    address: int
    sum: int


class Mappings(CheckPart):
    """Listens to NOTICES. Regions are by the number of the buffer that owns the contents."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._regions: dict[int, list[_Region]] = {}
        self._threatened: WeakKeyDictionary[Event, list[_Region]] = WeakKeyDictionary()
        self._seen: WeakKeyDictionary[Event, list[_Seen]] = WeakKeyDictionary()

    def region_mapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        begin = buffer.origin + offset
        name, maker = buffer_name(buffer), buffer_maker(buffer)
        made_at, here = self._origins.of(buffer), self._origins.here()
        region = _Region(buffer.owner.number, name, maker, pointer, begin, begin + size, flags, made_at, here)
        with self._lock:
            others = list(self._regions.setdefault(buffer.owner.number, []))
            self._regions[buffer.owner.number].append(region)
        for other in others:
            common = max(begin, other.begin), min(region.end, other.end)
            if common[0] < common[1] and (region.for_writing or other.for_writing):
                self._findings.report(
                    Finding(
                        "buffers",
                        "overlapping mappings",
                        name,
                        maker,
                        "clEnqueueMapBuffer",
                        f"clEnqueueMapBuffer maps {span(*common)}, which is already mapped at {other.pointer:#x}; "
                        "at least one of the two mappings is for writing",
                        "unmap the first region first, or map disjoint regions",
                        made_at,
                        here,
                        "the earlier mapping",
                        other.mapped_at,
                    )
                )

    def region_unmapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        begin = buffer.origin + offset
        with self._lock:
            regions = self._regions.get(buffer.owner.number, [])
            for region in regions:
                if (region.pointer, region.begin, region.flags) == (pointer, begin, flags):
                    regions.remove(region)
                    break
            if not regions:
                self._regions.pop(buffer.owner.number, None)

    def prepares(self, kernel: Kernel) -> bool:
        return any(buffer.owner.number in self._regions for _, buffer in buffers_of(kernel))

    def buffer_destroyed(self, number: int) -> None:
        self._regions.pop(number, None)

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        operation = operation_of(event)
        if not self._regions or operation is None or any(access.mapped for access in operation.accesses()):
            return
        for access in accesses(operation):
            kind, number = access.key
            regions = list(self._regions.get(number, ())) if kind == "buffer" else []
            if regions and access.mode & Mode.READ:
                self._check_read(event, operation, access, regions)
            if not regions or not access.mode & (Mode.WRITE | Mode.MAYBE_WRITE):
                continue
            if operation.launch is not None:
                in_place = context_of(event).unified_memory  # the host may be writing to the same bytes
                threatened = [region for region in regions if not (in_place and region.for_writing)]
                self._threatened.setdefault(event, []).extend(threatened)
            else:
                for region in regions:
                    for common in region.within(access):
                        self._report(
                            region,
                            command(event),
                            "written while mapped",
                            f"writes within {span(*common)}, which the host has mapped",
                            self._origins.of(event),
                        )

    def _check_read(self, event: Event, operation: DeviceOperation, access: Access, regions: list[_Region]) -> None:
        """Reports a read of a region that is mapped for writing: its contents are undefined until it is unmapped.

        A kernel may read a part of its argument only, so the region has to contain the whole argument.
        """
        for region in regions:
            where = region.within(access)
            if region.for_writing and where and (operation.launch is None or where == list(access.where)):
                self._report(
                    region,
                    command(event),
                    "read while mapped for writing",
                    f"reads {span(*where[0])}, which the host has mapped for writing",
                    self._origins.of(event),
                )

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        regions = self._threatened.get(event)
        if regions and running_kernel(operation):
            seen = []
            for access in operation.accesses():
                for region in regions:
                    if access.block is not None and access.buffer and region.owner == access.buffer.owner.number:
                        address = driver_address(access.block.pointer) + region.begin
                        total = int(lib.checksum(0, address, region.end - region.begin))
                        seen.append(_Seen(region, address, total))
            self._seen[event] = seen

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        seen = self._seen.pop(event, None)
        if seen is None:
            return
        self._threatened.pop(event, None)
        for each in seen:
            region = each.region
            if int(lib.checksum(0, each.address, region.end - region.begin)) != each.sum:
                self._report(
                    region,
                    command(event, operation),
                    "written while mapped",
                    f"writes within {span(region.begin, region.end)}, which the host has mapped",
                    self._origins.of(event),
                )

    def _report(self, region: _Region, user: str, rule: str, words: str, misused_at: Site | None) -> None:
        self._findings.report(
            Finding(
                "buffers",
                rule,
                region.name,
                region.maker,
                user,
                f"{user} {words} (at {region.pointer:#x})",
                "call clEnqueueUnmapMemObject first, in the same queue or with its event in the wait list",
                region.made_at,
                misused_at,
                "the mapping",
                region.mapped_at,
            )
        )
