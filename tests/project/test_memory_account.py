# SPDX-License-Identifier: Apache-2.0
"""conformance/memory_account.py: what counts as memory in use, and which growth is told."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import pytest
from memory_account import MAY_GROW_BLOCKS, MIB, Account, account

EARLY = Account(resident=100 * MIB, given_out=40 * MIB, kept_free=9 * MIB, blocks=100_000)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

needs_mallinfo2 = pytest.mark.skipif(not hasattr(libc, "mallinfo2"), reason="this C library cannot tell")


@needs_mallinfo2
@pytest.mark.parametrize(("count", "size"), [(1, 8 * MIB), (8192, 1024)], ids=["mapped", "in an arena"])
def test_what_malloc_gave_out_is_in_use_until_it_is_freed(count: int, size: int) -> None:
    before = account()
    pieces = [libc.malloc(ctypes.c_size_t(size)) for _ in range(count)]
    between = account()
    for piece in pieces:
        libc.free(ctypes.c_void_p(piece))
    after = account()
    assert between.given_out - before.given_out == pytest.approx(8 * MIB, rel=0.1)
    assert after.given_out - before.given_out < MIB / 2


def test_garbage_is_not_in_use() -> None:
    before = account()
    for _ in range(20_000):
        ring: list[object] = []
        ring.append(ring)
    assert abs(account().blocks - before.blocks) < 5_000


def test_all_that_is_resident_is_counted_in_bytes() -> None:
    before = account()
    touched = b"\1" * (64 * MIB)  # so much that what other threads free meanwhile does not count
    assert account().resident - before.resident == pytest.approx(len(touched), rel=0.2)


def test_free_room_that_malloc_keeps_is_no_growth() -> None:
    assert EARLY.growth(replace(EARLY, resident=0, kept_free=0), 0) == ""


def test_more_in_use_than_may_be_is_told_with_its_numbers() -> None:
    late = replace(EARLY, given_out=EARLY.given_out + 3 * MIB)
    assert late.growth(EARLY, 3) == ""
    assert late.growth(EARLY, 2.5) == (
        "memory in use grew by 3.00 MiB and 0 of Python's blocks; 2.5 MiB and 10000 are allowed"
    )
    many = replace(EARLY, blocks=EARLY.blocks + MAY_GROW_BLOCKS)
    assert many.growth(EARLY, 0) == ""
    assert "grew by 0.00 MiB and 10001 " in replace(many, blocks=many.blocks + 1).growth(EARLY, 0)


def test_an_account_is_told_in_mib() -> None:
    assert str(EARLY) == (
        "100.0 MiB resident, 40.00 MiB given out by malloc, 9.00 MiB free in its arenas, 100000 of Python's blocks"
    )
