"""Reading of SPIR-V for FPGAs: capabilities, and the pipes and variables that the host names."""

from __future__ import annotations

import struct

import pytest

from fpgart.kernels.fpga_spirv import Capability, Op, read_fpga_module
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, without_locations_from

MAGIC, HOST_ACCESS, OLD_HOST_ACCESS, FUNCTION = 0x07230203, 6188, 6147, 54
KERNEL, ADDRESSES = 6, 4


def text(words: str) -> list[int]:
    data = words.encode() + b"\0"
    data += bytes(-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


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


@pytest.mark.parametrize("decoration", [HOST_ACCESS, OLD_HOST_ACCESS])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_pipe_has_a_name_and_the_size_of_its_packets(decoration: int, order: str) -> None:
    read = read_fpga_module(
        module(
            (Op.CAPABILITY, Capability.BLOCKING_PIPES),
            (Op.DECORATE, 9, decoration, 2, *text("_ZTS4pipe")),
            *DECLARATIONS,
            (Op.TYPE_STRUCT, 6, INT, INT, INT),
            (Op.TYPE_POINTER, 7, 5, 6),
            (Op.CONSTANT_COMPOSITE, 6, 8, FOUR, FOUR, EIGHT),
            (Op.VARIABLE, 7, 9, 5, 8),
            order=order,
        )
    )
    assert read.has_pipes
    assert list(read.names) == ["_ZTS4pipe"]
    assert read.packet_of("_ZTS4pipe") == 4
    assert read.packet_of("another") == 0


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
    read = read_fpga_module(
        module(
            (Op.DECORATE, 9, HOST_ACCESS, 1, *text("weights")),
            *DECLARATIONS,
            type_,
            (Op.TYPE_POINTER, 7, 5, 20),
            (Op.VARIABLE, 7, 9, 5),
        )
    )
    assert read.size_of("weights") == size
    assert read.size_of("others") == 0
    assert not read.has_pipes


def test_a_module_of_other_capabilities_has_no_pipes() -> None:
    assert not read_fpga_module(module((Op.CAPABILITY, ADDRESSES), (Op.CAPABILITY, KERNEL))).has_pipes


@pytest.mark.parametrize("il", [b"", b"BC\xc0\xde" * 9, module((Op.CAPABILITY, 17))[:-3], module()[:20] + b"\1\0\0\0"])
def test_what_is_no_module_says_nothing(il: bytes) -> None:
    assert not read_fpga_module(il).names


def test_functions_are_not_read() -> None:
    """Modules have millions of words behind the declarations."""
    assert not read_fpga_module(module((FUNCTION, 1, 2, 3, 4), (Op.CAPABILITY, 17))).capabilities


def test_locations_that_a_board_does_not_have_are_taken_out() -> None:
    places = ("0", "1", "2", "DDR", "")
    arguments = tuple(ArgumentInterface(f"a{place}", "int*", 0, 0, 0, place) for place in places)
    left = without_locations_from(KernelInterface("k", arguments), 2)
    assert [argument.buffer_location for argument in left.arguments] == ["0", "1", "", "DDR", ""]
