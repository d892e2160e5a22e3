# SPDX-License-Identifier: Apache-2.0
"""The operations behind the buffer commands (OpenCL 3.0, 5.2.2 to 5.2.4, 5.4)."""

from __future__ import annotations

from collections.abc import Iterator

from fpgart._native import ffi, lib
from fpgart.base.ranges import Range, joined
from fpgart.runtime.commands.access import Accesses, AccessMode, MemoryAccess
from fpgart.runtime.commands.boxes import Box, pieces
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.scheduling.event import Operation, PlainOperation, ReadyList
from fpgart.runtime.scheduling.occupancy import TAKEN, WAITS, Claim, Direction

FILL_CHUNK = 1 << 20


class Transfer(PlainOperation):
    """Moves bytes to, from or within boards.

    A half-duplex board moves bytes one way at a time; a full-duplex one reads and writes at once. Nothing moves while a
    board is programmed.
    """

    __slots__ = ("busy", "device")
    name = "transfer"
    way = Direction.BOTH

    def __init__(self, device: Device) -> None:
        """`device`: the one in whose list the operation waits for its turn."""
        self.device = device
        self.busy: tuple[Device, ...] = ()

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_transfers

    @property
    def direction(self) -> Direction:
        return self.device.occupancy.lanes(self.way)

    def devices(self) -> tuple[Device, ...]:
        """Returns the boards that the operation occupies if it begins now."""
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

    def accesses(self) -> Accesses:
        """Returns the accesses to memory. They are computed at each call."""
        raise NotImplementedError


class BufferTransfer(Transfer):
    """A transfer of `size` bytes to or from one buffer, from `offset` on."""

    __slots__ = ("buffer", "offset", "size")

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int) -> None:
        """`device`: the one that the transfer occupies while the buffer has no place."""
        self.device = buffer.device_of_contents(device)
        self.busy = ()
        self.buffer = buffer
        self.offset = offset
        self.size = size

    def devices(self) -> tuple[Device, ...]:
        return (self.buffer.device_of_contents(self.device),)

    def describe(self) -> dict[str, object]:
        facts: dict[str, object] = {"buffer": self.buffer.owner.number, "size": self.size}
        return facts | {"offset": self.buffer.origin + self.offset} | on_host(self.buffer)

    def span(self) -> Range:
        """Returns the begin and the end of the bytes in the buffer."""
        return self.offset, self.offset + self.size

    def accesses(self) -> Accesses:
        read, write = AccessMode.READ, AccessMode.WRITE
        return self.accesses_as(write, read) if self.way is Direction.IN else self.accesses_as(read, write)

    def accesses_as(self, buffer: AccessMode, host: AccessMode) -> Accesses:
        """Returns the accesses to the buffer and to the host's memory with these modes."""
        raise NotImplementedError


class LinearTransfer(BufferTransfer):
    """Transfers a contiguous region of a buffer, to or from host memory at `host`, with one MMD call."""

    __slots__ = ("host",)

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, host: int) -> None:
        self.device = buffer.device_of_contents(device)  # as the other constructors do: a call less
        self.busy = ()
        self.buffer = buffer
        self.offset = offset
        self.size = size
        self.host = host

    def accesses_as(self, buffer: AccessMode, host: AccessMode) -> Accesses:
        given = MemoryAccess(host, ((self.host, self.host + self.size),))
        return MemoryAccess(buffer, (self.span(),), buffer=self.buffer), given


class WriteBuffer(LinearTransfer):
    __slots__ = ()
    way = Direction.IN

    def run(self) -> None:
        self.buffer.write_from(self.host, self.offset, self.size)


class ReadBuffer(LinearTransfer):
    __slots__ = ()
    way = Direction.OUT

    def run(self) -> None:
        self.buffer.read_into(self.host, self.offset, self.size)


