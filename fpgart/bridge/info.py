# SPDX-License-Identifier: Apache-2.0
"""Answers the clGet...Info functions: one table per kind of object, one function that writes all answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from struct import Struct, pack
from typing import Any, TypeVar

from _fpgart_icd import lib

from fpgart.base.errors import InvalidValue

T = TypeVar("T")
Query = Callable[[T], bytes]

_U32, _U64, _I32 = Struct("I"), Struct("Q"), Struct("i")
_NAME_VERSION = Struct("I64s")
u32 = _U32.pack
i32 = _I32.pack
u64 = _U64.pack
size = _U64.pack
bitfield = _U64.pack


Part = tuple[int, int]
"""The part that an answer is about: the whole object, an argument by index, a device by handle, or a type of devices
(struct fpgart_part)."""
WHOLE: Part = (lib.FPGART_WHOLE, 0)


def of_argument(index: int) -> Part:
    return lib.FPGART_ARGUMENT, index


def on_device(handle: int) -> Part:
    return lib.FPGART_ON_DEVICE, handle


def of_type(device_type: int) -> Part:
    return lib.FPGART_OF_TYPE, device_type


def boolean(value: object) -> bytes:
    return u32(1 if value else 0)


def handle(item: Any) -> bytes:
    """Returns the handle of an object; NULL for None."""
    return u64(item.handle if item is not None else 0)


def handles(items: Any) -> bytes:
    return b"".join(handle(item) for item in items)


def sizes(values: Any) -> bytes:
    return pack(f"{len(values)}Q", *values)


def string(text: str) -> bytes:
    return text.encode(errors="surrogateescape") + b"\0"


def version(major: int, minor: int) -> int:
    """Returns a cl_version whose patch is 0."""
    return major << 22 | minor << 12


def name_version(name: str, number: int) -> bytes:
    """Returns a cl_name_version: 4 bytes of version, 64 of name."""
    return u32(number) + name.encode()[:63].ljust(64, b"\0")


def name_versions(array: bytes) -> Iterator[tuple[str, int]]:
    """Yields the names and versions in an array of cl_name_version that an engine has answered.

    A name ends at the first zero, because Intel's runtime leaves other bytes after it.
    """
    whole = len(array) - len(array) % _NAME_VERSION.size
    for number, field in _NAME_VERSION.iter_unpack(array[:whole]):
        yield field.partition(b"\0")[0].decode(errors="replace"), number


def answer_of(
    table: Mapping[int, Query[T]],
    item: T,
    query: int,
    fixed: Collection[int] = (),
    about: Any = None,
    part: Part = WHOLE,
) -> bytes:
    """Returns the answer to `query`. Raises InvalidValue.

    `fixed`: queries whose answers never change for an object, or for part of an object, `about`. C answers them from
    then on.
    """
    found = table.get(query)
    if found is None:
        raise InvalidValue(f"{query:#x} is not a query for this object")
    data = found(item)
    return remember(item if about is None else about, query, data, part) if query in fixed else data


def remember(item: Any, query: int, data: bytes, part: Part = WHOLE) -> bytes:
    """Lets C answer `query` about an object, or part of it, with `data` from now on. Returns `data`."""
    lib.fpgart_remember(item.handle, *part, query, data, len(data))
    return data


def remember_build(program: Any, query: int, data: bytes, part: Part = WHOLE) -> None:
    """Lets C answer `query` about a built program until the next build. The caller holds one of its kernels."""
    lib.fpgart_remember_build(program.handle, *part, query, data, len(data))


def write(data: bytes, length: int, value: int, length_ret: Any) -> None:
    """Writes an answer, its length in bytes, or both. Raises InvalidValue if the host's memory is too small for it."""
    if lib.fpgart_answer(value, length, length_ret, data, len(data)):
        raise InvalidValue(f"the answer has {len(data)} bytes, there is room for {length}")
