# SPDX-License-Identifier: Apache-2.0
"""Channels, pipes and program-scope variables that concurrent kernels share (channels/network.c, channels.c).

A `Network` belongs to one program on one board, and exists until the board is programmed again.
"""

from __future__ import annotations

import enum
from time import monotonic_ns
from types import MappingProxyType
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.errors import OutOfHostMemory, OutOfResources
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.channels.interface import History, Stall

if TYPE_CHECKING:
    from fpgart.base.shared_memory import SharedMemory
    from fpgart.channels.links import Links

REPORT_BYTES = 4096


class DepthMode(enum.IntEnum):
    """CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE: the depth of channels.

    IGNOREDEPTH: deep enough for fast kernels. DEFAULT: so only if the source has no depth. STRICT: the source's depth,
    else 1.
    """

    IGNOREDEPTH = 0
    DEFAULT = 1
    STRICT = 2


class GaveUp(OutOfResources):
    """Raised if a waiting kernel was stopped: because of a deadlock, or because its board is programmed again."""


class Fifo:
    """A FIFO of packets of `packet` bytes, `capacity` of them at most; any thread may use either end.

    Its creation raises OutOfHostMemory.
    """

    __slots__ = ("_memory", "_owner", "_place", "handle")

    def __init__(
        self, name: str, packet: int, capacity: int, *, hosted: bool, memory: SharedMemory | None = None
    ) -> None:
        """`hosted` is True if the host has one end, `memory` the memory of kernels that run in another process."""
        self._owner: object = None
        self._memory, self._place = memory, 0
        words = name.encode()
        if memory is not None:
            self._place = memory.allocate(lib.fifo_bytes(words, packet, capacity, True))
            if self._place:
                self.handle = lib.fifo_make(self._place, words, packet, capacity, hosted, True)
                return
        handle = ffi.NULL if memory is not None else lib.fifo_new(words, packet, capacity, hosted)
        if handle == ffi.NULL:
            raise OutOfHostMemory(f"no memory for a pipe of {capacity} packets of {packet} bytes")
        self.handle = ffi.gc(handle, lib.fifo_free)

    def __del__(self) -> None:
        if self._memory is not None and self._place:
            self._memory.free(self._place)

    @classmethod
    def within(cls, owner: object, handle: object) -> Fifo:
        """Returns a FIFO that belongs to a network, which it keeps alive."""
        made = cls.__new__(cls)
        made.handle, made._owner, made._memory, made._place = handle, owner, None, 0
        return made

    @property
    def packet(self) -> int:
        return int(lib.fifo_packet(self.handle))

    @property
    def capacity(self) -> int:
        """The most packets in it."""
        return int(lib.fifo_capacity(self.handle))

    def read(self, address: int, wait_ms: int = 0) -> bool:
        return bool(lib.fifo_read(self.handle, ffi.cast("void *", address), wait_ms))

    def write(self, address: int, wait_ms: int = 0) -> bool:
        return bool(lib.fifo_write(self.handle, ffi.cast("void *", address), wait_ms))

    def history(self) -> History:
        """Returns its history since the last call, while channels were watched."""
        levels, stalls = (
            ffi.new("struct fifo_level[]", lib.FIFO_LEVELS),
            ffi.new("struct fifo_stall[]", lib.FIFO_STALLS),
        )
        stalled, seen = divmod(int(lib.fifo_history(self.handle, levels, stalls)), 1 << 32)
        name = ffi.string(lib.fifo_name(self.handle)).decode(errors="replace")
        waits = (
            Stall(ffi.string(stall.kernel).decode(errors="replace"), bool(stall.writing), stall.begin, stall.end)
            for stall in stalls[0:stalled]
        )
        return History(name, self.capacity, [(level.at, level.packets) for level in levels[0:seen]], list(waits))

    def window(self, *, writing: bool, skip: int) -> tuple[int, int]:
        """Returns the address of the packets (or the room) behind `skip` bytes, and their bytes in one piece."""
        size = ffi.new("uint64_t *")
        address = lib.fifo_window(self.handle, writing, skip, size)
        return int(ffi.cast("uintptr_t", address)), int(size[0])

    def commit(self, size: int, *, writing: bool) -> None:
        """Ends the read, or the write, of so many bytes of the window."""
        lib.fifo_commit(self.handle, writing, size)

    def end(self, *, blocking: bool) -> int:
        """Returns the address that a kernel gets for this FIFO as a pipe argument."""
        return int(lib.fifo_end(self.handle, blocking))


