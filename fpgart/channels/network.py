# SPDX-License-Identifier: Apache-2.0
"""Channels, pipes and program-scope variables that concurrent kernels share (channels/network.c, channels.c).

A `Network` belongs to one program on one board, from when the board is programmed with it until the next time.
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
    """CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE: how many packets channels hold.

    IGNOREDEPTH: as many as make kernels fast. DEFAULT: so only where the source gives no depth. STRICT: as the
    source says, else 1.
    """

    IGNOREDEPTH = 0
    DEFAULT = 1
    STRICT = 2


class GaveUp(OutOfResources):
    """A kernel was made to leave: a deadlock, or its board is wanted for another program."""


class Fifo:
    """Packets of `packet` bytes, `capacity` of them at most; any thread at either end.

    Raises OutOfHostMemory.
    """

    __slots__ = ("_memory", "_owner", "_place", "handle")

    def __init__(
        self, name: str, packet: int, capacity: int, *, hosted: bool, memory: SharedMemory | None = None
    ) -> None:
        """`hosted`: the host has one end. `memory`: where it has to be for kernels that run in another process."""
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
            raise OutOfHostMemory(f"no room for a pipe of {capacity} packets of {packet} bytes")
        self.handle = ffi.gc(handle, lib.fifo_free)

    def __del__(self) -> None:
        if self._memory is not None and self._place:
            self._memory.free(self._place)

    @classmethod
    def within(cls, owner: object, handle: object) -> Fifo:
        """One that belongs to a network, which it keeps alive."""
        made = cls.__new__(cls)
        made.handle, made._owner, made._memory, made._place = handle, owner, None, 0
        return made

    @property
    def packet(self) -> int:
        return int(lib.fifo_packet(self.handle))

    @property
    def capacity(self) -> int:
        """In packets."""
        return int(lib.fifo_capacity(self.handle))

    @property
    def level(self) -> int:
        """The packets that are in it now."""
        return int(lib.fifo_level(self.handle))

    def read(self, address: int, wait_ms: int = 0) -> bool:
        """Move one packet to the host's memory; False if there was none for so long."""
        return bool(lib.fifo_read(self.handle, ffi.cast("void *", address), wait_ms))

    def write(self, address: int, wait_ms: int = 0) -> bool:
        """Move one packet from the host's memory; False if there was no room for so long."""
        return bool(lib.fifo_write(self.handle, ffi.cast("void *", address), wait_ms))

    def history(self) -> History:
        """What happened to it since the last call, while channels were watched."""
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
        """Where the packets (or the room) behind the first `skip` bytes are; address, and bytes in one piece."""
        size = ffi.new("uint64_t *")
        address = lib.fifo_window(self.handle, writing, skip, size)
        return int(ffi.cast("uintptr_t", address)), int(size[0])

    def commit(self, size: int, *, writing: bool) -> None:
        """So many bytes of the window were read, or written."""
        lib.fifo_commit(self.handle, writing, size)

    def end(self, *, blocking: bool) -> int:
        """The address that a kernel takes for it as a pipe argument."""
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
        """`timeout_s`: how long all kernels may wait for each other before they are given up; 0 for ever.

        `links`: where I/O channels lead, for as long as kernels run. `factor`: of depths that the source gives.
        `seed`: not 0 to have packets arrive at other times.
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
        """The kernels that run by themselves, and how many of each."""
        self._told = ""

    def stop(self) -> None:
        """Every kernel in it leaves, at once or with its next word to another."""
        for listener in NOTICES.network_stopped:
            listener(self)
        self.stopped = True
        lib.network_stop(self.handle)

    def channel(self, name: str) -> Fifo | None:
        found = lib.network_channel(self.handle, name.encode())
        return None if found == ffi.NULL else Fifo.within(self, found)

    def history(self) -> list[History]:
        """What happened to each channel since the last call, while channels were watched."""
        room = lib.network_channels(self.handle, ffi.NULL, 0)
        found = ffi.new("struct fifo *[]", room)
        count = min(int(lib.network_channels(self.handle, found, room)), room)
        return [Fifo.within(self, found[index]).history() for index in range(count)]

    def variable(self, name: str) -> OwnVariable | None:
        size = ffi.new("uint64_t *")
        found = lib.network_variable(self.handle, name.encode(), size)
        return None if found == ffi.NULL else OwnVariable(self, int(ffi.cast("uintptr_t", found)), int(size[0]))

    def failure(self, kernel: str) -> GaveUp:
        """Why a kernel was made to leave."""
        if self.stopped:
            return GaveUp(f"the board was reprogrammed, or closed, while kernel '{kernel}' waited")
        words = ffi.new("char[]", REPORT_BYTES)
        lib.network_report(self.handle, words, REPORT_BYTES)
        report: str = ffi.string(words).decode(errors="replace")
        if report != self._told:  # once for all kernels of it; a hang is nothing to keep for the log
            self._told = report
            log.warning(report)
        return GaveUp(report)


def watch_channels(on: bool) -> None:
    """Whether what happens to channels is remembered."""
    lib.fifo_watch(on)


def host_waits(begins: bool) -> None:
    """A thread of the host begins, or stops, to wait; kernels that wait for each other are given up only meanwhile."""
    lib.network_host_waits(begins)


def table(wanted: int) -> int:
    """The address at which kernels find their way out; `wanted` if that is free, else another."""
    return int(lib.network_table(wanted))
