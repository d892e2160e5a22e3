# SPDX-License-Identifier: Apache-2.0
"""Directives, and the text that remains.

Several inputs become one text. Each begins with its own macros only, as if it were compiled alone; declarations of a
header are in the text once, and private names of different inputs do not clash (kernels/file_scope.py).

Macros of the engine's compiler (`predefined`) count in conditions and stay in the text, because the compiler expands
them. A #line gives the origin of a line, unless it follows from the lines before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count, pairwise
from pathlib import Path

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.file_scope import without_clashes
from fpgart.kernels.preprocessing.expressions import evaluate
from fpgart.kernels.preprocessing.files import Headers, Includes, Input, Inside, Place, Source, as_written
from fpgart.kernels.preprocessing.macros import SPECIAL, Call, Macro, Macros, Position
from fpgart.kernels.preprocessing.tokens import LITERAL, NAME, Line, logical_lines, text_of, tokens_of

DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
INCLUDED = re.compile(r'\s*(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>)')
CONDITIONALS = ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif")
LINE_NUMBER = re.compile("[0-9]{1,10}")
DEEPEST_INCLUDE = 200
NEAR = 8
"""The most skipped lines that become empty lines; more become a #line."""
FOR_A_LOOP = ["clang", "loop"]
EXPANDED_PRAGMAS = frozenset((
    "pack", "unroll", "nounroll", "ii", "initiation_interval", "ivdep", "loop_coalesce", "loop_fuse", "max_concurrency",
    "max_interleaving", "speculated_iterations",
))  # fmt: skip


@dataclass
class Preprocessed:
    """The preprocessed text, the files that it is made of by name, and the header of each of their #includes."""

    text: str
    files: dict[str, str]
    found: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Condition:
    """An #if: `taken`, its present branch is; `done`, one of its branches was; `outer`, the text around it is."""

    outer: bool
    taken: bool
    done: bool
    line: int


class Written(NamedTuple):
    """A line of the result, with its origin; `reading` is the number of the pass over that file."""

    reading: int
    file: str
    number: int
    text: str


def preprocess(
    text: str, name: str, includes: Includes, defines: Iterable[str] = (), predefined: Mapping[str, str] | None = None
) -> Preprocessed:
    """Preprocesses one text, which has no folder of its own. Raises PreprocessorError, or OSError.

    `name` stands for it in messages. `defines` are NAME or NAME=VALUE.
    """
    return preprocess_all([Input(name, text, includes, tuple(defines))], predefined or {})


def preprocess_all(
    inputs: Iterable[Input], predefined: Mapping[str, str], files: dict[str, str] | None = None
) -> Preprocessed:
    """Preprocesses all inputs into one text. Raises PreprocessorError, or OSError.

    `files` receives each file that was read, even on failure.
    """
    work = _Preprocessor(predefined, {} if files is None else files)
    bounds = [0]
    for each in inputs:
        work.run(each)
        bounds.append(len(work.lines))
    texts = without_clashes([[line.text for line in work.lines[begin:end]] for begin, end in pairwise(bounds)])
    lines = [line._replace(text=text) for line, text in zip(work.lines, chain.from_iterable(texts), strict=True)]
    return Preprocessed(with_line_numbers(lines), work.files, work.found)


def with_line_numbers(lines: Iterable[Written]) -> str:
    """Returns the lines as text, with a #line wherever the origin does not follow from the lines before."""
    parts = []
    file, expected = "", 0
    for line in lines:
        if file == line.file and 0 <= line.number - expected <= NEAR:
            parts.append("\n" * (line.number - expected))
        else:
            parts.append(f'#line {line.number} "{line.file}"\n')
        parts.append(line.text + "\n")
        file, expected = line.file, line.number + 1
    return "".join(parts)


