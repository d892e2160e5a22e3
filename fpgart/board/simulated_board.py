# SPDX-License-Identifier: Apache-2.0
"""A board in software: its memory is one memfd mapped into this process."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import config, log
from fpgart.base.closed_memory import driver_address
from fpgart.base.notices import NOTICES
from fpgart.board.description import BoardDescription
from fpgart.board.first_fit import round_up
from fpgart.board.global_memory import AllocationType
from fpgart.board.in_flight import InFlight
from fpgart.board.memory_file import lengthen
from fpgart.board.mmd import (
    PHYSICAL_MEMORY,
    SHARED_VIRTUAL_MEMORY,
    Answer,
    BoardError,
    Capability,
    Elsewhere,
    Info,
    Loaded,
    OfflineInfo,
    StatusHandler,
    Traffic,
)

if TYPE_CHECKING:
    from fpgart.board.stretch import Stretch

PAGE = 4096
HUGE_PAGE = 2 << 20
CALLS = ("write", "read", "copy", "program", "host_alloc", "shared_alloc", "free")
NOT_OURS = 0, 0
"""The mapping of host memory that another board has allocated."""


MMD_VERSION = "2024.2"
VENDOR_OF_FPGAS, VENDOR_OF_DSPS = 0x8086, 0x104C
"""The PCI numbers of Intel and of Texas Instruments."""
CELSIUS = 45.0
NO_INTERFACE = -1
"""The answer for the kernels' clock, which cannot be set."""

OFFLINE_ANSWERS: dict[OfflineInfo, Callable[[BoardDescription], Answer]] = {
    OfflineInfo.VERSION: lambda board: MMD_VERSION,
    OfflineInfo.NUM_BOARDS: lambda board: 1,
    OfflineInfo.BOARD_NAMES: lambda board: board.name,
    OfflineInfo.VENDOR_NAME: lambda board: board.vendor,
    OfflineInfo.VENDOR_ID: lambda board: VENDOR_OF_FPGAS if board.is_fpga else VENDOR_OF_DSPS,
    OfflineInfo.USES_YIELD: lambda board: 1,
    OfflineInfo.MEM_TYPES_SUPPORTED: lambda board: PHYSICAL_MEMORY | (SHARED_VIRTUAL_MEMORY if board.is_fpga else 0),
}
NONE, SUPPORTED, ATOMIC, CONCURRENT = Capability.NONE, Capability.SUPPORTED, Capability.ATOMIC, Capability.CONCURRENT


def _capabilities(kind: AllocationType, able: Capability) -> Callable[[BoardDescription], Answer]:
    """Returns the answer `able` if the board has memory for such allocations, else NONE."""
    return lambda board: able if board.can_hold(kind) else NONE


ANSWERS: dict[Info, Callable[[BoardDescription], Answer]] = {
    Info.NUM_KERNEL_INTERFACES: lambda board: 1,
    Info.KERNEL_INTERFACES: lambda board: 0,
    Info.MEMORY_INTERFACE: lambda board: 1,
    Info.PLL_INTERFACES: lambda board: NO_INTERFACE,
    Info.TEMPERATURE: lambda board: CELSIUS,
    Info.PCIE_INFO: lambda board: f"simulated, generation {board.timing.pcie_generation} x{board.timing.pcie_lanes}",
    Info.BOARD_NAME: lambda board: board.name,
    Info.BOARD_UNIQUE_ID: lambda board: board.name,
    Info.CONCURRENT_READS: lambda board: 1,
    Info.CONCURRENT_WRITES: lambda board: 1,
    Info.CONCURRENT_READS_OR_WRITES: lambda board: 2 if board.full_duplex else 1,
    Info.MIN_HOST_MEMORY_ALIGNMENT: lambda board: PAGE,
    Info.HOST_MEM_CAPABILITIES: _capabilities(AllocationType.HOST, SUPPORTED | ATOMIC | CONCURRENT),
    Info.SHARED_MEM_CAPABILITIES: _capabilities(AllocationType.SHARED, SUPPORTED | ATOMIC),
    Info.DEVICE_MEM_CAPABILITIES: _capabilities(AllocationType.DEVICE, SUPPORTED | ATOMIC),
    Info.HOST_MEM_CONCURRENT_GRANULARITY: lambda board: 1,
    Info.SHARED_MEM_CONCURRENT_GRANULARITY: lambda board: PAGE,
    Info.DEVICE_MEM_CONCURRENT_GRANULARITY: lambda board: PAGE,
}