class OwnVariable(NamedTuple):
    """A program-scope variable, `size` bytes at `address` in this process; keeps its network alive."""

    network: Network
    address: int
    size: int

    def read(self, offset: int, address: int, size: int) -> None:
        ffi.memmove(ffi.cast("char *", address), ffi.cast("char *", self.address + offset), size)

    def write(self, offset: int, address: int, size: int) -> None:
        ffi.memmove(ffi.cast("char *", self.address + offset), ffi.cast("char *", address), size)


class Network:
    """The channels and variables of a program on a board; keeps `program`, whose kernels they are, alive."""

    def __init__(
        self,
        mode: DepthMode,
        timeout_s: float,
        program: object = None,
        links: Links = MappingProxyType({}),
        *,
        factor: int = 1,
        seed: int = 0,
    ) -> None:
        """`timeout_s` is the time that all kernels may wait for each other before they are stopped; 0 for no limit.

        `links`: the cables of I/O channels. `factor`: multiplies depths of the source. `seed`: if not 0, packets arrive
        at other times.
        """
        self.program = program
        handle = lib.network_new(mode, int(timeout_s * 1000))
        if handle == ffi.NULL:
            raise OutOfHostMemory("no room for a program's channels")
        self.handle = ffi.gc(handle, lib.network_release)
        lib.network_explore(handle, factor, seed)
        self.links = links
        for name, link in links.items():
            if not lib.network_plug(handle, name.encode(), link.handle):
                raise OutOfHostMemory(f"no room for the {link.cable}")
        self.stopped = False
        self.began = monotonic_ns()
        self.autorun: dict[str, int] = {}
        """The autorun kernels, and the number of each."""
        self._told = ""

    def stop(self) -> None:
        """Makes every kernel in it end, at once or at its next channel operation."""
        for listener in NOTICES.network_stopped:
            listener(self)
        self.stopped = True
        lib.network_stop(self.handle)

    def channel(self, name: str) -> Fifo | None:
        found = lib.network_channel(self.handle, name.encode())
        return None if found == ffi.NULL else Fifo.within(self, found)

    def history(self) -> list[History]:
        """Returns the history of each channel since the last call, while channels were watched."""
        room = lib.network_channels(self.handle, ffi.NULL, 0)
        found = ffi.new("struct fifo *[]", room)
        count = min(int(lib.network_channels(self.handle, found, room)), room)
        return [Fifo.within(self, found[index]).history() for index in range(count)]

    def variable(self, name: str) -> OwnVariable | None:
        size = ffi.new("uint64_t *")
        found = lib.network_variable(self.handle, name.encode(), size)
        return None if found == ffi.NULL else OwnVariable(self, int(ffi.cast("uintptr_t", found)), int(size[0]))

    def failure(self, kernel: str) -> GaveUp:
        """Returns the error of a kernel that was stopped while it waited."""
        if self.stopped:
            return GaveUp(f"the board was reprogrammed, or closed, while kernel '{kernel}' waited")
        words = ffi.new("char[]", REPORT_BYTES)
        lib.network_report(self.handle, words, REPORT_BYTES)
        report: str = ffi.string(words).decode(errors="replace")
        if report != self._told:  # once for all kernels of a deadlock, and at once: the host may hang
            self._told = report
            log.warning(report)
        return GaveUp(report)


def watch_channels(on: bool) -> None:
    """Switches the recording of channels' histories."""
    lib.fifo_watch(on)


def host_waits(begins: bool) -> None:
    """Counts a thread of the host that begins, or ends, to wait; deadlocks are detected only meanwhile."""
    lib.network_host_waits(begins)


def table(wanted: int) -> int:
    """Returns the address at which kernels find operation(); `wanted` if that is free, else another."""
    return int(lib.network_table(wanted))
