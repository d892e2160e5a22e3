# SPDX-License-Identifier: Apache-2.0
"""How many cycles the loops of a kernel take at least, found in its source: for the model of time (docs/time.md).

A loop whose bounds are numbers, macros, arguments of the kernel, or constants made of these, is counted. One that
nobody can count without running the kernel (`while`, bounds in memory, loops that are left early or run under a
condition, functions with loops) makes the kernel's cycles unknown. That is a None here, never a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from fpgart.engine.call_graph import function_named
from fpgart.engine.dialect import CompilerOptions, predefined_macros
from fpgart.engine.loop_tree import (
    FOREVER,
    Call,
    Called,
    Choice,
    Item,
    Loop,
    Talk,
    UncountableError,
    cycles_of,
    size_of,
)
from fpgart.engine.lowering import DIRECTIVE, HIDDEN, LINE, WORD, blank, split
from fpgart.engine.pipeline_depth import pipeline_depth
from fpgart.engine.preprocessing.files import Includes, PreprocessorError
from fpgart.engine.preprocessing.preprocessor import preprocess
from fpgart.engine.unrolling import HEAD, closings, end_of_statement

HINT = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?P<name>unroll|nounroll|ii)\b(?P<value>[^\n]*)")
STEP_OF_CODE = re.compile(
    r"^[ \t]*#[^\n]*$|\b(?P<word>for|while|do|if|else|switch|break|return|goto|[A-Za-z_]\w*(?=\s*\())\b", re.MULTILINE
)
LOOPING = re.compile(r"\b(?:for|while|do)\b")
TALKING = re.compile(r"\b(?P<way>read|write)_channel_(?P<once>nb_)?(?:intel|altera)\s*\(|\b(?:read|write)_pipe\s*\(")
INDEXED = re.compile(r"\b(?P<array>[A-Za-z_]\w*)\s*\[(?P<index>(?:[^\[\]]|\[[^\[\]]*\])*)\]")
UPDATED = re.compile(r"\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)=(?!=))")
ARRAY = re.compile(
    r"\b(?:__)?global\b(?:\s*(?:const|volatile|restrict|__attribute__\s*\(\(\w+(?:\([^()]*\))?\)\))\b)*\s*"
    r"(?:unsigned\s+)?(?P<type>char|uchar|short|ushort|int|uint|long|ulong|float|double|half)(?P<lanes>2|3|4|8|16)?\b"
    r"[^*]*\*[^*]*?\b(?P<name>[A-Za-z_]\w*)\s*$"
)
ELEMENTS = {"char": 1, "uchar": 1, "half": 2, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "long": 8,
            "ulong": 8, "double": 8}  # fmt: skip
LONGEST_PARAMETER = 512
MOST_TOUCHES = 1024
"""Of a kernel's indexed names, so many are looked at."""
SKIPPING = re.compile(r"\bcontinue\b")
NESTED = re.compile(r"\s*if\b")
IF = re.compile(r"(?P<if>if\s*\()")
ELSE = re.compile(r"\s*else\b(?:\s*(?P<if>if\s*\())?")
PERHAPS = re.compile(r"\?|&&|\|\|")
PLACE = re.compile(r"[;{}]")
LEAVING = re.compile(r"\b(?:break|return|goto)\b")
DECLARED = re.compile(
    r"\b(?:const\s+)?(?:unsigned\s+|signed\s+)?(?:int|uint|long|ulong|size_t|short|ushort|char|uchar|unsigned)\s+"
    r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)(?P<value>[^;,{}]+);"
)
KERNEL = re.compile(r"\b(?:__)?kernel\b")
UNCOUNTABLE = ("while", "do", "goto", "switch")
DEEPEST = 32
"""Loops deeper than that are not counted."""
MOST_ITEMS = 10_000
"""In a function with loops, with those of the functions that it calls."""
MOST_CONSTANTS = 256
"""Of a kernel's declarations, so many are looked at."""


