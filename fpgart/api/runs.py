# SPDX-License-Identifier: Apache-2.0
"""Recorded launches that C has the engine run without Python, because such launches ran before (icd/runs.c).

Python tells C of the kernels and of where the buffers are, and lends the board to the queue as long as nothing else
needs it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from _fpgart_icd import ffi, lib

from fpgart import opencl as cl
from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.api.candidates import TAKEN_IN, Candidate, RunUse
from fpgart.api.handles import HELD, find, late_event, publish_born, publish_parent
from fpgart.engine.launches import launch_failure
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.errors import CLError, ExecStatusErrorForEventsInWaitList
from fpgart.notices import NOTICES
from fpgart.runtime.commands.host_work import failing
from fpgart.runtime.commands.launch import SHORT_NS, SPLIT_KERNELS
from fpgart.runtime.commands.launch_run import HELD_RUN_NS, longest
from fpgart.runtime.memory.device import Block
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import COMPLETE, Event

MOST_KERNELS = 16
"""How many kernels C is told of at once, at most, unless they were launched together."""
_lent: WeakKeyDictionary[CommandQueue, Candidate] = WeakKeyDictionary()
"""What C was told of last, by queue: hosts that wait for each launch launch several kernels in turn."""


def _joined(old: Candidate | None, new: Candidate) -> Candidate:
    """What C may be told of, what it knew before included if that is not too much."""
    if old is None or len(old.kernels) + len(new.kernels) > MOST_KERNELS:
        return new
    uses = {(use.handle, use.location): use for use in (*old.uses, *new.uses)}
    return Candidate(new.queue, tuple(dict.fromkeys((*old.kernels, *new.kernels))), tuple(uses.values()))


def let_runs_pass(queue: CommandQueue) -> None:
    """Launches like those that the host has just waited for need no decision as long as nothing changes."""
    try:
        candidate: Candidate = TAKEN_IN.pop()
    except IndexError:  # another thread was first
        return
    if not lib.fpgart_run_was_missed():
        return
    if candidate.queue() is queue and not _lends(queue, _joined(_lent.get(queue), candidate)):
        _lends(queue, candidate)


def _lends(queue: CommandQueue, candidate: Candidate) -> bool:
    """Lend the board for launches that use this; False where some of it is gone, or elsewhere by now."""
    kernels = [kernel for kernel in (each() for each in candidate.kernels) if kernel is not None]
    if len(kernels) < len(candidate.kernels) or not _may_lend(queue, kernels):
        return False
    device, scheduler = queue.device, queue.context.scheduler
    loan = device.loan or scheduler.loan_of(device)
    if not loan.is_worth_while():
        return True
    context = lib.fpgart_handle_serial(queue.context.handle)
    engines = [_engine_kernel(kernel, queue) for kernel in kernels]

    def enter() -> bool:
        if not _may_lend(queue, kernels):
            return False
        blocks = _blocks(queue, candidate.uses)
        if blocks is None:
            return False
        loan.begin_to_enter(context)
        for use in candidate.uses:
            loan.enter_use(use.handle, use.serial, use.location, use.address)
        for kernel, engine in zip(kernels, engines, strict=True):
            if not loan.enter_kernel(kernel.handle, lib.fpgart_handle_serial(kernel.handle), engine.handle):
                return False
        loan.enter_engine(engines[0].engine.queues, longest(kernels, device, HELD_RUN_NS), HELD_RUN_NS, blocks)
        return True

    done = scheduler.lend(queue, lib.fpgart_handle_serial(queue.handle), loan, enter, runs=True)
    if done:
        _lent[queue] = candidate
        lib.fpgart_let_copies_pass(queue.handle, loan.address)
        lib.fpgart_let_runs_pass(queue.handle, *_engine_calls())
    return done


def _engine_calls() -> tuple[int, int]:
    """Where the functions are that have the engine run launches, and that wait for them."""
    functions = (native_ffi.addressof(native, name) for name in ("driver_submit", "driver_await_all"))
    submit, await_ = (int(native_ffi.cast("uintptr_t", function)) for function in functions)
    return submit, await_


def _engine_kernel(kernel: Kernel, queue: CommandQueue) -> Any:
    return kernel.engine_kernel_on(kernel.program.on(queue.device))


def _may_lend(queue: CommandQueue, kernels: list[Kernel]) -> bool:
    """Whether launches of these kernels decide nothing but what C asks of its loan."""
    device, context = queue.device, queue.context
    programs = {kernel.program.on(device) for kernel in kernels}
    return (
        queue.in_order
        and context.scheduler.lends
        and context.scheduler.takes_runs
        and not NOTICES.hear_of_commands
        and not NOTICES.queue_drained
        and bool(device.mmd.own_traffic)  # no faults, traces, checks
        and device.before_kernel is None
        and device.network is None
        and device.knows_memories
        and not device.cores
        and not any(kernel.usm_pointers or kernel.indirect for kernel in kernels)
        and context.compiler_mode != SPLIT_KERNELS
        and len({program.identity for program in programs}) == 1
        and all(program.identity in device.loaded for program in programs)
        and all(_is_plain(_engine_kernel(kernel, queue)) for kernel in kernels)
    )


def _is_plain(kernel: Any) -> bool:
    """Whether the engine's driver does no more for a launch than C has it do."""
    return kernel.__class__ is DriverKernel and kernel.launched and kernel.last_ns <= SHORT_NS


