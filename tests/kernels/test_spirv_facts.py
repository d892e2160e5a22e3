"""Facts of SPIR-V for reports."""

from __future__ import annotations

from test_fpga_spirv import DECLARATIONS, EIGHT, FLOAT, FOUR, INT, module, text

from fpgart.kernels.fpga_spirv import Op
from fpgart.kernels.spirv import KERNEL_MODEL
from fpgart.kernels.spirv import Op as Spirv
from fpgart.kernels.spirv_facts import (
    FUNCTION_CALL,
    LOOP_MERGE,
    PIPE_TYPE,
    USER_SEMANTIC,
    LocalMemoryFacts,
    LoopControl,
    LoopFacts,
    PipeFacts,
    read_facts,
)

GLOBAL, LOCAL, CONSTANT_PIPE, PIPE_POINTER, PIPE, POINTER, KERNEL, BODY, VARIABLE, ARRAY, COPY = range(20, 31)
PRIVATE_CLASS, GLOBAL_CLASS = 7, 5


def facts(*body: tuple[int, ...]) -> bytes:
    """Returns a module with a kernel whose entry point calls the function `body`."""
    return module(
        (Spirv.ENTRY_POINT, KERNEL_MODEL, KERNEL, *text("_ZTS4Prod"), PIPE),
        (Spirv.NAME, LOCAL, *text(f"{PIPE_TYPE}.3")),
        (Spirv.NAME, PIPE, *text("between")),
        (Spirv.NAME, BODY, *text("_ZTS4Prod")),
        (Spirv.NAME, VARIABLE, *text("lines.ascast.i")),
        (Spirv.DECORATE, VARIABLE, USER_SEMANTIC, *text("{memory:DEFAULT}{sizeinfo:4,64}{numbanks:2}")),
        *DECLARATIONS,
        (Op.TYPE_STRUCT, LOCAL, INT, INT, INT),
        (Op.TYPE_POINTER, PIPE_POINTER, GLOBAL_CLASS, LOCAL),
        (Op.CONSTANT_COMPOSITE, LOCAL, CONSTANT_PIPE, FOUR, FOUR, EIGHT),
        (Op.VARIABLE, PIPE_POINTER, PIPE, GLOBAL_CLASS, CONSTANT_PIPE),
        (Op.TYPE_POINTER, POINTER, GLOBAL_CLASS, FLOAT),
        (Op.TYPE_ARRAY, ARRAY, INT, EIGHT),
        (Op.TYPE_POINTER, COPY, PRIVATE_CLASS, ARRAY),
        (Spirv.FUNCTION, 1, BODY, 0, 1),
        *body,
        (Spirv.FUNCTION, 1, KERNEL, 0, 1),
        (Spirv.FUNCTION_PARAMETER, POINTER, 40),
        (Spirv.FUNCTION_PARAMETER, COPY, 41),
        (FUNCTION_CALL, 1, 42, BODY, 40),
    )


def test_arguments_have_types_and_sizes() -> None:
    read = read_facts(facts())
    assert read.types == {"_ZTS4Prod": ("double*", "int[8]")}
    assert read.sizes == {"_ZTS4Prod": (8, 32)}


def test_a_pipe_has_its_capacity_and_its_kernels() -> None:
    assert read_facts(facts()).pipes == (PipeFacts("between", 4, 8, ("_ZTS4Prod",)),)


def test_a_variable_has_the_attributes_of_its_memory() -> None:
    read = read_facts(facts((121, 1, VARIABLE, 43)))
    assert read.memories == (LocalMemoryFacts("_ZTS4Prod", "lines", "numbanks 2"),)


def test_attributes_of_loops_are_told_once_for_each_loop() -> None:
    both = LoopControl.initiation_interval | LoopControl.no_unroll
    arrays = LoopControl.ivdep_of_arrays | LoopControl.speculated_iterations
    read = read_facts(
        facts(
            (LOOP_MERGE, 50, 51, int(both), 2),
            (LOOP_MERGE, 52, 51, int(both), 2),
            (LOOP_MERGE, 53, 54, int(arrays), 2, 70, 0, 71, 0, 3),
            (LOOP_MERGE, 55, 56, int(LoopControl.no_unroll)),
        )
    )
    assert read.loops == (
        LoopFacts("_ZTS4Prod", "initiation_interval 2"),
        LoopFacts("_ZTS4Prod", "speculated_iterations 3"),
    )


def test_bytes_that_are_no_spirv_have_no_facts() -> None:
    read = read_facts(b"no SPIR-V, but long enough to be one")
    assert (read.types, read.pipes, read.memories, read.loops) == ({}, (), (), ())
