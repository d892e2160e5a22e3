# SPDX-License-Identifier: Apache-2.0
"""The MMD: the one door to a board. Nothing moves a byte to, from or in a board except through it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.description import BoardDescription


class OfflineInfo(enum.IntEnum):
    """What can be asked before a board is open; the numbers are aocl_mmd.h's."""

    VERSION = 0
    NUM_BOARDS = 1
    BOARD_NAMES = 2
    VENDOR_NAME = 3
    VENDOR_ID = 4
    USES_YIELD = 5
    MEM_TYPES_SUPPORTED = 6


class Info(enum.IntEnum):
    """What can be asked of a board; the numbers are aocl_mmd.h's."""

    NUM_KERNEL_INTERFACES = 1
    KERNEL_INTERFACES = 2
    PLL_INTERFACES = 3
    MEMORY_INTERFACE = 4
    TEMPERATURE = 5
    PCIE_INFO = 6
    BOARD_NAME = 7
    BOARD_UNIQUE_ID = 8
    CONCURRENT_READS = 9
    CONCURRENT_WRITES = 10
    CONCURRENT_READS_OR_WRITES = 11
    MIN_HOST_MEMORY_ALIGNMENT = 12
    HOST_MEM_CAPABILITIES = 13
    SHARED_MEM_CAPABILITIES = 14
    DEVICE_MEM_CAPABILITIES = 15
    HOST_MEM_CONCURRENT_GRANULARITY = 16
    SHARED_MEM_CONCURRENT_GRANULARITY = 17
    DEVICE_MEM_CONCURRENT_GRANULARITY = 18


class Capability(enum.IntFlag):
    """What a board can do with a kind of unified shared memory; the bits are aocl_mmd.h's."""

    NONE = 0
    SUPPORTED = 1
    ATOMIC = 2
    CONCURRENT = 4
    P2P = 8


PHYSICAL_MEMORY, SHARED_VIRTUAL_MEMORY = 1, 2
"""Bits of what a board's driver answers to OfflineInfo.MEM_TYPES_SUPPORTED, the second of coarse grain."""

Answer = int | float | str


class Elsewhere(Protocol):
    """Who may have newer bytes of boards' memories than the boards; ranges are addresses of this process."""

    def fetch(self, begin: int, end: int) -> None:
        """These bytes are about to be read: bring the newer ones. Raises CLError."""

    def overwrite(self, begin: int, end: int) -> None:
        """They are about to be written, or have just been."""

    def forget(self, begin: int, end: int) -> None:
        """They have no contents any more."""


class Traffic:
    """Calls made and bytes moved through one kind of MMD call."""

    __slots__ = ("bytes", "calls")

    def __init__(self, calls: int = 0, bytes: int = 0) -> None:
        self.calls = calls
        self.bytes = bytes

    def add(self, size: int) -> None:
        self.calls += 1
        self.bytes += size


class Loaded(NamedTuple):
    """A binary that a board holds, as its kernels' ROM tells: 40 hexadecimal digits, the names of its kernels, and by
    memory whether it interleaves the banks.
    """

    identity: str
    kernels: tuple[str, ...]
    interleaving: tuple[bool, ...]


