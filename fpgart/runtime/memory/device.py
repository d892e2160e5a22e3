# SPDX-License-Identifier: Apache-2.0
"""Devices: a board behind its MMD, its allocated blocks, and the operations that it is busy with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
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
from fpgart.runtime.scheduling.occupancy import Occupancy
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from fpgart.base.personality import Personality
    from fpgart.channels.interface import KernelNetwork
    from fpgart.engine.interface import Engine

OPERATIONS = count(1)
"""Numbers of transfers that go on by themselves."""
OWNERS = count(1)
"""Numbers of what blocks are for: buffers, allocations, programs."""


class DevicePlatform(Protocol):
    """What a device's users ask of its platform."""

    handle: int

    @property
    def devices(self) -> Sequence[Device]: ...

    @property
    def personality(self) -> Personality: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def engine_in_use(self) -> Engine | None: ...

    @property
    def group_limits(self) -> tuple[int, tuple[int, ...]]: ...

    @property
    def engine_local_memory(self) -> int: ...


class DeviceContext(Protocol):
    """What is asked of the contexts that a device knows."""

    @property
    def compiler_mode(self) -> int: ...

    @property
    def reaper(self) -> Reaper: ...


class DeviceProgram(Protocol):
    """A program that a device may be loaded with, beside others."""

    @property
    def identity(self) -> str: ...

    @property
    def context(self) -> DeviceContext: ...

    def was_loaded_as(self, identity: str) -> bool: ...


class Block:
    """A range of a device's memory, held until release().

    `owner` is the number of the buffer or allocation it is for. `users` are the reservations of
    commands that were enqueued and will need it; `running` counts those that run now. The scheduler guards `running`.
    `mapped` counts the host's mappings of it, where the board's memory is the host's own.
    """

    __slots__ = ("device", "mapped", "owner", "pointer", "program", "range", "running", "users")

    def __init__(self, device: Device, range: MemoryRange, owner: int) -> None:
        self.device = device
        self.range = range
        self.pointer = device.mmd.aperture(range.address)
        """Where the board's memory at the block's begin appears in this process."""
        self.owner = owner
        self.program = ""
        """The identity of the program whose code it holds; "" for contents of the host."""
        self.users: dict[int, None] = {}
        self.running = 0
        self.mapped = 0

    @property
    def address(self) -> int:
        """Where it begins in the board's memory map."""
        return self.range.address

    @property
    def memory(self) -> int:
        return self.range.memory

    @property
    def behind_mmd(self) -> bool:
        """Whether hosts reach it through the board's Mmd only."""
        return not self.device.board.unified_memory

    @property
    def device_address(self) -> DeviceAddress:
        return DeviceAddress.of(self.device.id, self.range.address)

    @property
    def banks(self) -> tuple[int, int]:
        """The numbers of the banks, from 1, where it begins and ends; twice the first where they are interleaved."""
        first, last = self.device.memories.banks_of(self.range)
        return first, first if self.device.interleaving[self.memory] else last

    def release(self) -> None:
        self.device.free(self)

    def retire(self) -> None:
        """As release(), of a block that a buffer of the same size may have next."""
        if not self.device.keep(self):
            self.device.free(self)


