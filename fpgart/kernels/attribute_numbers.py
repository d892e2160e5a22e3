# SPDX-License-Identifier: Apache-2.0
"""Replaces the arguments of attributes and pragmas for hardware by their values.

An argument is an integer constant expression of C. The modules that read attributes find decimal digits.

    enum { ROWS = 2 };
    __attribute__((num_compute_units(ROWS * 4))) kernel void k(...)
    __attribute__((num_compute_units(8))) kernel void k(...)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.declarations import Declarations
from fpgart.kernels.hardware_attributes import ATTRIBUTES, CLAUSES, PRAGMAS, Numbers
from fpgart.kernels.preprocessing.expressions import Parser
from fpgart.kernels.preprocessing.tokens import NAME, tokens_of
from fpgart.kernels.signs import PreprocessorError
from fpgart.kernels.source_text import ATTRIBUTE, closing, replaced, split, visible

KNOWN = re.compile(rf"\b(?:__)?(?P<name>{'|'.join(ATTRIBUTES)})(?:__)?\b\s*(?P<opens>\()?")
PRAGMA = re.compile(rf"^[ \t]*#[ \t]*pragma[ \t]+(?P<name>{'|'.join(PRAGMAS)}|ivdep|loop_fuse)\b(?P<rest>[^\n]*)", re.M)
CLAUSE = re.compile(rf"\b(?P<name>{'|'.join(CLAUSES)})\s*(?P<opens>\()")
ORIGIN = re.compile(r'^[ \t]*#[ \t]*line[ \t]+(?P<line>[0-9]{1,18})\b(?:[ \t]*"(?P<file>[^"\n]*)")?', re.MULTILINE)
NO_DECLARATIONS = Declarations("")
"""For arguments without names: most have none, and reading all declarations of a text takes long."""


class Argument(NamedTuple):
    """The arguments of one attribute or pragma, between two positions of a text."""

    name: str
    begin: int
    end: int
    numbers: Numbers
    of_pragma: bool = False
    """They have no parentheses, and compilers ignore what follows the number."""


def with_numbers(text: str, *, strict: bool = True) -> str:
    """Returns a preprocessed text in which the arguments are numbers; lines stay.

    Raises PreprocessorError, with the file and line that #line gives, for an argument that is no constant, or that is
    too small or too large. Without `strict`, such an argument stays as it is.
    """
    return _Text(text).with_numbers(strict=strict)


class _Text:
    def __init__(self, text: str) -> None:
        self._text = text
        self._bare = visible(text)

    @cached_property
    def _declarations(self) -> Declarations:
        return Declarations(self._text)

    def with_numbers(self, *, strict: bool) -> str:
        edits = []
        for argument in sorted({*self._in_attributes(), *self._in_pragmas()}, key=lambda each: each.begin):
            try:
                edits.append((argument.begin, argument.end, self._words(argument)))
            except (ValueError, IndexError) as error:
                if strict:
                    written = " ".join(self._text[argument.begin : argument.end].split())
                    shown = (
                        f"#pragma {argument.name} {written}" if argument.of_pragma else f"{argument.name}({written})"
                    )
                    raise self._error(argument.begin, f"{shown}: {error}") from None
        return replaced(self._text, edits)

    def _in_attributes(self) -> Iterator[Argument]:
        at = 0
        while hit := ATTRIBUTE.search(self._bare, at):
            at = closing(self._bare, hit.end() - 1)
            for found in KNOWN.finditer(self._bare, hit.end(), at):
                yield self._argument(found, ATTRIBUTES)

    def _in_pragmas(self) -> Iterator[Argument]:
        for pragma in PRAGMA.finditer(self._bare):
            name = pragma["name"]
            if name not in PRAGMAS:
                for found in CLAUSE.finditer(self._bare, pragma.start("rest"), pragma.end()):
                    yield self._argument(found, CLAUSES)
            else:
                yield Argument(name, pragma.start("rest"), pragma.end(), PRAGMAS[name], of_pragma=True)

    def _argument(self, found: re.Match[str], known: dict[str, Numbers]) -> Argument:
        end = closing(self._bare, found.end() - 1) if found["opens"] else found.end()
        return Argument(found["name"], found.end(), end, known[found["name"]])

    def _words(self, argument: Argument) -> str:
        """Returns the values of the arguments, on as many lines. Raises ValueError or IndexError."""
        written = self._text[argument.begin : argument.end]
        each = split(written) if written.strip() else []
        fewest, most, _, _ = argument.numbers
        if not fewest <= len(each) <= most:
            expected = f"{fewest} to {most}" if most > fewest else str(most)
            raise ValueError(f"it has {len(each)} numbers, {expected} expected")
        values = ", ".join(str(self._value(argument, part)) for part in each)
        return " " * (argument.of_pragma and bool(each)) + values + "\n" * written.count("\n")

    def _value(self, argument: Argument, written: str) -> int:
        words = [token.text for token in tokens_of(written)]
        known = self._declarations if any(map(NAME.fullmatch, words)) else NO_DECLARATIONS
        parser = Parser(words, known.before(argument.begin))
        number = parser.expression().number
        if parser.next() and not argument.of_pragma:
            raise ValueError(f"'{parser.next()}' follows the expression")
        if isinstance(number, float):
            raise ValueError(f"{number} is not an integer")
        smallest, largest = argument.numbers.smallest, argument.numbers.largest
        if not smallest <= number <= largest:
            raise ValueError(f"its value {number} is not between {smallest} and {largest}")
        return number

    def _error(self, at: int, words: str) -> PreprocessorError:
        """Returns an error at a position of the text, with the file and the line that #line gives it."""
        file, line, begin = "", 1, 0
        for said in ORIGIN.finditer(self._text, 0, at):
            file, line, begin = said["file"] or file, int(said["line"]), said.end() + 1
        return PreprocessorError(file, line + self._text.count("\n", begin, at), words)
