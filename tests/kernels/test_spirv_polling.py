"""Modules whose kernels may wait for what others write (fpgart/kernels/spirv_polling.py)."""

from __future__ import annotations

import pytest
from spirv_module import literal
from test_spirv_loops import COUNTED, Line, program

from fpgart.kernels.spirv import Decoration, Module, Op
from fpgart.kernels.spirv_polling import may_poll

ATOMIC_ADD, BARRIER, FENCE, ASSEMBLY = 234, 224, 225, 5611
ATOMICS = (
    227, 228, 229, 230, 231, 232, 233, 234, 235, 236, 237, 238, 239, 240, 241, 242,  # load to exclusive or
    318, 319,  # test and set, clear
    5614, 5615, 6035,  # minimum, maximum and sum of floating point numbers
)  # fmt: skip
IMPORT = 1
ONCE: tuple[Line, ...] = ((Op.LABEL, "entry"), (Op.BRANCH, "exit"), (Op.LABEL, "exit"), (Op.RETURN,))


def inside(body: tuple[Line, ...], line: Line) -> tuple[Line, ...]:
    """Returns a body with one more instruction in front of its last two."""
    return (*body[:-3], line, *body[-3:])


@pytest.mark.parametrize(
    ("line", "polls"),
    [
        *(((atomic, "int", "old", "x", "1", "1", "1"), True) for atomic in ATOMICS),
        ((BARRIER, "1", "1", "512"), True),
        ((BARRIER, "1", "1", "256"), False),
        ((FENCE, "1", "512"), True),
        ((FENCE, "1", "256"), False),
        ((FENCE, "1", "n"), True),
        ((ASSEMBLY, "int", "old", "x"), True),
        ((Op.LOAD, "int", "old", "x", 1), True),
        ((Op.LOAD, "int", "old", "x", 2, 4), False),
        ((Op.LOAD, "int", "old", "x"), False),
        ((Op.STORE, "x", "n", 1), True),
        ((Op.STORE, "x", "n"), False),
    ],
)
def test_a_kernel_may_poll_if_a_read_in_a_loop_has_to_be_repeated(line: Line, polls: bool) -> None:
    assert may_poll(Module(program(*inside(COUNTED, line)))) == polls
    assert not may_poll(Module(program(*inside(ONCE, line))))


@pytest.mark.parametrize(
    "branch",
    [(Op.BRANCH, "entry"), (Op.BRANCH_CONDITIONAL, "n", "exit", "entry"), (Op.SWITCH, "n", "exit", 1, "entry")],
)
def test_a_branch_to_a_block_before_it_is_a_loop(branch: Line) -> None:
    body = (
        (Op.LABEL, "entry"),
        (ATOMIC_ADD, "int", "old", "x", "1", "1", "1"),
        branch,
        (Op.LABEL, "exit"),
        (Op.RETURN,),
    )
    assert may_poll(Module(program(*body)))


@pytest.mark.parametrize(
    "declared", [(Op.DECORATE, "x", Decoration.VOLATILE), (Op.DECORATE, "f", Decoration.LINKAGE, *literal("f"), IMPORT)]
)
def test_a_kernel_may_poll_if_memory_is_volatile_or_a_function_is_not_there(declared: Line) -> None:
    assert may_poll(Module(program(*COUNTED, before=(declared,))))
    assert not may_poll(Module(program(*COUNTED)))
