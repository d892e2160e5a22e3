# SPDX-License-Identifier: Apache-2.0
"""SPIR-V modules: their instructions, and what they declare in front of the functions.

Numbers are those of the SPIR-V specification 1.6 and of Intel's extensions for FPGAs in its registry.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

MAGIC = 0x07230203
HEADER = 5  # words in front of the first instruction


class Op:
    """The opcodes that this module reads; they are not an Enum, because access to a member of one is slow."""

    NAME = 5
    STRING = 7
    EXT_INST = 12
    ENTRY_POINT = 15
    EXECUTION_MODE = 16
    CAPABILITY = 17
    TYPE_VOID = 19
    TYPE_BOOL = 20
    TYPE_INT = 21
    TYPE_FLOAT = 22
    TYPE_VECTOR = 23
    TYPE_IMAGE = 25
    TYPE_SAMPLER = 26
    TYPE_ARRAY = 28
    TYPE_STRUCT = 30
    TYPE_POINTER = 32
    TYPE_PIPE = 38
    CONSTANT_TRUE = 41
    CONSTANT_FALSE = 42
    CONSTANT = 43
    CONSTANT_COMPOSITE = 44
    SPEC_CONSTANT_TRUE = 48
    SPEC_CONSTANT_FALSE = 49
    SPEC_CONSTANT = 50
    SPEC_CONSTANT_COMPOSITE = 51
    FUNCTION = 54
    PARAMETER = 55
    CALL = 57
    VARIABLE = 59
    LOAD = 61
    STORE = 62
    COPY_SIZED = 64
    ACCESS_CHAIN = 65
    IN_BOUNDS_ACCESS_CHAIN = 66
    PTR_ACCESS_CHAIN = 67
    IN_BOUNDS_PTR_ACCESS_CHAIN = 70
    DECORATE = 71
    COMPOSITE_EXTRACT = 81
    COPY_OBJECT = 83
    U_CONVERT = 113
    S_CONVERT = 114
    TO_GENERIC = 121
    FROM_GENERIC = 122
    BITCAST = 124
    ADD = 128
    F_ADD = 129
    SUBTRACT = 130
    F_SUBTRACT = 131
    MULTIPLY = 132
    F_MULTIPLY = 133
    U_DIVIDE = 134
    S_DIVIDE = 135
    F_DIVIDE = 136
    U_MODULO = 137
    S_REMAINDER = 138
    LOGICAL_OR = 166
    LOGICAL_AND = 167
    LOGICAL_NOT = 168
    SELECT = 169
    EQUAL = 170
    NOT_EQUAL = 171
    U_GREATER = 172
    S_GREATER = 173
    U_GREATER_EQUAL = 174
    S_GREATER_EQUAL = 175
    U_LESS = 176
    S_LESS = 177
    U_LESS_EQUAL = 178
    S_LESS_EQUAL = 179
    SHIFT_RIGHT = 194
    SHIFT_RIGHT_SIGNED = 195
    SHIFT_LEFT = 196
    OR = 197
    XOR = 198
    AND = 199
    PHI = 245
    LOOP_MERGE = 246
    LABEL = 248
    BRANCH = 249
    BRANCH_CONDITIONAL = 250
    SWITCH = 251
    RETURN = 253
    RETURN_VALUE = 254
    UNREACHABLE = 255
    READ_PIPE = 274
    WRITE_PIPE = 275
    PIPE_FROM_STORAGE = 324
    TYPE_UNTYPED_POINTER = 4417
    READ_PIPE_BLOCKING = 5946
    WRITE_PIPE_BLOCKING = 5947


class Decoration:
    """The decorations that are read."""

    SPEC_ID = 1
    BUILT_IN = 11
    RESTRICT = 19
    VOLATILE = 21
    CONSTANT = 22
    PARAMETER_ATTRIBUTE = 38
    LINKAGE = 41
    USER_SEMANTIC = 5635
    BUFFER_LOCATION = 5921
    OLD_HOST_ACCESS = 6147
    HOST_ACCESS = 6188


class Storage:
    """Storage classes by the words of OpenCL C. Arguments that are passed by value are private."""

    CONSTANT = 0
    LOCAL = 4
    GLOBAL = 5
    PRIVATE = 7
    DEVICE_ONLY = 5936
    HOST_ONLY = 5937


KERNEL_MODEL = 6
OF_SYCL = "_arg_"
"""SYCL's compilers put it in front of the names of arguments."""
POINTERS = (Op.TYPE_POINTER, Op.TYPE_UNTYPED_POINTER)
TYPES = (
    Op.TYPE_INT, Op.TYPE_FLOAT, Op.TYPE_VECTOR, Op.TYPE_IMAGE, Op.TYPE_SAMPLER, Op.TYPE_ARRAY, Op.TYPE_STRUCT,
    Op.TYPE_PIPE, *POINTERS,
)  # fmt: skip
Layout = tuple[int, int]
"""The size and the alignment of a type in bytes."""
UNKNOWN: Layout = (0, 1)
MOST_BYTES = 1 << 63
"""The largest size of a type; damaged modules have types within each other whose sizes have millions of digits."""


