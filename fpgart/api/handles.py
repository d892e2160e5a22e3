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
from collections import deque
from typing import Any, TypeVar

from _fpgart_icd import ffi, lib

from fpgart import errors
from fpgart import opencl as cl
from fpgart.notices import NOTICES
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, Event
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
KEPT: dict[int, weakref.ref[Any]] = {}
_DEAD: dict[int, type] = {}
_LEFT: deque[Reaper] = deque()
_REAPING = threading.Lock()
"""Held while last references that were put off are released: no thread goes on before they are. Callbacks of the
host come after it."""
_VIEWING = threading.Lock()
"""Held while a view of an event is made."""


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


class CommandInC:
    """The command of an event that C has made, or a user event, by its address; the event's handle keeps it."""

    __slots__ = ("_address",)

    def __init__(self, address: int) -> None:
        self._address = address

    def status(self) -> int:
        return int(lib.fpgart_command_status(self._address))

    def wait(self) -> int:
        return int(lib.fpgart_command_wait(self._address))

    def claim(self) -> bool:
        return bool(lib.fpgart_user_event_claim(self._address))

    def set(self, status: int) -> None:
        lib.fpgart_user_event_set(self._address, status)

    def let_follow(self) -> None:
        lib.fpgart_user_event_let_follow(self._address)

    def watch(self) -> int:
        """Have Python hear of the end (view_ended); the status."""
        return int(lib.fpgart_command_watch(self._address))

    def times(self) -> tuple[int, int, int, int]:
        found = ffi.new("uint64_t[4]")
        lib.fpgart_command_times(self._address, found)
        return found[cl.CL_QUEUED], found[cl.CL_SUBMITTED], found[cl.CL_RUNNING], found[cl.CL_COMPLETE]


def find_existing(handle: int) -> Any:
    """The object behind the handle of one that exists; None if it is gone."""
    item = HELD.get(handle)
    if item is None and (kept := KEPT.get(handle)) is not None:
        item = kept()
    return item


def view(handle: int) -> Event | None:
    """The view of an event that C has made; None if there is no such event."""
    queue_handle, context_handle, kind = ffi.new("uintptr_t *"), ffi.new("uintptr_t *"), ffi.new("cl_uint *")
    with _VIEWING:
        address = int(lib.fpgart_event_view(handle, queue_handle, context_handle, kind))
        if not address:
            return HELD.get(handle)  # another thread was first
        context, queue = find_existing(int(context_handle[0])), find_existing(int(queue_handle[0]))
        event = Event(context, queue, int(kind[0]), None, SUBMITTED if queue is None else RUNNING)
        event.unmet = 1
        event.carried = command = CommandInC(address)
        _hold(event, handle)
    status = command.watch()
    if status <= COMPLETE:
        event.context.scheduler.end_view(event, status)
    if not lib.fpgart_handle_is_held(handle):  # the host has just released it
        host_released(handle)
    return event


def view_ended(handle: int, serial: int, status: int) -> None:
    """The command of an event has ended, of which there was a view. Calls nobody back."""
    if lib.fpgart_handle_serial(handle) != serial:
        return
    item = find_existing(handle)
    if item.__class__ is Event:
        item.context.scheduler.end_view(item, status)
        reap_soon(item.context.reaper)


def view_all() -> None:
    """Have views of all events."""
    handle = 0
    while handle := int(lib.fpgart_next_unseen(handle)):
        view(handle)


def find(handle: int, kind: type[T]) -> T:
    """The object behind a handle; raises CL_INVALID_<kind> for anything else."""
    item = find_existing(handle)
    if item is None:
        item = view(handle)
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


def reap_soon(*reapers: Reaper) -> None:
    """Have the thread that reaps, or the next call of reap(), dispose of what these hold."""
    _LEFT.extend(filter(None, reapers))
    if _LEFT:
        lib.fpgart_callbacks_are_left(True)


def release_put_off() -> list[Reaper]:
    """Release the last references that were put off (icd/handles.c), and return when none is left.

    Returns the reapers of what died.
    """
    left: dict[int, Reaper] = {}
    with _REAPING:
        while handle := int(lib.fpgart_next_released()):
            if not lib.fpgart_handle_is_held(handle):  # it may have been retained since
                reaper = _release(handle)
                if reaper:
                    left[id(reaper)] = reaper
            lib.fpgart_released_done()
    return list(left.values())


def reap() -> None:
    """Release the last references that were put off, and dispose of what died; returns when none is left."""
    lib.fpgart_callbacks_are_left(False)
    left = release_put_off()
    while _LEFT:
        try:
            left.append(_LEFT.popleft())
        except IndexError:  # another thread was faster
            break
    for reaper in left:
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
