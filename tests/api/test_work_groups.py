"""Work-groups above the engine's limit: which kernels can do with smaller ones, and which those are."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from math import prod
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine, machine_of

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidGlobalWorkSize, InvalidValue, InvalidWorkDimension, InvalidWorkGroupSize
from fpgart.engine.interface import Engine
from fpgart.kernels.call_graph import CallGraph
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.linking import link
from fpgart.runtime.programs.loading import from_binary
from fpgart.runtime.programs.program import Program
from fpgart.runtime.programs.work_groups import (
    bound_to_groups,
    for_engine,
    largest_group,
    smaller_group,
    takes_uneven_groups,
)

FREE = {
    "a parameter in parentheses, and an attribute": "kernel void k(int (x)) __attribute__((noinline)) {}",
    "a barrier in a second block of another": "kernel void other() { { } { barrier(1); } }\nkernel void k() {}",
    "global ids": "kernel void k(global int *x) { x[get_global_id(0)] = 1; }",
    "a barrier of another kernel": "kernel void k(global int *x) { *x = 1; }\nkernel void other() { barrier(1); }",
    "a barrier in a comment": "kernel void k(global int *x) { *x = 1; /* barrier(1); */ } // local",
    "attributes": "__attribute__((max_work_group_size(8))) __kernel void __attribute__((overloadable)) k() {}",
    "an array of the program": "constant int t[] = {1, 2};\nkernel void k(global int *x) { *x = t[1]; }",
}
BOUND = {
    "a barrier": ("kernel void k() { barrier(1); }", "barrier"),
    "a barrier in a function": ("void f() { barrier(1); }\nkernel void k() { f(); }", "barrier"),
    "a barrier in a macro": ("#define SYNC(x) barrier(x)\nkernel void k() { SYNC(1); }", "barrier"),
    "a barrier behind a brace that is a character": ("kernel void k() { char c = '}'; barrier(1); }", "barrier"),
    "a barrier in a function of a macro's": (
        "#define F(n) void n()\nF(f) { barrier(1); }\nkernel void k() { f(); }",
        "barrier",
    ),
    "a barrier behind a block": ("kernel void k() { { } barrier(1); }", "barrier"),
    "a barrier behind a brace too many": ("}\nkernel void k() { barrier(1); }", "barrier"),
    "local memory as an argument": ("kernel void k(local int *x) {}", "local"),
    "local memory of its own": ("kernel void k() { __local int x[8]; }", "__local"),
    "the place in the group": ("kernel void k(global int *x) { *x = get_local_id(0); }", "get_local_id"),
    "the number of groups": ("kernel void k(global int *x) { *x = get_num_groups(0); }", "get_num_groups"),
    "a function of the group": ("kernel void k() { work_group_barrier(1); }", "work_group_barrier"),
    "a sub-group": ("kernel void k(global int *x) { *x = get_sub_group_local_id(); }", "get_sub_group_local_id"),
}


@pytest.mark.parametrize("source", FREE.values(), ids=FREE.keys())
def test_a_kernel_that_knows_nothing_of_its_group_can_have_smaller_ones(source: str) -> None:
    assert bound_to_groups(source, "k", "") == ""


@pytest.mark.parametrize(("source", "name"), BOUND.values(), ids=BOUND.keys())
def test_a_kernel_that_uses_its_group_keeps_it(source: str, name: str) -> None:
    assert bound_to_groups(source, "k", "") == f"it uses {name}"


def test_macros_of_the_options_count() -> None:
    source = "kernel void k() { SYNC; }"
    assert bound_to_groups(source, "k", "") == ""
    assert bound_to_groups(source, "k", "-D SYNC=barrier(CLK_LOCAL_MEM_FENCE)") == "it uses barrier"


def test_what_is_declared_outside_of_functions_binds_no_kernel() -> None:
    assert bound_to_groups("void f(local int *x);\nkernel void k() {}", "k", "") == ""


UNKNOWN = [
    "",
    "kernel void other() {}",
    '#include "more.h"\nkernel void k() {}',
    "#define K(n) kernel void n() {}\nK(k)",
]


@pytest.mark.parametrize("source", UNKNOWN)
def test_a_kernel_that_is_not_seen_whole_keeps_its_group(source: str) -> None:
    assert CallGraph(source).names_used("k") is None
    assert bound_to_groups(source, "k", "")


SIZES = st.lists(st.integers(1, 1 << 14), min_size=3, max_size=3).map(tuple)


@given(SIZES, st.integers(1, 8192))
def test_smaller_groups_divide_the_wanted_ones_and_keep_to_the_limits(local: tuple[int, ...], most: int) -> None:
    found = smaller_group(local, most, (4096, 4096, 64))
    assert all(whole % part == 0 for whole, part in zip(local, found, strict=True))
    assert prod(found) <= most
    assert all(part <= limit for part, limit in zip(found, (4096, 4096, 64), strict=True))


@pytest.mark.parametrize(
    ("local", "found"),
    [((8192, 1, 1), (4096, 1, 1)), ((64, 64, 2), (64, 64, 1)), ((3, 4096, 1), (3, 1024, 1)), ((8, 8, 1), (8, 8, 1))],
)
def test_the_last_dimensions_that_do_not_fit_get_smaller(local: tuple[int, ...], found: tuple[int, ...]) -> None:
    assert smaller_group(local, 4096, (4096, 4096, 4096)) == found


def of_size(size: int | None) -> bytes:
    """The answer of an engine to a query of a size; nothing where it has none."""
    return b"" if size is None else size.to_bytes(8, "little")


class Limited:
    """An engine whose device takes groups of 64 work-items, of 8 in the last dimension."""

    name, version, mirrors = "limited", "1", None

    def device_info(self, query: int) -> bytes:
        return of_size(64) + of_size(64) + of_size(8) if query == cl.CL_DEVICE_MAX_WORK_ITEM_SIZES else of_size(64)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Kernel, Device]]]:
    """A kernel whose engine takes so many work-items of it, and the device of a board that takes 4096."""
    with ExitStack() as machines:

        def make(most: int | None, *, board: str = "k2h", source: str = FREE["global ids"]) -> tuple[Kernel, Device]:
            machine = machines.enter_context(contextmanager(machine_of)(board))
            engine: Any = Limited()
            machine.platform._engine = engine
            kernel = machine.kernel(lambda *_: None, source=source)
            monkeypatch.setattr(kernel.engine_kernel, "work_group_info", lambda query: of_size(most))
            return kernel, machine.device

        yield make


def test_a_group_is_as_large_as_the_engine_or_the_board_takes(limited: Callable[..., tuple[Kernel, Device]]) -> None:
    kernel, device = limited(64)
    board = device.board.largest_group
    assert board > 64
    assert largest_group(kernel, device) == (board, "so has the board")
    refusal = "engine 'limited' accepts no more"
    assert largest_group(*limited(board)) == (board, refusal)
    assert largest_group(*limited(board + 1)) == (board + 1, refusal)
    bound, reason = largest_group(*limited(64, source=BOUND["a barrier"][0]))
    assert (bound, reason) == (64, f"{refusal}, and the kernel's groups cannot be split: it uses barrier")
    assert largest_group(*limited(64, board="a10_ref")) == (64, f"{refusal}, and the program is no .aocx")


def test_a_kernel_of_one_size_keeps_it(limited: Callable[..., tuple[Kernel, Device]]) -> None:
    kernel, device = limited(64)
    kernel.interface = kernel.interface._replace(required_work_group_size=(0, 0, 128))
    words = "engine 'limited' accepts no more, and the kernel has reqd_work_group_size"
    assert largest_group(kernel, device) == (64, words)


def test_a_program_of_a_container_has_no_limit_of_its_board(limited: Callable[..., tuple[Kernel, Device]]) -> None:
    kernel, device = limited(64, board="a10_ref")
    kernel.program.origin.container = b"container"
    assert largest_group(kernel, device) == ((1 << 31) - 1, "so has the board")


@pytest.mark.parametrize(
    ("sizes", "most", "taken", "refused"),
    [("8", 8, (4, 2), (3, 3)), ("8, 4, 2", 64, (8, 4, 2), (4, 8, 1)), ("48", 48, (48,), (64,))],
)
def test_a_kernel_of_a_container_has_the_groups_for_which_it_was_compiled(
    imported: Callable[..., Any],
    limited: Callable[..., tuple[Kernel, Device]],
    sizes: str,
    most: int,
    taken: tuple[int, ...],
    refused: tuple[int, ...],
) -> None:
    check_local = imported("api.execute").check_local
    kernel, device = limited(
        None, board="a10_ref", source=f"__attribute__((max_work_group_size({sizes}))) __kernel void k() {{}}"
    )
    for local in (taken, refused):  # the program is no container yet
        check_local(device, kernel, local, local)
    kernel.program.origin.container = b"container"
    assert largest_group(kernel, device)[0] == most
    check_local(device, kernel, taken, taken)
    with pytest.raises(InvalidWorkGroupSize, match="max_work_group_size"):
        check_local(device, kernel, refused, refused)


@pytest.mark.parametrize(
    ("options", "uneven"),
    [
        ("", False),
        ("-cl-std=CL1.2", False),
        ("-cl-std=CL2.0", True),
        ("-w -cl-std=CL3.0", True),
        ("-cl-std=CL2.0 -cl-uniform-work-group-size", False),
    ],
)
def test_groups_may_be_uneven_from_opencl_c_2_on(
    limited: Callable[..., tuple[Kernel, Device]], options: str, uneven: bool
) -> None:
    kernel, device = limited(64)
    kernel.program.builds[device].options = options
    assert takes_uneven_groups(kernel.program, device) is uneven
    kernel.program.il = b"SPIR-V"
    assert takes_uneven_groups(kernel.program, device) is ("uniform" not in options)


@pytest.mark.parametrize(
    ("local", "most", "found"),
    [
        ((64, 1, 1), 32, (64, 1, 1)),
        ((1, 8, 8), 32, (1, 8, 8)),
        ((128, 1, 1), 64, (64, 1, 1)),
        ((1, 1, 16), 64, (1, 1, 8)),
        ((128, 1, 1), 48, (32, 1, 1)),
        ((128, 1, 1), None, (128, 1, 1)),
    ],
)
def test_an_engine_gets_groups_that_it_takes(
    limited: Callable[..., tuple[Kernel, Device]],
    local: tuple[int, ...],
    most: int | None,
    found: tuple[int, ...],
) -> None:
    kernel, device = limited(most)
    sizes = struct.pack("9Q", 1, 2, 3, 256, 64, 64, *local)
    assert struct.unpack("9Q", for_engine(kernel, device, sizes)) == (1, 2, 3, 256, 64, 64, *found)


@pytest.fixture
def dsp(engine: Engine) -> Iterator[Machine]:
    for machine in machine_of("k2h"):
        machine.platform._engine = engine
        yield machine


def test_a_linked_program_that_was_loaded_from_its_binary_keeps_its_largest_groups(dsp: Machine) -> None:
    sources = (
        "int f(int x) { return x; }",
        "int f(int);\nkernel void k(global int *x) { x[get_global_id(0)] = f(1); }",
    )
    parts = [Program(dsp.context, dsp.devices, source=source) for source in sources]
    for part in parts:
        part.compile(dsp.devices, "", {})
    linked, failure = link(dsp.context, dsp.devices, "", parts)
    assert failure is None
    loaded = from_binary(dsp.context, dsp.devices, linked.binary(dsp.device))
    loaded.claim(dsp.devices)
    loaded.build(dsp.devices, "")
    assert largest_group(Kernel(loaded, "k"), dsp.device) == largest_group(Kernel(linked, "k"), dsp.device)
    assert largest_group(Kernel(loaded, "k"), dsp.device)[0] == dsp.device.board.largest_group


@pytest.mark.parametrize(
    ("dimensions", "sizes", "answer"),
    [(0, [64], InvalidWorkDimension), (1, [64], [4]), (3, [8, 8, 0], InvalidGlobalWorkSize), (3, [8, 8, 8], [4, 4, 4]),
     (4, [8, 8, 8], InvalidWorkDimension)],
)  # fmt: skip
def test_an_engine_with_the_extension_suggests_a_local_size_of_up_to_three_dimensions(
    boards: Callable[..., Machine],
    imported: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    dimensions: int,
    sizes: list[int],
    answer: Any,
) -> None:
    machine, found = boards("a10_ref"), [0] * 3
    execute = imported("api.execute", ffi=Mock(unpack=lambda array, count: array[:count]))
    monkeypatch.setattr(execute, "extensions", lambda device: {execute.SUGGESTED_LOCAL_SIZE: 1})
    kernel = machine.kernel(lambda: None)
    with nullcontext() if isinstance(answer, list) else pytest.raises(answer):
        execute.get_kernel_suggested_local_work_size(machine.queue, kernel, dimensions, None, sizes, found)
        assert found[:dimensions] == answer


@pytest.mark.parametrize(
    ("query", "size", "place", "answer"),
    [
        (cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 8, 4096, (64,)),
        (cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 0, 4096, InvalidValue),
        (cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 32, 4096, InvalidValue),
        (cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 8, 0, InvalidValue),
        (cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 8, 4096, (64,)),
        (cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 0, 0, InvalidValue),
        (cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 16, 4096, InvalidValue),
        (cl.CL_KERNEL_MAX_NUM_SUB_GROUPS, 4, 0, ()),
        (cl.CL_KERNEL_COMPILE_NUM_SUB_GROUPS, 32, 4096, ()),
    ],
)
def test_the_input_of_a_query_for_sub_groups_has_its_size_or_is_ignored(
    imported: Callable[..., Any], query: int, size: int, place: int, answer: Any
) -> None:
    given_sizes = imported("api.kernel", Mock(fpgart_load=lambda *_: 64)).given_sizes
    with nullcontext() if isinstance(answer, tuple) else pytest.raises(answer):
        assert given_sizes(query, size, place) == answer
