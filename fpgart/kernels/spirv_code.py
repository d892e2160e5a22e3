# SPDX-License-Identifier: Apache-2.0
"""The functions of a SPIR-V module: their blocks, values and the attributes of their loops.

Numbers are those of the SPIR-V specification 1.6 and of Intel's extensions for FPGAs in its registry.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from fpgart.kernels.fpga_spirv import FpgaModule, read_fpga_module
from fpgart.kernels.fpga_spirv import Op as Declaration
from fpgart.kernels.spirv import KERNEL_MODEL, heads, text_of, words_of


class Op(enum.IntEnum):
    """The instructions of functions that are read, and declarations of names and constants."""

    NAME = 5
    EXT_INST = 12
    ENTRY_POINT = 15
    CONSTANT_TRUE = 41
    CONSTANT_FALSE = 42
    SPEC_CONSTANT_TRUE = 48
    SPEC_CONSTANT_FALSE = 49
    SPEC_CONSTANT = 50
    FUNCTION = 54
    PARAMETER = 55
    FUNCTION_END = 56
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
    CONVERT_F_TO_S = 110
    CONVERT_S_TO_F = 111
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
    READ_PIPE_BLOCKING = 5946
    WRITE_PIPE_BLOCKING = 5947


WITHOUT_RESULT = frozenset((
    Op.STORE, Op.COPY_SIZED, Op.LOOP_MERGE, Op.BRANCH, Op.BRANCH_CONDITIONAL, Op.SWITCH, Op.RETURN, Op.RETURN_VALUE,
    Op.UNREACHABLE, Op.READ_PIPE_BLOCKING, Op.WRITE_PIPE_BLOCKING,
))  # fmt: skip
SPEC_ID = 1
BUILT_IN = 11
"""Decorations."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction with its result and the result's type, 0 without one, and its other operands."""

    code: int
    id: int
    type: int
    operands: tuple[int, ...]


@dataclass(slots=True)
class Block:
    body: list[Instruction] = field(default_factory=list)
    targets: tuple[int, ...] = ()
    """The blocks that may follow it."""


@dataclass(slots=True)
class FunctionCode:
    """A function, by the ids of its parameters and blocks."""

    id: int
    parameters: list[int] = field(default_factory=list)
    blocks: dict[int, Block] = field(default_factory=dict)
    """The first one is where it begins."""
    controls: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The attributes of loops and their numbers, by the block that leads back to the loop's begin."""
    values: dict[int, Instruction] = field(default_factory=dict)


@dataclass(slots=True)
class Code:
    """The functions of a module, and the kernels among them by name."""

    module: FpgaModule
    functions: dict[int, FunctionCode] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    built_in: dict[int, int] = field(default_factory=dict)
    """The numbers of built-in variables, by id."""
    constants: dict[int, int] = field(default_factory=dict)
    """Integers and truth values, by id; signed."""
    parameter_types: dict[int, int] = field(default_factory=dict)

    def body_of(self, kernel: str) -> FunctionCode:
        """Returns the function of a kernel; if that only calls another one with its parameters, the other one."""
        function = self.functions[self.kernels[kernel]]
        match [each for block in function.blocks.values() for each in block.body]:
            case [Instruction(code=Op.CALL, operands=(callee, *given)), Instruction(code=Op.RETURN)] if (
                given == function.parameters and callee in self.functions
            ):
                return self.functions[callee]
        return function

    # Types

    def is_integer(self, kind: int) -> bool:
        return self.module.types.get(kind, (0, ()))[0] == Declaration.TYPE_INT

    def size(self, kind: int) -> int:
        return self.module.layout(kind)[0]

    def storage(self, kind: int) -> int:
        """Returns the storage class of a pointer type; -1 for other types."""
        code, operands = self.module.types.get(kind, (0, ()))
        return operands[0] if code == Declaration.TYPE_POINTER else -1

    def member(self, kind: int, index: int | None) -> tuple[int, int, int] | None:
        """Returns the type of a part of a type, the part's distance from the begin, and the distance between parts.

        The parts of arrays and vectors are alike, so that `index` does not matter. None if there is no such part.
        """
        match self.module.types.get(kind, (0, ())):
            case ((Declaration.TYPE_ARRAY | Declaration.TYPE_VECTOR), (part, _)):
                return part, 0, self.size(part)
            case Declaration.TYPE_STRUCT, parts if index is not None and 0 <= index < len(parts):
                return parts[index], self.module.offset(parts, index), 0
        return None


