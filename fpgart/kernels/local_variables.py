# SPDX-License-Identifier: Apache-2.0
"""Translates local variables of functions that are no kernels, and of inner blocks, which FPGAs' compilers accept.

OpenCL C allows them in the outermost block of kernels alone. The variables of a function become members of a
structure; kernels have a variable of such a structure, functions a further parameter that points to one. It contains
the structures of the functions that they call.

    int f(int a) { local int x[4]; ... x[a] ... }

    struct __fpgart_locals_f { int x[4]; };
    int f(int a, local struct __fpgart_locals_f *__fpgart_locals) { ... (__fpgart_locals->x)[a] ... }

The text is output of the preprocessor. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import pattern
from fpgart.kernels.source_text import (
    ATTRIBUTES,
    DIRECTIVE,
    SIZES,
    bare_code,
    behind_blanks,
    blank,
    closings,
    replaced,
    split,
    without_attributes,
)

WORD = pattern(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\\[^\n]|[A-Za-z_]\w*|->|[{}();.]')
LOCAL_WORD = pattern(r"local\b")
LOCAL = pattern(r"(?:static\s+|const\s+|volatile\s+)*\b(?:__)?local\b")
DECLARATOR = pattern(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\[[^\]]*\]\s*)*)", re.DOTALL)
LAST_NAME = pattern(r"(?P<type>.*?)\b(?P<rest>[A-Za-z_]\w*\s*(?:\[[^\]]*\]\s*)*)", re.DOTALL)
KERNEL = pattern(r"\b(?:__)?kernel\b")
LAST_WORD = pattern(r"\w*[A-Za-z_]")
"""The last word of a text that is read backwards."""
OPENING = pattern(r"\s*\(")
MOST_CHARACTERS = 1024
"""The most characters of a function's name."""
POINTER = "__fpgart_locals"
NOWHERE = (0, 0)


class Variable(NamedTuple):
    """A local variable: the member that it becomes, and the positions between which its name is visible."""

    name: str
    member: str
    declaration: str
    begin: int
    end: int


class Function(NamedTuple):
    """A function: the begin of its head, the positions of its parameters and its body (empty for a prototype)."""

    name: str
    head: int
    parameters: tuple[int, int]
    body: tuple[int, int]
    is_kernel: bool
    variables: list[Variable]
    declarations: list[tuple[int, int]]
    calls: list[tuple[str, int, int]]
    """Name, and the positions of the parentheses."""

    @property
    def structure(self) -> str:
        return f"struct {POINTER}_{self.name}"

    @property
    def access(self) -> str:
        return f"{POINTER}." if self.is_kernel else f"{POINTER}->"


def has_local_variables(source: str) -> bool:
    """True if a source that is not preprocessed shows such variables; only one with LOCAL_DECLARATION can."""
    bare = bare_code(source)
    closed = closings(bare)
    for function in _functions(bare, closed):
        if _may_have_variables(bare, function):
            _find_variables(bare, function, closed)
            if function.variables:
                return True
    return False


def _may_have_variables(bare: str, function: Function) -> bool:
    """True if the body has the word outside of a kernel's outermost block."""
    begin, end = function.body
    places = (hit.start() for hit in LOCAL_WORD.finditer(bare, begin, end))
    return any(
        not function.is_kernel or bare.count("{", begin, place) - bare.count("}", begin, place) != 1 for place in places
    )


def with_local_variables(text: str) -> str:
    """Returns the translated text if it has such variables; else the text itself."""
    bare = blank(DIRECTIVE, text)
    closed = closings(bare)
    functions = list(_functions(bare, closed))
    for function in functions:
        _find_variables(bare, function, closed)
    holders = {function.name for function in functions if function.variables}
    kernels = {function.name for function in functions if function.is_kernel}
    callers: dict[str, set[str]] = {}
    for function in functions:
        for name, _, _ in function.calls:
            callers.setdefault(name, set()).add(function.name)
    waiting = list(holders - kernels)
    while waiting:  # functions that call one with such variables have them, too; kernels have their own
        found = callers.get(waiting.pop(), set()) - holders
        holders |= found
        waiting += found - kernels
    if not holders:
        return text
    edits = _edits(bare, [f for f in functions if f.name in holders], holders - kernels)
    return replaced(text, ((begin, end, words + "\n" * text.count("\n", begin, end)) for begin, end, words in edits))


def _functions(bare: str, closed: Mapping[int, int]) -> Iterator[Function]:
    """Yields definitions and prototypes, in their order."""
    statement = at = 0
    opened: tuple[str, int, int] | None = None
    while hit := WORD.search(bare, at):
        word, at = hit[0], hit.end()
        if word in (";", "}"):
            if word == ";" and opened is not None:
                yield _function(bare, statement, opened, NOWHERE)
            statement, opened = at, None
        elif word in ATTRIBUTES:
            opening = bare.find("(", at)
            at = closed.get(opening, len(bare)) + 1
        elif word == "(":
            end = closed.get(hit.start(), len(bare))
            name = LAST_WORD.match(bare[statement : hit.start()].rstrip()[: -MOST_CHARACTERS - 1 : -1])
            opened = (name[0][::-1], hit.start(), end) if name else None
            at = end + 1
        elif word == "{":
            end = closed.get(hit.start(), len(bare))
            if opened is not None and "=" not in bare[opened[2] : hit.start()]:
                yield _function(bare, statement, opened, (hit.start(), end))
                statement = end + 1
            opened = None
            at = end + 1


