# SPDX-License-Identifier: Apache-2.0
"""Launches that C records without Python, because one like them was carried out before (icd/launches.c).

Python approves a request: this kernel, in this queue, over this ND-range, with arguments that need no decision. The
records are enqueued before any other call of the host is carried out, or by the driver's keeper, as few commands:
each a `LaunchRun`, or one by one where the launches need more than that.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any
from weakref import ref

from _fpgart_icd import ffi, lib

from fpgart import log
from fpgart import opencl as cl
from fpgart.api.arguments import buffer_of, is_kept
from fpgart.api.candidates import TAKEN_IN, Candidate, RunUse
from fpgart.api.handles import HELD, KEPT, late_event, publish_as, publish_parent, release_unheld
from fpgart.api.info import handle as handle_of
from fpgart.api.info import remember
from fpgart.engine.interface import ARGUMENT, BYTES, POINTER, SUBMISSION, pack_arguments
from fpgart.errors import CLError, InvalidKernel, OutOfHostMemory
from fpgart.notices import NOTICES
from fpgart.runtime.commands.host_work import failing
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.launch_run import (
    HELD_RUN_NS,
    RUN_NS,
    LaunchRun,
    Use,
    Waits,
    are_in_their_places,
    longest,
    may_run_together,
)
from fpgart.runtime.commands.new_launch import new_launch_with
from fpgart.runtime.memory.usm_use import Indirect, UsmUse
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import BUFFER, SIZES, Argument, Kernel
from fpgart.runtime.scheduling.event import Event, Operation

FEW = 2
"""So many launches, at least, cost less together."""
MANY = 4
"""So many within HELD_RUN_NS, at least, end together although the host holds events of several."""
_NUMBERS = ffi.new("uint32_t[]", dict(ffi.typeof("struct fpgart_launches").fields)["launches"].type.length)
_TAKING = threading.Lock()
"""Held while recorded launches are enqueued, which uses these numbers. No callback of the host comes under it."""
_LOCATIONS: defaultdict[str, int] = defaultdict(count().__next__)
"""The numbers that C knows the memories by that arguments have to be in."""
_uncleared = ffi.new_allocator(should_clear_after_alloc=False)


def let_launch_pass(queue: CommandQueue, launch: LaunchKernel, request: tuple[Any, Any, Any]) -> None:
    """Launches like this one need no decision; `request`: the host's offset, global and local size, or NULL."""
    kernel = launch.kernel
    if not is_kept(kernel) or NOTICES.hear_of_commands or not queue.context.scheduler.takes_runs:
        return
    made = (SIZES.unpack(launch.sizes), SIZES.unpack(launch.engine_sizes)[6:], launch.dimensions, launch.has_local)
    image = _image_of(launch)
    remember(queue, cl.CL_QUEUE_CONTEXT, handle_of(queue.context))  # for wait lists
    lib.fpgart_let_launch_pass(
        kernel.handle,
        queue.handle,
        launch.dimensions,
        *request,
        ffi.new("struct fpgart_nd_range *", made),
        image,
        len(image),
        [_LOCATIONS[each.buffer_location] for each in kernel.interface.arguments],
        not queue.properties & cl.CL_QUEUE_PROFILING_ENABLE,
    )


def _image_of(launch: LaunchKernel) -> bytes:
    """The arguments as the engine is given them, but buffers by their handles, and pointers of a kind of their own."""
    buffers = dict(launch.buffers)
    packed: list[tuple[int, int, int | bytes]] = []
    for index, (kind, size, value) in enumerate(launch.arguments):
        if index in buffers:
            packed.append((POINTER, 8, buffers[index].handle))
        else:
            assert isinstance(value, (int, bytes)), "launches with pipes do not recur"
            packed.append((lib.FPGART_IN_ALLOCATION if kind == POINTER else kind, size, value))
    return pack_arguments(packed)


