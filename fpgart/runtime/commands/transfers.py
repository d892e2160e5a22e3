# SPDX-License-Identifier: Apache-2.0
"""The operations behind the buffer commands (OpenCL 3.0, 5.2.2 to 5.2.4, 5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fpgart._native import ffi, lib
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.scheduling.event import Launch, Operation, ReadyList
from fpgart.runtime.scheduling.occupancy import TAKEN, WAITS, Claim, Direction

FILL_CHUNK = 1 << 20


class Transfer:
    """Bytes to, from or within boards.

    A half-duplex board moves one way at a time, a full-duplex one reads and writes at once; nothing moves
    while a board is programmed.
    """

    __slots__ = ("busy", "device")
    name = "transfer"
    needs_thread = False
    short_launch: Launch | None = None
    way = Direction.BOTH

    def __init__(self, device: Device) -> None:
        """`device`: where the operation waits for its turn."""
        self.device = device
        self.busy: tuple[Device, ...] = ()

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_transfers

    @property
    def direction(self) -> Direction:
        return self.device.occupancy.lanes(self.way)

    def devices(self) -> tuple[Device, ...]:
        """The boards that it keeps busy, as things are now."""
        return (self.device,)

    def claim(self) -> Claim:
        devices = self.devices()
        way = self.way
        for device in devices:
            if not device.occupancy.admits(way):
                return WAITS
        for device in devices:
            device.occupancy.begin_transfer(way)
        self.busy = devices
        return TAKEN

    def release(self, following: Operation | None) -> None:
        for device in self.busy:
            device.occupancy.end_transfer(self.way)

    def run(self) -> Operation | None:
        raise NotImplementedError

    def abandon(self) -> None:
        """Nothing was reserved but the buffer's home, which stays the buffer's."""


class WriteBuffer(Transfer):
    """Host memory to a buffer; one contiguous region, one MMD call."""

    __slots__ = ("buffer", "host", "offset", "size")
    way = Direction.IN

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, host: int) -> None:
        self.device = buffer.device_of_contents(device)
        self.busy = ()
        self.buffer = buffer
        self.offset = offset
        self.size = size
        self.host = host

    def devices(self) -> tuple[Device, ...]:
        return (self.buffer.device_of_contents(self.device),)

    def run(self) -> None:
        self.buffer.write_from(self.host, self.offset, self.size)


class ReadBuffer(WriteBuffer):
    """A buffer to host memory."""

    __slots__ = ()
    way = Direction.OUT

    def run(self) -> None:
        self.buffer.read_into(self.host, self.offset, self.size)


@dataclass(frozen=True, slots=True)
class Box:
    """A region of up to three dimensions in a linear range: origin and pitches in bytes."""

    origin: tuple[int, int, int]
    row_pitch: int
    slice_pitch: int

    @property
    def begin(self) -> int:
        return self.origin[0] + self.origin[1] * self.row_pitch + self.origin[2] * self.slice_pitch

    def end(self, region: tuple[int, int, int]) -> int:
        """One past the last byte that `region` touches."""
        return self.begin + (region[2] - 1) * self.slice_pitch + (region[1] - 1) * self.row_pitch + region[0]


def pieces(region: tuple[int, int, int], first: Box, second: Box) -> Iterator[tuple[int, int, int]]:
    """Contiguous parts of two boxes: offset in each, size. One where all lines up, else one per row."""
    width, height, depth = region
    rows_join = height == 1 or width == first.row_pitch == second.row_pitch
    if rows_join:
        width, height = width * height, 1
        if depth == 1 or width == first.slice_pitch == second.slice_pitch:
            width, depth = width * depth, 1
    for z in range(depth):
        for y in range(height):
            yield (
                first.begin + z * first.slice_pitch + y * first.row_pitch,
                second.begin + z * second.slice_pitch + y * second.row_pitch,
                width,
            )


class WriteRect(WriteBuffer):
    """A box of host memory to a box of a buffer: one MMD call per contiguous piece."""

    __slots__ = ("box", "host_box", "region")

    def __init__(
        self, device: Device, buffer: Buffer, box: Box, host: int, host_box: Box, region: tuple[int, int, int]
    ) -> None:
        super().__init__(device, buffer, box.begin, region[0] * region[1] * region[2], host)
        self.box = box
        self.host_box = host_box
        self.region = region

    def run(self) -> None:
        for offset, host_offset, size in pieces(self.region, self.box, self.host_box):
            self.buffer.write_from(self.host + host_offset, offset, size)


class ReadRect(WriteRect):
    """A box of a buffer to a box of host memory."""

    __slots__ = ()
    way = Direction.OUT

    def run(self) -> None:
        for offset, host_offset, size in pieces(self.region, self.box, self.host_box):
            self.buffer.read_into(self.host + host_offset, offset, size)


class CopyBuffer(Transfer):
    """Pieces of a buffer to another, or within one."""

    __slots__ = ("destination", "parts", "source")

    def __init__(self, device: Device, source: Buffer, destination: Buffer, parts: list[tuple[int, int, int]]) -> None:
        """`parts`: offset in the source, offset in the destination, bytes."""
        super().__init__(source.device_of_contents(device))
        self.source = source
        self.destination = destination
        self.parts = parts

    @property
    def buffer(self) -> Buffer:
        return self.destination

    @property
    def size(self) -> int:
        return sum(part[2] for part in self.parts)

    def devices(self) -> tuple[Device, ...]:
        source = self.source.device_of_contents(self.device)
        target = self.destination.device_of_contents(self.device)
        return (source,) if source is target else (source, target)

    def run(self) -> None:
        for offset, other_offset, size in self.parts:
            self.source.copy_to(self.destination, offset, other_offset, size)


class FillBuffer(WriteBuffer):
    """A repeated pattern written from the host, at most 1 MiB at a time."""

    __slots__ = ("pattern",)

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, pattern: bytes) -> None:
        super().__init__(device, buffer, offset, size, 0)
        self.pattern = pattern

    def run(self) -> None:
        step = min(self.size, FILL_CHUNK)
        source = HostStore(step)
        lib.fill_bytes(source.address, ffi.from_buffer(self.pattern), len(self.pattern), step)
        done = 0
        while done < self.size:
            size = min(step, self.size - done)
            self.buffer.write_from(source.address, self.offset + done, size)
            done += size
