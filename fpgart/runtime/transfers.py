# SPDX-License-Identifier: Apache-2.0
"""The operations behind the buffer commands (OpenCL 3.0, 5.2.2 to 5.2.4, 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fpgart._native import ffi, lib
from fpgart.runtime.buffer import Buffer, HostStore
from fpgart.runtime.device import Device
from fpgart.runtime.event import Kind

FILL_CHUNK = 1 << 20


class WriteBuffer:
    """Host memory to a buffer; one contiguous region, one MMD call."""

    __slots__ = ("buffer", "device", "host", "offset", "size")
    kind = Kind.TRANSFER

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, host: int) -> None:
        self.device = buffer.device_of_contents(device)
        self.buffer = buffer
        self.offset = offset
        self.size = size
        self.host = host

    def run(self) -> None:
        self.buffer.write_from(self.host, self.offset, self.size)


class ReadBuffer(WriteBuffer):
    """A buffer to host memory."""

    __slots__ = ()

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


class WriteRect:
    """A box of host memory to a box of a buffer: one MMD call per contiguous piece."""

    __slots__ = ("box", "buffer", "device", "host", "host_box", "region")
    kind = Kind.TRANSFER

    def __init__(
        self, device: Device, buffer: Buffer, box: Box, host: int, host_box: Box, region: tuple[int, int, int]
    ) -> None:
        self.device = buffer.device_of_contents(device)
        self.buffer = buffer
        self.box = box
        self.host = host
        self.host_box = host_box
        self.region = region

    def run(self) -> None:
        for offset, host_offset, size in pieces(self.region, self.box, self.host_box):
            self.buffer.write_from(self.host + host_offset, offset, size)


class ReadRect(WriteRect):
    """A box of a buffer to a box of host memory."""

    __slots__ = ()

    def run(self) -> None:
        for offset, host_offset, size in pieces(self.region, self.box, self.host_box):
            self.buffer.read_into(self.host + host_offset, offset, size)


class CopyBuffer:
    """Pieces of a buffer to another, or within one."""

    __slots__ = ("destination", "device", "parts", "source")
    kind = Kind.TRANSFER

    def __init__(self, device: Device, source: Buffer, destination: Buffer, parts: list[tuple[int, int, int]]) -> None:
        """`parts`: offset in the source, offset in the destination, bytes."""
        self.device = source.device_of_contents(device)
        self.source = source
        self.destination = destination
        self.parts = parts

    def run(self) -> None:
        for offset, other_offset, size in self.parts:
            self.source.copy_to(self.destination, offset, other_offset, size)


class FillBuffer:
    """A repeated pattern written from the host, at most 1 MiB at a time."""

    __slots__ = ("buffer", "device", "offset", "pattern", "size")
    kind = Kind.TRANSFER

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, pattern: bytes) -> None:
        self.device = buffer.device_of_contents(device)
        self.buffer = buffer
        self.offset = offset
        self.size = size
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


class MapBuffer:
    """Bring a region's contents to where it is mapped."""

    __slots__ = ("buffer", "device", "pointer", "region")
    kind = Kind.TRANSFER

    def __init__(self, device: Device, buffer: Buffer, pointer: int, region: tuple[int, int, int]) -> None:
        """`region`: offset and size in bytes, map flags."""
        self.device = buffer.device_of_contents(device)
        self.buffer = buffer
        self.pointer = pointer
        self.region = region

    def run(self) -> None:
        self.buffer.map_in(self.pointer, *self.region)


class UnmapBuffer(MapBuffer):
    """Write a mapped region back if it was mapped for writing."""

    __slots__ = ()

    def run(self) -> None:
        self.buffer.map_out(self.pointer, self.region)


class MigrateBuffers:
    """Buffers to a device (OpenCL 3.0, 5.7), or their contents back to the host's memory."""

    __slots__ = ("buffers", "device", "keep")
    kind = Kind.TRANSFER

    def __init__(self, device: Device, buffers: list[Buffer], keep: bool) -> None:
        self.device = device
        self.buffers = buffers
        self.keep = keep

    def run(self) -> None:
        for buffer in self.buffers:
            buffer.migrate(self.device, keep=self.keep)


class HostWork:
    """Work that touches host memory only: it conflicts with nothing."""

    __slots__ = ("device", "work")
    kind = Kind.HOST

    def __init__(self, device: Device, work: Callable[[], None]) -> None:
        self.device = device
        self.work = work

    def run(self) -> None:
        self.work()
