# SPDX-License-Identifier: Apache-2.0
"""The kernel interface of a board: registers that start kernels. Their offsets are in board/csr.py."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from struct import Struct

from fpgart.aocx.system import DescribedKernel
from fpgart.base import log
from fpgart.board import csr
from fpgart.board.invocation import FIXED
from fpgart.mmd.errors import MmdError
from fpgart.mmd.under_way import UnderWay

WORD = Struct("<I")
OUT_OF_RESET = 1
ONE_ITEM = (1, 1, *(1,) * 9, *(0,) * 3)
"""The fixed part of an invocation image after programming; hosts write the words that differ."""


class KernelRegisters:
    """The registers of one kernel, which runs its launches one after another on a thread of its own.

    One thread at a time reads and writes. `interrupt` is called at each end, without a lock.
    """

    def __init__(
        self,
        kernel: DescribedKernel,
        run: Callable[[DescribedKernel, bytes], None],
        interrupt: Callable[[], None],
        under_way: UnderWay,
    ) -> None:
        self.kernel = kernel
        self._run = run
        self._interrupt = interrupt
        self._under_way = under_way
        self._lock = threading.Lock()
        self._bytes = bytearray(kernel.csr_bytes)
        self._waiting: deque[bytes] = deque()
        self._launches = 0
        self._finished = 0
        FIXED.pack_into(self._bytes, csr.IMAGE, *ONE_ITEM)

    def read(self, at: int, size: int) -> bytes:
        if at < csr.PROFILE_END and at + size > csr.PROFILE_DATA:
            raise MmdError(f"kernel '{self.kernel.name}' has no performance counters (its register {at:#x})")
        with self._lock:
            status = csr.KERNEL_VERSION << csr.VERSION_SHIFT
            status |= (csr.DONE if self._finished else 0) | (csr.RUNNING if self._launches else 0)
            WORD.pack_into(self._bytes, csr.STATUS, status)
            WORD.pack_into(self._bytes, csr.FINISH_COUNTER, self._finished)
            found = bytes(self._bytes[at : at + size])
            if at <= csr.FINISH_COUNTER < at + size:
                self._finished = 0
            return found

    def write(self, at: int, data: bytes) -> None:
        with self._lock:
            self._bytes[at : at + len(data)] = data
            if at <= csr.START < at + len(data) and self._bytes[csr.START] & 1:
                self._start()

    def _start(self) -> None:
        """Adds a launch of the image as it is now."""
        name, most = self.kernel.name, self.kernel.fast_launch_depth + 1
        if self._launches == most:
            raise MmdError(f"kernel '{name}' takes {most} launches at a time, and is started once more")
        if not self._launches:
            try:
                threading.Thread(target=self._work, name=f"fpgart {name}", daemon=True).start()
            except RuntimeError:
                raise MmdError(f"kernel '{name}' does not start: the system cannot create a thread for it") from None
        self._waiting.append(bytes(self._bytes[csr.IMAGE :]))
        self._launches += 1
        self._under_way.begin()

    def _work(self) -> None:
        """Runs the launches, one after another; the thread ends with the last one."""
        left = 1
        while left:
            with self._lock:  # _start() has it until it has added the first launch
                image = self._waiting.popleft()
            self._launch(image)
            with self._lock:
                self._finished += 1
                self._launches -= 1
                left = self._launches
            self._under_way.end()  # first: the host's handler may close the board
            self._interrupt()

    def _launch(self, image: bytes) -> None:
        """Runs the kernel. Errors are logged: to the host, kernels of a board never fail."""
        try:
            self._run(self.kernel, image)
        except MmdError as error:
            log.warning(f"kernel '{self.kernel.name}' did not run: {error}")
        except BaseException:
            log.bug(f"kernel '{self.kernel.name}'")


class KernelInterface:
    """The registers of the kernel interface. Any thread may call the methods.

    `rom`: the autodiscovery of the board; `settings`: registers that the host may write and that have no effect here
    (interleaving of a memory's banks).
    """

    def __init__(self, rom: str, settings: Sequence[int], interrupt: Callable[[], None], under_way: UnderWay) -> None:
        if len(rom) >= csr.ROM_BYTES:
            raise MmdError(f"the description of the board needs {len(rom)} bytes, its ROM has {csr.ROM_BYTES}")
        self._rom = rom.encode().ljust(csr.ROM_BYTES, b"\0")
        self._settings = dict.fromkeys(settings, 0)
        self._interrupt = interrupt
        self._under_way = under_way
        self._lock = threading.Lock()
        self._segment = 0
        self._kernels: list[KernelRegisters] = []

    def load(self, kernels: Sequence[DescribedKernel], run: Callable[[DescribedKernel, bytes], None]) -> None:
        """Replaces the registers by those of a new program's kernels."""
        with self._lock:
            self._kernels = [KernelRegisters(kernel, run, self._interrupt, self._under_way) for kernel in kernels]

    def read(self, offset: int, size: int) -> bytes:
        """Returns `size` bytes of registers. Raises MmdError if there are none."""
        with self._lock:
            if _within(offset, size, csr.WINDOW, csr.WINDOW_BYTES):
                kernel, at = self._kernel(offset, size)
                return kernel.read(at, size)
            if _within(offset, size, csr.ROM, csr.ROM_BYTES):
                return self._rom[offset - csr.ROM : offset - csr.ROM + size]
            own = {csr.VERSION: csr.VERSION_ID, csr.SEGMENT: self._segment, csr.RESET: OUT_OF_RESET}
            known = self._settings | own
            if offset not in known or size not in (4, 8):
                raise MmdError(f"the kernel interface has no {size} bytes at {offset:#x} to read")
            return WORD.pack(known[offset]).ljust(size, b"\0")

    def write(self, offset: int, data: bytes) -> None:
        """Writes registers. Raises MmdError if there are none."""
        with self._lock:
            if _within(offset, len(data), csr.WINDOW, csr.WINDOW_BYTES):
                kernel, at = self._kernel(offset, len(data))
                kernel.write(at, data)
                return
            writable = {csr.SEGMENT, csr.RESET, *self._settings}
            if offset not in writable or len(data) not in (4, 8):
                raise MmdError(f"the kernel interface has no {len(data)} bytes at {offset:#x} to write")
            (value,) = WORD.unpack_from(data)
            if offset == csr.SEGMENT:
                self._segment = value
            elif offset in self._settings:
                self._settings[offset] = value
            # A reset does nothing: a board that has just been programmed is as it is after one.

    def _kernel(self, offset: int, size: int) -> tuple[KernelRegisters, int]:
        """Returns the kernel whose registers are at `offset` of the window, and the offset in them."""
        address = self._segment + offset - csr.WINDOW
        for registers in self._kernels:
            begin, room = registers.kernel.csr_address, registers.kernel.csr_bytes
            if _within(address, size, begin, room):
                return registers, address - begin
        raise MmdError(
            f"no kernel has {size} bytes of registers at {address:#x} (segment {self._segment:#x}, offset {offset:#x}) "
            f"among the {len(self._kernels)} that the board is programmed with"
        )


def _within(offset: int, size: int, begin: int, room: int) -> bool:
    return begin <= offset and offset + size <= begin + room
