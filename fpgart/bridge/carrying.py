# SPDX-License-Identifier: Apache-2.0
"""The facts about boards, queues, kernels and buffers with which C submits commands (icd/entry/commands.c).

They hold in one epoch of the board. Moving a buffer's contents, or programming the board otherwise, ends the epoch and
waits for running commands. A call for which C lacks facts goes to Python, which finds them and lets C try again. If C
cannot carry it then, the scheduler runs the command.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from _fpgart_icd import ffi, lib

from fpgart.base import config
from fpgart.base.errors import MemObjectAllocationFailure
from fpgart.base.notices import NOTICES
from fpgart.board.in_flight import SHORT
from fpgart.bridge.arguments import is_kept
from fpgart.bridge.handles import PUBLISHED, reap_soon, release_put_off, view_all
from fpgart.bridge.watched import NOTES, may_show, tell_carried
from fpgart.engine.interface import LOCAL, POINTER, pack_arguments
from fpgart.runtime.commands.launch import SPLIT_KERNELS
from fpgart.runtime.commands.migration import MoveFromHost
from fpgart.runtime.memory.reservation import Reservation
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.local_memory import check_local_memory, local_memory, own_local_memory
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.work_groups import compiled_limits
from fpgart.runtime.scheduling.core import Command

if TYPE_CHECKING:
    from fpgart.runtime.memory.buffer import Buffer
    from fpgart.runtime.memory.device import Device
    from fpgart.runtime.objects.context import Context
    from fpgart.runtime.objects.queue import CommandQueue
    from fpgart.runtime.programs.program import Program
    from fpgart.runtime.scheduling.scheduler import Scheduler

LOCATIONS: defaultdict[str, int] = defaultdict(count().__next__)
"""The numbers by which C knows the memories of arguments; 0 for an argument without a buffer_location."""
LOCATIONS[""]
MOST_LOCATIONS = 64
PROGRAMS: defaultdict[str, int] = defaultdict(count().__next__)
"""The numbers by which C knows programs, by their identities; 0 for none."""
PROGRAMS[""]
IDENTITIES = {0: ""}
"""The programs of numbers that C may have: each decided launch asks which one is loaded."""


class CarriedBoard:
    """The commands of one board that C carries."""

    __slots__ = ("_is_stopped", "_locations", "address", "core", "device", "is_awaited")

    def __init__(self, device: Device, address: int) -> None:
        self.device = device
        self.address = address
        self.core = lib.fpgart_core_board(address)
        self.is_awaited = False
        self._locations = 0
        self._is_stopped = False

    def hold(self) -> None:
        if lib.core_board_hold(self.core):
            self.is_awaited = True

    def resume(self) -> None:
        lib.core_board_resume(self.core)

    def idle(self) -> None:
        self.is_awaited = False

    def stop(self) -> bool:
        """Lets none begin until go_on(). True if none is running. The scheduler's lock is held, as for go_on()."""
        if not self._is_stopped:
            self._is_stopped = True
            self.hold()
        return not self.is_awaited

    def go_on(self) -> None:
        if self._is_stopped:
            self._is_stopped = False
            self.resume()

    def uses(self, handles: Iterable[int]) -> bool:
        buffers = list(handles)
        return bool(lib.fpgart_board_uses(self.address, len(buffers), buffers))

    def is_open(self) -> bool:
        lib.core_board_note(self.core, False)
        return bool(lib.core_board_is_open(self.core))

    def note_ends(self) -> None:
        """Releases what commands held that have ended. It makes no callbacks."""
        lib.core_board_note(self.core, False)
        lib.core_settle()
        NOTES.read()
        reap_soon(*release_put_off())

    def loaded(self) -> str:
        return IDENTITIES[int(lib.fpgart_board_program(self.address))]

    def has_loaded(self, identity: str) -> None:
        lib.fpgart_board_loaded(self.address, _number_of(identity, self.device))

    def end_epoch(self) -> None:
        lib.core_board_end_epoch(self.core)

    def may_allocate(self) -> None:
        """Gives C the heap for buffers in the default memory, if there is one and nobody has to see each allocation."""
        device, mmd = self.device, self.device.mmd
        self._locations = len(LOCATIONS)
        found = device.memories.default_heap()
        is_seen = bool(NOTICES.block_reserved or NOTICES.block_freed)
        if found is None or not found.heap.begin or not mmd.in_c or is_seen:  # to C, address 0 is no block
            lib.fpgart_board_allocates(self.address, 0, 0, [0, 0, 0], 0)
            return
        heap = found.heap
        limits = [min(found.most, device.max_mem_alloc_size), found.small, found.spare]
        shift = mmd.aperture(heap.begin) - heap.begin
        lib.fpgart_board_allocates(self.address, heap.address, shift, limits, locations_of(device, 0))

    def note_locations(self) -> None:
        """Tells C if the default memory counts for further buffer_locations."""
        if self._locations != len(LOCATIONS):
            self.may_allocate()


