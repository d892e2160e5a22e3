# SPDX-License-Identifier: Apache-2.0
"""The least number of cycles of a kernel's loops, found in its source: for the model of time (docs/time.md).

A loop whose bounds are numbers, macros, arguments of the kernel, or constants made of these, is counted. One that
cannot be counted without running the kernel (`while`, bounds in memory, loops that are left early or run under a
condition, functions with loops) makes the kernel's cycles unknown: None, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from textwrap import shorten

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.functions import Function, functions
from fpgart.kernels.loops.loop_scan import LOOPING, TALKING, Scan
from fpgart.kernels.loops.loop_tree import Call, Called, Item, Loop, UncountableError, cycles_of, size_of
from fpgart.kernels.loops.pipeline_depth import pipeline_depth
from fpgart.kernels.opencl_c import size_of_type
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.source_text import NAME, WORD, split

INDEXED = re.compile(r"\b(?P<array>[A-Za-z_]\w*)\s*\[(?P<index>(?:[^\[\]]|\[[^\[\]]*\])*)\]")
UPDATED = re.compile(r"\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)=(?!=))")
ARRAY = re.compile(
    r"\b(?:__)?global\b(?:\s*(?:const|volatile|restrict|__attribute__\s*\(\(\w+(?:\([^()]*\))?\)\))\b)*\s*"
    r"(?:unsigned\s+)?(?P<type>(?:u?(?:char|short|int|long)|float|double|half)(?:2|3|4|8|16)?)\b"
    r"[^*]*\*[^*]*?\b(?P<name>[A-Za-z_]\w*)\s*$"
)
LONGEST_PARAMETER = 512
LONGEST_REASON = 100
MOST_TOUCHES = 1024
"""The most indexed names of a kernel that are read."""
DECLARED = re.compile(
    r"\b(?:const\s+)?(?:unsigned\s+|signed\s+)?(?:int|uint|long|ulong|size_t|short|ushort|char|uchar|unsigned)\s+"
    r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)(?P<value>[^;,{}]{1,1024});"
)
MOST_ITEMS = 10_000
"""The most items of a function with loops, with those of its calls; long expressions count as several."""
MOST_LOOKED = 30_000
"""The most items in all functions of a source for which it is found out whether they take cycles."""
MOST_CONSTANTS = 256
"""The most declarations of a kernel that are read."""


@dataclass(frozen=True, slots=True)
class Touch:
    """Describes an access to one element of a global array per iteration of `loops`, which begin with the outermost."""

    array: str
    element: int
    """The element's bytes."""
    index: str
    times: int
    """2 for an element that is read and written, 0 if a condition decides."""
    line: int
    """The line of the program's source."""
    loops: tuple[Loop, ...]
    step: int = 0
    """The bytes from an index to the next, if these are not the element's."""


class Captured(NamedTuple):
    """A number in an argument that is passed by value, at `offset`."""

    argument: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class KernelLoops:
    """The loops and uses of channels of a kernel, in their order; `body` is None if they cannot be counted."""

    body: tuple[Item, ...] | None
    parameters: tuple[str, ...]
    """The parameters that keep their values."""
    constants: tuple[tuple[str, str], ...]
    """Variables that keep the value they are declared with, and its text."""
    touches: tuple[Touch, ...] = ()
    depth: int = 0
    """Cycles from the begin of an iteration or work-item to its end, without waits for memory."""
    uncounted: str = ""
    """The reason if its loops cannot be counted."""
    captured: Mapping[str, Captured] = field(default_factory=dict)
    """The places of parameters in the kernel's arguments; empty if they are arguments of the same names."""

    def cycles(self, arguments: Mapping[str, int]) -> int | None:
        """Returns the cycles of one work-item, at least 1, for scalar `arguments` by name; None if they are unknown."""
        if self.body is None:
            return None
        names = self.names(arguments)
        try:
            return max(1, cycles_of(self.body, names))
        except UncountableError:
            return None

    def names(self, arguments: Mapping[str, int]) -> dict[str, str]:
        """Returns the values of names in the heads of loops, for a launch with these scalars."""
        return with_values(self.constants, {name: arguments[name] for name in self.parameters if name in arguments})


def with_values(constants: tuple[tuple[str, str], ...], numbers: Mapping[str, int]) -> dict[str, str]:
    """Returns names with their numbers, and constants with theirs: as text if that depends on a loop's variable."""
    names = {name: f"({number})" for name, number in numbers.items()}
    given = {**dict(constants), **names}
    for name, written in constants:
        value = constant(written, given) if name not in names else None
        if value is not None:
            given[name] = f"({value})"
    return given


def kernel_loops(source: str, options: str = "") -> dict[str, KernelLoops]:
    """Returns the loops by kernel; none if the preprocessor needs headers of the host."""
    return loops_of(functions(source, options))


def loops_of(found: list[Function]) -> dict[str, KernelLoops]:
    """Returns the loops by kernel, given all functions of a source."""
    looping = _looping(found)
    talking = {function.name for function in found if TALKING.search(function.body)}
    return {function.name: _kernel(function, looping, talking) for function in found if function.is_kernel}