class RectTransfer(BufferTransfer):
    """Transfers a box of a buffer, to or from a box of host memory, with one MMD call per contiguous piece."""

    __slots__ = ("box", "host", "host_box", "region")

    def __init__(
        self, device: Device, buffer: Buffer, box: Box, host: int, host_box: Box, region: tuple[int, int, int]
    ) -> None:
        super().__init__(device, buffer, box.begin, region[0] * region[1] * region[2])
        self.box = box
        self.host = host
        self.host_box = host_box
        self.region = region

    def pieces(self) -> Iterator[tuple[int, int, int]]:
        """Yields the offset in the buffer, the address in the host's memory and the size of each piece."""
        for offset, host_offset, size in pieces(self.region, self.box, self.host_box):
            yield offset, self.host + host_offset, size

    def accesses_as(self, buffer: AccessMode, host: AccessMode) -> Accesses:
        parts = list(self.pieces())
        rows = tuple(joined((offset, offset + size) for offset, _, size in parts))
        host_rows = tuple(joined((address, address + size) for _, address, size in parts))
        return MemoryAccess(buffer, rows, buffer=self.buffer), MemoryAccess(host, host_rows)


class WriteRect(RectTransfer):
    __slots__ = ()
    way = Direction.IN

    def run(self) -> None:
        for offset, address, size in self.pieces():
            self.buffer.write_from(address, offset, size)


class ReadRect(RectTransfer):
    __slots__ = ()
    way = Direction.OUT

    def run(self) -> None:
        for offset, address, size in self.pieces():
            self.buffer.read_into(address, offset, size)


class FillBuffer(BufferTransfer):
    """Writes a repeated pattern to a buffer, at most 1 MiB per MMD call."""

    __slots__ = ("pattern",)
    way = Direction.IN

    def __init__(self, device: Device, buffer: Buffer, offset: int, size: int, pattern: bytes) -> None:
        super().__init__(device, buffer, offset, size)
        self.pattern = pattern

    def run(self) -> None:
        filled = Filling(self.pattern, self.size)
        for done, size in filled.pieces():
            self.buffer.write_from(filled.address, self.offset + done, size)

    def accesses(self) -> Accesses:
        return (MemoryAccess(AccessMode.WRITE, (self.span(),), buffer=self.buffer),)


class CopyBuffer(Transfer):
    """Copies pieces of a buffer to another buffer, or within one."""

    __slots__ = ("destination", "parts", "source")

    def __init__(self, device: Device, source: Buffer, destination: Buffer, parts: list[tuple[int, int, int]]) -> None:
        """`parts`: the offset in the source, the offset in the destination and the size of each piece, in bytes."""
        super().__init__(source.device_of_contents(device))
        self.source = source
        self.destination = destination
        self.parts = parts

    def devices(self) -> tuple[Device, ...]:
        source = self.source.device_of_contents(self.device)
        target = self.destination.device_of_contents(self.device)
        return (source,) if source is target else (source, target)

    def run(self) -> None:
        for offset, other_offset, size in self.parts:
            self.source.copy_to(self.destination, offset, other_offset, size)

    def accesses(self) -> Accesses:
        source = tuple(joined((offset, offset + size) for offset, _, size in self.parts))
        target = tuple(joined((offset, offset + size) for _, offset, size in self.parts))
        return (
            MemoryAccess(AccessMode.READ, source, buffer=self.source),
            MemoryAccess(AccessMode.WRITE, target, buffer=self.destination),
        )

    def describe(self) -> dict[str, object]:
        facts: dict[str, object] = {"source": self.source.owner.number, "buffer": self.destination.owner.number}
        return facts | {"size": sum(part[2] for part in self.parts)} | on_host(self.source, self.destination)


class Filling:
    """Host memory at `address` with a pattern, repeated over as many bytes as one write takes."""

    __slots__ = ("_size", "_step", "_store", "address")

    def __init__(self, pattern: bytes, size: int) -> None:
        self._size = size
        self._step = min(size, FILL_CHUNK)
        self._store = HostStore(self._step)
        self.address = self._store.address
        lib.fill_bytes(self.address, ffi.from_buffer(pattern), len(pattern), self._step)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yields the offset and the size of each write."""
        for done in range(0, self._size, self._step):
            yield done, min(self._step, self._size - done)


def on_host(*buffers: Buffer) -> dict[str, object]:
    """Returns {"on_host": True} if all buffers are in the host's memory, so that no board takes part; else {}."""
    return {"on_host": True} if all(buffer.owner.on_host for buffer in buffers) else {}
