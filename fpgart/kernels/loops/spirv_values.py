# SPDX-License-Identifier: Apache-2.0
"""The values of a function of SPIR-V as expressions in C, for loop_tree.py and access_patterns.py.

An expression consists of numbers, the kernel's arguments, the numbers of work-items, and counters of loops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fpgart.kernels.loops.kernel_loops import Captured
from fpgart.kernels.spirv import OF_SYCL, Op, Storage
from fpgart.kernels.spirv_code import Code, FunctionCode, Instruction

Expression = int | str
LONGEST: Final = 1024
"""Characters of an expression; longer ones are unknown."""
ATOM = re.compile(r"\w+|get_global_id\(0\)|get_local_id\(0\)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORK_ITEMS = {27: "get_local_id(0)", 28: "get_global_id(0)"}
"""Built-in variables, by their numbers."""
ARITHMETIC: dict[int, str] = {
    Op.ADD: "+", Op.SUBTRACT: "-", Op.MULTIPLY: "*", Op.U_DIVIDE: "/", Op.S_DIVIDE: "/", Op.U_MODULO: "%",
    Op.S_REMAINDER: "%", Op.SHIFT_LEFT: "<<", Op.SHIFT_RIGHT: ">>", Op.SHIFT_RIGHT_SIGNED: ">>", Op.AND: "&",
    Op.OR: "|", Op.XOR: "^",
}  # fmt: skip
COMPARISONS: dict[int, str] = {
    Op.EQUAL: "==", Op.NOT_EQUAL: "!=", Op.U_GREATER: ">", Op.S_GREATER: ">", Op.U_GREATER_EQUAL: ">=",
    Op.S_GREATER_EQUAL: ">=", Op.U_LESS: "<", Op.S_LESS: "<", Op.U_LESS_EQUAL: "<=", Op.S_LESS_EQUAL: "<=",
}  # fmt: skip
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
SIGNS: dict[int, str] = {**ARITHMETIC, **COMPARISONS, Op.LOGICAL_AND: "&&", Op.LOGICAL_OR: "||"}
UNCHANGED = frozenset((Op.U_CONVERT, Op.S_CONVERT, Op.BITCAST, Op.TO_GENERIC, Op.FROM_GENERIC))
CHAINS = frozenset((Op.ACCESS_CHAIN, Op.IN_BOUNDS_ACCESS_CHAIN))
POINTER_CHAINS = frozenset((Op.PTR_ACCESS_CHAIN, Op.IN_BOUNDS_PTR_ACCESS_CHAIN))
EXTREMES = {156: ">", 157: ">", 158: "<", 159: "<"}
"""Maximum and minimum among the functions of OpenCL.std."""
NARROWEST = 4
"""The bytes of an integer that is taken not to overflow."""
DEEPEST = 64
"""Values within each other."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in memory: the variable or parameter, and the distance from its begin in bytes.

    The distance is the sum of `fixed` and of values times numbers.
    """

    root: int
    fixed: int = 0
    parts: tuple[tuple[str, int], ...] = ()

    def moved(self, value: Expression, step: int) -> Place:
        """Returns the place that is `value` times `step` bytes behind this one."""
        if isinstance(value, int):
            return Place(self.root, self.fixed + value * step, self.parts)
        return Place(self.root, self.fixed, (*self.parts, (value, step)))


@dataclass(frozen=True, slots=True)
class Induction:
    """A value that grows by the same number in each iteration of a loop."""

    first: Expression
    by: int


def computed(sign: str, left: Expression, right: Expression) -> Expression:
    """Returns an operation of C; that of two numbers is done."""
    if isinstance(left, int) and isinstance(right, int):
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "<<" if 0 <= right < 64:
                return left << right
    if (sign in "+-" and right == 0) or (sign in "*/" and right == 1):
        return left
    if sign == "+" and left == 0:
        return right
    return f"{in_parentheses(left)} {sign} {in_parentheses(right)}"


def in_parentheses(value: Expression) -> str:
    text = str(value)
    return text if ATOM.fullmatch(text) else f"({text})"


class Values:
    """The values of one function. `counters` are the names of counters, by the block in which a loop begins."""

    def __init__(self, code: Code, function: FunctionCode, latches: dict[int, int]) -> None:
        self._code = code
        self._function = function
        self._latches = latches
        self.counters: dict[int, str] = {}
        self.captured: dict[str, Captured] = {}
        self._headers = {each.id: label for label, block in function.blocks.items() for each in block.body if each.id}
        self._known: dict[int, Expression | None] = {}
        self._depth = 0
        named = [code.module.name(id).removeprefix(OF_SYCL) for id in function.parameters]
        self.names = [
            name if IDENTIFIER.fullmatch(name) and named.count(name) == 1 else f"argument{index}"
            for index, name in enumerate(named)
        ]
        self._copies: dict[int, int] = {}
        self._copies = self._copied_parameters()

    def expression(self, id: int) -> Expression | None:
        """Returns a value as an expression; None if it is unknown."""
        if id in self._code.constants:
            return self._code.constants[id]
        if id not in self._known:
            self._known[id] = None  # while it is being looked at
            self._depth += 1
            made = None
            if self._depth <= DEEPEST:
                made = self._parameter(id) if id in self._function.parameters else self._result(id)
            self._depth -= 1
            self._known[id] = None if isinstance(made, str) and len(made) > LONGEST else made
        return self._known[id]

    def _parameter(self, id: int) -> Expression | None:
        index = self._function.parameters.index(id)
        kind = self._code.parameter_types.get(id, 0)
        if not self._code.is_integer(kind):
            return None
        return self._capture(self.names[index], Captured(index, 0, self._code.size(kind)))

    def _capture(self, name: str, captured: Captured) -> str:
        self.captured[name] = captured
        return name

    def _result(self, id: int) -> Expression | None:
        made = self._function.values.get(id)
        if made is None:
            return None
        match made.code, made.operands:
            case Op.PHI, _:
                return self._phi(made)
            case Op.LOAD, (pointer, *_):
                return self._loaded(made, pointer)
            case Op.COMPOSITE_EXTRACT, (vector, 0):
                return self._work_item(vector)
            case code, (operand, *_) if code in UNCHANGED:
                narrow = code in (Op.U_CONVERT, Op.S_CONVERT) and self._code.size(made.type) < NARROWEST
                return None if narrow else self.expression(operand)
            case Op.SELECT, (condition, first, second):
                return self._chosen(self.expression(condition), first, second)
            case Op.EXT_INST, (_, number, first, second) if number in EXTREMES:
                left, right = self.expression(first), self.expression(second)
                return None if left is None or right is None else either(left, EXTREMES[number], right)
            case Op.LOGICAL_NOT, (operand,):
                value = self.expression(operand)
                return None if value is None else f"!({value})"
            case code, (first, second) if code in SIGNS:
                left, right = self.expression(first), self.expression(second)
                return None if left is None or right is None else computed(SIGNS[code], left, right)
        return None

    def _is_sum(self, value: int, added: int) -> bool:
        """True if a number has only bits that another value, which a loop counts, never has."""
        made = self._function.values.get(value)
        its = self.induction(value, self._headers[value]) if made is not None and made.code == Op.PHI else None
        most = self._code.constants.get(added, -1)
        if its is None or most < 0 or not isinstance(its.first, int):
            return False
        unit = 1 << most.bit_length()
        return its.first % unit == 0 and its.by % unit == 0

    def _chosen(self, condition: Expression | None, first: int, second: int) -> Expression | None:
        left, right = self.expression(first), self.expression(second)
        return None if None in (condition, left, right) else f"({condition}) ? ({left}) : ({right})"

    def _phi(self, made: Instruction) -> Expression | None:
        sources = set(made.operands[::2])
        if len(sources) == 1:
            return self.expression(sources.pop())
        header = self._headers[made.id]
        its, counter = self.induction(made.id, header), self.counters.get(header)
        if its is None or counter is None:
            return None
        return computed("+", its.first, computed("*", counter, its.by))

    def induction(self, id: int, header: int) -> Induction | None:
        """Returns how a value grows in the loop that begins with a block; None if it does not grow steadily there."""
        made = self._function.values.get(id)
        if made is None or made.code != Op.PHI or len(made.operands) != 4 or self._headers[id] != header:
            return None
        latch = self._latches.get(header)
        by_block = dict(zip(made.operands[1::2], made.operands[::2], strict=True))
        if latch not in by_block or len(by_block) != 2:
            return None
        moved = self.distance(by_block.pop(latch))
        first = self.expression(*by_block.values())
        return Induction(first, moved[1]) if moved[0] == id and moved[1] and first is not None else None

    def distance(self, id: int, *, of_bits: bool = False) -> tuple[int, int]:
        """Returns the value that constants are added to, and their sum; `of_bits` counts bits that are set, too."""
        total, constants = 0, self._code.constants
        for _ in range(DEEPEST):  # a value of damaged code may depend on itself
            made = self._function.values.get(id)
            if made is None:
                break
            match made.code, made.operands:
                case Op.ADD, (first, second) if second in constants:
                    id, total = first, total + constants[second]
                case Op.SUBTRACT, (first, second) if second in constants:
                    id, total = first, total - constants[second]
                case Op.OR, (first, second) if of_bits and self._is_sum(first, second):
                    id, total = first, total + constants[second]
                case code, (operand, *_) if code in UNCHANGED:
                    id = operand
                case _:
                    break
        return id, total

    # Memory

    def size_at(self, pointer: int) -> int:
        """Returns the bytes of what a pointer points to."""
        return self._code.size(self._code.module.pointee(self._type_of(pointer)))

    def place(self, pointer: int) -> Place | None:
        """Returns the place that a pointer points to; None if it is unknown."""
        self._depth += 1
        made = self._place(pointer) if self._depth <= DEEPEST else None
        self._depth -= 1
        return made

    def _place(self, pointer: int) -> Place | None:
        made = self._function.values.get(pointer)
        if made is None or made.code == Op.VARIABLE:
            return Place(pointer)
        match made.code, made.operands:
            case code, (base, *_) if code in UNCHANGED:
                return self.place(base)
            case code, (base, *indices) if code in CHAINS | POINTER_CHAINS:
                kind = self._code.module.pointee(self._type_of(base))
                return self._moved(self.place(base), kind, indices, by_element=code in POINTER_CHAINS)
        return None

    def _type_of(self, id: int) -> int:
        made = self._function.values.get(id)
        if made is not None:
            return made.type
        return self._code.parameter_types.get(id) or self._code.module.variables.get(id, (0, ()))[0]

    def _moved(self, place: Place | None, kind: int, indices: list[int], *, by_element: bool) -> Place | None:
        if place is None:
            return None
        for number, index in enumerate(indices):
            value = self.expression(index)
            varying, added = self.distance(index, of_bits=True)
            base = self.expression(varying)
            if value is None or base is None:
                return None
            inner = (kind, 0, self._code.size(kind))
            if number or not by_element:
                found = self._code.member(kind, value if isinstance(value, int) else None)
                if found is None:
                    return None
                inner = found
            kind, begin, step = inner
            place = place.moved(begin, 1).moved(added, step).moved(base, step)
        return place

    def _loaded(self, made: Instruction, pointer: int) -> Expression | None:
        place = self.place(pointer)
        if place is None:
            return None
        root = self._copies.get(place.root, place.root)
        if root in self._code.built_in:
            return None if place.fixed or place.parts else WORK_ITEMS.get(self._code.built_in[root])
        if root not in self._function.parameters:
            return f"memory{root}[{pointer}]"
        index = self._function.parameters.index(root)
        name = self.names[index]
        if self._code.module.storage(self._code.parameter_types[root]) != Storage.PRIVATE:
            is_element = not place.fixed and [step for _, step in place.parts] == [self._code.size(made.type)]
            return f"{name}[{place.parts[0][0] if is_element else pointer}]"
        if place.parts or not self._code.is_integer(made.type):
            return None
        captured = Captured(index, place.fixed, self._code.size(made.type))
        return self._capture(f"{name}_{place.fixed}", captured)

    def _work_item(self, vector: int) -> Expression | None:
        made = self._function.values.get(vector)
        place = self.place(made.operands[0]) if made is not None and made.code == Op.LOAD and made.operands else None
        return WORK_ITEMS.get(self._code.built_in.get(place.root, -1)) if place is not None else None

    def _copied_parameters(self) -> dict[int, int]:
        """Returns the variables that are only a copy of a parameter, by their ids, with the parameter."""
        found: dict[int, int] = {}
        written: set[int] = set()
        for block in self._function.blocks.values():
            for each in block.body:
                if each.code not in (Op.STORE, Op.COPY_SIZED) or len(each.operands) < 2:
                    continue
                to, origin = self.place(each.operands[0]), self.place(each.operands[1])
                if to is None:
                    continue
                is_whole = each.code == Op.COPY_SIZED and to == Place(to.root) and origin == Place(each.operands[1])
                if not is_whole or to.root in found:
                    written.add(to.root)
                elif each.operands[1] in self._function.parameters:
                    found[to.root] = each.operands[1]
        self._known.clear()
        return {id: parameter for id, parameter in found.items() if id not in written}


def either(left: Expression, sign: str, right: Expression) -> Expression:
    """Returns the larger (`>`) or the smaller (`<`) of two values."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right) if sign == ">" else min(left, right)
    return f"({left}) {sign} ({right}) ? ({left}) : ({right})"
