"""Reading of SPIR-V for FPGAs: capabilities, and the pipes and variables that the host names."""

from __future__ import annotations

import struct

import pytest
from spirv_module import literal

from fpgart.kernels.fpga_spirv import CAPABILITIES, HostVariable, variables_of_host
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, without_locations_from
from fpgart.kernels.spirv import MAGIC, Decoration, Module, Op


def module(*instructions: tuple[int, ...], order: str = "<") -> bytes:
    words = [MAGIC, 0x10400, 0, 100, 0]
    for code, *operands in instructions:
        words += [(len(operands) + 1) << 16 | code, *operands]
    return struct.pack(f"{order}{len(words)}I", *words)


INT, FLOAT, THREE, FOUR, EIGHT = 1, 2, 3, 4, 5
DECLARATIONS = (
    (Op.TYPE_INT, INT, 32, 0),
    (Op.TYPE_FLOAT, FLOAT, 64),
    (Op.CONSTANT, INT, THREE, 3),
    (Op.CONSTANT, INT, FOUR, 4),
    (Op.CONSTANT, INT, EIGHT, 8),
)


@pytest.mark.parametrize("decoration", [Decoration.HOST_ACCESS, Decoration.OLD_HOST_ACCESS])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_pipe_has_a_name_and_the_size_of_its_packets(decoration: int, order: str) -> None:
    il = module(
        (Op.CAPABILITY, CAPABILITIES[1]),
        (Op.DECORATE, 9, decoration, 2, *literal("_ZTS4pipe")),
        *DECLARATIONS,
        (Op.TYPE_STRUCT, 6, INT, INT, INT),
        (Op.TYPE_POINTER, 7, 5, 6),
        (Op.CONSTANT_COMPOSITE, 6, 8, FOUR, FOUR, EIGHT),
        (Op.VARIABLE, 7, 9, 5, 8),
        order=order,
    )
    assert variables_of_host(Module(il)) == {"_ZTS4pipe": HostVariable(9, 12, 4)}


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ((Op.TYPE_ARRAY, 20, FLOAT, THREE), 24),
        ((Op.TYPE_VECTOR, 20, INT, 3), 16),
        ((Op.TYPE_STRUCT, 20, INT, FLOAT, INT), 24),
        ((Op.TYPE_POINTER, 20, 4, INT), 8),
    ],
)
def test_a_variable_has_the_size_of_its_type(type_: tuple[int, ...], size: int) -> None:
    il = module(
        (Op.DECORATE, 9, Decoration.HOST_ACCESS, 1, *literal("weights")),
        *DECLARATIONS,
        type_,
        (Op.TYPE_POINTER, 7, 5, 20),
        (Op.VARIABLE, 7, 9, 5),
    )
    assert variables_of_host(Module(il)) == {"weights": HostVariable(9, size, 0)}


@pytest.mark.parametrize("il", [b"", b"BC\xc0\xde" * 9, module((Op.CAPABILITY, 17))[:-3], module()[:20] + b"\1\0\0\0"])
def test_what_is_no_module_says_nothing(il: bytes) -> None:
    assert list(Module(il).declared(Op.CAPABILITY)) == []


def test_declarations_end_where_functions_begin() -> None:
    il = module((Op.CAPABILITY, 4), (Op.FUNCTION, 1, 2, 3, 4), (Op.CAPABILITY, 17))
    assert list(Module(il).declared(Op.CAPABILITY)) == [(Op.CAPABILITY, [4])]


def test_a_member_begins_at_a_multiple_of_its_alignment_behind_the_members_in_front_of_it() -> None:
    read = Module(module(*DECLARATIONS))
    assert [read.offset((INT, FLOAT, INT, INT), index) for index in range(4)] == [0, 8, 16, 20]


def test_a_constant_of_a_type_without_a_width_has_32_bits() -> None:
    assert Module(module((Op.TYPE_INT, INT), (Op.CONSTANT, INT, 9, 0xFFFFFFFF))).constants == {9: -1}


def test_types_that_consist_of_themselves_have_no_size() -> None:
    read = Module(module(*DECLARATIONS, (Op.TYPE_STRUCT, 20, 20, 21), (Op.TYPE_VECTOR, 21, 20, 0)))
    assert (read.layout(20), read.layout(21)) == ((0, 1), (0, 1))


def test_a_structure_may_contain_pointers_that_are_declared_behind_it() -> None:
    read = Module(module((Op.TYPE_STRUCT, 20, 21, 21), (Op.TYPE_POINTER, 21, 5, 20)))
    assert read.layout(20) == (16, 8)


def test_locations_that_a_board_does_not_have_are_taken_out() -> None:
    places = ("0", "1", "2", "DDR", "")
    arguments = tuple(ArgumentInterface(f"a{place}", "int*", 0, 0, 0, place) for place in places)
    left = without_locations_from(KernelInterface("k", arguments), 2)
    assert [argument.buffer_location for argument in left.arguments] == ["0", "1", "", "DDR", ""]