class _Preprocessor:
    """Reads inputs and their headers, and collects the lines of the result."""

    def __init__(self, predefined: Mapping[str, str], files: dict[str, str]) -> None:
        self.known = {name: Macro(tokens_of(value)) for name, value in predefined.items()}
        self.macros = Macros(self.known)
        self.headers: Headers = Includes()
        self.files = files
        self.found: dict[str, dict[str, str]] = {}
        self.sources: dict[Place, Source] = {}
        self.once: set[str] = set()
        self.lines: list[Written] = []
        self.call: Call | None = None
        self.readings = 0
        self.braces = 0
        self.declared: set[tuple[str, ...]] = set()  # by headers, at file scope, in this input
        self.declared_before: set[tuple[str, ...]] = set()  # and in the inputs before it
        self.depth = 0

    def run(self, given: Input) -> None:
        """Appends an input; macros of earlier inputs do not apply to it."""
        self.macros.start(self.known)
        self.headers, self.once, self.braces = given.headers, set(), 0
        self.declared_before |= self.declared
        self.declared = set()
        command_line = Source("<command line>", None, (), shown="<command line>")
        for each in given.defines:
            head, equals, value = each.partition("=")
            self.macros.define(f"{head} {value if equals else '1'}", Position(command_line, 1))
        name = self._shown(given.name, given.place, given.text)
        self._read(Source(name, given.place, logical_lines(given.text)))

    def _shown(self, name: str, place: Place | None, text: str) -> str:
        """Returns a name for the file that no other file has."""
        longer = ("/".join(place.parts[-n:]) for n in range(2, len(place.parts))) if isinstance(place, Path) else ()
        candidates = chain((name,), longer, (f"{number}/{name}" for number in count(2)))
        return next(candidate for candidate in candidates if self.files.setdefault(candidate, text) == text)

    # Files

    def _read(self, source: Source) -> None:
        source.shown, source.shift = source.name, 0
        self.readings += 1
        source.reading = self.readings
        conditions: list[Condition] = []
        around, self.call = self.call, None
        for line in source.lines:
            found = DIRECTIVE.match(line.text) if "#" in line.text else None
            counts = not conditions or conditions[-1].taken
            if found is None:
                if counts and line.text:
                    self._text(source, line)
                continue
            if self.call is not None and not self.call.is_within:
                self._end_call(source)
            if found[1] in CONDITIONALS:
                self._condition(source, line.number, found[1], found[2], conditions)
            elif counts:
                self._directive(source, line, found[1], found[2])
        if conditions:
            raise source.refuse(conditions[-1].line, "an #if without its #endif")
        self._end_call(source)
        self.call = around

    def _write(self, source: Source, number: int, text: str) -> None:
        """Appends a line of output, which is in line `number` of the source."""
        self.lines.append(Written(source.reading, source.shown, number + source.shift, text))
        bare = LITERAL.sub("", text)
        self.braces += bare.count("{") - bare.count("}")

    def _text(self, source: Source, line: Line) -> None:
        text = line.text
        if self.call is not None and not self.call.continues(text):
            self._end_call(source)
        if self.call is None:
            if not any(name in self.macros.defined or name in SPECIAL for name in NAME.findall(text)):
                self._write(source, line.number, text)
                return
            self.call = Call(line.number, text[: len(text) - len(text.lstrip())])
        self.call.add(tokens_of(text), self.macros)
        if not self.call.may_continue:
            self._end_call(source)

    def _end_call(self, source: Source) -> None:
        """Writes the lines of a call that may have continued, if there is one."""
        call, self.call = self.call, None
        if call is not None:
            expanded = self.macros.expand(call.tokens, Position(source, call.number))
            self._write(source, call.number, call.indent + text_of(expanded))

    # Directives

    def _directive(self, source: Source, line: Line, word: str, rest: str) -> None:
        if word == "define":
            self.macros.define(rest, Position(source, line.number))
        elif word == "undef":
            self.macros.undefine(rest.strip())
        elif word == "include":
            self._include(source, line.number, rest)
        elif word == "pragma":
            self._pragma(source, line, rest)
        elif word == "line":
            self._renumber(source, line.number, rest)
        elif word == "error":
            raise source.refuse(line.number, rest.strip() or "#error")
        elif word == "warning":
            self._write(source, line.number, f"#warning {rest}")
        elif word not in ("", "ident"):
            raise source.refuse(line.number, f"#{word} is not a directive of the preprocessor")

    def _pragma(self, source: Source, line: Line, rest: str) -> None:
        tokens = tokens_of(rest)
        if tokens and tokens[0].text == "once":
            self.once.add(source.name)
            return
        first = [token.text for token in tokens[:2]]
        if first == FOR_A_LOOP or not EXPANDED_PRAGMAS.isdisjoint(first[:1]):
            rest = text_of(self.macros.expand(list(tokens), Position(source, line.number)))
        self._write(source, line.number, f"#pragma {rest}")

    def _renumber(self, source: Source, number: int, rest: str) -> None:
        tokens = self.macros.expand(list(tokens_of(rest)), Position(source, number))
        if not tokens or not LINE_NUMBER.fullmatch(tokens[0].text):
            raise source.refuse(number, f"#line without a number: {rest.strip()}")
        source.shift = int(tokens[0].text) - number - 1
        if len(tokens) > 1:
            source.shown = tokens[1].text.strip('"')

    def _include(self, source: Source, number: int, rest: str) -> None:
        self._end_call(source)
        found = INCLUDED.match(rest) or INCLUDED.match(
            text_of(self.macros.expand(list(tokens_of(rest)), Position(source, number)))
        )
        if found is None:
            raise source.refuse(number, f"#include needs a file, not: {rest.strip()}")
        name = found["quoted"] or found["angled"]
        quoted = found["quoted"] is not None
        place = self.headers.find(name, source.place, quoted=quoted)
        if place is None:
            raise source.refuse(number, f"'{name}' file not found")
        if self.depth == DEEPEST_INCLUDE:
            raise source.refuse(number, f"headers include each other, {DEEPEST_INCLUDE} deep")
        header = self._header(place, name)
        if not isinstance(place, str):
            self.found.setdefault(source.name, {})[as_written(name, quoted=quoted)] = header.name
        if header.name in self.once:
            return
        self.depth += 1
        self._read_header(header)
        self.depth -= 1

    def _read_header(self, header: Source) -> None:
        """Reads a header, and drops lines that an earlier input already has from it."""
        begin, at_file_scope = len(self.lines), self.braces == 0
        around = header.reading
        self._read(header)
        number, header.reading = header.reading, around  # a header may include itself
        reading = self.lines[begin:]
        own = tuple(line.text for line in reading if line.reading == number)
        code = [text for text in own if not text.startswith("#")]
        if not (at_file_scope and self.braces == 0 and code and code[-1].endswith((";", "}"))):
            return
        key = (header.name, *own)
        self.declared.add(key)
        if key in self.declared_before:
            self.lines[begin:] = [line for line in reading if line.reading != number]

    def _header(self, place: Place, name: str) -> Source:
        header = self.sources.get(place)
        if header is None:
            text = self.headers.text(place)
            shown = self._shown(place.name if isinstance(place, Inside) else name, place, text)
            header = self.sources[place] = Source(shown, place, logical_lines(text))
        return header

    # Conditions

    def _condition(self, source: Source, number: int, word: str, rest: str, conditions: list[Condition]) -> None:
        if word in ("if", "ifdef", "ifndef"):
            outer = not conditions or conditions[-1].taken
            taken = outer and self._holds(source, number, word, rest)
            conditions.append(Condition(outer, taken, taken, number))
            return
        if not conditions:
            raise source.refuse(number, f"#{word} without #if")
        if word == "endif":
            conditions.pop()
            return
        present = conditions[-1]
        wanted = present.outer and not present.done
        present.taken = wanted and (word == "else" or self._holds(source, number, word.removeprefix("el"), rest))
        present.done = present.done or present.taken

    def _holds(self, source: Source, number: int, word: str, rest: str) -> bool:
        if word != "if":
            return self.macros.is_defined(rest.split()[0] if rest.split() else "") is (word == "ifdef")
        tokens = self.macros.expand(
            self.macros.without_defined(tokens_of(rest)), Position(source, number), conditional=True
        )
        try:
            return evaluate([token.text for token in tokens]) != 0
        except (ValueError, IndexError) as error:
            raise source.refuse(number, f"#if {rest.strip()}: {error}") from None
