# SPDX-License-Identifier: Apache-2.0
"""Loops whose `#pragma ivdep` is wrong: an iteration reads what an earlier one wrote.

On a board, iterations with this pragma overlap, so that a later one may read the old value. Here they run one after
the other, and the result is right. Only certain cases are found: the same array at indices that differ
by so much that iteration i reads what iteration i - d wrote, whatever the other names in the indices stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from fpgart.kernels.functions import Function, functions
from fpgart.kernels.loops.assignments import Assignments
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.source_text import DIRECTIVE, NAME, blank, closings, end_of_statement
from fpgart.kernels.unrolling import FOR, HEAD, STEP

IVDEP = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+ivdep\b(?P<which>[^\n]*)", re.MULTILINE)
ARRAY = re.compile(r"\barray\s*\(\s*(?P<name>\w+)\s*\)")
SAFE = re.compile(r"\bsafelen\s*\((?P<length>[^()]*)\)")
INDEXED = re.compile(r"\b(?P<array>[A-Za-z_]\w*)\s*\[(?P<index>[^\[\]]*)\](?!\s*\[)")
WRITTEN = re.compile(r"\s*(?:(?P<read>\+\+|--|(?:[-+*/%&|^]|<<|>>)=)|=(?!=))")
STEPPED = re.compile(r"(?:\+\+|--)\s*\Z")
MOST_PAIRS = 4096
"""The most writes and reads of a loop that are compared."""
VALUATIONS = (7_919, 104_729)
"""The values of unknown names, in turn: a result that is equal for both holds for all values."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """Iteration i of a loop with `#pragma ivdep` reads what iteration i - `distance` wrote."""

    kernel: str
    loop: str
    read: str
    written: str
    distance: int


@dataclass(frozen=True, slots=True)
class _Access:
    array: str
    index: str
    reads: bool
    writes: bool

    def __str__(self) -> str:
        return f"{self.array}[{self.index.strip()}]"


def broken_promises(source: str, options: str = "") -> list[Dependence]:
    """Returns those of all kernels and functions of a source; none if it needs headers of the host."""
    if "ivdep" not in source:
        return []
    return [found for function in functions(source, options) for found in _in_function(function)]


def _in_function(function: Function) -> Iterator[Dependence]:
    plain = blank(DIRECTIVE, function.body)
    closed = closings(plain)
    for pragma in IVDEP.finditer(function.body):
        head = FOR.search(plain, pragma.end())
        if head is None or plain[pragma.end() : head.start()].strip():
            continue
        end = closed.get(head.end() - 1, len(plain))
        body = plain[end + 1 : end_of_statement(plain, end + 1, closed)]
        yield from _in_loop(function.name, plain[head.end() : end], body, pragma["which"])


def _in_loop(kernel: str, head: str, body: str, which: str) -> Iterator[Dependence]:
    parts = HEAD.fullmatch(head)
    step = STEP.fullmatch(parts["step"].strip()) if parts else None
    given = Assignments(body)
    if parts is None or step is None or given.count(parts["name"]):
        return
    by = constant(step["by"], {}) if step["by"] else 1
    promised, safe = ARRAY.search(which), SAFE.search(which)
    length = constant(safe["length"], {}) if safe else None
    if not by or (safe and length is None):
        return
    by = by if "+" in step[0].partition("=")[0] else -by
    accesses = [access for access in _accesses(body) if promised is None or access.array == promised["name"]]
    for written, read in islice(_pairs(accesses), MOST_PAIRS):
        distance = _distance(written.index, read.index, parts["name"], by, given)
        if distance is not None and (length is None or distance < length):
            yield Dependence(kernel, f"for ({head})", str(read), str(written), distance)


def _pairs(accesses: list[_Access]) -> Iterator[tuple[_Access, _Access]]:
    """Yields each write of an array with each of its reads, equal indices only once."""
    reads: dict[str, dict[str, _Access]] = {}
    writes: dict[tuple[str, str], _Access] = {}
    for access in accesses:
        if access.reads:
            reads.setdefault(access.array, {}).setdefault(access.index, access)
        if access.writes:
            writes.setdefault((access.array, access.index), access)
    return ((written, read) for written in writes.values() for read in reads.get(written.array, {}).values())


def _accesses(body: str) -> Iterator[_Access]:
    for found in INDEXED.finditer(body):
        behind = WRITTEN.match(body, found.end())
        stepped = STEPPED.search(body, max(0, found.start() - 8), found.start()) is not None
        reads = behind is None or behind["read"] is not None
        yield _Access(found["array"], found["index"], reads or stepped, behind is not None or stepped)


def _distance(written: str, read: str, variable: str, by: int, given: Assignments) -> int | None:
    """Returns the number of iterations from the write to the read of an element; None if that is not certain."""
    others = sorted((set(NAME.findall(written)) | set(NAME.findall(read))) - {variable})
    if any(given.count(name) for name in others):
        return None
    found = set()
    for turn, first in enumerate(VALUATIONS):
        names = {name: str(first * (number + 3) + turn) for number, name in enumerate(others)}
        found.add(_distance_where(written, read, variable, by, names))
    return found.pop() if len(found) == 1 else None


def _distance_where(written: str, read: str, variable: str, by: int, names: Mapping[str, str]) -> int | None:
    values = []
    for index in (written, read):
        first, second, third = (constant(index, {**names, variable: f"({by * turn})"}) for turn in range(3))
        if first is None or second is None or third is None or second - first != third - second:
            return None
        values.append((first, second - first))
    (wrote, stride), (reads, other) = values
    if stride != other:
        return None
    if not stride:
        return 1 if wrote == reads else None
    ahead, rest = divmod(wrote - reads, stride)
    return ahead if not rest and ahead > 0 else None
