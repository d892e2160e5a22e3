# SPDX-License-Identifier: Apache-2.0
"""A board that is open: its two interfaces (memory, kernels), its program, its notifications."""

from __future__ import annotations

from collections.abc import Callable

from fpgart._native import ffi
from fpgart.aocx.autodiscovery import format as format_autodiscovery
from fpgart.aocx.compiler import NO_IDENTITY, memories_of
from fpgart.aocx.system import Autodiscovery
from fpgart.base import config, log
from fpgart.board.description import BoardDescription
from fpgart.board.device_address import DeviceAddress
from fpgart.board.global_memory import GlobalMemory
from fpgart.board.mmd import BoardError, Info, Mmd
from fpgart.engine.interface import Engine
from fpgart.mmd.errors import MmdError
from fpgart.mmd.host_memory import HostMemory
from fpgart.mmd.kernel_interface import KernelInterface
from fpgart.mmd.loaded_program import LoadedProgram
from fpgart.mmd.notices import Notices
from fpgart.mmd.under_way import UnderWay


class OpenBoard:
    """One board from aocl_mmd_open to aocl_mmd_close. Its methods raise MmdError or BoardError."""

    def __init__(self, mmd: Mmd, host_memory: HostMemory, engine: Callable[[], Engine]) -> None:
        self.mmd = mmd
        self.notices = Notices()
        self._host_memory = host_memory
        self._engine = engine
        self._under_way = UnderWay()
        self._program: LoadedProgram | None = None
        self._registers = KernelInterface(
            description_in_rom(mmd.description),
            [memory.config_addr for memory in mmd.description.memories if memory.config_addr],
            mmd.interrupt,
            self._under_way,
        )
        self._memory_interface = mmd.get_info(Info.MEMORY_INTERFACE)
        self._kernel_interface = mmd.get_info(Info.KERNEL_INTERFACES)
        mmd.set_interrupt_handler(self.notices.interrupt)
        mmd.set_status_handler(self._transfer_ended)
        mmd.open()

    # Transfers

    def read(self, operation: int, size: int, host: int, interface: int, offset: int) -> None:
        """Copies from the board to the host, asynchronously if there is an operation's handle."""
        if interface == self._kernel_interface:
            self._transfer(operation, lambda: self._read_registers(host, offset, size), size)
        else:
            self._check(interface, offset, size)
            self._transfer(operation, lambda: self.mmd.read(offset, host, size), size)

    def write(self, operation: int, size: int, host: int, interface: int, offset: int) -> None:
        if interface == self._kernel_interface:
            self._transfer(operation, lambda: self._registers.write(offset, bytes(_memory(host, size))), size)
        else:
            self._check(interface, offset, size)
            self._transfer(operation, lambda: self.mmd.write(host, offset, size), size)

    def copy(self, operation: int, size: int, interface: int, source: int, destination: int) -> None:
        """Copies within the board's memory."""
        self._check(interface, source, size)
        self._check(interface, destination, size)
        self._transfer(operation, lambda: self.mmd.copy(source, destination, size), size)

    def _read_registers(self, host: int, offset: int, size: int) -> None:
        ffi.memmove(ffi.cast("char *", host), self._registers.read(offset, size), size)

    def _check(self, interface: int, offset: int, size: int) -> None:
        name = self.mmd.description.name
        if interface != self._memory_interface:
            raise MmdError(f"board '{name}' has no interface {interface} for transfers")
        if self._memory_of(offset, size) is None:
            known = ", ".join(f"{m.name} {m.begin:#x}..{m.begin + m.room:#x}" for m in self._memories)
            raise MmdError(f"{size} bytes at {offset:#x} are not in a memory of board '{name}', which has {known}")

    @property
    def _memories(self) -> tuple[GlobalMemory, ...]:
        return self.mmd.description.memories

    def _memory_of(self, offset: int, size: int) -> GlobalMemory | None:
        return next((m for m in self._memories if m.begin <= offset and offset + size <= m.begin + m.room), None)

    def _transfer(self, operation: int, transfer: Callable[[], None], size: int) -> None:
        if not operation:
            transfer()
            return
        self._under_way.begin()
        self.notices.begin(operation)
        self.mmd.start(operation, lambda: _told(transfer), size)

    def _transfer_ended(self, operation: int, error: Exception | None) -> None:
        if error is not None:
            log.warning(f"the transfer of operation {operation:#x} failed: {error}")
        self._under_way.end()  # first: the host's handler may close the board
        self.notices.end(operation, failed=error is not None)

    # Kernels

    def program(self, image: bytes, *, preserve: bool) -> None:
        """Loads the image of an .aocx. The memory keeps its contents in any case."""
        self._refuse_while_busy("programmed")
        loaded = LoadedProgram.load(image, self.mmd.description, self._engine(), self._place)
        self.mmd.program(image, preserve=preserve)
        self._stop_program()
        self._program = loaded
        self._registers.load(loaded.kernels, loaded.run)

    def _place(self, pointer: int) -> int:
        """Returns the address in this process for a pointer argument of a kernel."""
        if self._host_memory.holds(pointer):
            return pointer
        address = DeviceAddress(pointer).board_address
        if self._memory_of(address, 1) is None:
            raise MmdError(f"pointer {pointer:#x} leads neither to the board's memory nor to host memory for boards")
        return self.mmd.aperture(address)

    def _stop_program(self) -> None:
        if self._program is not None:
            self._program.stop()

    def _refuse_while_busy(self, what: str) -> None:
        if self._under_way.count:
            raise MmdError(
                f"board '{self.mmd.description.name}' is {what} while {self._under_way.count} transfers or kernels "
                "are under way"
            )

    # The end

    @property
    def busy(self) -> bool:
        return bool(self._under_way.count)

    def close(self) -> None:
        """aocl_mmd_close: frees the board's memory and forgets its program."""
        self._refuse_while_busy("closed")
        self._stop_program()
        self.mmd.close()

    def shut_down(self) -> bool:
        """Stops the program, as the process exits. Returns True if all work has ended."""
        self._stop_program()
        return self._under_way.wait(config.EXIT_TIMEOUT.value)


def description_in_rom(board: BoardDescription) -> str:
    """Returns the text in a board's ROM: its memories. It names no kernels, so that hosts program the board first."""
    return format_autodiscovery(Autodiscovery(NO_IDENTITY, board.name, memories_of(board)))


def _memory(address: int, size: int) -> memoryview:
    return memoryview(ffi.buffer(ffi.cast("char *", address), size))


def _told(transfer: Callable[[], None]) -> None:
    """Runs a transfer; raises its MmdError as a BoardError, the only error of asynchronous transfers."""
    try:
        transfer()
    except MmdError as error:
        raise BoardError(str(error)) from None
