"""The interface of runtime and engines (engine/interface.py): the image of a launch's arguments, and NoEngine."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

import pytest

from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, CompilerNotAvailable
from fpgart.engine.interface import (
    BYTES,
    LOCAL,
    NOWHERE,
    NULL,
    POINTER,
    Access,
    BuildFailed,
    Fault,
    Misuse,
    NoEngine,
    Reach,
    Unbuildable,
    pack_arguments,
)
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, PipeArgument, with_places


def kernel(name: str, *arguments: str) -> KernelInterface:
    return KernelInterface(name, tuple(ArgumentInterface(argument, "char*", 0, 0, 0) for argument in arguments))


def entry(image: bytes, index: int) -> tuple[Any, ...]:
    """Kind, size and value of an argument."""
    return unpack_from("IIQ", image, 16 * index)


# Buffer locations


def test_locations_go_to_the_arguments_of_their_kernels_in_order() -> None:
    given = {"one": kernel("one", "a", "b"), "two": kernel("two", "c")}
    found = with_places(given, {"one": ("DDR", "HBM")})
    assert [argument.buffer_location for argument in found["one"].arguments] == ["DDR", "HBM"]
    assert [argument.name for argument in found["one"].arguments] == ["a", "b"]
    assert found["two"] is given["two"]
    assert given["one"].arguments[0].buffer_location == "", "what was given stays as it is"


def test_without_locations_interfaces_stay_the_same_object() -> None:
    given = {"one": kernel("one", "a")}
    assert with_places(given, {}) is given


def test_locations_of_other_kernels_or_of_other_argument_lists_are_passed_over() -> None:
    given = {"one": kernel("one", "a", "b")}
    assert with_places(given, {"other": ("DDR",), "one": ("DDR",)}) == given


# Arguments of a launch


def test_the_numbers_of_kinds_are_those_of_the_engines_c_code() -> None:
    assert (BYTES, POINTER, LOCAL, NULL) == (0, 1, 2, 3)


def test_a_pointer_stands_in_its_entry() -> None:
    image = pack_arguments([(POINTER, 8, 0x1234_5678_9ABC), (LOCAL, 256, 0), (NULL, 8, 0)])
    assert len(image) == 3 * 16
    assert [entry(image, index) for index in range(3)] == [
        (POINTER, 8, 0x1234_5678_9ABC),
        (LOCAL, 256, 0),
        (NULL, 8, 0),
    ]


@pytest.mark.parametrize(("size", "room"), [(1, 16), (4, 16), (16, 16), (17, 32), (128, 128)])
def test_a_value_lies_behind_the_entries_on_a_multiple_of_16_bytes(size: int, room: int) -> None:
    first, second = bytes(range(1, size + 1)), b"\xff" * 4
    image = pack_arguments([(BYTES, size, first), (POINTER, 8, 7), (BYTES, 4, second)])
    assert entry(image, 0) == (BYTES, size, 48)
    assert entry(image, 1) == (POINTER, 8, 7)
    assert entry(image, 2) == (BYTES, 4, 48 + room)
    assert image[48 : 48 + room] == first + bytes(room - size)
    assert image[48 + room :] == second + bytes(12)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_a_kernel_may_have_any_number_of_arguments(count: int) -> None:
    image = pack_arguments([(POINTER, 8, index) for index in range(count)])
    assert [entry(image, index) for index in range(count)] == [(POINTER, 8, index) for index in range(count)]
    assert len(image) == 16 * count


# What pointers reach, and what was wrong


def test_a_reach_ends_behind_its_last_byte() -> None:
    assert Reach(100, 28).end == 128
    assert Reach(100, 28).flags == cl.CL_MEM_READ_WRITE


def test_nowhere_is_no_byte() -> None:
    assert Reach(0, 0, cl.CL_MEM_READ_WRITE) == NOWHERE


def test_what_is_not_said_of_a_misuse_is_nothing() -> None:
    assert Misuse(Fault.READ, "k", "words") == Misuse(Fault.READ, "k", "words", (), "", 0, (), 0, 1, ())
    assert Access() == Access((), 0, 0)


def test_what_a_declaration_does_not_say_is_nothing() -> None:
    assert PipeArgument("int", True, False, False).depth == 0
    assert kernel("k").required_work_group_size == (0, 0, 0)


# No engine


def test_without_an_engine_programs_can_be_made_and_not_built() -> None:
    engine = NoEngine("there is none")
    for program in (engine.from_source("x"), engine.from_il(b"x"), engine.from_binary(b"x")):
        for build in (lambda made: made.build(""), lambda made: made.compile("", {})):
            with pytest.raises(BuildFailed) as caught:
                build(program)
            assert (caught.value.status, caught.value.log) == (BuildProgramFailure.status, "there is none")
            assert str(caught.value) == "there is none"


def test_without_an_engine_nothing_is_linked() -> None:
    with pytest.raises(CompilerNotAvailable, match="there is none"):
        NoEngine("there is none").link("", [])


def test_no_engine_says_nothing_of_a_device() -> None:
    engine = NoEngine("")
    assert (engine.device_info(0), engine.name, engine.version, engine.path) == (b"", "none", "", "")
    assert not engine.works_on_own_buffers


def test_what_cannot_be_built_has_no_kernels_and_no_binary() -> None:
    program = Unbuildable("there is none")
    assert (program.kernels({}), program.binary()) == ({}, b"")
    for ask in (lambda: program.kernel("k"), lambda: program.specialize(0, b"")):
        with pytest.raises(CompilerNotAvailable, match="there is none"):
            ask()