class CarriedQueue:
    """The commands of one queue that C carries."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def users(self, begin: int, end: int, kind: int) -> Iterator[Command]:
        behind = ffi.NULL
        while pointer := lib.fpgart_next_user(self._handle, behind, begin, end, kind):
            command = Command(lib, pointer)
            yield command
            behind = command.pointer

    def flush(self) -> None:
        lib.fpgart_queue_flush(self._handle)


BOARDS: dict[Device, CarriedBoard] = {}
_making = threading.Lock()
"""Held while a board is made."""
_decided_transfers = count(1)
MANY_TRANSFERS = 1000
"""After so many decided transfers the engine is loaded. A host with more of them saves more time than that takes."""


def count_launches() -> None:
    """Adds the launches that C has run since the last call to the counts of their devices."""
    for device, board in list(BOARDS.items()):
        device.kernels_run += int(lib.fpgart_board_take_launches(board.address))


def kernel_time(device: Device, now_ns: int) -> int:
    """Returns the nanoseconds until `now_ns`, of the monotonic clock, in which the device had kernels to run."""
    board = BOARDS.get(device)
    carried = int(lib.core_board_kernel_time(board.core, now_ns)) if board is not None else 0
    return device.kernel_ns + carried


def end_epochs(scheduler: Scheduler) -> None:
    """Makes all facts void, because watchers or faults were added or removed."""
    may = scheduler.carries and not NOTICES.watches_commands
    lib.fpgart_carry(may)
    for board in BOARDS.values():
        board.end_epoch()
        board.may_allocate()
    count_launches()


def board_of(queue: CommandQueue) -> CarriedBoard | None:
    """Returns the board of a queue if C may carry its commands, or None. The first call makes it."""
    device = queue.device
    board = BOARDS.get(device)
    if (
        not queue.context.scheduler.carries
        or NOTICES.watches_commands
        or not device.mmd.in_c
        or device.before_kernel is not None
        or device.networks
        or not device.knows_memories
    ):
        return None
    if board is None:
        with _making:
            board = BOARDS.get(device) or _new_board(device)
    if board is not None and queue.carried is None:
        context = queue.context
        _show_board(context, context.handle, device, board)
        of_queue = queue.core.pointer, board.address, context.handle, queue.number, queue.properties
        if not lib.fpgart_queue_carries(queue.handle, *of_queue):
            return None
        queue.carried = CarriedQueue(queue.handle)
    return board


def _show_board(context: Context, handle: int, device: Device, board: CarriedBoard) -> None:
    """Tells C the board of a context's device: C may then make queues on it, and buffers if the device is the first."""
    is_over_host = len(context.devices) == 1 and device.board.is_fpga and not context.unified_memory
    lib.fpgart_context_has(handle, board.address, device is context.devices[0], is_over_host)


def _show_boards(context: Context, handle: int) -> None:
    """Does so for a new context, with the boards of earlier ones."""
    for device in context.devices:
        if (board := BOARDS.get(device)) is not None:
            _show_board(context, handle, device, board)


PUBLISHED["Context"] = _show_boards


def _new_board(device: Device) -> CarriedBoard | None:
    engine = device.platform.engine_in_use
    carrier = engine.carrier() if engine is not None and not device.mmd.is_shared else None
    if carrier is None:
        return None
    of_engine = carrier.functions, carrier.context, carrier.device
    address = lib.fpgart_board_new(device.handle, *of_engine, device.mmd.in_c, device.has_svm, device.cores)
    if not address:
        return None
    board = CarriedBoard(device, address)
    carrier.lost.append(board.end_epoch)
    BOARDS[device] = board
    device.scheduler.while_none_begins(lambda: _begin_to_carry(device, board))
    device.epoch_ended = board.end_epoch
    device.note_ends = board.note_ends
    device.view_buffers = partial(view_all, "Buffer")
    device.scheduler.boards.append(board)
    board.may_allocate()
    lib.fpgart_carry(True)
    return board


def _begin_to_carry(device: Device, board: CarriedBoard) -> None:
    board.has_loaded(next(iter(device.loaded), ""))
    device.occupancy.carried = board