def enqueue_recorded(*, by_keeper: bool = False, only: int = 0) -> None:
    """Other threads that come here wait until all of it is in its queue. `only`: the handle of a queue, 0 for all.

    The keeper takes the oldest record only, and has it begin: hosts fill the next one meanwhile, for which they need no
    interpreter.
    """
    found: CommandQueue | None = None
    published: list[int] = []
    with _TAKING:
        queue, serial = ffi.new("uintptr_t *"), ffi.new("uint64_t *")
        while launches := lib.fpgart_take_launches(only, queue, serial, by_keeper):
            found = _object(queue[0], serial[0], CommandQueue)
            try:
                if found is not None:
                    _Recorded(found, launches, published).enqueue()
            finally:
                lib.fpgart_launches_taken(launches)
            if by_keeper:
                break
    release_unheld(published)
    if by_keeper and found is not None:
        found.flush()


def _object(handle: int, serial: int, kind: type[Any]) -> Any:
    """What a handle stood for when it was recorded; None if that is gone."""
    if lib.fpgart_handle_serial(handle) != serial:
        return None
    found = HELD.get(handle)
    if found is None and handle in KEPT:
        found = KEPT[handle]()
    return found if found.__class__ is kind else None


class _Late:
    """The events that the host holds of launches that are one command: made when somebody asks for one."""

    def __init__(self, parent: Event, handles: Any) -> None:
        """`handles`: by number of the launch, 0 for none."""
        self._parent = ref(parent)
        self._handles = handles

    def fail(self, number: int, error: CLError) -> None:
        event = self._event(number)
        if event is not None:
            event.fate = error.status

    def end(self, number: int) -> None:
        parent = self._parent()
        assert parent is not None, "it is running"
        for event in map(self._event, range(number)):
            if event is not None:
                parent.context.scheduler.end_before(event, parent)

    def _event(self, number: int) -> Event | None:
        return late_event(int(self._handles[number]), self._parent())