def _blocks(queue: CommandQueue, uses: tuple[RunUse, ...]) -> list[Block] | None:
    """Where the buffers are; None where one has gone or moved."""
    found: list[Block] = []
    for use in uses:
        buffer = use.buffer()
        home = buffer.owner.home if buffer is not None else None
        if home is None or buffer is None or home.device is not queue.device:
            return None
        if home.pointer + buffer.origin != use.address:
            return None
        found.append(home)
    return found


def ended_parent(handle: int) -> int:
    """The handle of an event that has ended, for events of a queue's launches to have ended with."""
    queue = find(handle, CommandQueue)
    event = Event(queue.context, queue, cl.CL_COMMAND_NDRANGE_KERNEL, None, COMPLETE)
    event.queued_ns = event.submit_ns = event.start_ns = event.end_ns = queue.context.scheduler.host_time()
    return publish_parent(event)


def run_failed(handle: int, address: int, outcomes_at: int) -> None:
    """Launches that C had the engine run did not all go well: commands fail in the stead of those that did not."""
    queue = find(handle, CommandQueue)
    launches: Any = ffi.cast("struct fpgart_launches *", address)
    outcomes = ffi.cast("int64_t *", outcomes_at)
    failed: set[int] = set()
    for number in range(launches.count):
        launch, outcome = launches.launches[number], int(outcomes[number])
        error: CLError | None = None
        if outcome & 0xFFFFFFFF:
            error = launch_failure(_name(launches.kernels[launch.kernel].handle), outcome)
        elif launch.after - 1 in failed:
            error = ExecStatusErrorForEventsInWaitList("a launch failed whose event this one waited for")
        if error is not None:
            outcomes[number] = error.status & 0xFFFFFFFF  # C ends the events of the others
            failed.add(number)
            _fail(queue, launch, error)


def _name(handle: int) -> str:
    """Of a kernel, which is held."""
    kernel: Kernel = HELD[handle]
    return kernel.name


def _fail(queue: CommandQueue, launch: Any, error: CLError) -> None:
    try:
        event = queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, failing(queue.device, error))
    except CLError:  # the process is exiting
        event = Event(queue.context, queue, cl.CL_COMMAND_NDRANGE_KERNEL, None, error.status)
    handle = int(launch.event)
    if launch.is_late:
        assert queue.device.loan is not None, "C has it"
        late = late_event(handle, queue.device.loan.copy)
        if late is not None:
            late.fate = error.status
    elif handle:
        publish_born(event, handle)