class EntryPoint(NamedTuple):
    """A kernel's function, and the variables that it uses."""

    function: int
    variables: list[int]


class Module:
    """The instructions of a module, as far as it can be read; none for bytes that are no SPIR-V.

    They end before one that is empty or longer than the rest, because no SPIR-V follows it. Modules have millions of
    words: functions are read, and declarations understood, when they are asked for. Dictionaries are by id unless
    stated otherwise.
    """

    def __init__(self, il: bytes) -> None:
        self._words = words = array("I", il[: len(il) // 4 * 4])
        if words and words[0] != MAGIC:
            words.byteswap()
        if words and words[0] != MAGIC:
            del words[:]
        self._declared: dict[int, list[int]] = {}
        """The places of declarations, by instruction."""
        self._functions = len(words)
        """The place of the first function."""
        for code, at, _ in self.instructions():
            if code == Op.FUNCTION:
                self._functions = at
                break
            self._declared.setdefault(code, []).append(at)

    def instructions(self) -> Iterator[tuple[int, int, int]]:
        """Yields each instruction's number, the position of its first word, and its length in words."""
        return self._from(HEADER)

    def _from(self, at: int) -> Iterator[tuple[int, int, int]]:
        words, end = self._words, len(self._words)
        while at < end:
            head = words[at]
            length = head >> 16
            if not length or at + length > end:
                return
            yield head & 0xFFFF, at, length
            at += length

    def declared(self, *codes: int, least: int = 1) -> Iterator[tuple[int, list[int]]]:
        """Yields the declarations by these instructions that have at least so many operands, with the operands."""
        words = self._words
        for at in sorted(at for code in codes for at in self._declared.get(code, ())):
            head = words[at]
            if head >> 16 > least:
                yield head & 0xFFFF, words[at + 1 : at + (head >> 16)].tolist()

    def in_functions(self, codes: Collection[int]) -> Iterator[tuple[int, int, list[int]]]:
        """Yields these instructions of functions: the function's id, the instruction's number, the operands."""
        words, function = self._words, 0
        for code, at, length in self._from(self._functions):
            if code == Op.FUNCTION and length > 2:
                function = words[at + 2]
            if code in codes:
                yield function, code, words[at + 1 : at + length].tolist()

    def decorated(self, *kinds: int) -> Iterator[tuple[int, list[int]]]:
        """Yields what has one of these decorations, with the decoration's operands."""
        return ((id, more) for _, (id, kind, *more) in self.declared(Op.DECORATE, least=3) if kind in kinds)

    @cached_property
    def _names(self) -> dict[int, list[int]]:
        return {id: text for _, (id, *text) in self.declared(Op.NAME)}

    def name(self, id: int) -> str:
        return text_of(self._names.get(id, []))

    @cached_property
    def kernels(self) -> dict[str, EntryPoint]:
        """The entry points that are kernels, by name."""
        found = {}
        for _, (model, function, *words) in self.declared(Op.ENTRY_POINT, least=3):
            if model == KERNEL_MODEL:
                name = text_of(words)
                found[name] = EntryPoint(function, words[len(name.encode()) // 4 + 1 :])
        return found

    @cached_property
    def constants(self) -> dict[int, int]:
        """Numbers, whose bits are taken as those of a signed integer."""
        found = {}
        for _, (kind, id, low, *high) in self.declared(Op.CONSTANT, least=3):
            _, width = self.types.get(kind, (0, ()))
            found[id] = signed(low | (high[0] << 32 if high else 0), width[0] if width else 32)
        return found

    @cached_property
    def composites(self) -> dict[int, list[int]]:
        return {id: parts for _, (_, id, *parts) in self.declared(Op.CONSTANT_COMPOSITE, least=2)}

    @cached_property
    def variables(self) -> dict[int, tuple[int, list[int]]]:
        """The type of each variable of the module, and its initial value."""
        return {id: (kind, initial) for _, (kind, id, _, *initial) in self.declared(Op.VARIABLE, least=3)}

    @cached_property
    def types(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """The instruction that declares a type, and its operands."""
        return {id: (code, tuple(more)) for code, (id, *more) in self.declared(*TYPES)}

    def storage(self, kind: int) -> int:
        """Returns the storage class of a pointer type; -1 for other types."""
        code, operands = self.types.get(kind, (0, ()))
        return operands[0] if code in POINTERS and operands else -1

    def pointee(self, kind: int) -> int:
        """Returns the type that a pointer type points to; 0 if the module does not say."""
        code, operands = self.types.get(kind, (0, ()))
        return operands[1] if code == Op.TYPE_POINTER and len(operands) > 1 else 0

    @cached_property
    def _layouts(self) -> dict[int, Layout]:
        found = {id: (8, 8) for id, (code, _) in self.types.items() if code in POINTERS}
        for id, declared in self.types.items():
            size, alignment = found.get(id, UNKNOWN)
            match declared:
                case ((Op.TYPE_INT | Op.TYPE_FLOAT), (bits, *_)):
                    size = 1 << max(0, (bits - 1).bit_length() - 3)
                    alignment = min(size, 8)
                case Op.TYPE_VECTOR, (part, count):
                    size = alignment = found.get(part, UNKNOWN)[0] * (4 if count == 3 else count)
                case Op.TYPE_ARRAY, (part, count):
                    size, alignment = found.get(part, UNKNOWN)
                    size *= max(0, self.constants.get(count, 0))
                case Op.TYPE_STRUCT, parts:
                    end, alignment = _in_a_row(found.get(part, UNKNOWN) for part in parts)
                    size = _aligned(end, alignment)
            found[id] = min(size, MOST_BYTES), min(max(alignment, 1), MOST_BYTES)
        return found

    def layout(self, kind: int) -> Layout:
        """Returns size and alignment of a type. Except for pointers, a type consists of types in front of it."""
        return self._layouts.get(kind, UNKNOWN)

    def offset(self, parts: tuple[int, ...], index: int) -> int:
        """Returns the distance of a member of a structure of these types from its begin."""
        end, _ = _in_a_row(map(self.layout, parts[:index]))
        return _aligned(end, self.layout(parts[index])[1])


def _in_a_row(layouts: Iterable[Layout]) -> Layout:
    """Returns where members of a structure end, and their largest alignment."""
    end, most = 0, 1
    for size, alignment in layouts:
        end, most = _aligned(end, alignment) + size, max(most, alignment)
    return end, most


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def signed(value: int, bits: int) -> int:
    """Returns an integer of so many bits as a signed one."""
    sign = 1 << min(max(bits, 1), 64) - 1
    return (value & 2 * sign - 1 ^ sign) - sign


def text_of(words: list[int]) -> str:
    """Returns a literal string, which ends with a zero byte."""
    return struct.pack(f"<{len(words)}I", *words).partition(b"\0")[0].decode(errors="replace")