def read_code(il: bytes, specialized: Mapping[int, bytes]) -> Code:
    """Returns the functions of a module; none for bytes that are no SPIR-V.

    `specialized` are the values of specialisation constants, by their numbers.
    """
    made = Code(read_fpga_module(il))
    wanted = frozenset(map(int, Op))
    words = words_of(il)
    numbers: dict[int, int] = {}
    function, block = FunctionCode(0), Block()
    for code, at, length in heads(words):
        if code not in wanted:
            continue
        operands = words[at + 1 : at + length].tolist()
        match code, operands:
            case Op.FUNCTION, [_, id, *_]:
                function = made.functions[id] = FunctionCode(id)
            case Op.FUNCTION_END, _:
                function = FunctionCode(0)
            case Op.PARAMETER, [kind, id]:
                function.parameters.append(id)
                made.parameter_types[id] = kind
            case Op.LABEL, [id]:
                block = function.blocks[id] = Block()
            case Op.DECORATE, [id, decoration, number, *_] if decoration == SPEC_ID:
                numbers[id] = number
            case Op.LOOP_MERGE, [_, back, *control]:
                function.controls[back] = tuple(control)
            case _ if function.id:
                _add(function, block, code, operands)
            case _:
                _declare(made, code, operands, specialized, numbers)
    for id, value in made.module.constants.items():
        bits = made.module.types.get(made.module.constant_types.get(id, 0), (0, (32,)))[1][0]
        made.constants[id] = signed(value, bits)
    return made


def signed(value: int, bits: int) -> int:
    """Returns an integer of so many bits as a signed one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _declare(
    made: Code, code: int, operands: list[int], specialized: Mapping[int, bytes], numbers: Mapping[int, int]
) -> None:
    match code, operands:
        case Op.NAME, [id, *text]:
            made.names[id] = text_of(text)
        case Op.ENTRY_POINT, [model, id, *text] if model == KERNEL_MODEL:
            made.kernels[text_of(text)] = id
        case Op.DECORATE, [id, decoration, number, *_] if decoration == BUILT_IN:
            made.built_in[id] = number
        case ((Op.CONSTANT_TRUE | Op.CONSTANT_FALSE), [_, id]):
            made.constants[id] = int(code == Op.CONSTANT_TRUE)
        case ((Op.SPEC_CONSTANT_TRUE | Op.SPEC_CONSTANT_FALSE | Op.SPEC_CONSTANT), [_, id, *value]):
            given = specialized.get(numbers.get(id, -1))
            default = int(code == Op.SPEC_CONSTANT_TRUE) if not value else signed(value[0], 32)
            made.constants[id] = default if given is None else int.from_bytes(given, "little", signed=bool(value))


def _add(function: FunctionCode, block: Block, code: int, operands: list[int]) -> None:
    """Adds an instruction to a block."""
    if code in WITHOUT_RESULT or len(operands) < 2:
        made = Instruction(code, 0, 0, tuple(operands))
    else:
        made = Instruction(code, operands[1], operands[0], tuple(operands[2:]))
        function.values[made.id] = made
    block.body.append(made)
    match code, operands:
        case Op.BRANCH, [target]:
            block.targets = (target,)
        case Op.BRANCH_CONDITIONAL, [_, first, second, *_]:
            block.targets = (first, second)
        case Op.SWITCH, [_, default, *cases]:  # each case has a number of one word, or of two
            block.targets = (default, *cases[1::2])