def _looping(found: list[Function]) -> dict[str, Called | None]:
    """Returns the functions whose loops may take cycles; None for those whose cycles cannot be counted."""
    looping: dict[str, Called | None] = {}
    looked = 0
    for function in found:  # each is defined before it is called
        if not LOOPING.search(function.body) and not any(w[0] in looping for w in WORD.finditer(function.body)):
            continue
        try:
            called = _called(function, looping)
        except UncountableError:
            looping[function.name] = None
            continue
        looked += called.size
        if looked > MOST_LOOKED:
            looping[function.name] = None
        elif not _is_free(called):
            looping[function.name] = called
    return looping


def _called(function: Function, looping: Mapping[str, Called | None]) -> Called:
    """Returns a function for calls of it. Raises UncountableError."""
    scan = Scan(function, looping, frozenset())
    parameters, constants = _known(function, scan)
    items = scan.items()
    return Called(parameters, constants, items, checked_size(items))


def checked_size(items: tuple[Item, ...]) -> int:
    """Returns the size of items. Raises UncountableError for more than MOST_ITEMS."""
    size = size_of(items)
    if size > MOST_ITEMS:
        raise UncountableError(f"more than {MOST_ITEMS:,} loops, conditions and calls")
    return size


def _is_free(called: Called) -> bool:
    """True if a function takes no cycles for any arguments."""
    try:
        return not Call(called, ()).cycles({})
    except UncountableError:
        return False


def _known(function: Function, scan: Scan) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns the parameters that a function never changes ("" for others) and its variables that keep one value."""
    parts = function.parameters.split(",")
    names = tuple(found[-1] for part in parts if (found := NAME.findall(part)))
    declared = islice(DECLARED.finditer(scan.plain), MOST_CONSTANTS)
    constants = [(one["name"], f"({one['value'].strip()})") for one in declared if scan.given.count(one["name"]) == 1]
    return tuple("" if scan.given.count(name) else name for name in names), tuple(constants)


def _kernel(function: Function, looping: Mapping[str, Called | None], talking: Set[str]) -> KernelLoops:
    scan = Scan(function, looping, talking)
    parameters, constants = _known(function, scan)
    kept = tuple(filter(None, parameters))
    depth = pipeline_depth(scan.plain, function.parameters)
    try:
        items = scan.items()
        checked_size(items)
    except UncountableError as error:
        return KernelLoops(None, kept, constants, depth=depth, uncounted=shorten(str(error), LONGEST_REASON))
    arrays = global_arrays(function.parameters)
    touches = tuple(_touches(function, scan, arrays, items)) if arrays else ()
    return KernelLoops(items, kept, constants, touches, depth)


def global_arrays(parameters: str) -> dict[str, int]:
    """Returns the pointers to global memory among a kernel's parameters, with the size of their elements in bytes."""
    found = {}
    for parameter in split(parameters):
        match = ARRAY.search(parameter) if len(parameter) < LONGEST_PARAMETER else None
        if match is not None:
            found[match["name"]] = size_of_type(match["type"])
    return found


def _touches(function: Function, scan: Scan, arrays: Mapping[str, int], body: tuple[Item, ...]) -> Iterator[Touch]:
    """Yields the accesses of a kernel to the elements of `arrays`."""
    conditional = 0
    conditions = scan.conditions
    around = _Around(body)
    for site in islice(INDEXED.finditer(scan.plain), MOST_TOUCHES):
        while conditional < len(conditions) and conditions[conditional][1] <= site.start():
            conditional += 1
        is_certain = conditional == len(conditions) or site.start() < conditions[conditional][0]
        if site["array"] in arrays:
            updated = 0 if not is_certain else 2 if UPDATED.match(scan.plain, site.end()) else 1
            line = function.lines.of(function.begin + site.start()) if function.lines else 0
            index = site["index"].strip()
            yield Touch(site["array"], arrays[site["array"]], index, updated, line, around.loops(site.start()))


class _Around:
    """Finds the loops around ascending positions; it passes over loops under conditions."""

    def __init__(self, body: tuple[Item, ...]) -> None:
        self._opened: list[Loop] = []
        self._left = _loops_in(body)
        self._next = next(self._left, None)

    def loops(self, at: int) -> tuple[Loop, ...]:
        """Returns the loops around a position, the outermost first."""
        while self._next is not None and self._next.begin <= at:
            self._leave(self._next.begin)
            self._opened.append(self._next)
            self._next = next(self._left, None)
        self._leave(at)
        return tuple(self._opened)

    def _leave(self, at: int) -> None:
        while self._opened and self._opened[-1].end <= at:
            self._opened.pop()


def _loops_in(body: tuple[Item, ...]) -> Iterator[Loop]:
    """Yields loops and those within them in the order in which they begin."""
    for each in body:
        if isinstance(each, Loop):
            yield each
            yield from _loops_in(each.body)