class _Recorded:
    """Launches of one queue, in their order."""

    def __init__(self, queue: CommandQueue, launches: Any, published: list[int]) -> None:
        """The handles of events are added to `published`."""
        self._queue = queue
        self._launches = launches
        self._published = published
        self._enqueued = 0
        """How many of the launches are in their queue."""

    def enqueue(self) -> None:
        """Put all launches into their queue; those that cannot be are commands that fail."""
        try:
            self._look_up()
            uses = self._uses() if self._may_run_together() else None
            if uses is None:
                self._enqueue_one_by_one()
            else:
                self._enqueue_together(uses)
        except CLError as error:
            self._fail_rest(error)
        except BaseException:
            log.bug("recorded launches could not be enqueued")
            self._fail_rest(OutOfHostMemory("a recorded launch could not be enqueued"))

    def _look_up(self) -> None:
        """Find the objects that the launches need."""
        launches = self._launches
        self._kernels: list[Kernel] = [
            _object(entry.handle, entry.serial, Kernel) for entry in launches.kernels[0 : launches.kernel_count]
        ]
        self._events: list[int] = list(_NUMBERS[0 : lib.fpgart_launch_events(launches, _NUMBERS)])
        """The launches whose events the host holds."""
        uses = list(enumerate(launches.uses[0 : launches.use_count]))
        self._buffers = {number: buffer_of(use.buffer, use.serial) for number, use in uses if use.serial}
        """By number of the use."""
        self._allocations = [self._queue.context.usm.at(use.buffer) for _, use in uses if not use.serial]
        self._after = self._waits() if launches.waits else {}
        """By launch, the one of them whose event it waits for."""
        self._failed: set[int] = set()

    def _fail_rest(self, error: CLError) -> None:
        """The launches that are not in their queue are commands that end with `error`: the host's calls have returned.

        While the process exits the queue takes no commands, and nobody waits for any.
        """
        try:
            for number in range(self._enqueued, self._launches.count):
                operation = failing(self._queue.device, error)
                self._publish(self._queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation), self._handle_of(number))
        except CLError as refusal:
            log.error(refusal)
        except BaseException:
            log.bug("recorded launches could not even fail")

    def _publish(self, event: Event, handle: int) -> None:
        """The host knows the event by this handle; 0: it wants none."""
        if handle:
            self._published.append(handle)
            publish_as(event, handle)

    def _waits(self) -> dict[int, int]:
        entries = self._launches.launches[0 : self._launches.count]
        return {number: entry.after - 1 for number, entry in enumerate(entries) if entry.after}

    def _may_run_together(self) -> bool:
        queue, kernels = self._queue, self._kernels
        if None in kernels or self._launches.count < FEW:
            return False
        if self._launches.count < FEW * (1 + len(self._events)) and not self._end_together:
            return False
        return (
            not NOTICES.hear_of_commands
            and queue.in_order
            and queue.device.before_kernel is None
            and queue.device.knows_memories
            and may_run_together(kernels, queue.device)
        )

    def _uses(self) -> list[Use] | None:
        """The buffers of all launches; None where one is gone, or is not just in the board's memory."""
        entries = [(self._launches.uses[number], buffer) for number, buffer in self._buffers.items()]
        uses = [Use(self._kernels[entry.kernel], entry.index, buffer) for entry, buffer in entries]
        return uses if are_in_their_places(uses) else None

    def _usm_use(self) -> UsmUse | None:
        """The allocations that the launches may touch; one that is gone was freed while they were under way."""
        registry = self._queue.context.usm
        if not len(registry):
            return None
        indirect = Indirect.NONE
        found = self._allocations
        for kernel in self._kernels:
            indirect |= kernel.indirect
            found = found + [registry.find(pointer) for pointer in kernel.usm_pointers]
        return UsmUse([each for each in found if each is not None], indirect)

    def _enqueue_together(self, uses: Sequence[Use]) -> None:
        device, parts = self._queue.device, list(self._parts())
        runs: list[LaunchRun] = []
        usm = self._usm_use()
        try:
            for _ in parts:
                runs.append(LaunchRun(device, self._kernels, uses, usm))
        except CLError:  # there is no room for all of them: each is tried by itself
            for run in runs:
                run.abandon()
            self._enqueue_one_by_one()
            return
        # The places of all are the same, for all of them are reserved.
        for number, (_, address) in zip(self._buffers, runs[0].addresses(), strict=True):
            self._launches.uses[number].address = address
        try:
            self._note([entry.address for entry in self._launches.uses[0 : len(uses)]])
            lib.fpgart_address_images(self._launches)
            for (begin, end), run in zip(parts, runs, strict=True):
                run.lay_out(self._laid_out(begin, end - begin), end - begin)
                self._enqueue_run(run, begin, end)
        except BaseException:
            for (begin, _), run in zip(parts, runs, strict=True):
                if begin >= self._enqueued:
                    run.abandon()
            raise

    def _note(self, addresses: Sequence[int]) -> None:
        """Launches like these may be for C. `addresses`: where the engine finds the buffer of each use."""
        if self._allocations:
            return
        entries = zip(self._launches.uses[0 : len(addresses)], self._buffers.values(), addresses, strict=True)
        uses = (RunUse(buffer, use.buffer, use.serial, use.location, address) for use, buffer, address in entries)
        TAKEN_IN[:] = [Candidate(ref(self._queue), tuple(ref(kernel) for kernel in self._kernels), tuple(uses))]

    def _note_single(self, launch: LaunchKernel) -> None:
        """As _note(), of the only one."""
        places = {buffer: block for (_, buffer), block in zip(launch.buffers, launch.places, strict=True)}
        alive = [buffer() for buffer in self._buffers.values()]
        if all(buffer in places for buffer in alive):
            self._note([places[buffer].pointer + buffer.origin for buffer in alive if buffer is not None])

    def _enqueue_run(self, run: LaunchRun, begin: int, end: int) -> None:
        """Enqueue some of the launches as one command; the events among them end with it."""
        event = self._queue.new_event(cl.CL_COMMAND_NDRANGE_KERNEL, run)
        run.waits = Waits(self._after, self._failed, begin) if self._after else None
        handle = self._handle_of(end - 1)
        if any(begin <= number < end - 1 for number in self._events):
            handle, is_hosts = handle or publish_parent(event), bool(handle)
            events = ffi.new("uintptr_t[]", end - begin)
            lib.fpgart_launches_late(self._launches, begin, end - 1, handle, events)
            run.followers = _Late(event, events)
            if not is_hosts:
                self._publish(event, handle)
                handle = 0
        self._queue.enqueue_made(event)
        self._enqueued = end
        self._publish(event, handle)

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Begin and end of what is one command each: none takes long, those with several held events least."""
        together = len(self._events) > 1 and self._end_together
        most, begin = longest(self._kernels, self._queue.device, HELD_RUN_NS if together else RUN_NS), 0
        for end in (*(() if together else (number + 1 for number in self._events)), self._launches.count):
            while begin < end:
                yield begin, min(begin + most, end)
                begin = min(begin + most, end)

    @property
    def _end_together(self) -> bool:
        """Whether the kernels are so short that the host's events of several may end at once.

        Longer ones go to the engine one by one without a wait between them, which costs less than it hides.
        """
        return longest(self._kernels, self._queue.device, HELD_RUN_NS) >= MANY

    def _handle_of(self, number: int) -> int:
        """The handle of the event of a launch, which is to be published; 0 if the host holds none."""
        handle = int(self._launches.launches[number].event)
        return handle if handle and lib.fpgart_event_born(handle) else 0

    def _enqueue(self, operation: Operation, number: int, made: dict[int, Event]) -> None:
        """Enqueue a launch, under the handle of its event if the host has one. `made`: the events of those before."""
        waits = (made[self._after[number]],) if number in self._after else ()
        event = made[number] = self._queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation, waits)
        self._enqueued = number + 1
        self._publish(event, self._handle_of(number))

    def _laid_out(self, begin: int, count: int) -> bytes:
        """Some of the launches as the engine is given them."""
        out = _uncleared("char[]", count * SUBMISSION.size + self._launches.end)
        end = lib.fpgart_lay_out(self._launches, begin, count, out)
        return bytes(ffi.buffer(out, end))

    def _enqueue_one_by_one(self) -> None:
        device, made = self._queue.device, dict[int, Event]()
        for number, launch in enumerate(self._launches.launches[0 : self._launches.count]):
            kernel, nd_range = self._kernels[launch.kernel], launch.nd_range
            try:
                if kernel is None:
                    raise InvalidKernel("the kernel of a recorded launch is gone")
                operation = new_launch_with(
                    self._arguments_of(launch, len(kernel.arguments)),
                    kernel,
                    device,
                    nd_range.dimensions,
                    tuple(nd_range.sizes),
                    bool(nd_range.has_local),
                )
            except CLError as error:  # the host's call has returned: a command fails in its stead
                self._enqueue(failing(device, error), number, made)
            else:
                if self._launches.count == 1:
                    self._note_single(operation)
                self._enqueue(operation, number, made)

    def _arguments_of(self, launch: Any, count: int) -> list[Argument]:
        """The arguments of a launch, before images are given addresses."""
        image = bytes(ffi.buffer(self._launches.images + launch.image, launch.size))
        found: list[Argument] = []
        for kind, size, value in ARGUMENT.iter_unpack(image[: ARGUMENT.size * count]):
            if kind == POINTER:
                found.append((BUFFER, 8, self._buffers[value]))
            elif kind == lib.FPGART_IN_ALLOCATION:
                found.append((POINTER, 8, value))
            else:
                found.append((kind, size, image[value : value + size] if kind == BYTES else 0))
        return found
