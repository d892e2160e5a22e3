# SPDX-License-Identifier: Apache-2.0
"""From handles to objects and back.

A handle from the host is an integer here. It stands for an object if, and only if, it is a key of
`HELD` (the host holds references) or of `KEPT` (the host gave its references back, but other objects
still need this one). Nothing is ever read through it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable
from typing import Any, TypeVar

from _fpgart_icd import lib

from fpgart import errors
from fpgart import opencl as cl
from fpgart.notices import NOTICES
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import COMPLETE, Event
from fpgart.runtime.scheduling.reaper import Reaper

T = TypeVar("T")

KINDS: dict[str, tuple[int, type[errors.CLError]]] = {
    "Platform": (1, errors.InvalidPlatform),
    "Device": (2, errors.InvalidDevice),
    "Context": (3, errors.InvalidContext),
    "CommandQueue": (4, errors.InvalidCommandQueue),
    "Buffer": (5, errors.InvalidMemObject),
    "Pipe": (5, errors.InvalidMemObject),
    "Program": (6, errors.InvalidProgram),
    "Kernel": (7, errors.InvalidKernel),
    "Event": (8, errors.InvalidEvent),
}
"""Classes of fpgart.runtime by name, because those that no host has used are not imported: what C calls them
(enum fpgart_kind), and the error for another handle."""
MEMORY = 4096  # how many dead handles are remembered at most, to name what they were

ADDRESSES = 1 << 29
"""Bytes of address space that handles take at least (icd/handles.c); few of them are touched."""

HELD: dict[int, Any] = {}
"""Also events that the host does not hold while others, which it holds, end with them."""
KEPT: dict[int, weakref.ref[Any]] = {}
_DEAD: dict[int, type] = {}
_REAPING = threading.Lock()
"""Held while last references that were put off are released: no thread goes on before they are. Callbacks of the
host come after it."""
_BEARING = threading.Lock()
"""Held while a late event is made."""


def publish(item: Any) -> int:
    """The handle of `item`, with one reference held by the host; made at the first call."""
    if item.handle:
        return int(item.handle)
    handle = int(lib.fpgart_handle_new(KINDS[item.__class__.__name__][0], 1))
    if not handle:
        from fpgart.memory_limit import limit_of_memory  # only who fails pays for it

        raise errors.OutOfHostMemory(
            "no room for another handle: eight million objects are alive, or the system gives no addresses for handles"
            + limit_of_memory(ADDRESSES, ADDRESSES)
        )
    _hold(item, handle)
    return handle


def _hold(item: Any, handle: int) -> None:
    _DEAD.pop(handle, None)
    item.handle = handle
    HELD[handle] = item
    for listener in NOTICES.handle_given:
        listener(item)


def publish_as(item: Any, handle: int) -> None:
    """The host knows `item` by `handle` already; release_unheld() has to follow, without a lock.

    For the host may just have released its last reference, and callbacks of the host may come of that.
    """
    _hold(item, handle)


def release_unheld(handles: Iterable[int]) -> None:
    """Release objects of which the host gave its last reference back while they were published. Without a lock."""
    for handle in handles:
        if not lib.fpgart_handle_is_held(handle):
            host_released(handle)


def publish_born(event: Event, handle: int) -> None:
    """As publish_as(), of one that was unborn: who asks for it meanwhile finds it. Not if the host has released it."""
    with _BEARING:
        if not lib.fpgart_event_born(handle):
            return
        _hold(event, handle)
    release_unheld([handle])


def publish_parent(event: Event) -> int:
    """The handle of an event that the host does not hold; late events that it holds are to end with it."""
    handle = int(lib.fpgart_handle_new(KINDS["Event"][0], 0))
    if not handle:
        raise errors.OutOfHostMemory("no room for another handle: eight million objects are alive")
    _hold(event, handle)
    return handle


def bear(handle: int) -> Event | None:
    """Make the late event behind a handle (icd/handles.c), or give the one that another thread makes; None without."""
    parent_handle = int(lib.fpgart_event_parent(handle))
    with _BEARING:
        if not parent_handle:
            return HELD.get(handle)  # another thread was first, and may have been about to enter it
        parent: Event | None = HELD.get(parent_handle)
        if parent is None or not lib.fpgart_event_parent(handle):
            return HELD.get(handle)  # another thread was first
        event = parent.context.scheduler.end_with(parent)
        if not lib.fpgart_event_bear(handle):
            return None  # the host has just released it
        _hold(event, handle)
    if parent.status == COMPLETE and not (NOTICES.end_observed or parent.context.scheduler.ends_are_news):
        lib.fpgart_remember(parent_handle, cl.CL_EVENT_COMMAND_EXECUTION_STATUS, bytes(4), 4)  # of all others, too
        lib.fpgart_remember(parent_handle, cl.CL_EVENT_CONTEXT, parent.context.handle.to_bytes(8, "little"), 8)
    was_last = lib.fpgart_event_loses_child(parent_handle)
    parent = None
    if was_last:
        host_released(parent_handle)
    release_unheld([handle])
    return event


def late_event(handle: int, parent: Event | None) -> Event | None:
    """The event that ends with `parent`, if a handle stands for one of these; it may stand for another by now."""
    event = (HELD.get(handle) or bear(handle)) if handle else None
    return event if event.__class__ is Event and parent in event.predecessors else None


def _have_end_late(handle: int, queue_handle: int) -> None:
    """Have an unborn event end with the launches that C has run in a queue (icd/runs.c), which are a command then."""
    queue: Any = HELD.get(queue_handle)
    if queue is None and (kept := KEPT.get(queue_handle)) is not None:
        queue = kept()
    if queue.__class__.__name__ != "CommandQueue":
        return  # they have ended, and it has gone
    command = queue.context.scheduler.command_of(queue.device.loan)
    if command is None:
        return  # they have ended
    with _BEARING:
        _have_as_parent(command)
        lib.fpgart_run_becomes(handle, command.handle)
        if not lib.fpgart_handle_is_held(command.handle):  # another run: that of the event has ended
            _drop(command)


def _have_as_parent(command: Event) -> None:
    """Late events may end with `command`. Within _BEARING, as _drop(): others may want it for events of theirs."""
    if not command.handle:
        publish_parent(command)
    elif command.handle not in HELD:
        KEPT.pop(command.handle, None)
        HELD[command.handle] = command


def _drop(command: Event) -> None:
    """None does, so it is not held any more."""
    handle = command.handle
    del HELD[handle]
    KEPT[handle] = weakref.ref(command, lambda _: _forget(handle, Event))


def bear_all() -> None:
    """Make all late events."""
    handle = 0
    while handle := int(lib.fpgart_next_late(handle)):
        bear(handle)


def find(handle: int, kind: type[T]) -> T:
    """The object behind a handle; raises CL_INVALID_<kind> for anything else."""
    item = HELD.get(handle)
    if item is None and (kept := KEPT.get(handle)) is not None:
        item = kept()
    if item is None:
        while queue := lib.fpgart_await_birth(handle):  # C runs its launch, and that takes long
            _have_end_late(handle, queue)
        item = HELD.get(handle) or bear(handle)
    if item.__class__ is kind:
        return item
    _, error = KINDS[kind.__name__]
    raise error(f"{_describe(handle, item)} is not a {kind.__name__}")


def _describe(handle: int, item: Any) -> str:
    if not handle:
        return "NULL"
    if item is not None:
        return f"{handle:#x} (a {item.__class__.__name__})"
    if handle in _DEAD:
        return f"{handle:#x} (a {_DEAD[handle].__name__} that was released)"
    return f"{handle:#x}"


def _alone() -> int:
    """What sys.getrefcount() says of an object that has a local variable only; CPython 3.14 does not count itself."""
    item = object()
    return sys.getrefcount(item)


ALONE = _alone()


def host_released(handle: int) -> None:
    """The host gave back its last reference: the object dies, or lives on for those that need it."""
    reaper = _release(handle)
    if reaper:
        reaper.reap()


def _release(handle: int) -> Reaper | None:
    """As host_released(), but for what the object leaves behind, callbacks of the host among it: with that."""
    item = HELD.pop(handle, None)
    if item is None:
        return None
    kind = item.__class__
    context = item if kind is Context else getattr(item, "context", None)
    reaper = context.reaper if context is not None else None
    context = None  # it may die with the item
    if sys.getrefcount(item) == ALONE:
        if kind is Context:
            item.seen_to = True  # its callbacks have returned when this call does
        item = None
        _forget(handle, kind)
    else:
        KEPT[handle] = weakref.ref(item, lambda _: _forget(handle, kind))
        item = None
    return reaper


def reap() -> None:
    """See to the last references that were put off (icd/handles.c); returns when none is left."""
    left: dict[int, Reaper] = {}
    with _REAPING:
        while handle := int(lib.fpgart_next_released()):
            if not lib.fpgart_handle_is_held(handle):  # it may have been retained since
                reaper = _release(handle)
                if reaper:
                    left[id(reaper)] = reaper
            lib.fpgart_released_done()
    for reaper in left.values():
        reaper.reap()


def host_retained(handle: int) -> None:
    """The host took a reference to an object of which it had none."""
    kept = KEPT.pop(handle, None)
    item = kept() if kept is not None else None
    if item is not None:
        HELD[handle] = item


def _forget(handle: int, kind: type) -> None:
    KEPT.pop(handle, None)
    if len(_DEAD) == MEMORY:
        _DEAD.clear()
    _DEAD[handle] = kind
    lib.fpgart_handle_free(handle)


def references(item: Any) -> int:
    """The host's reference count of an object."""
    return int(lib.fpgart_handle_references(item.handle))
