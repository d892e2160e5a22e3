# SPDX-License-Identifier: Apache-2.0
"""The decorator that makes a Python function an entry point of the driver.

    @entry("clRetainThing")
    def retain_thing(thing: Thing, count: int) -> None: ...

The annotations determine how C arguments are converted:

- a class of fpgart.runtime: a handle, looked up; anything else gives CL_INVALID_<class>
- `Class | None`: the same, with NULL allowed
- `WaitList`: two C arguments (count and array) become a tuple of events of the context at hand
- anything else is passed on: integers, addresses as integers, typed pointers as cffi has them

The return annotation determines the result: `None` is CL_SUCCESS; `Command` is an event, handed out
through one more C argument, the event pointer, if that is not NULL, or None where C has done that; a class of
fpgart.runtime is returned as a handle, with the status in errcode_ret; `Attempt` is an object of such a class, returned
whether or not the error beside it is the status; `Address` is an address with the status there, too; `Mapped` is an
address and an event; `Pointer` is an address in a call that has no status, NULL for failure; `Answer` is that of a
query, which is written where three more C arguments say (size, pointer, and pointer to the answer's size).
A CLError becomes its status, any other exception CL_OUT_OF_HOST_MEMORY with a traceback
in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from _fpgart_icd import ffi, lib

from fpgart.base import errors, log
from fpgart.base.notices import NOTICES
from fpgart.bridge.handles import HELD, KINDS, find, in_words, not_counted, publish
from fpgart.bridge.info import write
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event

WaitList = tuple[Event, ...]
Command = Event | None
Pointer = int
Address = int
Mapped = tuple[int, Event | None]
Attempt = tuple[Any, errors.CLError | None]
Answer = bytes
F = TypeVar("F", bound=Callable[..., Any])

OUT_OF_HOST_MEMORY = errors.OutOfHostMemory.status
REGISTERED: set[str] = set()
"""The API functions that have an entry point here."""
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]
_wraps: list[Wrap] = []
BOUND: dict[str, tuple[Callable[..., Any], int | None]] = {}
"""The functions that C calls, by name, and the results that it gets if they raise."""


def observe(wrap: Wrap) -> None:
    """Wraps every entry point that is registered later, for a watcher."""
    _wraps.append(wrap)
    lib.fpgart_remember_nothing()


def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an entry point with the watchers around it."""
    for wrap in _wraps:
        function = wrap(name, function)
    return function


def observe_bound(wrap: Wrap) -> Callable[[], None]:
    """Wraps every entry point that is registered, until the returned function is called."""
    lib.fpgart_remember_nothing()
    before = dict(BOUND)
    for name, (function, error) in before.items():
        bind(name, wrap(name, function), error)

    def restore() -> None:
        for name, (function, error) in before.items():
            bind(name, function, error)

    return restore


def bind(name: str, function: Callable[..., Any], error: int | None) -> None:
    """Makes C call `function` for the API function `name`; `error` is the result if it raises."""
    BOUND[name] = function, error
    ffi.def_extern(name=f"py_{name}", error=error)(function)


def result_of_failure(returned: str, status: int) -> int | None:
    """Returns what a failed call returns, by its type in C: the status; nothing; 0, which is NULL for an object."""
    return {"cl_int": status, "void": None}.get(returned, 0)


def entry(name: str, *more: str, status: bool = True) -> Callable[[F], F]:
    """Registers the decorated function as the API function `name` (and under further names).

    `status` False is for the one function that returns nothing to C.
    """

    def register(function: F) -> F:
        error = _error_value(function) if status else None
        for each in (name, *more):
            REGISTERED.add(each)
            bind(each, _made_when_called(each, function, status, error), error)
        return function

    return register


def _made_when_called(name: str, function: Callable[..., Any], status: bool, error: int | None) -> Callable[..., Any]:
    """Returns an entry point whose wrapper is made by its first call: hosts call few functions of a chapter."""
    made: Callable[..., Any] | None = None

    def call(*arguments: Any) -> Any:
        nonlocal made
        if made is None:
            made = wrapped(name, _make(name, function, status))
        if BOUND[name][0] is call:  # and not a watcher around it
            bind(name, made, error)
        return made(*arguments)

    return call


def _error_value(function: Callable[..., Any]) -> int:
    returned = function.__annotations__["return"]
    return OUT_OF_HOST_MEMORY if returned in ("None", "Command", "Answer") else 0


