# SPDX-License-Identifier: Apache-2.0
"""Converts between handles and objects.

A handle from the host is an integer. It stands for an object if, and only if, it is a key of `HELD` (the host has
references) or of `KEPT` (the host has released its references, but other objects need this one). Nothing is ever read
through it.
"""

from __future__ import annotations

import re
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from _fpgart_icd import ffi, lib

from fpgart.base import errors
from fpgart.base.notices import NOTICES
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.reaper import Destructible, Reaper

if TYPE_CHECKING:
    from fpgart.runtime.memory.buffer import Buffer
    from fpgart.runtime.programs.program import Program

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
    "Sampler": (9, errors.InvalidSampler),
}
"""Classes of fpgart.runtime by name, because those that no host has used are not imported: what C calls them
(enum fpgart_kind), and the error for another handle. Boards have no samplers, so there is no such class."""
MEMORY = 4096  # the number of released handles whose class is remembered for messages

ADDRESSES = 1 << 29
"""The address space in bytes that handles take at least (icd/entry/handles.c); few pages of it are used."""

HELD: dict[int, Any] = {}
KEPT: dict[int, weakref.ref[Any]] = {}
_DEAD: dict[int, type] = {}
_LEFT: deque[Reaper] = deque()
_REAPING = threading.Lock()
"""Held while deferred releases of last references are done, so that each thread returns after them.

Callbacks of the host are made without it.
"""
_VIEWING = threading.Lock()
"""Held while a view is made."""


def publish(item: Any) -> int:
    """Returns the handle of `item`, with a reference of the host. The first call makes it."""
    if item.handle:
        return int(item.handle)
    handle = int(lib.fpgart_handle_new(KINDS[item.__class__.__name__][0], 1))
    if not handle:
        from fpgart.base.memory_limit import limit_of_memory  # imported for this failure only

        raise errors.OutOfHostMemory(
            "no room for another handle: two million objects are alive, or the system gives no addresses for handles"
            + limit_of_memory(ADDRESSES, ADDRESSES)
        )
    if (told := PUBLISHED.get(item.__class__.__name__)) is not None:
        told(item, handle)
    _hold(item, handle)
    return handle


def _publish_buffer(buffer: Buffer, handle: int) -> None:
    parent = buffer.parent.handle if buffer.parent is not None else 0
    lib.fpgart_buffer_is(handle, buffer.context.handle, parent, buffer.flags, buffer.origin, buffer.size)


def _publish_program(program: Program, handle: int) -> None:
    program.end_kernels = partial(_end_kernels, handle)


def _publish_event(event: Event, handle: int) -> None:
    if event.command is not None:
        command = int(ffi.cast("uintptr_t", event.command.pointer))
        lib.fpgart_event_is(handle, command, event.context.handle, event.command_type)


def _end_kernels(program: int) -> bool:
    return bool(lib.fpgart_kernels_end(program))


PUBLISHED: dict[str, Callable[[Any, int], None]] = {
    "Buffer": _publish_buffer,
    "Event": _publish_event,
    "Program": _publish_program,
}
"""Called with a new handle, by class: passes further facts to C or to the object."""


def _hold(item: Any, handle: int) -> None:
    _DEAD.pop(handle, None)
    item.handle = handle
    HELD[handle] = item
    for listener in NOTICES.handle_given:
        listener(item)


Maker = Callable[[Any, Any, int], Any]
VIEWABLE = tuple(KINDS[name][0] for name in ("CommandQueue", "Buffer", "Kernel", "Event"))
"""The kinds of objects that C makes."""


makers: Callable[[], Mapping[int, Maker]] = dict
"""Returns, by kind, the function that makes a view of its parent, C's facts about it, and its handle (views.py).

There are none before the driver has started.
"""


def view(handle: int) -> Any:
    """Returns a view of an object that C has made; None if there is none."""
    with _VIEWING:
        item = _view(handle)
    if item.__class__ is Event:
        item.look()
    if item is not None and not lib.fpgart_handle_is_held(handle):  # the host has just released it
        host_released(handle)
    return item


def _view(handle: int) -> Any:
    found = ffi.new("struct fpgart_unseen *")
    if not lib.fpgart_view(handle, found):
        return seen(handle)  # another thread has made it
    try:
        parent = seen(found.parent) or _view(found.parent)
        item = makers()[found.kind](parent, found, handle)
    except BaseException:
        lib.fpgart_unview(handle)
        raise
    _hold(item, handle)
    return item


