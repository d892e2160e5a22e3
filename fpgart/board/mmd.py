# SPDX-License-Identifier: Apache-2.0
"""The MMD, the interface of a board. All bytes to, from or within a board move through it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.description import BoardDescription


class OfflineInfo(enum.IntEnum):
    """The queries before a board is open, with aocl_mmd.h's numbers."""

    VERSION = 0
    NUM_BOARDS = 1
    BOARD_NAMES = 2
    VENDOR_NAME = 3
    VENDOR_ID = 4
    USES_YIELD = 5
    MEM_TYPES_SUPPORTED = 6


class Info(enum.IntEnum):
    """The queries of a board, with aocl_mmd.h's numbers."""

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
    """A board's capabilities for a kind of unified shared memory; the bits are aocl_mmd.h's."""

    NONE = 0
    SUPPORTED = 1
    ATOMIC = 2
    CONCURRENT = 4
    P2P = 8


PHYSICAL_MEMORY, SHARED_VIRTUAL_MEMORY = 1, 2
"""The bits of OfflineInfo.MEM_TYPES_SUPPORTED. The second one means coarse-grained SVM."""

Answer = int | float | str


class Elsewhere(Protocol):
    """Copies of boards' memories that may be newer. Ranges are addresses of this process."""

    def fetch(self, begin: int, end: int) -> None:
        """Copies newer bytes to the board, before they are read. Raises CLError."""

    def overwrite(self, begin: int, end: int) -> None:
        """Records that bytes are about to be written on the board, or have just been."""

    def forget(self, begin: int, end: int) -> None:
        """Records that bytes on the board are uninitialised from now on."""


class Traffic:
    """The number of calls, and of bytes moved, of one MMD function."""

    __slots__ = ("bytes", "calls")

    def __init__(self, calls: int = 0, bytes: int = 0) -> None:
        self.calls = calls
        self.bytes = bytes

    def add(self, size: int) -> None:
        self.calls += 1
        self.bytes += size


class Loaded(NamedTuple):
    """A binary on a board: 40 hexadecimal digits, the names of its kernels, and by memory True if banks are
    interleaved.
    """

    identity: str
    kernels: tuple[str, ...]
    interleaving: tuple[bool, ...]


class Mmd(Protocol):
    """The interface of a board to the runtime, in the terms of aocl_mmd.h.

    Board addresses are those of the board's memory map, without a device's number. Host addresses are addresses of this
    process. All sizes are in bytes. Calls return when the bytes have moved. Those that move bytes or program raise
    BoardError if the board fails.
    """

    @property
    def description(self) -> BoardDescription:
        """The description of the board."""

    @property
    def traffic(self) -> dict[str, Traffic]:
        """The calls and bytes so far, by the call's name without aocl_mmd_."""

    @property
    def in_c(self) -> int:
        """The address of the `struct board_memory` with C's counters.

        It is 0 if C must not move bytes itself, because each call has to be seen.
        """

    def open(self) -> None:
        """Opens the board. Raises BoardError if the machine has no room for its memory."""

    def close(self) -> None:
        """Closes the board and frees its memory."""

    @property
    def is_shared(self) -> bool:
        """True if processes use the board in turn: this one closes it when no context of its own uses it any more."""

    def is_available(self) -> bool:
        """True if no other process keeps the board from being opened."""

    def loaded(self) -> Loaded | None:
        """Returns the binary that another process had left on the board when it was opened."""

    def identify(self, loaded: Loaded) -> None:
        """Records the binary that was programmed last. Real boards have it in the ROM of their kernels."""

    def get_offline_info(self, query: OfflineInfo) -> Answer:
        """aocl_mmd_get_offline_info: queries the board's driver."""

    def get_info(self, query: Info) -> Answer:
        """aocl_mmd_get_info: queries the board."""

    def set_interrupt_handler(self, handler: Callable[[], None]) -> None:
        """aocl_mmd_set_interrupt_handler: the handler is called when a kernel has ended."""

    def set_device_interrupt_handler(self, handler: Callable[[int], None]) -> None:
        """aocl_mmd_set_device_interrupt_handler: the handler gets the bit of an exception (ECC)."""

    def set_status_handler(self, handler: StatusHandler) -> None:
        """aocl_mmd_set_status_handler: the handler is called when an asynchronous transfer has ended."""

    def interrupt(self) -> None:
        """Calls the interrupt handler, as a kernel has ended. aocl_mmd.h has no such call: here the engine runs
        kernels.
        """

    def device_interrupt(self, kind: int) -> None:
        """Calls the handler of exceptions. aocl_mmd.h has no such call."""

    def start(self, operation: int, transfer: Callable[[], None], size: int) -> None:
        """Runs `transfer`, which makes the call, asynchronously: aocl_mmd_read, write or copy of `size` bytes with an
        operation's handle. A short one may have ended when this returns.

        The status handler gets the operation's number, and None or the error that the transfer ended with.
        """

    def yield_now(self) -> bool:
        """aocl_mmd_yield: sleeps briefly while the board works. Returns True if a transfer has ended since the last
        call.
        """

    def write(self, host: int, board: int, size: int) -> None:
        """aocl_mmd_write: copies from the host to the board."""

    def read(self, board: int, host: int, size: int) -> None:
        """aocl_mmd_read: copies from the board to the host."""

    def copy(self, source: int, destination: int, size: int) -> None:
        """aocl_mmd_copy: copies within the board."""

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        """aocl_mmd_program: loads a binary. With `preserve` the memory keeps its contents."""

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_host_alloc: allocates host memory that the board may use. Returns 0 if there is none.

        The original call names several boards. Here each board is called, and `given` is the first one's allocation.
        """

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_shared_alloc: allocates memory that moves between host and board. Returns 0 if there is none.

        `given` as for host_alloc(), for memory without an owner.
        """

    def free(self, host: int) -> None:
        """aocl_mmd_free: frees memory of host_alloc or shared_alloc. The board that allocated it is the last to be
        called.
        """

    def renew(self, kept: list[tuple[int, int]]) -> None:
        """Resets counters and memory, as on a new board; `kept`, addresses and sizes, keeps its contents.

        aocl_mmd.h has no such call.
        """

    def in_use(self, board: int, size: int) -> None:
        """Records that a range was allocated. Like unused() it is no call of aocl_mmd.h, and lets the simulation save
        memory.
        """

    def unused(self, board: int, size: int) -> None:
        """Records that a range is uninitialised from now on."""

    def keep_elsewhere(self, elsewhere: Elsewhere) -> None:
        """Sets the copies of its memory that kernels run on. aocl_mmd.h has no such call."""

    def aperture(self, board: int) -> int:
        """Returns the address in this process at which the board's memory at `board` is mapped."""

    def maps(self, address: int) -> bool:
        """True if the board's memory is mapped at an address of this process."""


class Around:
    """The base of an Mmd that wraps another one: the calls that it passes on."""

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
    def in_c(self) -> int:
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
    """An operation of a board has failed; the message says which and why."""


StatusHandler = Callable[[int, Exception | None], None]
"""Gets the number of a transfer's operation, and None or the error that it ended with."""
