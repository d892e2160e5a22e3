# SPDX-License-Identifier: Apache-2.0
"""What tests want of the driver in their own process: boards that are new, traces that begin and end, what is alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from fpgart.api.entry import observe_bound
from fpgart.api.handles import HELD, KEPT, find
from fpgart.api.platform import the_platform
from fpgart.notices import NOTICES
from fpgart.runtime.buffer import Buffer
from fpgart.runtime.context import Context
from fpgart.watch.trace import Trace, TracedMmd
from fpgart.watch.words import in_words

REASON = "a fresh board for the next test"
T = TypeVar("T")


def alive(kind: type[T]) -> Iterator[T]:
    """Every object of a class that the host, or another object, still needs."""
    for item in [*HELD.values(), *(kept() for kept in list(KEPT.values()))]:
        if item.__class__ is kind:
            yield item


def memory_in_use() -> dict[int, str]:
    """Buffers that the host holds, and allocations of unified shared memory: number in traces, and in words."""
    found = {}
    for buffer in [item for item in HELD.values() if item.__class__ is Buffer]:
        kind = "buffer" if buffer.parent is None else "sub-buffer"
        found[buffer.number] = f"{kind} {buffer.number} of {in_words(buffer.size)}"
    for context in alive(Context):
        for allocation in context.usm.all():
            kind = f"{allocation.kind.name.lower()} allocation"
            found[allocation.number] = f"{kind} {allocation.number} of {in_words(allocation.size)}"
    return found


def unfinished() -> int:
    """How many commands have not ended."""
    return sum(len(queue.outstanding) for context in alive(Context) for queue in context.all_queues())


def settle(patience_s: float) -> bool:
    """Wait for what runs or is ready to; False when that takes longer."""
    return the_platform().scheduler.settle(patience_s)


def renew_boards() -> None:
    """Boards as if they were new, when nothing runs.

    Buffers that are alive keep their contents, in the host's memory, until they are needed on a board again.
    Some stay where they are: mapped buffers and unified shared memory, because the host has pointers to them, and
    buffers with CL_MEM_USE_HOST_PTR, because nobody knows whether that memory is still there.
    """
    buffers = list(alive(Buffer))
    stay = {buffer.owner for buffer in buffers if buffer.map_count or buffer.owner.host_ptr}
    for buffer in {buffer.owner for buffer in buffers} - stay:
        if buffer.blocks:
            buffer.migrate_to_host(REASON)
    for device in the_platform().devices:
        device.renew()


def number_of(handle: int) -> int:
    """The number in traces of the memory behind a cl_mem: a sub-buffer is in its parent's. Raises InvalidMemObject."""
    return find(handle, Buffer).owner.number


def begin_trace(path: str) -> Callable[[], None]:
    """Trace into a file from now on, until what this returns is called; nothing may run. Raises OSError."""
    trace = Trace(path)
    devices = the_platform().devices
    untraced = [device.mmd for device in devices]
    for device in devices:
        device.mmd = TracedMmd(device.mmd, device.id, trace)
        for block in list(device.live.values()):
            trace.know(block)
    NOTICES.listen(trace)
    restore = observe_bound(trace.observe)

    def end() -> None:
        restore()
        NOTICES.silence(trace)
        for device, mmd in zip(devices, untraced, strict=True):
            device.mmd = mmd
        trace.close()

    return end
