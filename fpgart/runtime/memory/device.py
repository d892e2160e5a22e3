# SPDX-License-Identifier: Apache-2.0
"""Devices: a board's MMD, the blocks that are allocated on it, and the operations that occupy it."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

from fpgart.base.errors import DeviceNotAvailable
from fpgart.base.notices import NOTICES
from fpgart.board.description import BoardDescription
from fpgart.board.device_address import DeviceAddress
from fpgart.board.memory_system import MemoryRange, MemorySystem
from fpgart.board.mmd import SHARED_VIRTUAL_MEMORY, BoardError, Capability, Info, Loaded, Mmd, OfflineInfo
from fpgart.engine.interface import Plugs, no_plugs
from fpgart.runtime.memory.registry import Living
from fpgart.runtime.scheduling.event import ComputeUnit
from fpgart.runtime.scheduling.occupancy import Occupancy
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from fpgart.base.personality import Personality
    from fpgart.channels.interface import KernelNetwork
    from fpgart.engine.interface import Engine

OPERATIONS = count(1)
"""The numbers of asynchronous transfers."""
OWNERS = count(1)
"""The numbers of the owners of blocks: buffers, allocations, programs."""


class DevicePlatform(Protocol):
    """The members of a platform that its devices and their callers use."""

    handle: int

    @property
    def devices(self) -> Sequence[Device]: ...

    personality: Personality

    @property
    def engine(self) -> Engine: ...

    @property
    def engine_in_use(self) -> Engine | None: ...

    @property
    def group_limits(self) -> tuple[int, tuple[int, ...]]: ...

    @property
    def engine_local_memory(self) -> int: ...


class DeviceContext(Protocol):
    """The members of a context that its devices use."""

    compiler_mode: int
    reaper: Reaper


class DeviceProgram(Protocol):
    """A program that a device may hold beside others."""

    @property
    def identity(self) -> str: ...

    @property
    def context(self) -> DeviceContext: ...

    def was_loaded_as(self, identity: str) -> bool: ...


class Block:
    """A range of a device's memory, allocated until release().

    `owner` is the number of its buffer or allocation. `users` are the reservations of enqueued commands that need it.
    `running` counts the commands that use it now; the scheduler guards it. `mapped` counts the host's mappings in it,
    where the board's memory is the host's own. `has_contents` is False if it is reserved for a buffer whose contents
    are elsewhere, or undefined.
    """

    __slots__ = ("device", "has_contents", "mapped", "owner", "pointer", "program", "range", "running", "users")

    def __init__(self, device: Device, range: MemoryRange, owner: int) -> None:
        self.device = device
        self.range = range
        self.pointer = device.mmd.aperture(range.address)
        """The address in this process at which the block's first byte is mapped."""
        self.owner = owner
        self.program = ""
        """The identity of the program whose code it contains; "" for other blocks."""
        self.users: dict[int, None] = {}
        self.running = 0
        self.mapped = 0
        self.has_contents = True

    @property
    def address(self) -> int:
        """The address of the first byte in the board's memory map."""
        return self.range.address

    @property
    def end(self) -> int:
        """The address in this process behind its last byte."""
        return self.pointer + self.range.size

    @property
    def memory(self) -> int:
        return self.range.memory

    @property
    def behind_mmd(self) -> bool:
        """True if hosts reach it only through the board's Mmd."""
        return not self.device.board.unified_memory

    @property
    def device_address(self) -> DeviceAddress:
        return DeviceAddress.of(self.device.id, self.range.address)

    @property
    def banks(self) -> tuple[int, int]:
        """The numbers, from 1, of the banks in which it begins and ends; the first twice if banks are interleaved."""
        first, last = self.device.memories.banks_of(self.range)
        return first, first if self.device.interleaving[self.memory] else last

    def release(self) -> None:
        self.device.free(self)


