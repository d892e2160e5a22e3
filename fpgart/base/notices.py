# SPDX-License-Identifier: Apache-2.0
"""Notices: the layers call them, and watchers listen. Watchers never change what happens.

Each notice is a tuple of functions, which is empty without listeners, so that it costs nothing then:

    for listener in NOTICES.block_reserved:
        listener(block)

A listener may be called on any thread, and must not call back into the runtime. If it raises, that is logged and it is
removed: a watcher that fails must not make a command fail.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from fpgart.base import log

Listener = Callable[..., None]
Listeners = tuple[Listener, ...]


class Notices:
    """The notices of a process. Times are in nanoseconds of the host's monotonic clock."""

    buffer_created: Listeners
    """(buffer): a buffer or sub-buffer was created."""
    buffer_destroyed: Listeners
    """(number): a buffer was destroyed."""
    call_failed: Listeners
    """(call, status, words): a call of the host returns an error, on the calling thread."""
    fault_injected: Listeners
    """(device's number, call, rule, begin_ns): a fault was injected into a call; None: into a call of the API."""
    finding_told: Listeners
    """(rule, facts): a check has found a mistake of the host; the facts are for JSON."""
    event_made: Listeners
    """(event): the event of a command, or a user event, was created on the thread of the host's call."""
    handle_given: Listeners
    """(item): the host gets a handle, on the thread of its call."""
    command_enqueued: Listeners
    """(event, wait_list, blocking): a command is about to enter its queue, on the calling thread."""
    command_carried: Listeners
    """(number): C has enqueued a launch that it carries, for a call that Python serves on this thread."""
    command_handed_over: Listeners
    """(event, number, call, frames): Python runs a launch that C had noted; the host's call, and its frames."""
    launches_carried: Listeners
    """(queue, launch, site, count): the host has enqueued `count` equal launches at a place, which C carries.

    Nothing was enqueued between them. This is told later than it happened.
    """
    wrote_beside: Listeners
    """(queue, launch, site, address, past, before): the kernel of such a launch wrote beside a block.

    `address`: that of the block; `past`: the bytes between its end and the first one written, -1 for none;
    `before`: the distance in front of it, 0 for none.
    """
    end_observed: Listeners
    """(event): the host knows that a command has ended: it waited, asked for the status, or was called back."""
    user_event_ended: Listeners
    """(event): the host is about to end a user event."""
    queue_drained: Listeners
    """(queue): the host has waited for all commands in it."""
    region_mapped: Listeners
    """(buffer, pointer, offset, bytes, flags): clEnqueueMapBuffer maps a region, on the calling thread."""
    region_unmapped: Listeners
    """(buffer, pointer, offset, bytes, flags): clEnqueueUnmapMemObject unmaps it, on the calling thread."""
    regions_set: Listeners
    """(launch, showing): a board's regions show memory to a kernel that is about to run."""
    regions_restored: Listeners
    """(launch, showing): the kernel has ended, and the regions are those after boot."""
    range_refused: Listeners
    """(buffer, offset, bytes): the range of a command exceeds its buffer; the call returns an error."""
    memory_refused: Listeners
    """(address): a command uses a board's memory outside of the context's allocations; an error follows."""
    argument_refused: Listeners
    """(kernel, index, address): an argument points into no allocation of the context; the call returns an error."""
    pointer_refused: Listeners
    """(kernel, index, allocation, device): an argument is memory of another device; the launch fails."""
    program_built: Listeners
    """(program, devices): the engine compiled or built a program for the host, well or not."""
    bank_ignored: Listeners
    """(buffer, device): the buffer requests a bank, but the binary on the board interleaves the banks."""
    bank_full: Listeners
    """(buffer, block): the requested bank had no room, so that part of the block is elsewhere."""
    place_hinted: Listeners
    """(buffer, location, argument): a buffer without a place was set as an argument with a buffer_location."""
    block_reserved: Listeners
    """(block): a range of a board's memory was allocated."""
    block_refused: Listeners
    """(device, bytes, number of the buffer or allocation): there was no room for a block."""
    block_freed: Listeners
    """(block): a block was freed."""
    modelled: Listeners
    """(event, command, steps): a command has its times in the simulated clock, before it really runs."""
    network_made: Listeners
    """(device, network, program): a board was programmed with kernels that have channels; autorun kernels run."""
    network_stopped: Listeners
    """(network): its kernels are about to end, because the board is programmed again or closed."""
    operation_began: Listeners
    """(event, operation): a device operation starts on the calling thread."""
    operation_ended: Listeners
    """(event, operation, begin_ns, status): a device operation ended with 0 or a negative status."""
    packets_moved: Listeners
    """(launch): its kernel has ended and moved `launch.uses` through cables; on its thread."""
    svm_allocated: Listeners
    """(address, size): shared virtual memory was allocated."""
    svm_freed: Listeners
    """(address): shared virtual memory was freed."""
    usm_allocated: Listeners
    """(allocation): unified shared memory was allocated."""
    usm_freed: Listeners
    """(allocation): unified shared memory is about to be freed."""
    usm_migrated: Listeners
    """(allocation, offset, bytes, device or None for the host, begin_ns, reason): a shared range moved."""
    kernel_misused: Listeners
    """(misuse): the engine detected a kernel's mistake, on the thread of its launch."""
    lock_refused: Listeners
    """(bytes, limit): the system does not lock host memory for a board; the limit is RLIMIT_MEMLOCK's."""
    yielded: Listeners
    """(device, begin_ns, calls): a command has yielded to a board until its transfer had ended."""
    migrated: Listeners
    """(buffer, source, target, begin_ns, reason): contents were moved to block `target`.

    `source` is the block they were in, None for the host's memory, `target` itself if nothing had to move; `target`
    None is the host's memory.
    """

    def __init__(self) -> None:
        for name in NAMES:
            setattr(self, name, ())

    @property
    def watches_commands(self) -> bool:
        """True if a watcher listens to commands, to what moves for them, or to objects, and reads no notes of C's.

        C must carry no command and make no object then.
        """
        listeners = (
            *self.event_made,
            *self.command_enqueued,
            *self.operation_began,
            *self.operation_ended,
            *self.end_observed,
            *self.queue_drained,
            *self.migrated,
            *self.handle_given,
            *self.buffer_created,
            *self.buffer_destroyed,
        )
        return not all(each.reads_notes for each in listeners)  # type: ignore[attr-defined]

    def listen(self, watcher: Any, *, reads_notes: bool = False) -> None:
        """Calls the methods of `watcher` that have the names of notices.

        `reads_notes`: it reads what C notes of the launches that it carries (bridge/watched.py).
        """
        for name in NAMES:
            method = getattr(watcher, name, None)
            if method is not None:
                made = self._guarded(name, watcher, method, reads_notes=reads_notes)
                setattr(self, name, (*getattr(self, name), made))

    def silence(self, watcher: Any) -> None:
        for name in NAMES:
            setattr(self, name, tuple(each for each in getattr(self, name) if each.watcher is not watcher))

    def _guarded(self, name: str, watcher: Any, method: Listener, *, reads_notes: bool) -> Listener:
        @wraps(method)
        def call(*arguments: Any) -> None:
            try:
                method(*arguments)
            except BaseException:
                setattr(self, name, tuple(each for each in getattr(self, name) if each is not call))
                log.bug(f"{type(watcher).__name__} failed in {name}, which is not reported to it from now on")

        call.watcher, call.reads_notes = watcher, reads_notes  # type: ignore[attr-defined]
        return call


NAMES = tuple(Notices.__annotations__)
NOTICES = Notices()
