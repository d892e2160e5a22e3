"""The kernels of a SPIR-V module that use pipes, and so may wait for others."""

from __future__ import annotations

import pytest
from spirv_module import literal
from test_fpga_spirv import module

from fpgart.kernels.fpga_spirv import (
    CALL_OF_POINTER,
    CAPABILITIES,
    CREATE_TASK_SEQUENCE,
    LAST_OF_PIPES,
    kernels_with_pipes,
)
from fpgart.kernels.spirv import Module, Op

KERNEL, MAIN, INNER, OTHER = 6, 10, 11, 12


def found(
    *in_inner: tuple[int, ...], in_main: tuple[int, ...] = (Op.CALL, 1, 20, INNER), capability: int = CAPABILITIES[0]
) -> frozenset[str]:
    """The kernels `main`, which has one instruction, and `other`, which has none; `inner` is no kernel."""
    il = module(
        (Op.CAPABILITY, capability),
        (Op.ENTRY_POINT, KERNEL, MAIN, *literal("main")),
        (Op.ENTRY_POINT, KERNEL, OTHER, *literal("other")),
        (Op.FUNCTION, 1, MAIN, 0, 2),
        in_main,
        (Op.FUNCTION, 1, OTHER, 0, 2),
        (Op.FUNCTION, 1, INNER, 0, 2),
        *in_inner,
    )
    return kernels_with_pipes(Module(il))


@pytest.mark.parametrize(
    "instruction",
    [
        (Op.READ_PIPE, 1, 21, 22, 23, 24, 25),
        (LAST_OF_PIPES, 1, 21, 22, 23, 24, 25),
        (Op.PIPE_FROM_STORAGE, 1, 21, 22),
        (Op.READ_PIPE_BLOCKING, 22, 23, 24, 25),
        (Op.WRITE_PIPE_BLOCKING, 22, 23, 24, 25),
        (CALL_OF_POINTER, 1, 21, 22),
    ],
    ids=lambda instruction: str(int(instruction[0])),
)
def test_a_kernel_uses_the_pipes_of_the_functions_that_it_calls(instruction: tuple[int, ...]) -> None:
    assert found(instruction) == {"main"}


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_kernel_uses_its_own_pipes(capability: int) -> None:
    assert found(in_main=(Op.READ_PIPE_BLOCKING, 22, 23, 24, 25), capability=capability) == {"main"}


def test_functions_of_a_module_without_the_capability_of_pipes_are_not_read() -> None:
    assert found(in_main=(Op.READ_PIPE_BLOCKING, 22, 23, 24, 25), capability=KERNEL) == frozenset()


def test_a_kernel_uses_the_pipes_of_the_functions_that_it_starts() -> None:
    uses = (Op.READ_PIPE_BLOCKING, 22, 23, 24, 25)
    assert found(uses, in_main=(CREATE_TASK_SEQUENCE, 1, 20, INNER, 1, 1, 1, 1)) == {"main"}


def test_a_function_that_calls_itself_is_read_once() -> None:
    assert found((Op.CALL, 1, 26, INNER), (Op.READ_PIPE_BLOCKING, 22, 23, 24, 25)) == {"main"}


def test_a_kernel_that_calls_functions_without_pipes_uses_none() -> None:
    assert found((Op.CALL, 1, 26, 27)) == frozenset()


def test_bytes_that_are_no_spirv_have_no_kernels() -> None:
    assert kernels_with_pipes(Module(b"\0" * 64)) == frozenset()