def tell_unlocked(size: int) -> None:
    """Reports host memory for a board that the system did not lock. It works here; a real board's driver refuses it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    log.note(
        f"{size} bytes of host memory for a board are not locked: the system allows {limit} bytes (RLIMIT_MEMLOCK, "
        "ulimit -l); the driver of a board locks all of it"
    )
    for listener in NOTICES.lock_refused:
        listener(size, limit)


class SimulatedBoard:
    """An `Mmd` whose DRAM takes host memory only for the pages that were accessed.

    Freed ranges keep their pages, up to FPGART_WARM_MEMORY bytes, so that the next buffer there is fast.
    """

    is_shared = False

    def __init__(self, description: BoardDescription, stretch: Stretch | None = None, *, closed: bool = False) -> None:
        """`stretch`: the source of all memory that kernels access, if they run in another process.

        `closed`: True if the host then has no access to the board's memory.
        """
        self.description = description
        self._stretch = stretch
        self._closed = closed and stretch is not None and not description.unified_memory
        self._own_shift = 0
        """The distance from the aperture to the mapping through which this class accesses the memory."""
        self._traffic = {call: Traffic() for call in CALLS}
        self._written = self._traffic["write"]
        self._read = self._traffic["read"]
        self._copied = self._traffic["copy"]
        self._memory = ffi.new("struct board_memory *", {"most_kept": config.WARM_MEMORY.value})
        self.in_c = int(ffi.cast("uintptr_t", self._memory))
        self._opening = threading.Lock()
        self._base = 0
        self._size = sum(memory.room for memory in description.memories)
        self._segments: list[tuple[int, int, int]] = []
        self._begin = self._end = self._shift = 0
        self._host_allocations: dict[int, tuple[int, int]] = {}
        self._elsewhere: Elsewhere | None = None
        self._in_flight = InFlight()
        self.start, self.yield_now = self._in_flight.start, self._in_flight.wait
        self._interrupted: Callable[[], None] = lambda: None
        self._device_interrupted: Callable[[int], None] = lambda kind: None

    @property
    def traffic(self) -> dict[str, Traffic]:
        own = self._traffic
        in_c = zip(("write", "read", "copy", "program"), self._memory.traffic, strict=True)
        return own | {call: Traffic(own[call].calls + t.calls, own[call].bytes + t.bytes) for call, t in in_c}

    def open(self) -> None:
        with self._opening:
            if self._base:
                return
            base = self._map()
            if not base:
                from fpgart.base.memory_limit import limit_of_memory  # imported for this failure only

                raise BoardError(
                    f"{self._size} bytes of address space for the memory of board "
                    f"'{self.description.name}' are not available{limit_of_memory(self._size)}"
                )
            self._segments = []
            place = base
            own_first = sorted(self.description.memories, key=lambda m: (not m.is_device_private, m.begin))
            for memory in own_first:
                self._segments.append((memory.begin, memory.begin + memory.room, place - memory.begin))
                place += memory.room
            self._begin, self._end, self._shift = self._segments[0]
            self._base = base

    def _map(self) -> int:
        """Maps the memory and returns its address; 0 if there is no room."""
        if self._stretch is not None:
            return self._map_in(self._stretch)
        descriptor = int(lib.memory_file(os.fsencode(f"fpgart-{self.description.name}")))
        if descriptor < 0:
            raise BoardError(f"the system provides no file for the memory of board '{self.description.name}'")
        try:
            lengthen(descriptor, self._size, f"the memory of board '{self.description.name}'")
        except BoardError:
            os.close(descriptor)
            raise
        base = int(lib.map_file(descriptor, self._size))
        os.close(descriptor)  # hosts may close all files, and open others with the same number
        return base

    def _map_in(self, stretch: Stretch) -> int:
        base = stretch.allocate(self._size, HUGE_PAGE, huge=True)
        if base and self._closed:
            if not stretch.close(base):
                stretch.free(base)
                return 0
            self._own_shift = driver_address(base) - base
        return base

    def close(self) -> None:
        with self._opening:
            if not self._base:
                return
            if self._stretch is not None:
                self._stretch.free(self._base)
            else:
                lib.unmap(self._base, self._size)
            self._base = 0

    def is_available(self) -> bool:
        return True

    def loaded(self) -> Loaded | None:
        return None

    def identify(self, loaded: Loaded) -> None:
        """Does nothing: the board belongs to this process, whose devices know its binary."""

    def get_offline_info(self, query: OfflineInfo) -> Answer:
        return OFFLINE_ANSWERS[query](self.description)

    def get_info(self, query: Info) -> Answer:
        return ANSWERS[query](self.description)

    def set_interrupt_handler(self, handler: Callable[[], None]) -> None:
        self._interrupted = handler

    def set_device_interrupt_handler(self, handler: Callable[[int], None]) -> None:
        self._device_interrupted = handler

    def interrupt(self) -> None:
        self._interrupted()

    def device_interrupt(self, kind: int) -> None:
        self._device_interrupted(kind)

    def set_status_handler(self, handler: StatusHandler) -> None:
        self._in_flight.handler = handler

    def aperture(self, board: int) -> int:
        if self._begin <= board < self._end:
            return board + self._shift
        return board + next(shift for begin, end, shift in self._segments if begin <= board < end)

    def maps(self, address: int) -> bool:
        return bool(self._base) and self._base <= address < self._base + self._size

    def keep_elsewhere(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self.in_c = 0  # each call has to be seen

    def write(self, host: int, board: int, size: int) -> None:
        place = self.aperture(board)
        elsewhere = self._elsewhere
        if elsewhere is not None:
            elsewhere.overwrite(place, place + size)
        lib.copy_bytes(place + self._own_shift, driver_address(host), size)
        if elsewhere is not None:
            elsewhere.overwrite(place, place + size)
        traffic = self._written
        traffic.calls += 1
        traffic.bytes += size

    def read(self, board: int, host: int, size: int) -> None:
        place = self.aperture(board)
        if self._elsewhere is not None:
            self._elsewhere.fetch(place, place + size)
        lib.copy_bytes(driver_address(host), place + self._own_shift, size)
        traffic = self._read
        traffic.calls += 1
        traffic.bytes += size

    def copy(self, source: int, destination: int, size: int) -> None:
        origin, target = self.aperture(source), self.aperture(destination)
        elsewhere = self._elsewhere
        if elsewhere is not None:
            elsewhere.fetch(origin, origin + size)
            elsewhere.overwrite(target, target + size)
        lib.copy_bytes(target + self._own_shift, origin + self._own_shift, size)
        if elsewhere is not None:
            elsewhere.overwrite(target, target + size)
        self._copied.add(size)

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        if config.PROGRAM_SECONDS.value:
            time.sleep(config.PROGRAM_SECONDS.value)
        self._traffic["program"].add(len(image))

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._allocate("host_alloc", size, alignment, given)

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._allocate("shared_alloc", size, alignment, given)

    def _allocate(self, call: str, size: int, alignment: int, given: int) -> int:
        if given:
            self._traffic[call].add(size)
            return given
        watched = call == "shared_alloc" and config.touches_are_watched()
        if self._stretch is not None:
            return self._allocate_in(self._stretch, call, size, alignment, watched=watched)
        mapped, locked = ffi.new("size_t *", size), ffi.new("int *")
        mapping = int((lib.map_watched if watched else lib.map_pinned)(mapped, alignment, locked))
        if not mapping:
            return 0
        if not locked[0]:
            tell_unlocked(size)
        address = round_up(mapping, alignment)
        self._host_allocations[address] = mapping, int(mapped[0])
        self._traffic[call].add(size)
        return address

    def _allocate_in(self, stretch: Stretch, call: str, size: int, alignment: int, *, watched: bool) -> int:
        try:
            address = stretch.allocate(size, alignment, huge=not watched and size >= HUGE_PAGE)
        except BoardError as error:
            log.note(str(error))
            return 0
        if address:
            if not lib.keep_in_memory(address, round_up(size, PAGE)):
                tell_unlocked(size)
            self._host_allocations[address] = address, size
            self._traffic[call].add(size)
        return address

    def free(self, host: int) -> None:
        mapping, length = self._host_allocations.pop(host, NOT_OURS)
        if length and self._stretch is not None:
            self._stretch.free(mapping)
        elif length:
            lib.unmap(mapping, length)
        self._traffic["free"].add(0)

    def in_use(self, board: int, size: int) -> None:
        lib.board_memory_allocated(self._memory, size)
        self._forget(board, size)

    def _forget(self, board: int, size: int) -> None:
        if self._elsewhere is not None:
            begin = self.aperture(board)
            self._elsewhere.forget(begin, begin + size)

    def unused(self, board: int, size: int) -> None:
        self._forget(board, size)
        if not lib.board_memory_keeps(self._memory, size):
            lib.board_memory_discard(self.aperture(board) + self._own_shift, size)

    def renew(self, kept: list[tuple[int, int]]) -> None:
        for traffic in (*self._traffic.values(), *self._memory.traffic):
            traffic.calls = traffic.bytes = 0
        if not self._base:
            return
        free = 0
        for begin, size in sorted((self.aperture(address) - self._base, size) for address, size in kept):
            if begin > free:
                self._punch(free, begin - free)
            free = begin + size
        if self._size > free:
            self._punch(free, self._size - free)
        self._memory.kept = 0

    def _punch(self, begin: int, size: int) -> None:
        """Returns pages to the system. `begin` counts from the begin of the memory."""
        lib.discard(self._base + self._own_shift + begin, size)