def _function(bare: str, statement: int, opened: tuple[str, int, int], body: tuple[int, int]) -> Function:
    name, begin, end = opened
    head = behind_blanks(bare, statement, begin)
    is_kernel = KERNEL.search(bare, statement, begin) is not None
    return Function(name, head, (begin, end), body, is_kernel, variables=[], declarations=[], calls=[])


def _find_variables(bare: str, function: Function, closed: Mapping[int, int]) -> None:
    """Finds the function's variables, their declarations, and its calls."""
    begin, end = function.body
    blocks: list[int] = []
    statement = True
    at = begin
    while (hit := WORD.search(bare, at)) and hit.start() < end:
        word, at = hit[0], hit.end()
        declared = LOCAL.match(bare, hit.start()) if statement else None
        if declared and not (function.is_kernel and len(blocks) == 1):
            at = _declare(bare, function, hit.start(), declared.end(), closed.get(blocks[-1], len(bare)))
            continue
        if word == "{":
            blocks.append(hit.start())
        elif word == "}":
            blocks.pop()
        following = OPENING.match(bare, at)
        if following and word[0] not in "{}();.-\"'\\":
            opening = following.end() - 1
            function.calls.append((word, opening, closed.get(opening, len(bare))))
        statement = word in ("{", "}", ";")


def _declare(bare: str, function: Function, begin: int, after: int, block_end: int) -> int:
    """Reads one declaration, unless it is of pointers to local memory; returns where to continue."""
    end = bare.find(";", after)
    if end < 0:
        return after
    type_name = ""
    found: list[Variable] = []
    for declarator in split(bare[after:end]):
        kept = without_attributes(declarator).strip()
        parsed = DECLARATOR.fullmatch(kept) if type_name else LAST_NAME.fullmatch(kept)
        if parsed is None or {"*", "="} & set(SIZES.sub("", kept)):
            return after
        if not type_name:
            type_name = parsed["type"].strip()
            parsed = DECLARATOR.fullmatch(parsed["rest"])
            assert parsed is not None
        name = parsed["name"]
        member = f"{name}_{len(function.variables) + len(found)}"
        found.append(Variable(name, member, f"{type_name} {member}{parsed['sizes'].strip()};", end, block_end))
    function.variables.extend(found)
    function.declarations.append((begin, end + 1))
    return end


def _edits(bare: str, functions: list[Function], holders: set[str]) -> Iterator[tuple[int, int, str]]:
    """Yields begin, end and the replacement of each change."""
    structures = _Structures(functions, holders)
    for function in functions:
        yield (function.head, function.head, structures.until(function.name))
        if not function.is_kernel:
            yield _parameter(bare, function)
        if function.body == NOWHERE:
            continue
        if function.is_kernel:
            place = function.body[0] + 1
            yield (place, place, f" __local {function.structure} {POINTER};")
        yield from ((begin, end, ";") for begin, end in function.declarations)
        yield from _uses(bare, function)
        for name, opening, end in function.calls:
            if name in holders:
                comma = ", " if bare[opening + 1 : end].strip() else ""
                yield (end, end, f"{comma}&{function.access}in_{name}")


class _Structures:
    """The structures' definitions, each once and behind those that it contains."""

    def __init__(self, functions: list[Function], holders: set[str]) -> None:
        self.defined = {function.name: function for function in functions if function.body != NOWHERE}
        self.holders = holders
        self.told: set[str] = set()

    def until(self, name: str) -> str:
        """Returns the definitions of function `name` and of the structures in it that were not returned yet."""
        parts = []
        waiting = [(name, False)]
        while waiting:
            name, reached = waiting.pop()
            function = self.defined.get(name)
            if function is None or (name in self.told and not reached):
                continue
            self.told.add(name)
            called = sorted({called for called, _, _ in function.calls if called in self.holders})
            if reached:  # those that it has within are told
                parts.append(self._definition(function, called))
            else:
                waiting += [(name, True), *((each, False) for each in reversed(called))]
        return "".join(parts)

    def _definition(self, function: Function, called: list[str]) -> str:
        members = [variable.declaration for variable in function.variables]
        members += [f"struct {POINTER}_{each} in_{each};" for each in called]
        return f"{function.structure} {{ {' '.join(members)} }}; "


def _parameter(bare: str, function: Function) -> tuple[int, int, str]:
    begin, end = function.parameters
    words = f"__local {function.structure} *{POINTER}"
    if bare[begin + 1 : end].strip() in ("", "void"):
        return (begin + 1, end, words)
    return (end, end, f", {words}")


def _uses(bare: str, function: Function) -> Iterator[tuple[int, int, str]]:
    """Yields each use of a variable where its name is visible and no member's."""
    named: dict[str, list[Variable]] = {}
    for each in function.variables:
        named.setdefault(each.name, []).append(each)
    last = ""
    for hit in WORD.finditer(bare, *function.body):
        if last not in (".", "->"):
            known = named.get(hit[0], ())
            variable = next((v for v in reversed(known) if v.begin < hit.start() < v.end), None)
            if variable is not None:
                yield (hit.start(), hit.end(), f"({function.access}{variable.member})")
        last = hit[0]