class Device:
    """An OpenCL device (OpenCL 3.0, 4.2): one board.

    `id` is its number on the platform, and in its device addresses. `occupancy` and `loaded` say what the board is
    busy with; the scheduler guards them.
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
        self._loaded: dict[str, Block | None] = {}
        self.has_svm = bool(int(mmd.get_offline_info(OfflineInfo.MEM_TYPES_SUPPORTED)) & SHARED_VIRTUAL_MEMORY)
        """Whether its kernels reach memory of the host by the host's own addresses."""
        self.programs: Living[DeviceProgram] = Living()
        """Those that it may be loaded with, if it keeps several."""
        self.cores = mmd.description.cores
        """How many tasks can run at once; 0 for no limit."""
        self.contexts: Living[DeviceContext] = Living()
        """Those that have it and live."""
        self.network: KernelNetwork | None = None
        """What the kernels of the binary that is loaded share, where they talk to each other."""
        self.plugs: Plugs = no_plugs
        """Takes the ends of its cables, once kernels could use them."""
        self._simulator = simulator
        self.knows_memories = not simulator
        """False for a simulator until a binary is loaded: nothing can be placed on it before."""
        self.interleaving = self._own_interleaving()
        """By memory, whether its banks are interleaved by the binary that is loaded."""
        self._live: dict[int, Block] = {}
        self._taking = threading.Lock()
        self.pll_settings: tuple[int, ...] = ()
        self._exceptions: tuple[int, Callable[[int], None]] | None = None
        self.before_kernel: Callable[[str], None] | None = None
        """Called with the name of a kernel that is about to run; may raise BoardError."""
        self._opened = False
        self._opening = threading.Lock()
        self._users = 0
        self.found: Loaded | None = None
        """What another process has left on the board, until it is programmed here."""
        self._ended: dict[int, Exception | None] = {}
        """Transfers that went on by themselves and have ended, well (None) or not."""
        self.kernels_run = 0
        self.kernel_ns = 0
        self.epoch_ended: Callable[[], None] = lambda: None
        """Has C find out anew what the commands need that it carries."""
        self.keep: Callable[[Block], bool] = lambda block: False
        """Gives a block up for C, which may give it to a buffer; False if it does not need it."""
        self.free_spares: Callable[[], None] = lambda: None
        """Frees the blocks of those that no buffer has."""
        self.memory_changed: Callable[[], None] = lambda: None
        """Has C know that memory was given back."""
        self.note_ends: Callable[[], object] = lambda: None
        """Has what those hold be let go of that have ended. No lock held."""

    @property
    def loaded(self) -> dict[str, Block | None]:
        """The programs that it is loaded with, by identity, and where they lie; one, on boards that keep none."""
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
        """Whether I/O channels of its kernels may lead to other boards."""
        return self.plugs is not no_plugs

    @property
    def max_mem_alloc_size(self) -> int:
        """Bytes of the largest buffer that fits an empty board."""
        return self.board.largest_allocation

    def holds_buffers(self, memory: int) -> bool:
        """Whether there is a memory of that index, and buffers can be in it."""
        memories = self.board.memories
        return 0 <= memory < len(memories) and memories[memory].is_device_private

    def open(self) -> None:
        """Power up the board; raises DeviceNotAvailable when it cannot be."""
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
        """A context has it from now on, until leave(); raises DeviceNotAvailable."""
        with self._opening:
            self._open()
            self._users += 1

    def leave(self) -> None:
        """A context has it no more. Other processes may have a shared board that no context has."""
        with self._opening:
            self._users -= 1
            if self._users or not self.mmd.is_shared or self.blocks():
                return
            if self.network is not None:
                self.network.stop()
                self.network = None
            self.loaded = {}
            self._opened = False
            self.mmd.close()

    def is_available(self) -> bool:
        """Whether a context could have it now."""
        return self._opened or self.mmd.is_available()

    def contents_moved(self) -> None:
        """A buffer's contents are in this board's memory no more."""
        self.epoch_ended()

    # What the board tells

    def _kernel_ended(self) -> None:
        self.kernels_run += 1

    def _transfer_ended(self, operation: int, error: Exception | None) -> None:
        self._ended[operation] = error

    def start(self, transfer: Callable[[], None]) -> int:
        """Begin a transfer of this board's Mmd that goes on by itself; gives its operation's number."""
        operation = next(OPERATIONS)
        self.mmd.start(operation, transfer)
        return operation

    def has_ended(self, operation: int) -> bool:
        """Whether a transfer that was started has ended, asked until it has; raises what it failed with."""
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
        """What the board can do with a kind of unified shared memory."""
        return Capability(int(self.mmd.get_info(query)))

    @property
    def reaches_system_memory(self) -> bool:
        """Whether its kernels reach all memory of the host: the board says so, and they run in the host's process."""
        if not self.board.system_allocations:
            return False
        engine = self.platform.engine
        return not engine.works_on_own_buffers and engine.memory is None

    def _own_interleaving(self) -> tuple[bool, ...]:
        return tuple(memory.interleaved for memory in self.board.memories)

    def renew(self) -> None:
        """As if another board of the same kind had been plugged in; nothing may run on it.

        Blocks that are live stay where they are, with their contents. A binary that is needed is loaded anew.
        """
        if self.network is not None:
            self.network.stop()
            self.network = None
        self.mmd.renew([block.range.whole() for block in self.blocks()])
        for identity in list(self.loaded):
            self.unload(identity)
        self.knows_memories = not self._simulator
        self.interleaving = self._own_interleaving()
        self.pll_settings = ()
        self._exceptions = None
        self.kernels_run = self.kernel_ns = 0
        self.epoch_ended()

    def when_exception(self, mask: int, callback: Callable[[int], None]) -> None:
        """Call back for exceptions of the board (ECC) whose bit is in `mask`; replaces an earlier callback."""
        self._exceptions = mask, callback

    def exception(self, kind: int) -> None:
        """The board reports an exception, by its bit: tell the host if it listens."""
        if self._exceptions is not None:
            mask, callback = self._exceptions
            if kind & mask:
                callback(kind)

    def blocks(self) -> list[Block]:
        """The blocks that are taken now."""
        with self._taking:
            return list(self._live.values())

    def bytes_in_use(self) -> int:
        """Bytes of the board's memory that blocks have."""
        return sum(block.range.size for block in self.blocks())

    def reap_memory(self) -> None:
        """Free the memory that dead buffers and commands have left; calls nobody back.

        Must be called before an allocation, without a lock. The caller may keep the board busy.
        """
        self.note_ends()
        for context in self.contexts.all():
            context.reaper.free()
        self.free_spares()

    def allocate(self, size: int, memory: int | None, bank: int, owner: int) -> Block | None:
        """A block in a memory (None: the default one for this size); None when nothing is free there."""
        found = self.memories.allocate(size, memory, bank)
        if found is None:
            for listener in NOTICES.block_refused:
                listener(self, size, owner)
            return None
        self.mmd.in_use(found.address, size)
        return self._taken(Block(self, found, owner))

    def allocate_program(self, size: int, identity: str, owner: int) -> Block | None:
        """A block for a program's code, where programs are kept in memory; None when there is no room."""
        found = self.memories.allocate_program(size)
        if found is None:
            return None
        block = Block(self, found, owner)
        block.program = identity
        return self._taken(block)

    def _taken(self, block: Block) -> Block:
        with self._taking:
            self._live[block.address] = block
        for listener in NOTICES.block_reserved:
            listener(block)
        return block

    def interleaves(self, memory: int | None, size: int, interleaving: tuple[bool, ...] | None = None) -> bool:
        """Whether a binary spreads `size` bytes in a memory (None: the default one) over its banks.

        `interleaving` is that of the binary, by memory; None: of the one that is loaded.
        """
        index = self.memories.default_memory(size) if memory is None else memory
        return index is not None and (interleaving or self.interleaving)[index]

    def unload(self, identity: str) -> None:
        """Forget a program; where programs lie in memory, that is free again."""
        programs = self.loaded
        block = programs.pop(identity, None)
        self.loaded = programs
        self.epoch_ended()
        if block is not None:
            block.release()

    def program_died(self, identity: str) -> DeviceProgram | None:
        """One of the programs that it is loaded with has died: unload it, unless another one is the same.

        Returns that other one. Must be called without the scheduler's lock.
        """
        programs: list[DeviceProgram] = []  # whatever dies with the list dies without the lock

        def heir() -> DeviceProgram | None:
            return next((program for program in programs if program.was_loaded_as(identity)), None)

        def decide() -> Block | None:
            programs.extend(self.programs.all())
            return self.loaded.pop(identity, None) if heir() is None else None

        block = self.scheduler.while_none_begins(decide)
        if block is not None:
            block.release()
        return heir()

    def free(self, block: Block) -> None:
        """Give a block back, once: what is there may be somebody else's by the second time."""
        self.give_back(block)
        self.memory_changed()

    def give_back(self, block: Block) -> None:
        """As free(), but C is not told."""
        with self._taking:
            if self._live.get(block.address) is not block:
                raise AssertionError(f"the block at {block.address:#x} of device {self.id} is freed twice")
            del self._live[block.address]
        for listener in NOTICES.block_freed:
            listener(block)
        self.mmd.unused(block.range.address, block.range.size)  # before it can be somebody else's
        self.memories.free(block.range)
