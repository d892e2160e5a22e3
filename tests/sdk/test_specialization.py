"""Specialization constants of `icpx`: calls that read them become constants of SPIR-V, which the image describes."""

from __future__ import annotations

import struct

import pytest

from fpgart.icpx.errors import IcpxError
from fpgart.icpx.specialization import CONSTANTS, DEFAULTS, READS_NUMBER, READS_STRUCTURE, specialized
from fpgart.kernels.spirv import MAGIC, Decoration, Module, Op

Words = tuple[int, ...]
BOUND = 200
BYTE, INT, LONG, DOUBLE, BOOL, VOID, PAIR, TWO = 1, 2, 3, 4, 5, 6, 7, 8
"""Types; PAIR is a structure of a double and an array of two integers and a byte: 17 bytes in 24."""
ID_INT, ID_PAIR, NAME, GENERIC = 10, 11, 12, 13
"""specialization_id<int>, specialization_id<PAIR>, the type of names, and generic pointers to PAIR."""
READER, FUNCTION, LABEL, CALL = 50, 51, 52, 53


def text(word: str) -> Words:
    data = word.encode() + b"\0"
    return struct.unpack(f"<{-(-len(data) // 4)}I", data.ljust(-(-len(data) // 4) * 4, b"\0"))


def module(reader: str, *calls: Words, result: int = INT) -> bytes:
    """Returns a module with constants `a` (int, 7; id 31) and `b` (PAIR, 1.5 {2, 3} 'x'; id 41)."""
    instructions: list[Words] = [
        (Op.NAME, READER, *text(f"_Z{reader}IiET_PKcPKvS4_")),
        (Op.TYPE_INT, BYTE, 8, 0),
        (Op.TYPE_INT, INT, 32, 0),
        (Op.TYPE_INT, LONG, 64, 0),
        (Op.TYPE_FLOAT, DOUBLE, 64),
        (Op.TYPE_BOOL, BOOL),
        (Op.TYPE_VOID, VOID),
        (Op.CONSTANT, INT, 20, 2),
        (Op.CONSTANT, INT, 21, 3),
        (Op.CONSTANT, INT, 22, 7),
        (Op.CONSTANT, BYTE, 23, ord("a")),
        (Op.CONSTANT, BYTE, 24, ord("b")),
        (Op.CONSTANT, BYTE, 25, 0),
        (Op.CONSTANT, BYTE, 26, ord("x")),
        (Op.CONSTANT, DOUBLE, 27, *struct.unpack("<2I", struct.pack("<d", 1.5))),
        (Op.TYPE_ARRAY, TWO, INT, 20),
        (Op.TYPE_STRUCT, PAIR, DOUBLE, TWO, BYTE),
        (Op.TYPE_STRUCT, ID_INT, INT),
        (Op.TYPE_STRUCT, ID_PAIR, PAIR),
        (Op.TYPE_ARRAY, NAME, BYTE, 20),
        (Op.TYPE_POINTER, GENERIC, 8, PAIR),
        (Op.CONSTANT_COMPOSITE, NAME, 28, 23, 25),
        (Op.VARIABLE, 14, 29, 5, 28),
        (Op.CONSTANT_COMPOSITE, ID_INT, 30, 22),
        (Op.VARIABLE, 15, 31, 5, 30),
        (Op.CONSTANT_COMPOSITE, NAME, 36, 24, 25),
        (Op.VARIABLE, 14, 37, 5, 36),
        (Op.CONSTANT_COMPOSITE, TWO, 38, 20, 21),
        (Op.CONSTANT_COMPOSITE, PAIR, 39, 27, 38, 26),
        (Op.CONSTANT_COMPOSITE, ID_PAIR, 40, 39),
        (Op.VARIABLE, 16, 41, 5, 40),
        (Op.FUNCTION, result, READER, 0, 17),
        (Op.PARAMETER, GENERIC, 60),
        (56,),
        (Op.FUNCTION, VOID, FUNCTION, 0, 18),
        (Op.LABEL, LABEL),
        (Op.BITCAST, 19, 61, 29),
        (Op.TO_GENERIC, 19, 62, 31),
        (Op.BITCAST, 19, 63, 62),
        (Op.BITCAST, 19, 64, 37),
        *calls,
        (Op.RETURN,),
        (56,),
    ]
    words = [MAGIC, 0x10400, 0, BOUND, 0]
    for code, *operands in instructions:
        words += [(len(operands) + 1) << 16 | code, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def sized(data: bytes) -> bytes:
    return struct.pack("<Q", 8 * len(data)) + data


def of_function(il: bytes) -> list[tuple[int, Words]]:
    """Returns the instructions behind the last label."""
    words = struct.unpack(f"<{len(il) // 4}I", il)
    found = [(code, words[at + 1 : at + length]) for code, at, length in Module(il).instructions()]
    last = max(index for index, (code, _) in enumerate(found) if code == Op.LABEL)
    return found[last + 1 :]


def test_a_call_becomes_a_constant_with_the_default_value() -> None:
    il, properties = specialized(module(READS_NUMBER, (Op.CALL, INT, CALL, READER, 61, 63, 25)))
    found = Module(il)
    assert list(found.declared(Op.SPEC_CONSTANT)) == [(Op.SPEC_CONSTANT, [INT, BOUND, 7])]
    assert list(found.decorated(Decoration.SPEC_ID)) == [(BOUND, [0])]
    assert (Op.COPY_OBJECT, (INT, CALL, BOUND)) in of_function(il)
    assert Op.CALL not in dict(of_function(il))
    assert struct.unpack_from("<4I", il)[3] == BOUND + 1
    assert properties == {
        CONSTANTS: {"a": sized(struct.pack("<3I", 0, 0, 4))},
        DEFAULTS: {"all": sized(struct.pack("<I", 7))},
    }


def test_calls_that_read_the_same_constant_share_it() -> None:
    calls = [(Op.CALL, INT, CALL + number, READER, 61, 63, 25) for number in range(2)]
    il, properties = specialized(module(READS_NUMBER, *calls))
    assert len(list(Module(il).declared(Op.SPEC_CONSTANT))) == 1
    assert list(properties[CONSTANTS]) == ["a"]


@pytest.mark.parametrize(("default", "code"), [(31, Op.SPEC_CONSTANT_TRUE), (0, Op.SPEC_CONSTANT_FALSE)])
def test_a_constant_that_is_true_or_false_has_a_byte(default: int, code: int) -> None:
    il, properties = specialized(module(READS_NUMBER, (Op.CALL, BOOL, CALL, READER, 61, default, 25), result=BOOL))
    assert list(Module(il).declared(code)) == [(code, [BOOL, BOUND])]
    assert properties[CONSTANTS] == {"a": sized(struct.pack("<3I", 0, 0, 1))}


def test_a_structure_has_a_constant_for_each_number_and_one_without_a_number_for_its_end() -> None:
    calls = [(Op.CALL, VOID, CALL, READER, 65, 64, 41, 25)]
    il, properties = specialized(module(READS_STRUCTURE, *calls, result=VOID))
    found = Module(il)
    numbers = [operands[2:] for _, operands in found.declared(Op.SPEC_CONSTANT)]
    assert numbers == [list(struct.unpack("<2I", struct.pack("<d", 1.5))), [2], [3], [ord("x")]]
    assert [id for id, _ in found.decorated(Decoration.SPEC_ID)] == [BOUND, BOUND + 1, BOUND + 2, BOUND + 4]
    composites = [operands for _, operands in found.declared(Op.SPEC_CONSTANT_COMPOSITE)]
    array = [TWO, BOUND + 3, BOUND + 1, BOUND + 2]
    assert composites == [array, [PAIR, BOUND + 5, BOUND, BOUND + 3, BOUND + 4]]
    assert (Op.STORE, (65, BOUND + 5)) in of_function(il)
    places = [(0, 0, 8), (1, 8, 4), (2, 12, 4), (3, 16, 1), (0xFFFFFFFF, 17, 7)]
    assert properties == {
        CONSTANTS: {"b": sized(b"".join(struct.pack("<3I", *place) for place in places))},
        DEFAULTS: {"all": sized(struct.pack("<d2Ic7x", 1.5, 2, 3, b"x"))},
    }


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(IcpxError, match="whose name is not known"):
        specialized(module(READS_NUMBER, (Op.CALL, INT, CALL, READER, 60, 63, 25)))


def test_an_image_that_reads_no_constants_stays_as_it_is() -> None:
    il = module("another_function", (Op.CALL, INT, CALL, READER, 61, 63, 25))
    assert specialized(il) == (il, {})
