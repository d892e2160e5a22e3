# SPDX-License-Identifier: Apache-2.0
"""Engines that work on their own buffers: what is copied where, and which bytes count as written."""

from __future__ import annotations

import ctypes

from hypothesis import given
from hypothesis import strategies as st

from fpgart.base import opencl as cl
from fpgart.engine.contents import Contents, Ranges, holes
from fpgart.engine.copying.oclgrind import distinct, messages
from fpgart.engine.copying.own_buffers import (
    ReachedMemory,
    background,
    changes,
    copy_back,
    look_at,
    reached_by,
    untouched,
)
from fpgart.engine.interface import NOWHERE, Fault, Reach

SIZE = 64
SPAN = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted)
READ_ONLY = cl.CL_MEM_READ_ONLY
LOG = """
Invalid read of size 4 at global memory address 0x3000000000040
\tKernel: next
\tEntity: Global(15,2,0) Local(0,0,0) Group(15,0,0)
\t  %0 = load i32, i32 addrspace(1)* %arrayidx, align 4, !dbg !30, !tbaa !31
\tAt line 2 (column 88) of input.cl:
\t  b[i] = a[i + n];
\t

Uninitialized value written to global memory address 0x200000000003c
\tKernel: next
\tEntity: Global(15,2,0) Local(0,0,0) Group(15,0,0)
\tAt line 2 (column 87) of input.cl:
\t  b[i] = a[i + n];

Read-write data race at local memory address 0x1000000000004
\tKernel: turn
\t
\tFirst entity:  Global(1,0,0) Local(1,0,0) Group(0,0,0)
\t  store i32 %conv, i32 addrspace(3)* %arrayidx2, align 4
\tAt line 4 (column 97) of input.cl:
\t  (source not available)
\t
\tSecond entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\tAt line 5 of input.cl:
\t  (source not available)
"""


@given(st.lists(st.tuples(st.booleans(), SPAN)), SPAN)
def test_ranges_are_a_set_of_bytes(steps: list[tuple[bool, list[int]]], asked: list[int]) -> None:
    ranges, model = Ranges(), set()
    for adds, (begin, end) in steps:
        (ranges.add if adds else ranges.remove)(begin, end)
        model = model | set(range(begin, end)) if adds else model - set(range(begin, end))
    found = ranges.within(*asked)
    assert {byte for begin, end in found for byte in range(begin, end)} == model & set(range(*asked))
    assert all(begin < end for begin, end in found)
    between = {byte for begin, end in holes(found, *asked) for byte in range(begin, end)}
    assert between == set(range(*asked)) - model


def test_a_copy_takes_along_what_nobody_has_written() -> None:
    contents = Contents()
    contents.reserved(1000, 100)
    contents.reserved(2000, 100)
    contents.wrote(1010, 20)
    contents.copied(1000, 2000, 50)
    assert contents.unwritten(2000, 50) == [(2000, 2010), (2030, 2050)]
    assert contents.unwritten(2050, 50) == [(2050, 2100)]


def test_memory_that_nobody_announced_counts_as_written() -> None:
    assert Contents().unwritten(0, 1 << 40) == []


@given(st.binary(max_size=9000), st.dictionaries(st.integers(0, 8999), st.integers(0, 255)))
def test_changes_are_the_bytes_that_differ(before: bytes, writes: dict[int, int]) -> None:
    after = bytearray(before)
    for place, value in writes.items():
        if place < len(after):
            after[place] = value
    found = {byte for begin, end in changes(before, bytes(after)) for byte in range(begin, end)}
    assert found == {i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other}