class Mmd(Protocol):
    """What a board offers to the runtime, in the terms of aocl_mmd.h.

    Board addresses are those of the board's memory map, without device id. Host addresses are
    addresses of this process. All sizes are in bytes; all calls block until the bytes have moved. Those that
    move bytes or program raise BoardError when the board fails.
    """

    @property
    def description(self) -> BoardDescription:
        """What the board is made of."""

    @property
    def traffic(self) -> dict[str, Traffic]:
        """Calls and bytes so far, by the call's name without aocl_mmd_."""

    @property
    def own_traffic(self) -> int:
        """Where to count what C does at the aperture: `struct board_traffic` of writes, reads, copies, programmings.

        0 where each call has to be seen.
        """

    def open(self) -> None:
        """Power the board up; raises BoardError when the machine cannot carry its memory."""

    def close(self) -> None:
        """Give everything back."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes have it, one at a time: it is closed when nobody here uses it."""

    def is_available(self) -> bool:
        """Whether it could be opened now, as far as other processes are concerned."""

    def loaded(self) -> Loaded | None:
        """What it held when it was opened, of another process's making."""

    def identify(self, loaded: Loaded) -> None:
        """What was programmed last (no call of aocl_mmd.h: boards have it in the ROM of their kernels)."""

    def get_offline_info(self, query: OfflineInfo) -> Answer:
        """aocl_mmd_get_offline_info: of the board's driver."""

    def get_info(self, query: Info) -> Answer:
        """aocl_mmd_get_info: of the board."""

    def set_interrupt_handler(self, handler: Callable[[], None]) -> None:
        """aocl_mmd_set_interrupt_handler: what is called when a kernel has ended."""

    def set_device_interrupt_handler(self, handler: Callable[[int], None]) -> None:
        """aocl_mmd_set_device_interrupt_handler: what is called for an exception (ECC), with its bit."""

    def set_status_handler(self, handler: StatusHandler) -> None:
        """aocl_mmd_set_status_handler: what is called when a transfer that was started has ended."""

    def interrupt(self) -> None:
        """A kernel has ended (no call of aocl_mmd.h): the engine ran it, and the board tells the host."""

    def device_interrupt(self, kind: int) -> None:
        """There is an exception (no call of aocl_mmd.h), which the board tells the host."""

    def start(self, operation: int, transfer: Callable[[], None]) -> None:
        """aocl_mmd_read, write or copy with an operation's handle: `transfer` calls it, and the host goes on.

        The status handler is told the operation's number, and None or the error that it ended with.
        """

    def yield_now(self) -> bool:
        """aocl_mmd_yield: sleep while the board works, for a moment; whether a transfer has ended meanwhile."""

    def write(self, host: int, board: int, size: int) -> None:
        """aocl_mmd_write: host to board."""

    def read(self, board: int, host: int, size: int) -> None:
        """aocl_mmd_read: board to host."""

    def copy(self, source: int, destination: int, size: int) -> None:
        """aocl_mmd_copy: within the board."""

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        """aocl_mmd_program: load another binary; with `preserve` memory keeps its contents."""

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_host_alloc: host memory that the board may use; 0 when there is none.

        That call names several boards; here each gets one, and `given` is what the first of them has allocated.
        """

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_shared_alloc: memory that moves between host and this board; 0 when there is none.

        `given` as for host_alloc(), for memory that belongs to no certain board.
        """

    def free(self, host: int) -> None:
        """aocl_mmd_free: give back what host_alloc or shared_alloc gave; the board that allocated it is the last."""

    def renew(self, kept: list[tuple[int, int]]) -> None:
        """Be a new board (no call of aocl_mmd.h): no traffic yet, memory is 0 but for `kept`, addresses and bytes."""

    def in_use(self, board: int, size: int) -> None:
        """A range was claimed; like unused() no call of aocl_mmd.h: they let the simulation save memory."""

    def unused(self, board: int, size: int) -> None:
        """A range has no contents any more."""

    def keep_elsewhere(self, elsewhere: Elsewhere) -> None:
        """Kernels run on copies of its memory (no call of aocl_mmd.h): who has them is told what moves from now on."""

    def aperture(self, board: int) -> int:
        """Where the board's memory at `board` appears in this process, for the engine's kernels."""

    def maps(self, address: int) -> bool:
        """Whether the board's memory appears at an address of this process."""


class Around:
    """The calls that an Mmd around another one leaves to it."""

    def __init__(self, mmd: Mmd) -> None:
        self._mmd = mmd
        self.get_offline_info, self.get_info = mmd.get_offline_info, mmd.get_info
        self.set_interrupt_handler, self.interrupt = mmd.set_interrupt_handler, mmd.interrupt
        self.set_device_interrupt_handler = mmd.set_device_interrupt_handler
        self.device_interrupt = mmd.device_interrupt
        self.set_status_handler, self.start, self.yield_now = mmd.set_status_handler, mmd.start, mmd.yield_now
        self.aperture, self.maps = mmd.aperture, mmd.maps
        self.in_use, self.unused, self.renew = mmd.in_use, mmd.unused, mmd.renew
        self.keep_elsewhere = mmd.keep_elsewhere

    @property
    def own_traffic(self) -> int:
        return 0

    @property
    def description(self) -> BoardDescription:
        return self._mmd.description

    @property
    def is_shared(self) -> bool:
        return self._mmd.is_shared

    def is_available(self) -> bool:
        return self._mmd.is_available()

    def loaded(self) -> Loaded | None:
        return self._mmd.loaded()

    def identify(self, loaded: Loaded) -> None:
        self._mmd.identify(loaded)

    def close(self) -> None:
        self._mmd.close()

    @property
    def traffic(self) -> dict[str, Traffic]:
        return self._mmd.traffic


class BoardError(Exception):
    """The board cannot do it; the sentence says what and why."""


StatusHandler = Callable[[int, Exception | None], None]
"""Takes the number of a transfer's operation, and None or the error that it ended with: BoardError, or a bug."""