def carries_launch(queue: CommandQueue, kernel: Kernel) -> bool:
    """True if C carries the launch of the host's call, now that it has all facts."""
    watched = bool(lib.fpgart_watched())
    if watched and not (lib.fpgart_watches_launches() and may_show(queue.device, kernel)):
        return False
    board = board_of(queue)
    if board is None or not _learn_kernel(queue, kernel, board) or not lib.fpgart_carry_again():
        return False
    if watched:
        tell_carried()
    return True


def _learn_kernel(queue: CommandQueue, kernel: Kernel, board: CarriedBoard) -> bool:
    device, context = queue.device, queue.context
    program = kernel.program.on(device)
    if (
        not _may_be_loaded(program, device)
        or context.compiler_mode == SPLIT_KERNELS
        or (kernel.indirect and not _may_reach())
        or kernel.usm_pointers
        or not is_kept(kernel)
    ):
        return False
    engine_kernel = kernel.engine_kernel_on(program)
    if lib.fpgart_watched() and not engine_kernel.launched:  # a trace has the time that the engine compiled
        return False
    kernel.update_arguments()
    epoch = int(lib.core_board_epoch(board.core))
    number = engine_kernel.carried
    if not number or not _may_be_loaded(program, device):
        return False
    image = _image_of(kernel, device, board, epoch)
    if image is None:
        return False
    locations = [LOCATIONS[each.buffer_location] for each in kernel.interface.arguments]
    if locations and max(locations) >= MOST_LOCATIONS:
        return False
    board.note_locations()
    (most, sizes), (most_compiled, sizes_compiled) = device.platform.group_limits, compiled_limits(kernel)
    groups = [min(most, most_compiled), *map(min, sizes, sizes_compiled)]
    loads = [_number_of(program.identity, device), len(program.image()), int(program.may_poll(kernel.name))]
    local_room = max(0, local_memory(device) - own_local_memory(kernel))
    limits = [*kernel.interface.required_work_group_size, *groups, local_room, *loads]
    lib.fpgart_kernel_is(kernel.handle, board.address, epoch, number, image, len(image), locations, limits)
    engine_kernel.launched = True  # by C, from now on
    return True


def _may_reach() -> bool:
    """True if nothing has to be done for allocations that kernels may reach besides their arguments."""
    return not (lib.fpgart_watched() or config.touches_are_watched() or config.USM_POINTERS.value == "encoded")


def renew(queue: CommandQueue, kernel: Kernel | None, buffers: Iterable[tuple[Buffer, int]]) -> bool:
    """Gives C the facts of the present epoch for a command that was enqueued in an earlier one.

    `buffers`: each with the index of the argument that it is, if the command is a launch. Returns False if the command
    needs something else now.
    """
    device, board = queue.device, board_of(queue)
    if board is None or (lib.fpgart_watched() and (kernel is None or not may_show(device, kernel))):
        return False
    epoch = int(lib.core_board_epoch(board.core))
    if kernel is None:
        return all(_learn_buffer(buffer, device, board, epoch) for buffer, _ in buffers)
    program = kernel.program.on(device)
    if not _may_be_loaded(program, device):
        return False
    for buffer, index in buffers:
        location = kernel.interface.arguments[index].buffer_location
        if not _learn_buffer(buffer, device, board, epoch, location, program):
            return False
    lib.fpgart_kernel_holds(kernel.handle, board.address, epoch)
    return True


def _number_of(identity: str, device: Device) -> int:
    """Returns the number of a program that is loaded; 0 on a board that keeps several: C programs it with none."""
    if device.memories.keeps_programs:
        return 0
    number = PROGRAMS[identity]
    IDENTITIES[number] = identity
    return number


def _may_be_loaded(program: Program, device: Device) -> bool:
    """True if the board has the program, or can be programmed for a launch without further changes."""
    return program.identity in device.loaded or (
        program.interleaving in (None, device.interleaving)
        and not device.memories.keeps_programs
        and not device.mmd.is_shared
        and not config.PROGRAM_SECONDS.value
    )


def _image_of(kernel: Kernel, device: Device, board: CarriedBoard, epoch: int) -> bytes | None:
    """Returns the arguments as the engine takes them, but with buffers' handles, and pointers into allocations marked.

    Returns None if C cannot carry the launch.
    """
    packed: list[tuple[int, int, int | bytes]] = []
    local = 0
    for index, argument in enumerate(kernel.arguments):
        if argument is None:
            return None
        kind, size, value = argument
        if isinstance(value, Pipe):
            return None
        if isinstance(value, (int, bytes)):
            if kind == POINTER and isinstance(value, int):
                if _others_reach_more(kernel, device):
                    return None
                allocation = kernel.context.usm.find(value)
                if allocation is not None:
                    kind = lib.FPGART_IN_ALLOCATION
                    if allocation.watched:
                        return None
                elif not device.has_svm:
                    return None
            elif kind == LOCAL:
                local += size
            packed.append((kind, size, value))
            continue
        buffer = value()
        location = kernel.interface.arguments[index].buffer_location
        if buffer is None or not buffer.handle:
            return None
        if not _learn_buffer(buffer, device, board, epoch, location, kernel.program.on(device)):
            return None
        packed.append((POINTER, 8, buffer.handle))
    check_local_memory(kernel, device, local)
    return pack_arguments(packed)


