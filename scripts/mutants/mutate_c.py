# SPDX-License-Identifier: Apache-2.0
"""The mutants of a C file: a statement less, a condition negated, an operator or a constant exchanged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mutate import Mutant

FUNCTION = re.compile(r"^\w[^;=]*?(\w+)\([^;]*$")
NO_STATEMENT = (
    "return break continue for if while else do case goto static struct bool void enum const size_t uintptr_t"
)
STATEMENT = re.compile(rf"^\s+(?!\s|{'|'.join(NO_STATEMENT.split())}|u?int\d+_t)[^/{{}}#]*?;$", re.DOTALL)
CONDITION = re.compile(r"\b(?P<word>if|while) \((?P<condition>.*)\)(?P<end>\s*\{?)$", re.DOTALL)
PAIRS = (("&&", "||"), ("true", "false"), ("==", "!="), ("<=", "<"), (">", ">="), ("++", "--"))
SPACED = ("&&", "||", "==", "!=", "<=", "<", ">", ">=")
"""Operators with spaces, or the end of a line, around them: others have the same characters, as -> and <<."""
EXCHANGES = PAIRS + tuple((new, old) for old, new in PAIRS)


def pieces(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the simple statements and the heads of compound ones within functions: first and last line, function."""
    function, first, in_comment = "", None, False
    for number, line in enumerate(lines):
        if not line.startswith((" ", "\t")):
            found = FUNCTION.match(line)
            function = found[1] if found else function if line[:1] in ("{", "") else ""
            first = None
            continue
        code = line.strip()
        in_comment = in_comment or code.startswith("/*")
        if in_comment or code.startswith(("#", "*")) or not function:
            in_comment = in_comment and not code.endswith("*/")
            continue
        first = number if first is None else first
        text = "\n".join(lines[first : number + 1])
        ends = code.endswith((";", "{", "}", ":", ")")) or code == "else"
        if ends and text.count("(") == text.count(")"):
            yield first, number, function
            first = None


def changes(piece: str) -> Iterator[str]:
    """Yields what one statement, or the head of one, may become."""
    if STATEMENT.match(piece):
        yield re.match(r"\s*", piece)[0] + ";"  # type: ignore[index]
    if found := CONDITION.search(piece):
        yield f"{piece[: found.start('condition')]}!({found['condition']}){piece[found.end('condition') :]}"
    for old, new in EXCHANGES:
        for place in re.finditer(rf"(?<=\s){re.escape(old)}(?=\s)" if old in SPACED else re.escape(old), piece):
            yield piece[: place.start()] + new + piece[place.end() :]


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Returns all mutants of a file, in the order of its lines; the compiler may refuse some."""
    lines, found = source.split("\n"), []
    numbers: Counter[tuple[str, str, str]] = Counter()
    for first, last, function in pieces(lines):
        piece = "\n".join(lines[first : last + 1])
        for changed in dict.fromkeys(changes(piece)):
            before, after = (" ".join(text.split()) for text in (piece, changed))
            code = "\n".join([*lines[:first], changed, *lines[last + 1 :]])
            numbers[function, before, after] += 1
            number = numbers[function, before, after]
            found.append(Mutant(module, function, before, after, number, first + 1, last + 1, code))
    return found
