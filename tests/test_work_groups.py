"""Work-groups above the engine's limit: which kernels can do with smaller ones, and which those are."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine, machine_of

from fpgart.engine.call_graph import names_used
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import NoEngine
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.linking import link
from fpgart.runtime.programs.program import Program
from fpgart.runtime.programs.work_groups import bound_to_groups, largest_group, smaller_group

FREE = {
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


UNKNOWN = [
    "",
    "kernel void other() {}",
    '#include "more.h"\nkernel void k() {}',
    "#define K(n) kernel void n() {}\nK(k)",
]


@pytest.mark.parametrize("source", UNKNOWN)
def test_a_kernel_that_is_not_seen_whole_keeps_its_group(source: str) -> None:
    assert names_used(source, "k") is None
    assert bound_to_groups(source, "k", "")


@given(st.text(alphabet=st.sampled_from(list('kernel void k(){};"\\\n#define')), max_size=100))
def test_no_source_is_too_odd_to_be_read(text: str) -> None:
    names_used(text, "k", text)


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


@pytest.fixture
def dsp() -> Iterator[Machine]:
    engine = choose_engine()
    if isinstance(engine, NoEngine):
        pytest.skip(engine.reason)
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
    loaded = Program.from_binary(dsp.context, dsp.devices, linked.binary(dsp.device))
    loaded.claim(dsp.devices)
    loaded.build(dsp.devices, "")
    assert largest_group(Kernel(loaded, "k"), dsp.device) == largest_group(Kernel(linked, "k"), dsp.device)
    assert largest_group(Kernel(loaded, "k"), dsp.device)[0] == dsp.device.board.largest_group
