# SPDX-License-Identifier: Apache-2.0
"""The mutants of a module: cosmic-ray's operators, and two more, applied one at a time to its source."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import cosmic_ray.plugins
import parso
from cosmic_ray.operators.operator import Operator

OPERATORS = [
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/ReplaceUnaryOperator_Delete_USub",
    *(
        f"core/ReplaceComparisonOperator_{pair}"
        for pair in ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Is_IsNot", "IsNot_Is")
    ),
    *(
        f"core/ReplaceBinaryOperator_{pair}"
        for pair in ("Add_Sub", "Sub_Add", "Mul_FloorDiv", "FloorDiv_Mul", "Mod_Mul", "LShift_RShift", "RShift_LShift")
    ),
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in ("BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr")),
]
"""Each operator has one replacement: what is nearest to it. More would mostly fall to the same tests."""

NOT_MUTATED = {"annassign_type", "assert_stmt", "decorator", "fstring", "import_from", "import_name", "tfpdef"}
"""Syntax that tests cannot distinguish (annotations, words), that checks itself, or that fails at once."""


class DeleteStatement(Operator):  # type: ignore[misc]
    """A simple statement of a function becomes `pass`, where that is not sure to end in a NameError."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "simple_stmt" and _function_of(node) is not None and _is_worth_deleting(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return parso.parse(f"pass{node.children[-1].get_code()}")

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class FixCondition(Operator):  # type: ignore[misc]
    """A condition becomes True, or False; that of a loop False only."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        for at, _ in self._choices(node):
            yield node.children[at].start_pos, node.children[at].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        at, value = self._choices(node)[index]
        node.children[at] = parso.parse(f" {value}")
        return node

    def _choices(self, node: Any) -> list[tuple[int, str]]:
        if node.type == "if_stmt":
            conditions = [at + 1 for at, child in enumerate(node.children) if child in ("if", "elif")]
        elif node.type == "while_stmt":
            return [(1, "False")]
        elif node.type == "test":
            conditions = [2]
        elif node.type == "comp_if":
            conditions = [1]
        else:
            return []
        return [
            (at, value)
            for at in conditions
            if "TYPE_CHECKING" not in node.children[at].get_code()
            for value in ("True", "False")
        ]

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


@dataclass(frozen=True)
class Mutant:
    """`before` and `after`: the lines that differ, without their indentation; `number`: which of equal ones."""

    module: str
    function: str
    before: str
    after: str
    number: int
    first: int
    last: int
    """The lines of the original that are replaced, from 1."""
    code: str

    @property
    def key(self) -> str:
        return f"{self.module}: {self.function}: {self.before}  ->  {self.after}  #{self.number}"

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        return self.module, self.function, self.before, self.after, self.number


def mutants_of(module: str, source: str, functions: Container[str] | None = None) -> list[Mutant]:
    """Returns all mutants of a module, or of some functions of it, in the order of its lines."""
    operators = [cosmic_ray.plugins.get_operator(name)() for name in OPERATORS] + [DeleteStatement(), FixCondition()]
    lines = source.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))

    def offset(position: tuple[int, int]) -> int:
        return begins[position[0] - 1] + position[1]

    found: list[Mutant] = []
    seen: set[str] = set()
    numbers: Counter[tuple[str, str, str]] = Counter()
    for node in _nodes(parso.parse(source)):
        function = _function_of(node) or "(module)"
        if functions is not None and function not in functions:
            continue
        whole = _outermost(node)
        begin, end = offset(node.start_pos), offset(node.end_pos)
        whole_begin, whole_end = offset(whole.start_pos), offset(whole.end_pos)  # the rest of the module compiles
        for operator in operators:
            for index, _ in enumerate(operator.mutation_positions(node)):
                after = operator.mutate(_copy(node), index).get_code().lstrip()
                code = source[:begin] + after + source[end:]
                if code in seen or not _compiles(source[whole_begin:begin] + after + source[end:whole_end]):
                    continue
                seen.add(code)
                first, last, was, now = _difference(lines, code.splitlines(keepends=True))
                numbers[function, was, now] += 1
                found.append(Mutant(module, function, was, now, numbers[function, was, now], first, last, code))
    return sorted(found, key=lambda mutant: (mutant.first, mutant.last))


def sample(mutants: list[Mutant], most: int, seed: int) -> list[Mutant]:
    """Returns at most so many of them, chosen at random, in their order; the same ones for the same seed."""
    chosen = random.Random(seed).sample(range(len(mutants)), min(most, len(mutants)))
    return [mutants[index] for index in sorted(chosen)]


def _nodes(node: Any) -> Iterator[Any]:
    """Yields the node and all below it that are mutated."""
    if node.type in NOT_MUTATED or _is_protocol(node):
        return
    yield node
    children = list(getattr(node, "children", ()))
    for before, child in zip([None, *children], children, strict=False):
        is_annotation = (node.type == "annassign" and before == ":") or (node.type == "funcdef" and before == "->")
        if not is_annotation:
            yield from _nodes(child)


def _copy(node: Any) -> Any:
    """Returns a copy of the node without the rest of the tree, which it still knows as its parent."""
    parent, node.parent = node.parent, None
    try:
        copied = copy.deepcopy(node)
    finally:
        node.parent = parent
    copied.parent = parent
    return copied


def _is_protocol(node: Any) -> bool:
    """True if a class is a protocol: none of its lines is run."""
    bases = node.get_super_arglist() if node.type == "classdef" else None
    return bases is not None and "Protocol" in bases.get_code()


def _outermost(node: Any) -> Any:
    """Returns the statement of the module that a node is in, or the module."""
    while node.parent is not None and node.parent.parent is not None:
        node = node.parent
    return node


def _function_of(node: Any) -> str | None:
    """Returns the qualified name of the function that a node is in."""
    names: list[str] = []
    in_function = False
    while node is not None:
        if node.type in ("funcdef", "classdef"):
            names.insert(0, node.name.value)
            in_function = in_function or node.type == "funcdef"
        node = node.parent
    return ".".join(names) if in_function else None


def _is_worth_deleting(statement: Any) -> bool:
    if statement.type in ("pass_stmt", "import_name", "import_from", "assert_stmt", "nonlocal_stmt", "global_stmt"):
        return False
    if statement.type in ("string", "strings") or statement in ("pass", "..."):
        return False
    if statement.get_code().strip() == "return None" and statement.parent.parent.parent.type == "funcdef":
        return bool(statement.parent.parent.children[-1] is not statement.parent)  # the last one says nothing
    if statement.type != "expr_stmt":
        return True
    if len(statement.children) == 2 and len(statement.children[1].children) == 2:
        return False  # a declaration
    target = statement.children[0]
    return bool(target.type != "name") or _is_bound_before(target)


def _is_bound_before(name: Any) -> bool:
    function = parso.python.tree.search_ancestor(name, "funcdef")
    leaf = function.children[1].get_next_leaf() if function is not None else name
    while leaf.start_pos < name.start_pos:
        if leaf.type == "name" and leaf.value == name.value and leaf.is_definition():
            return True
        leaf = leaf.get_next_leaf()
    return False


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _difference(lines: list[str], mutated: list[str]) -> tuple[int, int, str, str]:
    """Returns the first and the last line that differ, and their words before and after."""
    first = 0
    while lines[first] == mutated[first]:
        first += 1
    same = 0
    while same < min(len(lines), len(mutated)) - first and lines[-1 - same] == mutated[-1 - same]:
        same += 1
    before, after = lines[first : len(lines) - same], mutated[first : len(mutated) - same]
    return first + 1, max(first + 1, len(lines) - same), _words(before), _words(after)


def _words(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)