@dataclass(frozen=True, slots=True)
class Touch:
    """An element of a global array that is read or written in each iteration of `loops`, the outermost first."""

    array: str
    element: int
    """Bytes."""
    index: str
    times: int
    """2 for an element that is read and written, 0 where a condition decides."""
    line: int
    """Of the program's source."""
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class KernelLoops:
    """The loops of a kernel one after the other, and what it does with channels; None where that cannot be counted."""

    body: tuple[Item, ...] | None
    parameters: tuple[str, ...]
    """Those that keep their values."""
    constants: tuple[tuple[str, str], ...]
    """Variables that keep the value they are declared with, and that value as it is written."""
    touches: tuple[Touch, ...] = ()
    depth: int = 0
    """Cycles from where an iteration or work-item begins until it ends, besides what it waits for memory."""

    def cycles(self, arguments: Mapping[str, int]) -> int | None:
        """Those of one work-item, at least 1; `arguments`: scalars by name. None where nobody can tell."""
        if self.body is None:
            return None
        names = self.names(arguments)
        try:
            return max(1, cycles_of(self.body, names))
        except UncountableError:
            return None

    def names(self, arguments: Mapping[str, int]) -> dict[str, str]:
        """What names stand for in the heads of its loops, for a launch with these scalars."""
        return dict(self.constants) | {name: str(value) for name, value in arguments.items() if name in self.parameters}


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a source behind the preprocessor, without comments; pragmas are in its body."""

    name: str
    parameters: str
    body: str
    is_kernel: bool
    head: str = ""
    """What stands in front of its body: attributes, too."""
    begin: int = 0
    lines: Lines | None = None
    """Where the body begins in the text, and the lines of that."""


def kernel_loops(source: str, options: str = "") -> dict[str, KernelLoops]:
    """By kernel; empty for a source that the preprocessor cannot read by itself, as one with headers of the host's."""
    return loops_of(functions(source, options))


def loops_of(found: list[Function]) -> dict[str, KernelLoops]:
    """By kernel, of all functions of a source."""
    looping = _looping(found)
    talking = {function.name for function in found if TALKING.search(function.body)}
    return {
        function.name: _kernel(function, looping, talking - {function.name}) for function in found if function.is_kernel
    }


def _looping(found: list[Function]) -> dict[str, Called | None]:
    """The functions with loops that take cycles, or may; None where nobody can tell how many."""
    looping: dict[str, Called | None] = {}
    for function in found:  # each is defined before it is called
        if not LOOPING.search(function.body) and not any(w[0] in looping for w in WORD.finditer(function.body)):
            continue
        try:
            called = _called(function, looping)
        except UncountableError:
            looping[function.name] = None
            continue
        if not _is_free(called):
            looping[function.name] = called
    return looping


def _called(function: Function, looping: Mapping[str, Called | None]) -> Called:
    """Raises UncountableError."""
    plain = blank(DIRECTIVE, function.body)
    parameters, constants = _known(function, plain)
    places = [place.start() for place in PLACE.finditer(plain)]
    scan = _Scan(function.body, plain, closings(plain), places, looping, set())
    items = tuple(scan.block(0, len(plain), 0))
    size = size_of(items)
    if size > MOST_ITEMS:
        raise UncountableError(function.name)
    return Called(parameters, constants, items, size)


def _is_free(called: Called) -> bool:
    """Whether it takes no cycles, whatever it is given."""
    try:
        return not Call(called, ()).cycles({})
    except UncountableError:
        return False


