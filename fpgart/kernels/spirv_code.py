# SPDX-License-Identifier: Apache-2.0
"""The functions of a SPIR-V module: their blocks, values and the attributes of their loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fpgart.kernels.spirv import Decoration, Module, Op, signed

CODES = frozenset(code for code in vars(Op).values() if isinstance(code, int))
TRUE = (Op.CONSTANT_TRUE, Op.SPEC_CONSTANT_TRUE)
CONSTANTS = (*TRUE, Op.CONSTANT_FALSE, Op.SPEC_CONSTANT_FALSE, Op.SPEC_CONSTANT)
"""The constants that are no plain numbers."""
WITHOUT_RESULT = frozenset((
    Op.STORE, Op.COPY_SIZED, Op.LOOP_MERGE, Op.BRANCH, Op.BRANCH_CONDITIONAL, Op.SWITCH, Op.RETURN, Op.RETURN_VALUE,
    Op.UNREACHABLE, Op.READ_PIPE_BLOCKING, Op.WRITE_PIPE_BLOCKING,
))  # fmt: skip


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

    parameters: list[int] = field(default_factory=list)
    blocks: dict[int, Block] = field(default_factory=dict)
    """The first one is where it begins."""
    controls: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The attributes of loops and their numbers, by the block that leads back to the loop's begin."""
    values: dict[int, Instruction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Code:
    """The functions of a module. Dictionaries are by id."""

    module: Module
    functions: dict[int, FunctionCode]
    built_in: dict[int, int]
    """The numbers of built-in variables."""
    constants: dict[int, int]
    """Signed integers and truth values, those that are specialised included."""
    parameter_types: dict[int, int]

    def body_of(self, kernel: str) -> FunctionCode:
        """Returns the function of a kernel; if that only calls another one with its parameters, the other one."""
        function = self.functions[self.module.kernels[kernel].function]
        match [each for block in function.blocks.values() for each in block.body]:
            case [Instruction(code=Op.CALL, operands=(callee, *given)), Instruction(code=Op.RETURN)] if (
                given == function.parameters and callee in self.functions
            ):
                return self.functions[callee]
        return function

    # Types

    def is_integer(self, kind: int) -> bool:
        return self.module.types.get(kind, (0, ()))[0] == Op.TYPE_INT

    def size(self, kind: int) -> int:
        return self.module.layout(kind)[0]

    def member(self, kind: int, index: int | None) -> tuple[int, int, int] | None:
        """Returns the type of a part of a type, the part's distance from the begin, and the distance between parts.

        The parts of arrays and vectors are alike, so that `index` does not matter. None if there is no such part.
        """
        match self.module.types.get(kind, (0, ())):
            case ((Op.TYPE_ARRAY | Op.TYPE_VECTOR), (part, _)):
                return part, 0, self.size(part)
            case Op.TYPE_STRUCT, parts if index is not None and 0 <= index < len(parts):
                return parts[index], self.module.offset(parts, index), 0
        return None


def read_code(module: Module, specialized: Mapping[int, bytes]) -> Code:
    """Returns the functions of a module. `specialized` are the values of specialisation constants, by their numbers."""
    functions: dict[int, FunctionCode] = {}
    types: dict[int, int] = {}
    function, block = FunctionCode(), Block()
    for _, code, operands in module.in_functions(CODES):
        match code, operands:
            case Op.FUNCTION, [_, id, *_]:
                function, block = FunctionCode(), Block()
                functions[id] = function
            case Op.PARAMETER, [kind, id]:
                function.parameters.append(id)
                types[id] = kind
            case Op.LABEL, [id]:
                block = function.blocks[id] = Block()
            case Op.LOOP_MERGE, [_, back, *control]:
                function.controls[back] = tuple(control)
            case _:
                _add(function, block, code, operands)
    built_in = {id: numbers[0] for id, numbers in module.decorated(Decoration.BUILT_IN)}
    return Code(module, functions, built_in, _constants(module, specialized), types)


def _constants(module: Module, specialized: Mapping[int, bytes]) -> dict[int, int]:
    found = dict(module.constants)
    numbers = {id: number for id, (number, *_) in module.decorated(Decoration.SPEC_ID)}
    for code, (_, id, *value) in module.declared(*CONSTANTS, least=2):
        given = specialized.get(numbers.get(id, -1))
        default = signed(value[0], 32) if value else int(code in TRUE)
        found[id] = default if given is None else int.from_bytes(given, "little", signed=bool(value))
    return found


def _add(function: FunctionCode, block: Block, code: int, operands: list[int]) -> None:
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
