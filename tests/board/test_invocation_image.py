# SPDX-License-Identifier: Apache-2.0
"""The invocation image that starts a kernel, and the board's registers (board/invocation.py, board/csr.py)."""

from __future__ import annotations

import struct

import pytest

from fpgart.board import csr
from fpgart.board.invocation import FIXED, LocalPlaces, fixed_part


def test_an_image_begins_with_the_nd_range_in_72_bytes() -> None:
    part = fixed_part(3, (1, 2, 1 << 40, 100, 7, 9, 8, 7, 5))
    assert len(part) == FIXED.size == 72
    dimensions, per_group, *rest = struct.unpack_from("<2I9I", part)
    assert (dimensions, per_group) == (3, 280)
    assert rest == [100, 7, 9, 13, 1, 2, 8, 7, 5]
    assert part[44:48] == bytes(4)
    assert struct.unpack_from("<3Q", part, 48) == (1, 2, 1 << 40)


def test_sizes_beyond_32_bits_are_cut_to_them() -> None:
    part = fixed_part(1, (0, 0, 0, (3 << 32) + 5, 0xFFFF_FFFF, 1, 1, 1, 1))
    assert struct.unpack_from("<3I", part, 8) == (5, 0xFFFF_FFFF, 1)


def test_local_arguments_are_at_multiples_of_a_kibibyte() -> None:
    places = LocalPlaces()
    assert [places.place(size) for size in (1, 1024, 1025, 4)] == [0, 1024, 2048, 4096]


@pytest.mark.parametrize(("argument_bytes", "registers"), [(0, 256), (128, 256), (129, 512), (384, 512), (385, 768)])
def test_a_kernel_has_registers_in_steps_of_256_bytes_of_which_128_are_not_for_arguments(
    argument_bytes: int, registers: int
) -> None:
    assert csr.register_bytes(argument_bytes) == registers


def test_registers_are_where_boards_have_them() -> None:
    assert (csr.VERSION, csr.SEGMENT, csr.RESET) == (0, 0x20, 0x30)
    assert (csr.WINDOW, csr.WINDOW_BYTES, csr.ROM, csr.ROM_BYTES) == (0x1000, 0x1000, 0x2000, 0x1000)
    assert csr.VERSION_ID == 0xA0C00001
    assert (csr.STATUS, csr.START, csr.PROFILE_DATA, csr.PROFILE_END) == (0, 8, 0x18, 0x30)
    assert (csr.FINISH_COUNTER, csr.IMAGE, csr.ARGUMENTS) == (0x30, 0x38, 0x80)
    assert (csr.KERNEL_VERSION, csr.VERSION_SHIFT, csr.DONE, csr.RUNNING) == (5, 16, 2, 0x8000)