def _known(function: Function, plain: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The parameters of a function, and the variables that keep the value they are declared with."""
    parts = function.parameters.split(",")
    names = tuple(found[-1] for part in parts if (found := re.findall(r"[A-Za-z_]\w*", part)))
    declared = list(islice(DECLARED.finditer(plain), MOST_CONSTANTS))
    given = {name: changes(plain, name) for name in {found["name"] for found in declared}}
    constants = tuple((found["name"], f"({found['value'].strip()})") for found in declared if given[found["name"]] == 1)
    return tuple(name if changes(plain, name) == 0 else "" for name in names), constants


def functions(source: str, options: str = "") -> list[Function]:
    """All functions; none of a source that the preprocessor cannot read by itself."""
    return list(functions_in(plain_text(source, options)))


def plain_text(source: str, options: str = "") -> str:
    """A source behind the preprocessor, without comments and literals; "" if that cannot read it by itself."""
    read = CompilerOptions.read(options)
    macros = predefined_macros("", "", options)
    try:
        text = preprocess(source, "kernels", Includes(read.folders, {}), read.defines, macros).text
    except (PreprocessorError, OSError):
        return ""
    return blank(HIDDEN, text)


def functions_in(text: str) -> Iterator[Function]:
    """The functions of a plain_text()."""
    plain = blank(DIRECTIVE, text)
    closed = closings(plain)
    lines = Lines(text)
    at = 0
    while (brace := plain.find("{", at)) >= 0:
        end = end_of_statement(plain, brace, closed)
        head = plain[at:brace].rpartition(";")[2].rpartition("}")[2]
        name = function_named(WORD.findall(head))
        if name:
            opened = re.search(rf"\b{name}\s*\(", head)
            ended = closings(head).get(opened.end() - 1, len(head)) if opened else 0
            parameters = head[opened.end() : ended] if opened else ""
            yield Function(name, parameters, text[brace:end], KERNEL.search(head) is not None, head, brace, lines)
        at = end


class Lines:
    """The lines of a source by places in the text that the preprocessor made of it."""

    def __init__(self, text: str) -> None:
        self._ends = [hit.start() for hit in re.finditer("\n", text)]
        self._said = [(hit.end(), int(hit[1])) for hit in LINE.finditer(text)]

    def of(self, at: int) -> int:
        number = bisect_left(self._ends, at)
        index = bisect_left(self._said, at, key=lambda said: said[0]) - 1
        if index < 0:
            return number + 1
        end, line = self._said[index]
        return line + number - bisect_left(self._ends, end) - 1


def _kernel(function: Function, looping: Mapping[str, Called | None], talking: set[str]) -> KernelLoops:
    body = function.body
    plain = blank(DIRECTIVE, body)
    parameters, constants = _known(function, plain)
    kept = tuple(filter(None, parameters))
    depth = pipeline_depth(plain, function.parameters)
    try:
        places = [place.start() for place in PLACE.finditer(plain)]
        uses_channels = TALKING.search(plain) is not None or any(word in talking for word in WORD.findall(plain))
        scan = _Scan(body, plain, closings(plain), places, looping, talking, uses_channels)
        loops = tuple(scan.block(0, len(body), 0))
    except UncountableError:
        return KernelLoops(None, kept, constants, depth=depth)
    arrays = global_arrays(function.parameters)
    touches = tuple(_touches(function, plain, arrays, loops, scan.conditions)) if arrays else ()
    return KernelLoops(loops, kept, constants, touches, depth)


def global_arrays(parameters: str) -> dict[str, int]:
    """The pointers to global memory among a kernel's parameters, and the bytes of their elements, where that shows."""
    found = {}
    for parameter in split(parameters):
        match = ARRAY.search(parameter) if len(parameter) < LONGEST_PARAMETER else None
        if match is not None:
            lanes = int(match["lanes"] or 1)
            found[match["name"]] = ELEMENTS[match["type"]] * (4 if lanes == 3 else lanes)
    return found


def _touches(
    function: Function,
    plain: str,
    arrays: Mapping[str, int],
    body: tuple[Item, ...],
    conditions: list[tuple[int, int]],
) -> Iterator[Touch]:
    """The elements of arrays that a kernel uses in every iteration."""
    conditional = 0
    for site in islice(INDEXED.finditer(plain), MOST_TOUCHES):
        while conditional < len(conditions) and conditions[conditional][1] <= site.start():
            conditional += 1
        is_certain = conditional == len(conditions) or site.start() < conditions[conditional][0]
        if site["array"] in arrays:
            loops = tuple(_around(body, site.start()))
            updated = 0 if not is_certain else 2 if UPDATED.match(plain, site.end()) else 1
            line = function.lines.of(function.begin + site.start()) if function.lines else 0
            yield Touch(site["array"], arrays[site["array"]], site["index"].strip(), updated, line, loops)


def _around(body: tuple[Item, ...], at: int) -> Iterator[Loop]:
    """The loops around a place, the outermost first."""
    for each in body:
        if isinstance(each, Loop) and each.begin <= at < each.end:
            yield each
            yield from _around(each.body, at)
            return


def changes(body: str, name: str) -> int:
    """How often a variable gets a value."""
    given = rf"\b{name}\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*{name}\b|&\s*{name}\b"
    return len(re.findall(given, body))


@dataclass(frozen=True, slots=True)
class _Scan:
    """A walk through a kernel's body; `plain` is the body without directives, `closed` its brackets.

    `places`: where statements begin or end. `looping`, `talking`: the functions with loops, and with channels.
    """

    body: str
    plain: str
    closed: Mapping[int, int]
    places: list[int]
    looping: Mapping[str, Called | None]
    talking: set[str]
    uses_channels: bool = False
    conditions: list[tuple[int, int]] = field(default_factory=list)
    """Where statements under conditions stand, as far as it has walked."""

    def block(self, begin: int, end: int, depth: int, nested: int = 0) -> Iterator[Item]:
        """The loops in a part of it, and what is outside of them but uses a channel. Raises UncountableError."""
        at = begin
        hints: dict[str, str] = {}
        while (found := STEP_OF_CODE.search(self.body, at, end)) is not None:
            at, word = found.end(), found["word"]
            if word is None:
                hint = HINT.match(found[0])
                hints |= {hint["name"]: hint["value"].strip()} if hint else {}
            elif word == "for" or (word == "while" and self._is_endless(at)):
                loop, at = self._loop(at, end, hints, depth, nested)
                yield loop
                hints = {}
            elif word in UNCOUNTABLE or (depth and word in ("break", "return")):
                raise UncountableError(word)
            elif word in self.looping or word in self.talking:
                called, at = self._call(word, at, depth, nested)
                yield from called
            elif word == "opencl_unroll_hint":
                closed = self.closed.get(self.plain.find("(", at), at)
                hints["unroll"] = self.plain[at:closed].strip("( ")
            elif TALKING.match(self.plain, found.start()):
                yield self._talk(found.start(), at)
            elif word == "if":
                choice, until = self._choice(found.start(), end, depth, nested)
                self.conditions.append((at, until))
                at = until
                yield from choice

    def _choice(self, at: int, end: int, depth: int, nested: int) -> tuple[list[Choice], int]:
        """What an `if` at `at` and all that is `else` to it choose between, and where the last of it ends."""
        branches: list[tuple[str, tuple[Item, ...]]] = []
        matters, hangs, begin = False, False, at
        head = IF.match(self.plain, at, end)
        while head is not None:
            body, condition = head.end(), ""
            if head["if"]:
                closed = self.closed.get(head.end() - 1, end)
                body, condition = closed + 1, self.plain[head.end() : closed]
            at = end_of_statement(self.plain, body, self.closed)
            items = self._branch(body, min(at, end), depth, nested)
            if items and hangs:  # an `else` to an `if` without braces in this one
                raise UncountableError("else")
            hangs = hangs or NESTED.match(self.plain, body) is not None
            matters = matters or bool(items)
            branches.append((condition.strip() if head["if"] else "1", items))
            head = ELSE.match(self.plain, at, end) if head["if"] else None
        at = max(at, begin + len("if"))
        return ([Choice(tuple(branches))] if matters else []), at

    def _branch(self, begin: int, end: int, depth: int, nested: int) -> tuple[Item, ...]:
        """What is under a condition; nothing, where that has no loops and no channels."""
        if depth and (LEAVING.search(self.plain, begin, end) or self._skips(begin, end)):
            raise UncountableError("a loop, or a channel, is left early")
        if not self._matters(begin, end):
            return ()
        if nested == DEEPEST:
            raise UncountableError("if")
        return tuple(self.block(begin, end, depth, nested + 1))

    def _skips(self, begin: int, end: int) -> bool:
        """Whether an iteration may end before it comes to a channel."""
        return self.uses_channels and SKIPPING.search(self.plain, begin, end) is not None

    def _loop(self, at: int, end: int, hints: Mapping[str, str], depth: int, nested: int) -> tuple[Loop, int]:
        """The loop whose `for` ends at `at`, and where it ends."""
        opened = self.plain.find("(", at)
        closed = self.closed.get(opened)
        if closed is None or depth == DEEPEST:
            raise UncountableError("for")
        until = min(end_of_statement(self.plain, closed + 1, self.closed), end)
        head = self.plain[opened + 1 : closed]
        parts = None if FOREVER.fullmatch(head) else HEAD.fullmatch(head)
        if parts is not None and changes(self.plain[closed + 1 : until], parts["name"]):
            raise UncountableError(f"for ({head})")
        within = tuple(self.block(closed + 1, until, depth + 1, nested))
        return Loop(head, _unrolling(hints), hints.get("ii", ""), within, at, until), until

    def _is_endless(self, at: int) -> bool:
        """Whether the loop whose `while` ends at `at` never ends; that of a `do` ends with a semicolon."""
        opened = self.plain.find("(", at)
        closed = self.closed.get(opened, -1)
        return closed > 0 and bool(FOREVER.fullmatch(self.plain, opened + 1, closed))

    def _call(self, function: str, at: int, depth: int, nested: int) -> tuple[list[Item], int]:
        """A call of a function with loops or channels, whose name ends at `at`, behind its arguments; where it ends.

        Raises UncountableError.
        """
        found: list[Item] = []
        if function in self.talking:
            found.append(Talk("", writing=False, untold=f"function {function}() uses channels"))
        if function not in self.looping:
            return found, at
        called, opened = self.looping[function], self.plain.find("(", at)
        closed = self.closed.get(opened)
        if called is None or closed is None or nested == DEEPEST:
            raise UncountableError(function)
        arguments = self.block(opened + 1, closed, depth, nested + 1)
        call = Call(called, tuple(split(self.plain[opened + 1 : closed])))
        return [*found, *arguments, call], closed

    def _matters(self, begin: int, end: int) -> bool:
        """Whether a part of it has loops or channels, or calls functions that do."""
        if LOOPING.search(self.plain, begin, end) or TALKING.search(self.plain, begin, end):
            return True
        calls = self.looping.keys() | self.talking
        return bool(calls) and any(word[0] in calls for word in WORD.finditer(self.plain, begin, end))

    def _talk(self, begin: int, at: int) -> Talk:
        """The use of a channel whose call stands from `begin`; its name ends at `at`."""
        call = TALKING.match(self.plain, begin)
        closed = self.closed.get(self.plain.find("(", at))
        if call is None or closed is None or not call["way"]:
            return Talk("", writing=False, untold="it uses pipes")
        if call["once"]:
            return Talk("", writing=False, untold="a channel is used without waiting for it")
        before = bisect_left(self.places, begin)
        if PERHAPS.search(self.plain, self.places[before - 1] if before else 0, begin):
            return Talk("", writing=False, untold="a channel is used under a condition")
        return Talk(split(self.plain[call.end() : closed])[0].strip(), call["way"] == "write")


def _unrolling(hints: Mapping[str, str]) -> str:
    if "nounroll" in hints or "unroll" not in hints:
        return ""
    return hints["unroll"].strip("() ") or "all"