def seen(handle: int) -> Any:
    """Returns the object of a handle that Python knows; None for others."""
    item = HELD.get(handle)
    if item is None and (kept := KEPT.get(handle)) is not None:
        item = kept()
    return item


def known(handle: int) -> Any:
    """Returns the object of a handle, of any kind; None if there is none."""
    item = seen(handle)
    return item if item is not None else view(handle)


def view_all(*names: str) -> None:
    """Makes views of all objects of these classes, by default of all classes that have views."""
    for kind in [KINDS[name][0] for name in names] or VIEWABLE:
        handle = 0
        while handle := int(lib.fpgart_next_unseen(handle, kind)):
            view(handle)


def alive(kind: type[T]) -> list[T]:
    """Returns every object of a class that the host, or another object, still needs."""
    if KINDS[kind.__name__][0] in VIEWABLE:
        view_all(kind.__name__)
    items = [*HELD.values(), *(kept() for kept in list(KEPT.values()))]
    return list(dict.fromkeys(item for item in items if item.__class__ is kind))  # one may have moved between the two


def find(handle: int, kind: type[T]) -> T:
    """Returns the object of a handle. Raises CL_INVALID_<kind> if there is none of that class."""
    item = known(handle)
    if item.__class__ is kind:
        return item
    _, error = KINDS[kind.__name__]
    raise error(in_words(handle, item, kind.__name__))


def not_counted(handle: int, name: str) -> errors.CLError:
    """Returns the error of a call that retains or releases a `name` to which the host has no reference."""
    kind, error = KINDS[name]
    if lib.fpgart_handle_kind(handle) == kind:  # others need the object still
        return error(f"{handle:#x} is the handle of {_a(name)} that was released")
    return error(in_words(handle, seen(handle), name))


def in_words(handle: int, item: Any, name: str) -> str:
    """Returns why a handle is no `name`; `item` is its object, or None."""
    if item is not None:
        return f"{handle:#x} is {_a(item.__class__.__name__)}, not {_a(name)}"
    if handle in _DEAD:
        return f"{handle:#x} is the handle of {_a(_DEAD[handle].__name__)} that was released"
    return f"{f'{handle:#x}' if handle else 'NULL'} is not {_a(name)}"


def _a(name: str) -> str:
    """Returns `a command queue`, `an event`."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _alone() -> int:
    """Returns sys.getrefcount() of an object with one local variable. CPython 3.14 does not count that itself."""
    item = object()
    return sys.getrefcount(item)


ALONE = _alone()


def host_released(handle: int) -> None:
    """Handles the host's last release: the object is destroyed, or kept for those that need it."""
    reaper = _release(handle)
    if reaper:
        reaper.reap()


def _release(handle: int) -> Reaper | None:
    """Does the same as host_released(), but returns the reaper with the deferred work, host's callbacks included."""
    item = HELD.pop(handle, None)
    if item is None:
        return None
    kind = item.__class__
    context = item if kind is Context else getattr(item, "context", None)
    reaper = context.reaper if context is not None else None
    context = None  # it may be destroyed with the item
    if sys.getrefcount(item) == ALONE:
        if kind is Context:
            item.reaped_by_caller = True  # its callbacks return before this call does
        item = None
        _forget(handle, kind)
    else:
        KEPT[handle] = weakref.ref(item, lambda _: _forget(handle, kind))
        item = None
    return reaper


def reap_soon(*reapers: Reaper) -> None:
    """Lets the thread that reaps, or the next call of reap(), run the reapers' work."""
    _LEFT.extend(filter(None, reapers))
    if _LEFT:
        lib.fpgart_callbacks_are_left(True)


def release_put_off() -> list[Reaper]:
    """Does the deferred releases of last references (icd/entry/handles.c) and returns when none is left.

    Returns the reapers of the destroyed objects.
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
    """Does the deferred releases and the work that destroyed objects left; returns when none is left."""
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
    """Records that the host has a reference again to an object that it had released."""
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


def call_when_destroyed(item: Destructible, handle: int, pfn_notify: int, user_data: int) -> None:
    """Registers a destructor callback of the host's. Raises InvalidValue if it is NULL."""
    if not pfn_notify:
        raise errors.InvalidValue("no callback is given")
    lib.fpgart_destructors_are_watched()
    item.when_destroyed(lambda: lib.fpgart_call_about_object(pfn_notify, handle, user_data))


def references(item: Any) -> int:
    """Returns the host's reference count of an object."""
    return int(lib.fpgart_handle_references(item.handle))