def _make(name: str, function: Callable[..., Any], status: bool) -> Callable[..., Any]:
    """Returns the wrapper. It is compiled from source, so that calls interpret no annotations."""
    annotations = dict(function.__annotations__)
    returned = annotations.pop("return")
    if not status:
        returned = "Void"
    takes: list[str] = []
    gives: list[str] = []
    looks_up: list[str] = []
    objects: list[str] = []
    classes: dict[str, type] = {}
    for argument, annotation in annotations.items():
        kind, _, optional = annotation.partition(" | ")
        if kind in KINDS:
            classes[kind] = function.__globals__[kind]
            takes.append(argument)
            gives.append(f"o_{argument}")
            objects.append(f"o_{argument}")
            look_up = (
                f"o_{argument} = HELD.get({argument})",
                f"if o_{argument}.__class__ is not {kind}:",
                f"    o_{argument} = {f'None if not {argument} else ' if optional else ''}find({argument}, {kind})",
            )
            looks_up += look_up
        elif kind == "WaitList":
            takes += ["event_count", "event_list"]
            gives.append(
                f"wait_list(event_count, event_list, {objects[0]}.context) if event_count or event_list else ()"
            )
        else:
            takes.append(argument)
            gives.append(argument)
    call = f"call({', '.join(gives)})"
    failure = f"return failed(error, {name!r}, o)"
    if returned == "None":
        body = [call, "return 0"]
    elif returned == "Answer":
        takes += ["param_value_size", "param_value", "param_value_size_ret"]
        body = [f"write({call}, param_value_size, param_value, param_value_size_ret)", "return 0"]
    elif returned in ("Pointer", "Void"):
        body = [f"return {call}"]
        failure = f"failed(error, {name!r}, o)"
    elif returned == "Command":
        takes.append("event_ret")
        body = [f"made = {call}", "if event_ret and made is not None:", "    event_ret[0] = publish(made)", "return 0"]
    else:
        status_words = "0"
        if returned == "Mapped":
            takes.append("event_ret")
            body = [f"made, event = {call}", "if event_ret and event is not None:", "    event_ret[0] = publish(event)"]
        elif returned == "Attempt":
            body = [f"made, error = {call}"]
            status_words = f"failed(error, {name!r}, {objects[0]}) if error else 0"
        else:
            body = [f"made = {call}"]
        takes.append("errcode_ret")
        result = "publish(made)" if returned in KINDS or returned == "Attempt" else "made"
        body += [f"result = {result}", f"errcode_ret[0] = {status_words}", "return result"]
        failure = f"errcode_ret[0] = failed(error, {name!r}, o)\n        return 0"
    failure = failure.replace(", o)", f", {objects[0]})" if objects else ", None)")
    crashed = f"return crashed({name!r})"
    if returned in ("Pointer", "Void"):
        result = f"\n        return {'0' if returned == 'Pointer' else 'None'}"
        crashed = f"crashed({name!r}){result}"
        failure += result
    if "errcode_ret" in takes:
        crashed = f"errcode_ret[0] = crashed({name!r})\n        return 0"
    lines = [f"def {name}({', '.join(takes)}):"]
    lines += [f"    {o} = None" for o in objects[:1]]
    lines += ["    try:"]
    lines += [f"        {line}" for line in (*looks_up, *body)]
    lines += ["    except CLError as error:", f"        {failure}", "    except BaseException:", f"        {crashed}"]
    scope = {
        "HELD": HELD,
        "find": find,
        "publish": publish,
        "write": write,
        "wait_list": wait_list,
        "failed": failed,
        "crashed": crashed_,
        "CLError": errors.CLError,
        "call": function,
        **classes,
    }
    exec(compile("\n".join(lines), f"<entry {name}>", "exec"), scope)
    made = scope[name]
    assert callable(made)
    return made


def wait_list(count: int, events: Any, context: Context | None) -> tuple[Event, ...]:
    """Returns events of `context`. Raises InvalidEventWaitList, InvalidContext."""
    if bool(count) != bool(events):
        raise errors.InvalidEventWaitList(
            f"{count} events are announced, but the list is {'not NULL' if events else 'NULL'}"
        )
    found = []
    for index in range(count):  # nothing is read behind the first handle that is no event
        handle = events[index]
        try:
            event = HELD.get(handle) or find(handle, Event)
        except errors.InvalidEvent as error:
            raise errors.InvalidEventWaitList(str(error)) from None
        if event.__class__ is not Event:
            raise errors.InvalidEventWaitList(in_words(handle, event, "Event"))
        if context is not None and event.context is not context:
            raise errors.InvalidContext("an event of the wait list belongs to another context")
        found.append(event)
    return tuple(found)


def failed(error: errors.CLError, name: str, item: Any) -> int:
    """Reports an error to the log, watchers and the context, and returns its status."""
    log.error(errors.without_frames(error), name)
    for listener in NOTICES.call_failed:
        listener(name, error.status, str(error))
    tell_context(error, item)
    return error.status


def called_by_c(name: str, function: Callable[..., Any]) -> None:
    """Makes a function the one that C calls by that name. If it fails, that is logged, and C gets 0."""
    ffi.def_extern(name=name, onerror=lambda _, failure, __: log.bug(f"{name} failed", failure))(function)


def count_refused(handle: int, kind: int, releases: int) -> None:
    """Reports the error of a clRetain... or clRelease... that C has refused."""
    name = next(name for name, (number, _) in KINDS.items() if number == kind)
    noun = "MemObject" if name == "Buffer" else name
    failed(not_counted(handle, name), f"cl{'Release' if releases else 'Retain'}{noun}", None)


def tell_context(error: errors.CLError, item: Any) -> None:
    """Reports an error to the pfn_notify of the object's context."""
    context = item if item.__class__ is Context else getattr(item, "context", None)
    if context is not None:
        context.notify(error)


def crashed_(name: str) -> int:
    """Logs the exception that is being handled and returns CL_OUT_OF_HOST_MEMORY."""
    log.bug(f"{name} failed")
    return OUT_OF_HOST_MEMORY


def cast(pointer: str, address: int) -> Any:
    """Returns a typed pointer for a host's address."""
    return ffi.cast(pointer, address)


def string_at(address: int, most: int = -1) -> str:
    """Returns the C string at a host's address, or its first `most` bytes if that is not -1."""
    return bytes(ffi.string(ffi.cast("char *", address), most)).decode(errors="surrogateescape")


def bytes_at(address: int, size: int) -> bytes:
    """Returns `size` bytes at a host's address."""
    if size == 8 or size == 4:
        return int(lib.fpgart_load(address, size)).to_bytes(size, "little")
    return bytes(ffi.buffer(ffi.cast("char *", address), size))
