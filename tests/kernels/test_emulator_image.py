"""Images for Intel's FPGA emulator: ELF files with bitcode, written here word by word."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from struct import pack

import pytest
from machine import Machine

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidBinary
from fpgart.kernels.bitcode import MAGIC, NO_POINTER, SPIR_KERNEL, Block, functions
from fpgart.kernels.emulator_image import CODE, is_image, read_image
from fpgart.runtime.programs.binaries import check_binary

FILE_NAMES = b"\0" + CODE.encode() + b"\0.names\0"
SECTION = "<IIQQQQIIQQ"
END, ENTER, DEFINE, RECORD, BLOB_RECORD = range(5)
VOID, INT, GLOBAL, LOCAL, CONSTANT, BY_VALUE, OLD_GLOBAL, OF_KERNEL, OF_NONE = range(9)
TYPES = (
    (2, []),
    (7, [32]),
    (25, [1]),
    (25, [3]),
    (25, [2]),
    (25, [0]),
    (8, [INT, 1]),
    (21, [0, VOID, GLOBAL, LOCAL, CONSTANT, INT, BY_VALUE, OLD_GLOBAL]),
    (21, [0, VOID]),
)
"""The types above in their order, by the codes of LLVM."""


class Writer:
    """A stream of bits."""

    def __init__(self) -> None:
        self.bits = ""

    def fixed(self, value: int, width: int) -> None:
        self.bits += f"{value:0{width}b}"[::-1]

    def variable(self, value: int, width: int) -> None:
        more = 1 << (width - 1)
        while value >= more:
            self.fixed(value % more + more, width)
            value //= more
        self.fixed(value, width)

    def align(self) -> None:
        self.bits += "0" * (-len(self.bits) % 32)

    def record(self, code: int, numbers: Sequence[int]) -> None:
        self.fixed(RECORD, 3)
        for each in (code, len(numbers), *numbers):
            self.variable(each, 6)

    def block(self, number: int, within: Writer, width: int = 3) -> None:
        """A block with the content of another writer, in one whose abbreviations have this width."""
        within.fixed(END, 3)
        within.align()
        self.fixed(ENTER, width)
        self.variable(number, 8)
        self.variable(3, 4)
        self.align()
        self.fixed(len(within.bits) // 32, 32)
        self.bits += within.bits

    def content(self) -> bytes:
        return bytes(int(self.bits[at : at + 8][::-1], 2) for at in range(0, len(self.bits), 8))


def code(*declared: tuple[str, int, int, int]) -> bytes:
    """Bitcode with functions: the name, the type, the calling convention, 1 if it has no code."""
    whole, module, types, names = Writer(), Writer(), Writer(), Writer()
    for number, operands in TYPES:
        types.record(number, operands)
    module.block(Block.TYPES, types)
    text = b""
    for name, kind, convention, is_declared in declared:
        module.record(8, [len(text), len(name), kind, convention, is_declared, 0])
        text += name.encode()
    names.fixed(DEFINE, 3)
    names.variable(2, 5)
    names.fixed(1, 1)  # the first operand is the number 1, the second a blob
    names.variable(1, 8)
    names.fixed(0, 1)
    names.fixed(5, 3)
    names.fixed(BLOB_RECORD, 3)
    names.variable(len(text), 6)
    names.align()
    for byte in text:
        names.fixed(byte, 8)
    names.align()
    whole.block(Block.MODULE, module, width=2)
    whole.block(Block.NAMES, names, width=2)
    return MAGIC + whole.content()


def image(code: bytes, kind: int = 0xFF04) -> bytes:
    """An ELF file of a type, with a section of code."""
    begin = 64 + 3 * 64
    head = b"\x7fELF\2\1\1" + bytes(9) + pack("<HHIQQQIHHHHHH", kind, 62, 0, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2)
    sections = bytes(64)
    sections += pack(SECTION, 1, 1, 0, 0, begin, len(code), 0, 0, 1, 0)
    sections += pack(SECTION, len(CODE) + 2, 3, 0, 0, begin + len(code), len(FILE_NAMES), 0, 0, 1, 0)
    return head + sections + code + FILE_NAMES


KERNELS = (("k", OF_KERNEL, SPIR_KERNEL, 0), ("none", OF_NONE, SPIR_KERNEL, 0), ("inner", OF_KERNEL, 75, 0))


def test_functions_have_the_address_spaces_of_their_arguments() -> None:
    found = [*functions(code(*KERNELS, ("outer", OF_NONE, 0, 1)))]
    spaces = (1, 3, 2, NO_POINTER, 0, 1)
    assert [each.spaces for each in found] == [spaces, (), spaces, ()]
    assert [each.name for each in found if each.is_kernel] == ["k", "none"]
    assert [each.name for each in found if each.is_declared] == ["outer"]


def test_an_image_has_the_interfaces_of_its_kernels() -> None:
    read = read_image(image(code(*KERNELS)))
    assert [argument.address_qualifier for argument in read.kernels["k"].arguments] == [
        cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
        cl.CL_KERNEL_ARG_ADDRESS_LOCAL,
        cl.CL_KERNEL_ARG_ADDRESS_CONSTANT,
        cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
        cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
        cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
    ]
    assert (set(read.kernels), read.kernels["none"].arguments) == ({"k", "none"}, ())


@pytest.mark.parametrize(
    ("name", "is_declared", "has_pipes"),
    [
        ("__write_pipe_2", 1, True),
        ("_Z29__spirv_ReadPipeBlockingINTEL", 1, True),
        ("_Z18read_channel_intel11ocl_channeli", 1, True),
        ("_Z4sqrtf", 1, False),
        ("own_pipe", 0, False),
    ],
)
def test_an_image_that_declares_a_function_that_moves_packets_has_pipes(
    name: str, is_declared: int, has_pipes: bool
) -> None:
    assert read_image(image(code(*KERNELS, (name, OF_NONE, 75, is_declared)))).has_pipes is has_pipes


def test_elf_files_of_other_types_are_no_images() -> None:
    whole = image(code(*KERNELS))
    assert is_image(whole)
    assert not is_image(image(code(*KERNELS), kind=2))
    assert not is_image(whole[64:])


def test_a_host_may_pass_an_image_as_a_binary_if_it_is_whole(boards: Callable[..., Machine]) -> None:
    device, whole = boards("a10_ref").device, image(code(*KERNELS))
    check_binary(device, whole)
    with pytest.raises(InvalidBinary, match="the image is damaged"):
        check_binary(device, whole[:100])


@pytest.mark.parametrize("code_of_none", [b"", MAGIC, code(KERNELS[2])])
def test_an_image_without_kernels_is_refused(code_of_none: bytes) -> None:
    with pytest.raises(InvalidBinary, match="image"):
        read_image(image(code_of_none))


def test_a_damaged_image_is_read_or_refused() -> None:
    whole = image(code(*KERNELS))
    chance = random.Random(35)
    refused = 0
    for _ in range(500):
        damaged = bytearray(whole[: chance.randrange(64, len(whole) + 1)])
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(16, len(damaged))] = chance.randrange(256)
        try:
            read_image(bytes(damaged))
        except InvalidBinary:
            refused += 1
    assert 0 < refused < 500
