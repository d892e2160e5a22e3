# SPDX-License-Identifier: Apache-2.0
"""The functions of aocl_mmd.h: each converts C arguments, makes one call on an object, and returns a status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from struct import pack
from typing import Any

from _fpgart_mmd import ffi, lib

from fpgart.base import log
from fpgart.board.global_memory import AllocationType
from fpgart.board.mmd import BoardError, Info, OfflineInfo
from fpgart.mmd.calls import CallLog
from fpgart.mmd.errors import FAILURE, MmdError, Status
from fpgart.mmd.library import Library

PRESERVE_MEMORY = 1
SIZES = frozenset(
    {
        Info.MIN_HOST_MEMORY_ALIGNMENT,
        Info.HOST_MEM_CONCURRENT_GRANULARITY,
        Info.SHARED_MEM_CONCURRENT_GRANULARITY,
        Info.DEVICE_MEM_CONCURRENT_GRANULARITY,
    }
)
"""The queries whose answer is a size_t; other numbers are int."""


class EntryPoints:
    """One method for each function, with its name without aocl_mmd_."""

    def __init__(self, library: Library, calls: CallLog) -> None:
        self._library = library
        self._calls = calls

    def serve(self) -> None:
        """Binds the methods to C."""
        for name in (
            "get_offline_info", "get_info", "open", "close", "set_interrupt_handler", "set_device_interrupt_handler",
            "set_status_handler", "yield", "read", "write", "copy", "program", "free", "refuse_host_channel",
        ):  # fmt: skip
            method = getattr(self, "yield_" if name == "yield" else name)
            ffi.def_extern(name=f"mmd_{name}", error=FAILURE)(self._with_status(name, method))
        ffi.def_extern(name="mmd_host_alloc", error=0)(self.host_alloc)
        ffi.def_extern(name="mmd_shared_alloc", error=0)(self.shared_alloc)

    def _with_status(self, name: str, method: Callable[..., int | None]) -> Callable[..., int]:
        """Returns the method for C: errors are reported, and the host gets their status."""

        def call(*arguments: Any) -> int:
            try:
                return method(*arguments) or 0
            except (MmdError, BoardError) as error:
                return self._failed(name, error)

        return call

    def _failed(self, name: str, error: MmdError | BoardError) -> int:
        log.warning(f"aocl_mmd_{name}: {error}")
        status = error.status if isinstance(error, MmdError) else FAILURE
        self._calls.note(f"{name} failed", int(status))
        return int(status)

    # Queries

    def get_offline_info(self, number: int, size: int, value: int, size_ret: Any) -> None:
        query = _query(OfflineInfo, number)
        _answer(_encoded(self._library.offline_info(query)), query.name, size, value, size_ret)

    def get_info(self, handle: int, number: int, size: int, value: int, size_ret: Any) -> None:
        query = _query(Info, number)
        found = self._library.board(handle).mmd.get_info(query)
        _answer(_encoded(found, "N" if query in SIZES else "i"), query.name, size, value, size_ret)
        self._calls.note("get_info", 0, handle=handle, query=query.name)

    # Boards

    def open(self, name: Any) -> int:
        if name == ffi.NULL:
            raise MmdError("the name of the board is NULL")
        words = ffi.string(name).decode(errors="replace")
        handle = self._library.open(words)
        self._calls.note("open", handle, name=words)
        return handle

    def close(self, handle: int) -> None:
        self._library.close(handle)
        self._calls.note("close", 0, handle=handle)

    def set_interrupt_handler(self, handle: int, function: int, data: int) -> None:
        def tell() -> None:
            self._calls.note("interrupt", handle=handle)
            lib.mmd_tell_interrupt(function, handle, data)

        self._library.board(handle).notices.on_interrupt = tell if function else None
        self._calls.note("set_interrupt_handler", 0, handle=handle)

    def set_device_interrupt_handler(self, handle: int, function: int, data: int) -> None:
        def tell(exception: int) -> None:
            self._calls.note("device_interrupt", handle=handle, exception=exception)
            lib.mmd_tell_device_interrupt(function, handle, exception, data)

        self._library.board(handle).mmd.set_device_interrupt_handler(tell if function else lambda exception: None)
        self._calls.note("set_device_interrupt_handler", 0, handle=handle)

    def set_status_handler(self, handle: int, function: int, data: int) -> None:
        def tell(operation: int, status: int) -> None:
            self._calls.note("status", handle=handle, status=status)
            lib.mmd_tell_status(function, handle, data, operation, status)

        self._library.board(handle).notices.on_status = tell if function else None
        self._calls.note("set_status_handler", 0, handle=handle)

    def yield_(self, handle: int) -> int:
        return int(self._library.board(handle).notices.tell())

    # Transfers

    def read(self, handle: int, operation: int, size: int, host: int, interface: int, offset: int) -> None:
        self._library.board(handle).read(operation, size, _host(host, size), interface, offset)
        self._note_transfer("read", handle, operation, size, interface, offset=hex(offset))

    def write(self, handle: int, operation: int, size: int, host: int, interface: int, offset: int) -> None:
        self._library.board(handle).write(operation, size, _host(host, size), interface, offset)
        self._note_transfer("write", handle, operation, size, interface, offset=hex(offset))

    def copy(self, handle: int, operation: int, size: int, interface: int, source: int, destination: int) -> None:
        self._library.board(handle).copy(operation, size, interface, source, destination)
        places = {"source": hex(source), "destination": hex(destination)}
        self._note_transfer("copy", handle, operation, size, interface, **places)

    def _note_transfer(self, call: str, handle: int, operation: int, size: int, interface: int, **places: str) -> None:
        waits = "no" if operation else "yes"
        self._calls.note(call, 0, handle=handle, blocking=waits, size=size, interface=interface, **places)

    # Programs

    def program(self, handle: int, image: int, size: int, mode: int) -> int:
        data = bytes(ffi.buffer(ffi.cast("char *", _host(image, size)), size))
        self._library.board(handle).program(data, preserve=bool(mode & PRESERVE_MEMORY))
        self._calls.note("program", handle, handle=handle, size=size, mode=mode)
        return handle

    def refuse_host_channel(self, handle: int) -> int:
        raise MmdError(f"board {handle} has no host channels: pipes to the host need the driver, libfpgart.so")

    # Host memory

    def host_alloc(self, handles: Any, number: int, size: int, alignment: int, properties: Any, error: Any) -> int:
        wanted = [] if handles == ffi.NULL else ffi.unpack(handles, number)
        return self._allocate("host_alloc", AllocationType.HOST, wanted, size, alignment, properties, error)

    def shared_alloc(self, handle: int, size: int, alignment: int, properties: Any, error: Any) -> int:
        return self._allocate("shared_alloc", AllocationType.SHARED, [handle], size, alignment, properties, error)

    def _allocate(
        self,
        call: str,
        kind: AllocationType,
        handles: list[int],
        size: int,
        alignment: int,
        properties: Any,
        error: Any,
    ) -> int:
        status, address = int(Status.SUCCESS), 0
        try:
            boards = self._library.mmds(handles)
            address = self._library.host_memory.allocate(boards, kind, size, alignment, list(_pairs(properties)))
            self._calls.note(call, 0, handles=",".join(map(str, handles)), size=size, alignment=alignment)
        except (MmdError, BoardError) as failure:
            status = self._failed(call, failure)
        if error != ffi.NULL:
            error[0] = status
        return address

    def free(self, memory: int) -> None:
        self._library.host_memory.free(memory)
        self._calls.note("free", 0)


def _query(kind: Any, number: int) -> Any:
    if number not in kind.__members__.values():
        raise MmdError(f"{number} is not a query of {kind.__name__}; they are {min(kind)} to {max(kind)}")
    return kind(number)


def _encoded(answer: int | float | str, form: str = "i") -> bytes:
    """Returns the bytes of an answer as the C type that the query returns. `form` is that of a number in struct."""
    if isinstance(answer, str):
        return answer.encode() + b"\0"
    return pack("f" if isinstance(answer, float) else form, answer)


def _answer(found: bytes, name: str, size: int, value: int, size_ret: Any) -> None:
    if size_ret != ffi.NULL:
        size_ret[0] = len(found)
    if not value:
        return
    if size < len(found):
        raise MmdError(f"the answer to {name} has {len(found)} bytes, there is room for {size}")
    ffi.memmove(ffi.cast("char *", value), found, len(found))


def _host(address: int, size: int) -> int:
    if not address and size:
        raise MmdError(f"{size} bytes are to be moved, and the host's pointer is NULL")
    return address


def _pairs(properties: Any) -> Iterator[int]:
    """Yields the names and values before the 0 that ends a list of properties."""
    if properties == ffi.NULL:
        return
    for place in count(0, 2):
        if not properties[place]:
            return
        yield properties[place]
        yield properties[place + 1]
