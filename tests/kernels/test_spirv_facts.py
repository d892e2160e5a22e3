"""Facts of SPIR-V for reports."""

from __future__ import annotations

from spirv_module import literal
from test_fpga_spirv import DECLARATIONS, EIGHT, FLOAT, FOUR, INT, module

from fpgart.kernels.fpga_spirv import PIPE_TYPE, PipeFacts
from fpgart.kernels.spirv import KERNEL_MODEL, Decoration, Module, Op, Storage
from fpgart.kernels.spirv_facts import (
    LocalMemoryFacts,
    LoopControl,
    LoopFacts,
    read_facts,
)

GLOBAL, LOCAL, CONSTANT_PIPE, PIPE_POINTER, PIPE, POINTER, KERNEL, BODY, VARIABLE, ARRAY, COPY = range(20, 31)


def facts(*body: tuple[int, ...]) -> bytes:
    """Returns a module with a kernel whose entry point calls the function `body`."""
    return module(
        (Op.ENTRY_POINT, KERNEL_MODEL, KERNEL, *literal("_ZTS4Prod"), PIPE),
        (Op.NAME, LOCAL, *literal(f"{PIPE_TYPE}.3")),
        (Op.NAME, PIPE, *literal("between")),
        (Op.NAME, BODY, *literal("_ZTS4Prod")),
        (Op.NAME, VARIABLE, *literal("lines.ascast.i")),
        (Op.DECORATE, VARIABLE, Decoration.USER_SEMANTIC, *literal("{memory:DEFAULT}{sizeinfo:4,64}{numbanks:2}")),
        *DECLARATIONS,
        (Op.TYPE_STRUCT, LOCAL, INT, INT, INT),
        (Op.TYPE_POINTER, PIPE_POINTER, Storage.GLOBAL, LOCAL),
        (Op.CONSTANT_COMPOSITE, LOCAL, CONSTANT_PIPE, FOUR, FOUR, EIGHT),
        (Op.VARIABLE, PIPE_POINTER, PIPE, Storage.GLOBAL, CONSTANT_PIPE),
        (Op.TYPE_POINTER, POINTER, Storage.GLOBAL, FLOAT),
        (Op.TYPE_ARRAY, ARRAY, INT, EIGHT),
        (Op.TYPE_POINTER, COPY, Storage.PRIVATE, ARRAY),
        (Op.FUNCTION, 1, BODY, 0, 1),
        *body,
        (Op.FUNCTION, 1, KERNEL, 0, 1),
        (Op.PARAMETER, POINTER, 40),
        (Op.PARAMETER, COPY, 41),
        (Op.CALL, 1, 42, BODY, 40),
    )


def test_arguments_have_types_and_sizes() -> None:
    read = read_facts(Module(facts()))
    assert read.types == {"_ZTS4Prod": ("double*", "int[8]")}
    assert read.sizes == {"_ZTS4Prod": (8, 32)}


def test_a_pipe_has_its_capacity_and_its_kernels() -> None:
    assert read_facts(Module(facts())).pipes == (PipeFacts("between", 4, 8, ("_ZTS4Prod",)),)


def test_a_variable_has_the_attributes_of_its_memory() -> None:
    read = read_facts(Module(facts((121, 1, VARIABLE, 43))))
    assert read.memories == (LocalMemoryFacts("_ZTS4Prod", "lines", "numbanks 2"),)


def test_attributes_of_loops_are_told_once_for_each_loop() -> None:
    both = LoopControl.initiation_interval | LoopControl.no_unroll
    arrays = LoopControl.ivdep_of_arrays | LoopControl.speculated_iterations
    read = read_facts(
        Module(
            facts(
                (Op.LOOP_MERGE, 50, 51, int(both), 2),
                (Op.LOOP_MERGE, 52, 51, int(both), 2),
                (Op.LOOP_MERGE, 53, 54, int(arrays), 2, 70, 0, 71, 0, 3),
                (Op.LOOP_MERGE, 55, 56, int(LoopControl.no_unroll)),
            )
        )
    )
    assert read.loops == (
        LoopFacts("_ZTS4Prod", "initiation_interval 2"),
        LoopFacts("_ZTS4Prod", "speculated_iterations 3"),
    )


def test_bytes_that_are_no_spirv_have_no_facts() -> None:
    read = read_facts(Module(b"no SPIR-V, but long enough to be one"))
    assert (read.types, read.pipes, read.memories, read.loops) == ({}, (), (), ())
