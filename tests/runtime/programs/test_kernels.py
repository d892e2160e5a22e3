# SPDX-License-Identifier: Apache-2.0
"""Kernels and what they remember as their arguments (fpgart/runtime/programs/kernel.py)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from machine import Boards, listening, nothing

from fpgart.base.errors import InvalidArgIndex, InvalidArgSize, InvalidArgValue
from fpgart.engine.interface import BYTES, LOCAL, NULL, POINTER
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.programs.kernel import Kernel


class Recorder:
    """Keeps arguments that were set without the kernel, until it tells them."""

    def __init__(self, values: dict[int, bytes]) -> None:
        self.values = values
        self.pending = [len(values)]
        self.changes: list[int] = []

    def tell(self, kernel: Kernel) -> None:
        self.pending[0] = 0
        for index, value in self.values.items():
            kernel.arguments[index] = BYTES, len(value), value

    def changed(self, index: int) -> None:
        self.changes.append(index)


@pytest.fixture
def kernel(boards: Boards) -> Kernel:
    """`kernel void k(global char *a0, int a1, int a2)`."""
    return boards("hetero").kernel(nothing, "DDR", None, None)


def test_a_kernel_begins_without_arguments(kernel: Kernel) -> None:
    assert kernel.arguments == [None, None, None]
    assert (kernel.name, kernel.handle, kernel.indirect, kernel.usm_pointers) == ("k", 0, Indirect.NONE, [])
    assert kernel.engine_kernel_on(kernel.program) is kernel.engine_kernel


def test_a_clone_has_the_arguments_and_then_its_own(kernel: Kernel) -> None:
    kernel.set_value(1, b"abcd")
    kernel.indirect = Indirect.HOST
    kernel.usm_pointers.append(7)
    clone = kernel.clone()
    assert clone is not kernel
    assert (clone.program, clone.arguments) == (kernel.program, kernel.arguments)
    assert (clone.indirect, clone.usm_pointers) == (Indirect.HOST, [7])
    clone.set_value(1, b"efgh")
    clone.usm_pointers.append(8)
    assert (kernel.arguments[1], kernel.usm_pointers) == ((BYTES, 4, b"abcd"), [7])


def test_a_clone_has_what_the_kernel_has_not_been_told_of(kernel: Kernel) -> None:
    kernel.elsewhere = Recorder({2: b"abcd"})
    assert kernel.clone().arguments[2] == (BYTES, 4, b"abcd")


def test_what_was_set_before_does_not_come_later(kernel: Kernel) -> None:
    kernel.elsewhere = recorder = Recorder({1: b"abcd", 2: b"abcd"})
    kernel.set_value(1, b"efgh")
    assert kernel.arguments[1:] == [(BYTES, 4, b"efgh"), (BYTES, 4, b"abcd")]
    assert recorder.changes == [1]


def test_a_kernel_that_was_told_everything_is_told_nothing_more(kernel: Kernel) -> None:
    kernel.elsewhere = Recorder({1: b"abcd"})
    kernel.update_arguments()
    kernel.arguments[1] = BYTES, 4, b"efgh"
    kernel.update_arguments()
    assert kernel.arguments[1] == (BYTES, 4, b"efgh")


@pytest.mark.parametrize("size", [0, 3, 5, 1 << 20])
def test_a_value_has_the_size_of_its_argument(kernel: Kernel, size: int) -> None:
    words = rf"argument 1 \('int a1'\) of kernel 'k' does not have {size} bytes"
    with pytest.raises(InvalidArgSize, match=words):
        kernel.check_value_size(1, size)
    with pytest.raises(InvalidArgSize, match=words):
        kernel.set_value(1, bytes(size))
    assert kernel.arguments[1] is None


def test_a_value_has_up_to_64_kibibytes_if_its_argument_has(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(kernel.engine_kernel), "accepts", lambda *_: True)
    for size in (1, 65536):
        kernel.check_value_size(1, size)
    for size in (0, 65537):
        with pytest.raises(InvalidArgSize):
            kernel.check_value_size(1, size)


def test_nobody_is_asked_about_a_size_that_was_right_before(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.set_value(1, b"abcd")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(type(kernel.engine_kernel), "accepts", lambda _, *of: asked.append(of) or False)
    kernel.check_value_size(1, 4)
    assert asked == []
    for index, size in ((1, 5), (2, 4)):
        with pytest.raises(InvalidArgSize):
            kernel.check_value_size(index, size)
    assert asked == [(1, 5), (2, 4)]


def test_local_memory_is_more_than_nothing(kernel: Kernel) -> None:
    with pytest.raises(InvalidArgSize, match=r"argument 1 \('int a1'\) of kernel 'k' needs a size of local memory"):
        kernel.set_local(1, 0)
    kernel.set_local(1, 1)
    assert kernel.arguments[1] == (LOCAL, 1, 0)


def test_an_address_is_for_pointers_to_global_memory(kernel: Kernel) -> None:
    kernel.set_pointer(0, 4096)
    assert kernel.arguments[0] == (POINTER, 8, 4096)
    kernel.set_pointer(0, 0)
    assert kernel.arguments[0] == (NULL, 8, 0)
    with pytest.raises(InvalidArgValue):
        kernel.set_pointer(1, 4096)


def test_an_argument_that_is_not_there_is_told_with_their_number(kernel: Kernel) -> None:
    assert (kernel.is_pointer(0), kernel.is_pointer(2)) == (True, False)
    with pytest.raises(InvalidArgIndex, match="kernel 'k' has no argument 3; the number of its arguments is 3"):
        kernel.is_pointer(3)
    with pytest.raises(InvalidArgValue, match=r"argument 1 \('int a1'\) of kernel 'k' is not a pipe"):
        kernel.set_pipe(1, None)  # type: ignore[arg-type]


def test_the_first_argument_of_a_buffer_without_a_place_says_where_it_is_to_be(boards: Boards) -> None:
    machine = boards("hetero")
    kernel = machine.kernel(nothing, "DDR", "QDR", "")
    heard: list[tuple[Buffer, str, str]] = []
    buffer, placed = machine.buffer(64), machine.buffer(64)
    machine.bind(placed)
    with listening(SimpleNamespace(place_hinted=lambda *told: heard.append(told))):
        for index in (2, 1, 0):
            kernel.set_buffer(index, buffer)
        kernel.set_buffer(0, placed)
    assert (buffer.hint, placed.hint) == ("QDR", "")
    assert heard == [
        (buffer, "QDR", "argument 1 ('a1') of kernel 'k'"),
        (buffer, "DDR", "argument 0 ('a0') of kernel 'k'"),
    ]