def _others_reach_more(kernel: Kernel, device: Device) -> bool:
    """True if a pointer may be to memory of the system, which only other devices reach: Python refuses that launch."""
    return not device.reaches_system_memory and any(each.reaches_system_memory for each in kernel.context.devices)


def _learn_buffer(
    buffer: Buffer, device: Device, board: CarriedBoard, epoch: int, location: str = "", program: Program | None = None
) -> bool:
    """True if the contents are on the device.

    For a launch of `program`, a buffer without contents is placed where that needs it. So is one with few bytes in the
    host's memory, which implementations may copy to the device at any time (OpenCL 3.0, CL_MEM_USE_HOST_PTR).
    """
    owner = buffer.owner
    if owner.stays_on_host:
        return False
    if owner.home is None:
        try:
            if program is None or not _place(owner, device, device.memories.memory_for(location), program):
                return False
        except (KeyError, MemObjectAllocationFailure):  # the scheduler's launch reports it
            return False
    home = owner.home
    if home is None or home.device is not device or owner.moving:
        return False
    LOCATIONS[location]
    locations = locations_of(device, home.memory)
    lib.fpgart_buffer_is_at(owner.handle, board.address, epoch, home.pointer, locations, _store_of(owner))
    return True


def _place(buffer: Buffer, device: Device, memory: int | None, program: Program) -> bool:
    """Gives a buffer its home. Returns False if contents in the host's memory have to be moved when the launch runs.

    That is so if they are long, for watchers, which know the move as a stage of the launch, if a command has reserved a
    block, and if transfers of other boards may use the host's memory meanwhile.
    """
    if not buffer.on_host:
        buffer.adopt(buffer.reserve(device, memory, interleaving=program.interleaving))
        return True
    if NOTICES.migrated or buffer.blocks or len(buffer.context.devices) > 1 or buffer.size > SHORT:
        return False
    reserved = Reservation()
    block = reserved.take(buffer, device, memory, program.interleaving)
    try:
        return device.scheduler.run_if_free(MoveFromHost(device, buffer, block))
    finally:
        reserved.give_back()


def locations_of(device: Device, memory: int) -> int:
    """Returns a bit for each of LOCATIONS that the device's memory has or counts for.

    There is none if kernels see the memory only through regions that are set for each launch.
    """
    if device.memories.is_mapped(memory):
        return 0
    found = 0
    for name, number in list(LOCATIONS.items()):
        try:
            wanted = device.memories.memory_for(name)
        except KeyError:
            continue
        if number < MOST_LOCATIONS and wanted in (None, memory):
            found |= 1 << number
    return found


def _store_of(buffer: Buffer) -> int:
    """Returns the host's memory in which regions are mapped; 0 if there is none, or the board's memory is mapped."""
    if buffer.context.maps_in_place:
        return 0
    return buffer.host_ptr or (buffer.store.address if buffer.store is not None else 0)


def carries_map(queue: CommandQueue, buffer: Buffer, *, blocking: int) -> bool:
    """True if C carries the command that maps a region."""
    if queue.context.maps_in_place:
        return False
    buffer.host_address()  # allocates it
    return carries_transfer(queue, buffer, blocking=blocking)


def carries_transfer(queue: CommandQueue, *buffers: Buffer, blocking: int = 0) -> bool:
    """True if C carries the transfer of the host's call, now that it has all facts.

    C does not wait for commands that Python runs. So a blocking call in an in-order queue first waits for those
    in front of it, as it has to in any case. Otherwise one decided command would make all that follow it decided, too.
    """
    if lib.fpgart_watched():
        return False
    board = board_of(queue)
    if board is None:
        if next(_decided_transfers) == MANY_TRANSFERS:
            queue.device.platform.engine  # noqa: B018 - loads it
        return False
    if blocking and queue.in_order:
        queue.context.scheduler.finish(queue)
    epoch = int(lib.core_board_epoch(board.core))
    for buffer in buffers:
        if not buffer.handle or not _learn_buffer(buffer, queue.device, board, epoch):
            return False
    queue.context.scheduler.call_due()  # the thread may wait in C for a blocking one
    return bool(lib.fpgart_carry_again())