@given(st.integers(0, 70000), st.integers(0, 300), st.sets(st.integers(0, 299)))
def test_words_with_the_filling_are_untouched(begin: int, size: int, writes: set[int]) -> None:
    data = bytearray(background(begin, size))
    for place in writes:
        if place < size:
            data[place] = 0
    found = {byte for low, high in untouched(begin, bytes(data), 0) for byte in range(low, high)}
    words = [range(word, word + 4) for word in range(-(-begin // 4) * 4, begin + size - 3, 4)]
    assert found == {byte for word in words if all(data[b - begin] for b in word) for byte in word}


def test_a_margin_is_left_beside_what_was_written_only() -> None:
    data = bytearray(background(0, 64))
    data[20:24] = bytes(4)
    assert untouched(0, bytes(data), 4) == [(0, 16), (28, 64)]


def test_reaches_that_overlap_become_one_region() -> None:
    reaches = (Reach(200, 50), NOWHERE, Reach(100, 50, READ_ONLY), Reach(120, 100, READ_ONLY), Reach(300, 8))
    found = [(r.address, r.size, sorted(r.arguments)) for r in reached_by(reaches)]
    assert found == [(100, 150, [0, 2, 3]), (300, 8, [4])]


def test_reaches_side_by_side_stay_apart() -> None:
    assert [r.size for r in reached_by((Reach(100, 50), Reach(150, 50)))] == [50, 50]


def test_a_region_has_the_flags_that_its_reaches_share() -> None:
    assert [r.flags for r in reached_by((Reach(0x100, 8, READ_ONLY), Reach(0x100, 8, READ_ONLY)))] == [READ_ONLY]
    assert [r.flags for r in reached_by((Reach(0x100, 8, READ_ONLY), Reach(0x100, 8)))] == [cl.CL_MEM_READ_WRITE]


class Memory:
    """Some bytes of this process, as the region of a launch."""

    def __init__(self, data: bytes) -> None:
        self.bytes = ctypes.create_string_buffer(data, len(data))
        self.address = ctypes.addressof(self.bytes)
        self.region = ReachedMemory(self.address, len(data), cl.CL_MEM_READ_WRITE)

    def kernel_writes(self, offset: int, data: bytes) -> None:
        after = bytearray(self.region.after or self.region.before)
        after[offset : offset + len(data)] = data
        self.region.after = bytes(after)


def test_what_the_host_writes_during_a_launch_stays() -> None:
    memory, contents = Memory(bytes(64)), Contents()
    look_at(memory.region, contents)
    memory.bytes[0] = b"h"
    memory.kernel_writes(4, b"kernel")
    copy_back(memory.region, contents)
    assert memory.bytes.raw[:12] == b"h\0\0\0kernel\0\0"


def test_zeros_arrive_where_nobody_had_written() -> None:
    memory, contents = Memory(b"old!" * 16), Contents()
    contents.reserved(memory.address, 64)
    look_at(memory.region, contents)
    memory.kernel_writes(8, bytes(16))
    copy_back(memory.region, contents)
    assert memory.bytes.raw[8:24] == bytes(16)
    begin = memory.address
    assert contents.unwritten(begin, 64) == [(begin, begin + 8), (begin + 24, begin + 64)]


def test_what_the_host_is_the_first_to_write_stays() -> None:
    memory, contents = Memory(b"old!" * 16), Contents()
    contents.reserved(memory.address, 64)
    look_at(memory.region, contents)
    contents.wrote(memory.address + 32, 4)
    memory.bytes[32:36] = b"host"
    memory.kernel_writes(0, bytes(16))
    copy_back(memory.region, contents)
    assert memory.bytes.raw[:36] == bytes(16) + b"old!" * 4 + b"host"


def test_messages_have_work_items_lines_and_addresses() -> None:
    read, unwritten, race = messages(LOG)
    assert (read.fault, read.kernel, read.space, read.address, read.size) == (
        Fault.READ, "next", "global", 0x3000000000040, 4,
    )  # fmt: skip
    assert [(access.item, access.line) for access in read.accesses] == [((15, 2, 0), 2)]
    assert unwritten.fault is Fault.UNWRITTEN
    assert (race.fault, race.space) == (Fault.RACE, "local")
    assert [(access.item, access.line) for access in race.accesses] == [((1, 0, 0), 4), ((0, 0, 0), 5)]


def test_what_follows_from_an_out_of_bounds_access_is_not_told() -> None:
    assert [message.fault for message in distinct(messages(LOG))] == [Fault.READ, Fault.RACE]
