# SPDX-License-Identifier: Apache-2.0
"""The driver's side of tests in its own process: resets boards, begins and ends traces, lists live objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from fpgart.api.buffer.mapping import update_mappings
from fpgart.api.platform import the_platform
from fpgart.base.sizes import in_words
from fpgart.board.faults import FAULTS
from fpgart.bridge.chapters import load_all
from fpgart.bridge.entry import observe_bound
from fpgart.bridge.handles import alive, find, reap, references, view_all
from fpgart.bridge.host_calls import new_callers
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.watch.origins import Origins
from fpgart.watch.trace.recorder import Trace

REASON = "the test that made it is over"


def memory_in_use() -> dict[int, str]:
    """Returns buffers that the host holds, and allocations of USM: number in traces, and in words."""
    reap()  # destroys released objects
    found = {}
    for buffer in [each for each in alive(Buffer) if references(each)]:
        kind = "buffer" if buffer.parent is None else "sub-buffer"
        found[buffer.number] = f"{kind} {buffer.number} of {in_words(buffer.size)}"
    for context in alive(Context):
        for allocation in context.usm.all():
            kind = f"{allocation.kind.name.lower()} allocation"
            found[allocation.number] = f"{kind} {allocation.number} of {in_words(allocation.size)}"
    return found


def unfinished() -> int:
    """Returns the number of commands that have not ended."""
    view_all()
    return sum(len(queue.open) for context in alive(Context) for queue in context.queues.all())


def settle(patience_s: float) -> bool:
    """Waits for the commands that run or are ready; false if that takes longer than `patience_s`."""
    return the_platform().scheduler.settle(patience_s)


def renew_boards() -> None:
    """Resets the boards when no command runs; live objects on them keep their places and contents."""
    with without_faults() as devices:
        for device in devices:
            device.renew()
    the_platform().scheduler.boards_renewed()


def take_off_boards(numbers: Collection[int]) -> None:
    """Moves buffers to the host's memory, where hosts can use them as before. No command may run.

    Mapped ones stay, because the host has pointers to them, and those with CL_MEM_USE_HOST_PTR, because that memory may
    have been freed.
    """
    buffers = alive(Buffer)
    for buffer in buffers:
        update_mappings(buffer)
    stay = {buffer.owner for buffer in buffers if buffer.map_count or buffer.owner.host_ptr}
    chosen = {buffer.owner for buffer in buffers if buffer.number in numbers and buffer.owner.number in numbers}
    with without_faults():
        for buffer in chosen - stay:
            if buffer.blocks:
                buffer.migrate_to_host(REASON)


@contextmanager
def without_faults() -> Iterator[list[Device]]:
    """Yields the devices, and disables faults on them: FPGART_FAULTS is for the host, not for its tests."""
    devices = the_platform().devices
    for device in devices:
        FAULTS.detach(device)
    try:
        yield devices
    finally:
        for device in devices:
            FAULTS.attach(device)


def number_of(handle: int) -> int:
    """Returns the number in traces of the memory behind a cl_mem: for a sub-buffer, its parent's.

    Raises InvalidMemObject.
    """
    return find(handle, Buffer).owner.number


def platform_handle() -> int:
    return int(the_platform().handle)


_end_trace: list[Callable[[], None]] = []


def begin_trace(path: str) -> None:
    """Traces into a file until end_trace(); no command may run. Raises OSError."""
    trace = Trace(path)
    with without_faults() as devices:
        untraced = [device.mmd for device in devices]
        for device in devices:
            device.mmd = trace.around(device.mmd, device.id)
            for block in device.blocks():
                trace.know(block)
    calls = new_callers()
    trace.name_places(Origins(calls))
    trace.listen()
    load_all()
    restore = observe_bound(trace.observe)
    restore_all = observe_bound(calls.observe)  # around the trace's own observers

    def end() -> None:
        restore_all()
        restore()
        trace.silence()
        with without_faults() as devices:
            for device, mmd in zip(devices, untraced, strict=True):
                device.mmd = mmd
        trace.close()

    _end_trace.append(end)


def end_trace() -> None:
    """Ends the trace that was begun last."""
    _end_trace.pop()()
