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


class Notices:
    """The notices of a process. Times are in nanoseconds of the host's monotonic clock."""

    __slots__ = (
        "bank_full",
        "bank_ignored",
        "block_freed",
        "block_refused",
        "block_reserved",
        "buffer_created",
        "buffer_destroyed",
        "call_failed",
        "command_carried",
        "command_enqueued",
        "command_handed_over",
        "end_observed",
        "event_made",
        "fault_injected",
        "finding_told",
        "handle_given",
        "kernel_misused",
        "launches_carried",
        "lock_refused",
        "memory_refused",
        "migrated",
        "modelled",
        "network_made",
        "network_stopped",
        "operation_began",
        "operation_ended",
        "packets_moved",
        "place_hinted",
        "pointer_refused",
        "program_built",
        "queue_drained",
        "range_refused",
        "region_mapped",
        "region_unmapped",
        "regions_restored",
        "regions_set",
        "svm_allocated",
        "svm_freed",
        "user_event_ended",
        "usm_allocated",
        "usm_freed",
        "usm_migrated",
        "wrote_beside",
        "yielded",
    )

    def __init__(self) -> None:
        self.buffer_created: tuple[Listener, ...] = ()
        """(buffer): a buffer or sub-buffer was created."""
        self.buffer_destroyed: tuple[Listener, ...] = ()
        """(number): a buffer was destroyed."""
        self.call_failed: tuple[Listener, ...] = ()
        """(call, status, words): a call of the host returns an error, on the calling thread."""
        self.fault_injected: tuple[Listener, ...] = ()
        """(device's number, call, rule, begin_ns): a fault was injected into a call; None: into a call of the API."""
        self.finding_told: tuple[Listener, ...] = ()
        """(rule, facts): a check has found a mistake of the host; the facts are for JSON."""
        self.event_made: tuple[Listener, ...] = ()
        """(event): the event of a command, or a user event, was created on the thread of the host's call."""
        self.handle_given: tuple[Listener, ...] = ()
        """(item): the host gets a handle, on the thread of its call."""
        self.command_enqueued: tuple[Listener, ...] = ()
        """(event, wait_list, blocking): a command is about to enter its queue, on the calling thread."""
        self.command_carried: tuple[Listener, ...] = ()
        """(number): C has enqueued a launch that it carries, for a call that Python serves on this thread."""
        self.command_handed_over: tuple[Listener, ...] = ()
        """(event, number, call, frames): Python runs a launch that C had noted; the host's call, and its frames."""
        self.launches_carried: tuple[Listener, ...] = ()
        """(queue, launch, site, count): the host has enqueued `count` equal launches at a place, which C carries.

        Nothing was enqueued between them. This is told later than it happened.
        """
        self.wrote_beside: tuple[Listener, ...] = ()
        """(queue, launch, site, address, past, before): the kernel of such a launch wrote beside a block.

        `address`: that of the block; `past`: the bytes between its end and the first one written, -1 for none;
        `before`: the distance in front of it, 0 for none.
        """
        self.end_observed: tuple[Listener, ...] = ()
        """(event): the host knows that a command has ended: it waited, asked for the status, or was called back."""
        self.user_event_ended: tuple[Listener, ...] = ()
        """(event): the host is about to end a user event."""
        self.queue_drained: tuple[Listener, ...] = ()
        """(queue): the host has waited for all commands in it."""
        self.region_mapped: tuple[Listener, ...] = ()
        """(buffer, pointer, offset, bytes, flags): clEnqueueMapBuffer maps a region, on the calling thread."""
        self.region_unmapped: tuple[Listener, ...] = ()
        """(buffer, pointer, offset, bytes, flags): clEnqueueUnmapMemObject unmaps it, on the calling thread."""
        self.regions_set: tuple[Listener, ...] = ()
        """(launch, showing): a board's regions show memory to a kernel that is about to run."""
        self.regions_restored: tuple[Listener, ...] = ()
        """(launch, showing): the kernel has ended, and the regions are those after boot."""
        self.range_refused: tuple[Listener, ...] = ()
        """(buffer, offset, bytes): the range of a command exceeds its buffer; the call returns an error."""
        self.memory_refused: tuple[Listener, ...] = ()
        """(address): a command uses a board's memory outside of the context's allocations; an error follows."""
        self.pointer_refused: tuple[Listener, ...] = ()
        """(kernel, index, allocation, device): an argument is memory of another device; the launch fails."""
        self.program_built: tuple[Listener, ...] = ()
        """(program, devices): the engine compiled or built a program for the host, well or not."""
        self.bank_ignored: tuple[Listener, ...] = ()
        """(buffer, device): the buffer requests a bank, but the binary on the board interleaves the banks."""
        self.bank_full: tuple[Listener, ...] = ()
        """(buffer, block): the requested bank had no room, so that part of the block is elsewhere."""
        self.place_hinted: tuple[Listener, ...] = ()
        """(buffer, location, argument): a buffer without a place was set as an argument with a buffer_location."""
        self.block_reserved: tuple[Listener, ...] = ()
        """(block): a range of a board's memory was allocated."""
        self.block_refused: tuple[Listener, ...] = ()
        """(device, bytes, number of the buffer or allocation): there was no room for a block."""
        self.block_freed: tuple[Listener, ...] = ()
        """(block): a block was freed."""
        self.modelled: tuple[Listener, ...] = ()
        """(event, command, steps): a command has its times in the simulated clock, before it really runs."""
        self.network_made: tuple[Listener, ...] = ()
        """(device, network, program): a board was programmed with kernels that have channels; autorun kernels run."""
        self.network_stopped: tuple[Listener, ...] = ()
        """(network): its kernels are about to end, because the board is programmed again or closed."""
        self.operation_began: tuple[Listener, ...] = ()
        """(event, operation): a device operation starts on the calling thread."""
        self.operation_ended: tuple[Listener, ...] = ()
        """(event, operation, begin_ns, status): a device operation ended with 0 or a negative status."""
        self.packets_moved: tuple[Listener, ...] = ()
        """(launch): its kernel has ended and moved `launch.uses` through cables; on its thread."""
        self.svm_allocated: tuple[Listener, ...] = ()
        """(address, size): shared virtual memory was allocated."""
        self.svm_freed: tuple[Listener, ...] = ()
        """(address): shared virtual memory was freed."""
        self.usm_allocated: tuple[Listener, ...] = ()
        """(allocation): unified shared memory was allocated."""
        self.usm_freed: tuple[Listener, ...] = ()
        """(allocation): unified shared memory is about to be freed."""
        self.usm_migrated: tuple[Listener, ...] = ()
        """(allocation, offset, bytes, device or None for the host, begin_ns, reason): a shared range moved."""
        self.kernel_misused: tuple[Listener, ...] = ()
        """(misuse): the engine detected a kernel's mistake, on the thread of its launch."""
        self.lock_refused: tuple[Listener, ...] = ()
        """(bytes, limit): the system does not lock host memory for a board; the limit is RLIMIT_MEMLOCK's."""
        self.yielded: tuple[Listener, ...] = ()
        """(device, begin_ns, calls): a command has yielded to a board until its transfer had ended."""
        self.migrated: tuple[Listener, ...] = ()
        """(buffer, source, target, begin_ns, reason): contents were moved to block `target`.

        `source` is the block they were in, None for the host's memory, `target` itself if nothing had to move; `target`
        None is the host's memory.
        """

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
        for name in self.__slots__:
            method = getattr(watcher, name, None)
            if method is not None:
                made = self._guarded(name, watcher, method, reads_notes=reads_notes)
                setattr(self, name, (*getattr(self, name), made))

    def silence(self, watcher: Any) -> None:
        """Ends the calls to a watcher."""
        for name in self.__slots__:
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


NOTICES = Notices()