class Device:
    """An OpenCL device (OpenCL 3.0, 4.2): one board.

    `id` is its number on the platform and in its device addresses. `occupancy` and `loaded` are the commands and the
    programs on the board; the scheduler guards both.
    """

    def __init__(
        self,
        platform: DevicePlatform,
        scheduler: Scheduler,
        id: int,
        mmd: Mmd,
        memories: MemorySystem,
        *,
        simulator: bool,
    ) -> None:
        self.handle = 0
        self.platform = platform
        self.scheduler = scheduler
        self.id = id
        self.mmd = mmd
        self.memories = memories
        self.ready_transfers = scheduler.new_ready_list(ends_by_itself=True)
        self.ready_kernels = scheduler.new_ready_list(ends_by_itself=False)
        self.occupancy = Occupancy(
            full_duplex=mmd.get_info(Info.CONCURRENT_READS_OR_WRITES) == 2, cores=mmd.description.cores
        )
        self.compute_units: defaultdict[str, ComputeUnit] = defaultdict(ComputeUnit)
        """The circuits of kernels that run one launch at a time, by the kernels' names; the scheduler guards them."""
        self._loaded: dict[str, Block | None] = {}
        self.has_svm = bool(int(mmd.get_offline_info(OfflineInfo.MEM_TYPES_SUPPORTED)) & SHARED_VIRTUAL_MEMORY)
        """True if its kernels use the host's addresses for the host's memory."""
        self.programs: Living[DeviceProgram] = Living()
        """The programs that it may be loaded with, if it keeps several."""
        self.cores = mmd.description.cores
        """The number of tasks that run at once; 0 for no limit."""
        self.contexts: Living[DeviceContext] = Living()
        """The contexts that use the device."""
        self.networks: dict[str, KernelNetwork] = {}
        """The channels, pipes and variables of the programs on the board, by identity."""
        self.plugs: Plugs = no_plugs
        """Takes the device's ends of cables, once kernels may use them."""
        self._simulator = simulator
        self.knows_memories = not simulator
        """False for a simulator until a binary is loaded: no buffer can be placed on it before."""
        self.interleaving = self._own_interleaving()
        """True, by memory, if the binary that is loaded interleaves the memory's banks."""
        self._live: dict[int, Block] = {}
        self._taking = threading.Lock()
        self._exceptions: tuple[int, Callable[[int], None]] | None = None
        self.before_kernel: Callable[[str], None] | None = None
        """Called with the name of each kernel before it runs; may raise BoardError."""
        self._opened = False
        self._opening = threading.Lock()
        self._users = 0
        self.found: Loaded | None = None
        """The binary that another process has left on the board; None once this process has programmed it."""
        self._ended: dict[int, Exception | None] = {}
        """The asynchronous transfers that have ended, with their error or None."""
        self._capabilities: dict[Info, Capability] = {}
        self.kernels_run = 0
        self.kernel_ns = 0
        self.epoch_ended: Callable[[], None] = lambda: None
        """Tells C that what it knows about buffers and kernels on this board may be out of date."""
        self.view_buffers: Callable[[], None] = lambda: None
        """Makes views of the buffers that C has made, with their blocks."""
        self.note_ends: Callable[[], object] = lambda: None
        """Releases what carried commands hold that have ended. No lock is held."""

    @property
    def loaded(self) -> dict[str, Block | None]:
        """The programs on the board, by identity, with the blocks of their code. Boards that keep none have one at
        most.
        """
        carried = self.occupancy.carried
        identity = carried.loaded() if carried is not None else ""
        if identity and identity not in self._loaded:  # a carried launch has programmed it
            self._loaded = {identity: None}
        return self._loaded

    @loaded.setter
    def loaded(self, programs: dict[str, Block | None]) -> None:
        self._loaded = programs
        if self.occupancy.carried is not None:
            self.occupancy.carried.has_loaded(next(iter(programs), ""))

    @property
    def board(self) -> BoardDescription:
        return self.mmd.description

    @property
    def has_cables(self) -> bool:
        """True if I/O channels of its kernels may lead to other boards."""
        return self.plugs is not no_plugs

    @cached_property
    def max_mem_alloc_size(self) -> int:
        """The size in bytes of the largest buffer that fits on an empty board."""
        return self.board.largest_allocation

    def holds_buffers(self, memory: int) -> bool:
        """True if the board has a memory of that index, and buffers can be in it."""
        memories = self.board.memories
        return 0 <= memory < len(memories) and memories[memory].is_device_private

    def open(self) -> None:
        """Opens the board. Raises DeviceNotAvailable if that fails."""
        if not self._opened:
            with self._opening:
                self._open()

    def _open(self) -> None:
        if self._opened:
            return
        try:
            self.mmd.open()
        except BoardError as error:
            raise DeviceNotAvailable(str(error)) from None
        self.mmd.set_status_handler(self._transfer_ended)
        self.mmd.set_interrupt_handler(self._kernel_ended)
        self.mmd.set_device_interrupt_handler(self.exception)
        self.found = self.mmd.loaded()
        self._opened = True

    def enter(self) -> None:
        """Opens the board for one more context, until leave(). Raises DeviceNotAvailable."""
        with self._opening:
            self._open()
            self._users += 1

    def leave(self) -> None:
        """Ends enter() of a context. A shared board that no context uses is closed, so that other processes may open
        it.
        """
        with self._opening:
            self._users -= 1
            if self._users or not self.mmd.is_shared or self.blocks():
                return
            self.stop_networks()
            self.loaded = {}
            self._opened = False
            self.mmd.close()

    def is_available(self) -> bool:
        """True if a context could be created for the device now."""
        return self._opened or self.mmd.is_available()

    # Called by the board

    def _kernel_ended(self) -> None:
        self.kernels_run += 1

    def _transfer_ended(self, operation: int, error: Exception | None) -> None:
        self._ended[operation] = error

    def start(self, transfer: Callable[[int, int, int], None], source: int, destination: int, size: int) -> int:
        """Starts an asynchronous call of this board's Mmd, read or write, and returns its operation's number."""
        operation = next(OPERATIONS)
        self.mmd.start(operation, partial(transfer, source, destination, size), size)
        return operation

    def has_ended(self, operation: int) -> bool:
        """True if a transfer that start() began has ended. Raises the error that it failed with.

        The answer is True once only.
        """
        if operation not in self._ended:
            return False
        error = self._ended.pop(operation)
        if error is not None:
            try:
                raise error
            finally:
                del error  # or it and this frame would hold each other
        return True

    def capabilities(self, query: Info) -> Capability:
        """Returns the board's capabilities for one kind of unified shared memory."""
        found = self._capabilities.get(query)
        if found is None:
            found = self._capabilities[query] = Capability(int(self.mmd.get_info(query)))
        return found

    @property
    def reaches_system_memory(self) -> bool:
        """True if its kernels use all memory of the host.

        The board's description must say so, and the kernels must run in the host's process.
        """
        if not self.board.system_allocations:
            return False
        engine = self.platform.engine
        return not engine.works_on_own_buffers and engine.memory is None

    def _own_interleaving(self) -> tuple[bool, ...]:
        return tuple(memory.interleaved for memory in self.board.memories)

    def renew(self) -> None:
        """Resets the board, as if another one of the same kind had been plugged in. Nothing may run on it.

        Allocated blocks keep their places and contents. A binary is loaded again when it is needed.
        """
        self.stop_networks()
        self.mmd.renew([block.range.whole() for block in self.blocks()])
        for identity in list(self.loaded):
            self.unload(identity)
        self.knows_memories = not self._simulator
        self.interleaving = self._own_interleaving()
        self._exceptions = None
        self.kernels_run = self.kernel_ns = 0
        self.epoch_ended()

    def when_exception(self, mask: int, callback: Callable[[int], None]) -> None:
        """Sets the callback for the board's exceptions (ECC) whose bits are in `mask`; it replaces an earlier one."""
        self._exceptions = mask, callback

    def exception(self, kind: int) -> None:
        """Reports an exception of the board to the host's callback. `kind` has one bit set."""
        if self._exceptions is not None:
            mask, callback = self._exceptions
            if kind & mask:
                callback(kind)

    def blocks(self) -> list[Block]:
        """Returns the blocks that are allocated now."""
        self.view_buffers()
        with self._taking:
            return list(self._live.values())

    def bytes_in_use(self) -> int:
        """Returns the number of bytes in allocated blocks."""
        return sum(block.range.size for block in self.blocks())

    def reap_memory(self) -> None:
        """Frees the memory that destroyed buffers and commands have left. It makes no callbacks.

        It is called before each allocation. The calling thread holds no lock, but may have claimed the board.
        """
        self.note_ends()
        for context in self.contexts.all():
            context.reaper.free()

    def allocate(self, size: int, memory: int | None, bank: int, owner: int) -> Block | None:
        """Allocates a block in a memory (None: the default one for this size). Returns None if there is no room."""
        found = self.memories.allocate(size, memory, bank)
        if found is None:
            for listener in NOTICES.block_refused:
                listener(self, size, owner)
            return None
        self.mmd.in_use(found.address, size)
        return self._taken(Block(self, found, owner))

    def allocate_program(self, size: int, identity: str, owner: int) -> Block | None:
        """Allocates a block for a program's code, on boards that keep programs. Returns None if there is no room."""
        found = self.memories.allocate_program(size)
        if found is None:
            return None
        block = Block(self, found, owner)
        block.program = identity
        return self._taken(block)

    def adopt(self, block: Block) -> Block:
        """Adds a block whose range is allocated, by C for example, to those of the device."""
        with self._taking:
            self._live[block.address] = block
        return block

    def _taken(self, block: Block) -> Block:
        self.adopt(block)
        for listener in NOTICES.block_reserved:
            listener(block)
        return block

    def interleaves(self, memory: int | None, size: int, interleaving: tuple[bool, ...] | None) -> bool:
        """True if a binary distributes `size` bytes in a memory (None: the default one) over the banks.

        `interleaving`: by memory, as the binary has it; None means the one that is loaded.
        """
        index = self.memories.default_memory(size) if memory is None else memory
        return index is not None and (interleaving or self.interleaving)[index]

    def stop_networks(self) -> None:
        """Ends the kernels that run by themselves, and the channels and variables of all programs."""
        for identity in list(self.networks):
            self.stop_network(identity)

    def stop_network(self, identity: str) -> None:
        """Does the same for one program."""
        network = self.networks.pop(identity, None)
        if network is not None:
            network.stop()

    def unload(self, identity: str) -> None:
        """Removes a program from those that are loaded, and frees the block of its code."""
        self.stop_network(identity)
        programs = self.loaded
        block = programs.pop(identity, None)
        self.loaded = programs
        self.epoch_ended()
        if block is not None:
            block.release()

    def program_died(self, identity: str) -> DeviceProgram | None:
        """Unloads a program whose object was destroyed, unless another object has the same identity.

        Returns that other one. The scheduler's lock is not held.
        """
        programs: list[DeviceProgram] = []  # programs that are destroyed with the list are destroyed without the lock

        def heir() -> DeviceProgram | None:
            return next((program for program in programs if program.was_loaded_as(identity)), None)

        def decide() -> Block | None:
            programs.extend(self.programs.all())
            return self.loaded.pop(identity, None) if heir() is None else None

        block = self.scheduler.while_none_begins(decide)
        if block is not None:
            self.stop_network(identity)
            block.release()
        return heir()

    def free(self, block: Block) -> None:
        """Frees a block. A block must not be freed twice: its range may be another's by then."""
        with self._taking:
            if self._live.get(block.address) is not block:
                raise AssertionError(f"the block at {block.address:#x} of device {self.id} is freed twice")
            del self._live[block.address]
        for listener in NOTICES.block_freed:
            listener(block)
        self.mmd.unused(block.range.address, block.range.size)  # before it can be allocated again
        self.memories.free(block.range)
