# SPDX-License-Identifier: Apache-2.0
"""The C preprocessor, as the OpenCL C specification takes it over from C99.

Channels, pipes and program-scope variables are put into other words before the engine's compiler sees a
program (engine/lowering.py), and a container has to hold all that its source includes. Both need the text
as it is behind the macros, on machines without any compiler.

Several inputs become one text. Each begins with no macros but its own, as if it were compiled alone; what a header
declares is in the text once, and names that only one of them knows do not clash (engine/file_scope.py).

Macros of the engine's compiler (`predefined`) count in conditions and stay in the text, where the compiler
puts them in itself. A #line says where a line comes from, whenever that cannot be counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, count, pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from fpgart.engine.file_scope import without_clashes

ELIDED = "\x01"
"""Stands for the end of a line that a comment or a backslash takes away."""
HIDDEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\r?\n', re.DOTALL
)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<name>[A-Za-z_$]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|\.\.\.|<<=|>>=|##|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.",
    re.DOTALL,
)
NAME = re.compile(r"[A-Za-z_$]\w*")
DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
INCLUDED = re.compile(r'\s*(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>)')
CONDITIONALS = ("if", "ifdef", "ifndef", "elif", "else", "endif")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
MERGING = frozenset(re.findall("..", "++--<<>><=>===!=&&||+=-=*=/=%=&=|=^=->##///*::"))
"""What two characters that meet would make, though they belong to two tokens."""
DEEPEST_INCLUDE = 200
NEAR = 8
"""Lines that are told by being left empty; more by a #line."""
EXPANDED_PRAGMAS = frozenset(("unroll", "nounroll", "ii", "ivdep", "loop_coalesce", "speculated_iterations"))
NOBODY: frozenset[str] = frozenset()


class PreprocessorError(Exception):
    """What the preprocessor refuses: `file:line:column: error: words`."""

    def __init__(self, file: str, line: int, words: str) -> None:
        super().__init__(f"{file}:{line}:1: error: {words}")


class Token(NamedTuple):
    """`spaced`: there is room before it. `hidden`: the macros that it came out of, which are not put in again."""

    text: str
    spaced: bool = False
    hidden: frozenset[str] = NOBODY


class Macro(NamedTuple):
    """`parameters` is None for a macro that takes none; the last one of a `variadic` macro takes the rest."""

    body: tuple[Token, ...]
    parameters: tuple[str, ...] | None = None
    variadic: bool = False


class Line(NamedTuple):
    """A line without comments; `number` is where it begins in its file."""

    number: int
    text: str


@dataclass(eq=False)
class Embedded:
    """Headers that go with a file: texts by name, and by the name of each file what its #includes lead to.

    An #include is known by its words, `"x.h"` or `<x.h>`.
    """

    headers: Mapping[str, str]
    found: Mapping[str, Mapping[str, str]]
    given: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """A header by the name that the includer has for it."""
        if name in self.given:
            return name
        known = self.found.get(includer.name, {}) if isinstance(includer, Inside) else {}
        header = known.get(as_written(name, quoted=quoted))
        return None if header is None else Inside(self, header)

    def text(self, place: Place) -> str:
        """What the header contains."""
        return self.headers[place.name] if isinstance(place, Inside) else self.given[str(place)]


class Inside(NamedTuple):
    """A file among those that are embedded."""

    among: Embedded
    name: str


Place = Path | str | Inside
"""Where a file is: on the disk, among the given ones by its name, or embedded."""


class Headers(Protocol):
    """Where an input's headers come from."""

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """The header that a file includes; None if there is none of this name."""

    def text(self, place: Place) -> str:
        """What a header contains; raises OSError."""


def as_written(name: str, *, quoted: bool) -> str:
    """The words of an #include."""
    return f'"{name}"' if quoted else f"<{name}>"


@dataclass(frozen=True, slots=True)
class Input:
    """A file to preprocess; `defines` are NAME or NAME=VALUE, `place` is where its own headers are looked for."""

    name: str
    text: str
    headers: Headers
    defines: tuple[str, ...] = ()
    place: Place | None = None


@dataclass
class Source:
    """A file that was read; with a `guard` it is empty once the macro of that name is defined.

    `shown` and `shift` are what a #line in it says: another name, and what its line numbers are off by; `reading` is
    the number of the last time that it was read.
    """

    name: str
    place: Place | None
    lines: tuple[Line, ...]
    guard: str = ""
    shown: str = ""
    shift: int = 0
    reading: int = 0

    def refuse(self, number: int, words: str) -> PreprocessorError:
        """The error to raise about one of its lines."""
        return PreprocessorError(self.shown, number + self.shift, words)


@dataclass
class Preprocessed:
    """The text behind the preprocessor, by name all files that it is made of, and what their #includes led to."""

    text: str
    files: dict[str, str]
    found: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Condition:
    """An #if: whether its present branch is `taken`, whether one was, and whether the text around it counts."""

    outer: bool
    taken: bool
    done: bool
    line: int


@dataclass
class Includes:
    """Where headers are: `given` by name, then beside the file that includes them, then in `folders`."""

    folders: tuple[Path, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """A file, or the name of one that is given."""
        if name in self.given:
            return name
        beside = (includer.parent,) if quoted and isinstance(includer, Path) else ()
        return next((path for folder in (*beside, *self.folders) if (path := folder / name).is_file()), None)

    def text(self, place: Place) -> str:
        """What the file contains; raises OSError."""
        return place.read_text(errors="surrogateescape") if isinstance(place, Path) else self.given[str(place)]


class Written(NamedTuple):
    """A line of the result: which reading of a file it is from, and its place and text."""

    reading: int
    file: str
    number: int
    text: str


def preprocess(
    text: str,
    name: str,
    includes: Includes,
    defines: Iterable[str] = (),
    predefined: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Preprocessed:
    """The text of file `name` in `folder`; `defines` are NAME or NAME=VALUE. Raises PreprocessorError, or OSError."""
    place = folder / name if folder is not None else None
    return preprocess_all([Input(name, text, includes, tuple(defines), place)], predefined or {})


def preprocess_all(
    inputs: Iterable[Input], predefined: Mapping[str, str], files: dict[str, str] | None = None
) -> Preprocessed:
    """The text of all inputs; `files` gets what was read, also if that fails. Raises as preprocess() does."""
    work = _Preprocessor(predefined, {} if files is None else files)
    bounds = [0]
    for each in inputs:
        work.run(each)
        bounds.append(len(work.lines))
    texts = without_clashes([[line.text for line in work.lines[begin:end]] for begin, end in pairwise(bounds)])
    lines = [line._replace(text=text) for line, text in zip(work.lines, chain.from_iterable(texts), strict=True)]
    return Preprocessed(with_line_numbers(lines), work.files, work.found)


def with_line_numbers(lines: Iterable[Written]) -> str:
    """The lines as a text in which #line says where they come from, whenever that cannot be counted."""
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


def logical_lines(text: str) -> tuple[Line, ...]:
    """Lines as directives see them: without comments, continued ones joined."""
    bare = HIDDEN.sub(_hide, text.replace(ELIDED, " "))
    lines = []
    number = 1
    for line in bare.split("\n"):
        lines.append(Line(number, line.replace(ELIDED, "").rstrip()))
        number += 1 + line.count(ELIDED)
    return tuple(lines)


def _hide(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] in "\"'":
        return text
    return (" " if text[0] == "/" else "") + ELIDED * text.count("\n")


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The text's tokens."""
    found = []
    spaced = False
    for hit in TOKEN.finditer(text):
        if hit.lastgroup == "space":
            spaced = True
        else:
            found.append(Token(hit[0], spaced))
            spaced = False
    return tuple(found)


def text_of(tokens: Iterable[Token]) -> str:
    """The tokens as text that has the same tokens."""
    parts: list[str] = []
    last = ""
    for token in tokens:
        if last and (token.spaced or _merge(last, token.text[0])):
            parts.append(" ")
        parts.append(token.text)
        last = token.text[-1]
    return "".join(parts)


def _merge(last: str, first: str) -> bool:
    """Whether two characters that meet would make one token."""
    return last + first in MERGING or ((last.isalnum() or last in "_$.") and (first.isalnum() or first in "_$."))


def _guard_of(lines: tuple[Line, ...]) -> str:
    """The macro of `#ifndef ... #define ... #endif` around all of a file; "" if there is no such thing."""
    filled = [line.text for line in lines if line.text]
    if len(filled) < 3:
        return ""
    first, second = DIRECTIVE.match(filled[0]), DIRECTIVE.match(filled[1])
    if first is None or second is None or first[1] != "ifndef" or second[1] != "define":
        return ""
    depth = 0
    for index, line in enumerate(filled):
        found = DIRECTIVE.match(line)
        word = found[1] if found else ""
        depth += 1 if word in ("if", "ifdef", "ifndef") else -1 if word == "endif" else 0
        ends_early = depth == 0 and index < len(filled) - 1
        if ends_early or (depth == 1 and word in ("else", "elif")):
            return ""
    return first[2].strip()


class _Preprocessor:
    def __init__(self, predefined: Mapping[str, str], files: dict[str, str]) -> None:
        self.known = {name: Macro(tokens_of(value)) for name, value in predefined.items()}
        self.predefined: dict[str, Macro] = {}
        self.macros: dict[str, Macro] = {}
        self.headers: Headers = Includes()
        self.files = files
        self.found: dict[str, dict[str, str]] = {}
        self.sources: dict[Place, Source] = {}
        self.once: set[str] = set()
        self.lines: list[Written] = []
        self.readings = 0
        self.braces = 0
        self.declared: set[tuple[str, ...]] = set()  # by headers, at file scope, in this input
        self.declared_before: set[tuple[str, ...]] = set()  # and in the inputs before it
        self.counter = 0
        self.depth = 0

    def run(self, given: Input) -> None:
        """Append an input, which knows nothing of the macros of those before it."""
        self.predefined, self.macros = dict(self.known), {}
        self.headers, self.once, self.braces = given.headers, set(), 0
        self.declared_before |= self.declared
        self.declared = set()
        command_line = Source("<command line>", None, (), shown="<command line>")
        for each in given.defines:
            head, equals, value = each.partition("=")
            self._define(f"{head} {value if equals else '1'}", command_line, 1)
        name = self._shown(given.name, given.place, given.text)
        self._read(Source(name, given.place, logical_lines(given.text)))

    def _shown(self, name: str, place: Place | None, text: str) -> str:
        """What a file is called, unlike other files of its name."""
        longer = ("/".join(place.parts[-n:]) for n in range(2, len(place.parts))) if isinstance(place, Path) else ()
        candidates = chain((name,), longer, (f"{number}/{name}" for number in count(2)))
        return next(candidate for candidate in candidates if self.files.setdefault(candidate, text) == text)

    # Files

    def _read(self, source: Source) -> None:
        source.shown, source.shift = source.name, 0
        self.readings += 1
        source.reading = self.readings
        conditions: list[Condition] = []
        lines = iter(source.lines)
        for line in lines:
            found = DIRECTIVE.match(line.text) if "#" in line.text else None
            counts = not conditions or conditions[-1].taken
            if found is None:
                if counts and line.text:
                    self._text(source, line, lines)
            elif found[1] in CONDITIONALS:
                self._condition(source, line.number, found[1], found[2], conditions)
            elif counts:
                self._directive(source, line, found[1], found[2])
        if conditions:
            raise source.refuse(conditions[-1].line, "an #if without its #endif")

    def _write(self, source: Source, number: int, text: str) -> None:
        """One line of output, which stands in line `number` of the source."""
        self.lines.append(Written(source.reading, source.shown, number + source.shift, text))
        bare = LITERAL.sub("", text)
        self.braces += bare.count("{") - bare.count("}")

    def _text(self, source: Source, line: Line, lines: Iterator[Line]) -> None:
        text = line.text
        if not any(name in self.macros or name in SPECIAL for name in NAME.findall(text)):
            self._write(source, line.number, text)
            return
        indent = text[: len(text) - len(text.lstrip())]
        tokens = list(tokens_of(text))
        while self._is_unfinished(tokens):
            following = next(lines, None)
            if following is None:
                break
            tokens += [Token(t.text, t.spaced or not i) for i, t in enumerate(tokens_of(following.text))]
        self._write(source, line.number, indent + text_of(self._expand(tokens, source, line.number)))

    def _is_unfinished(self, tokens: list[Token]) -> bool:
        """Whether a macro is called whose arguments go on in the next line."""
        index = 0
        while index < len(tokens):
            macro = self.macros.get(tokens[index].text)
            index += 1
            if macro is None or macro.parameters is None:
                continue
            if index == len(tokens):
                return False  # a name alone; what a next line that begins with "(" would change
            if tokens[index].text == "(" and _closing(tokens, index) is None:
                return True
        return False

    # Directives

    def _directive(self, source: Source, line: Line, word: str, rest: str) -> None:
        if word == "define":
            self._define(rest, source, line.number)
        elif word == "undef":
            self.macros.pop(rest.strip(), None)
            self.predefined.pop(rest.strip(), None)
        elif word == "include":
            self._include(source, line.number, rest)
        elif word == "pragma":
            self._pragma(source, line, rest)
        elif word == "line":
            self._renumber(source, line.number, rest)
        elif word == "error":
            raise source.refuse(line.number, rest.strip() or "#error")
        elif word not in ("", "warning", "ident"):
            raise source.refuse(line.number, f"#{word} is no directive of the preprocessor")

    def _pragma(self, source: Source, line: Line, rest: str) -> None:
        tokens = tokens_of(rest)
        if tokens and tokens[0].text == "once":
            self.once.add(source.name)
            return
        if tokens and tokens[0].text in EXPANDED_PRAGMAS:
            rest = text_of(self._expand(list(tokens), source, line.number))
        self._write(source, line.number, f"#pragma {rest}")

    def _renumber(self, source: Source, number: int, rest: str) -> None:
        tokens = self._expand(list(tokens_of(rest)), source, number)
        if not tokens or not tokens[0].text.isdigit():
            raise source.refuse(number, f"#line without a number: {rest.strip()}")
        source.shift = int(tokens[0].text) - number - 1
        if len(tokens) > 1:
            source.shown = tokens[1].text.strip('"')

    def _define(self, rest: str, source: Source, number: int) -> None:
        tokens = tokens_of(rest)
        if not tokens or not NAME.fullmatch(tokens[0].text):
            raise source.refuse(number, f"#define of something that is no name: {rest.strip()}")
        name = tokens[0].text
        if len(tokens) > 1 and tokens[1].text == "(" and not tokens[1].spaced:
            end = _closing(list(tokens), 1)
            if end is None:
                raise source.refuse(number, f"the parameters of macro {name} have no end")
            words = [token.text for token in tokens[2:end] if token.text != ","]
            variadic = bool(words) and words[-1] == "..."
            if variadic:
                named = len(words) > 1 and tokens[end - 2].text != ","  # GNU's way: `rest...`
                words = words[:-1] if named else [*words[:-1], "__VA_ARGS__"]
            self.macros[name] = Macro(tokens[end + 1 :], tuple(words), variadic)
        else:
            self.macros[name] = Macro(tokens[1:])

    def _include(self, source: Source, number: int, rest: str) -> None:
        found = INCLUDED.match(rest) or INCLUDED.match(text_of(self._expand(list(tokens_of(rest)), source, number)))
        if found is None:
            raise source.refuse(number, f"#include of something that is no file: {rest.strip()}")
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
        if header.guard in self.macros or header.name in self.once:
            return
        self.depth += 1
        self._read_header(header)
        self.depth -= 1

    def _read_header(self, header: Source) -> None:
        """Read it; what an input before this one has of it is not declared again."""
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
            lines = logical_lines(text)
            shown = self._shown(place.name if isinstance(place, Inside) else name, place, text)
            header = self.sources[place] = Source(shown, place, lines, _guard_of(lines))
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
        present.taken = wanted and (word == "else" or self._holds(source, number, "if", rest))
        present.done = present.done or present.taken

    def _holds(self, source: Source, number: int, word: str, rest: str) -> bool:
        if word != "if":
            return self._is_defined(rest.split()[0] if rest.split() else "") is (word == "ifdef")
        tokens = self._expand(self._without_defined(tokens_of(rest)), source, number, conditional=True)
        try:
            return _Expression([token.text for token in tokens]).value() != 0
        except (ValueError, IndexError) as error:
            raise source.refuse(number, f"#if {rest.strip()}: {error}") from None

    def _is_defined(self, name: str) -> bool:
        return name in self.macros or name in self.predefined or name in SPECIAL

    def _without_defined(self, tokens: tuple[Token, ...]) -> list[Token]:
        """`defined X` and `defined(X)` as 1 or 0."""
        kept: list[Token] = []
        index = 0
        while index < len(tokens):
            if tokens[index].text == "defined" and index + 1 < len(tokens):
                in_parentheses = tokens[index + 1].text == "("
                name = tokens[min(index + 1 + in_parentheses, len(tokens) - 1)].text
                kept.append(Token(str(int(self._is_defined(name))), True))
                index += 4 if in_parentheses else 2
            else:
                kept.append(tokens[index])
                index += 1
        return kept

    # Macros

    def _expand(self, tokens: list[Token], source: Source, number: int, *, conditional: bool = False) -> list[Token]:
        """The tokens with macros put in; `conditional`: those of the engine's compiler, too."""
        done: list[Token] = []
        rest = tokens[::-1]
        while rest:
            token = rest.pop()
            if token.text in SPECIAL:
                done.append(Token(self._special(token.text, source, number), token.spaced))
                continue
            macro = None if token.text in token.hidden else self.macros.get(token.text)
            if macro is None and conditional and token.text not in token.hidden:
                macro = self.predefined.get(token.text)
            if macro is None:
                done.append(token)
                continue
            hidden = token.hidden
            arguments: list[list[Token]] = []
            if macro.parameters is not None:
                taken = _arguments(rest)
                if taken is None:
                    done.append(token)
                    continue
                arguments, closing = taken
                hidden = hidden & closing.hidden
                arguments = _fitted(arguments, macro)
                if len(arguments) != len(macro.parameters):
                    words = f"macro {token.text} takes {len(macro.parameters)} arguments, not {len(arguments)}"
                    raise source.refuse(number, words)
            body = self._substituted(macro, arguments, hidden | {token.text}, source, number)
            if body:
                body[0] = body[0]._replace(spaced=token.spaced)
            rest += body[::-1]
        return done

    def _special(self, name: str, source: Source, number: int) -> str:
        if name == "__COUNTER__":
            self.counter += 1
            return str(self.counter - 1)
        return str(number + source.shift) if name == "__LINE__" else f'"{source.shown}"'

    def _substituted(
        self, macro: Macro, arguments: list[list[Token]], hidden: frozenset[str], source: Source, number: int
    ) -> list[Token]:
        """The macro's body with the arguments in it."""
        places = {name: index for index, name in enumerate(macro.parameters or ())}
        expanded: dict[int, list[Token]] = {}
        made: list[Token] = []
        body = macro.body
        index = 0
        while index < len(body):
            token = body[index]
            place = places.get(token.text)
            if token.text == "#" and macro.parameters is not None and index + 1 < len(body):
                place = places.get(body[index + 1].text)
                if place is not None:
                    made.append(Token(_quoted(arguments[place]), token.spaced))
                    index += 2
                    continue
            if token.text == "##" and made and index + 1 < len(body):
                index += 1
                right = body[index]
                place = places.get(right.text)
                given = [right] if place is None else arguments[place]
                if made[-1].text == "," and place == len(places) - 1 and macro.variadic:
                    made = made + given if given else made[:-1]
                else:
                    _paste(made, given)
            elif place is None:
                made.append(token)
            else:
                pasted = index + 1 < len(body) and body[index + 1].text == "##"
                if not pasted and place not in expanded:
                    expanded[place] = self._expand(list(arguments[place]), source, number)
                given = arguments[place] if pasted else expanded[place]
                if given:
                    made += [given[0]._replace(spaced=token.spaced), *given[1:]]
                elif pasted:
                    made.append(Token("", token.spaced))
            index += 1
        return [token._replace(hidden=token.hidden | hidden) for token in made if token.text]


SPECIAL = frozenset(("__LINE__", "__FILE__", "__COUNTER__"))


def _closing(tokens: list[Token], at: int) -> int | None:
    """Where the parenthesis at `at` is closed."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index
    return None


def _arguments(rest: list[Token]) -> tuple[list[list[Token]], Token] | None:
    """A call's arguments and its closing parenthesis, taken off the end of `rest`; None if it is no call."""
    if not rest or rest[-1].text != "(":
        return None
    arguments: list[list[Token]] = [[]]
    depth = 0
    for index in range(len(rest) - 1, -1, -1):
        token = rest[index]
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            del rest[index:]
            return arguments, token
        if token.text == "," and depth == 1:
            arguments.append([])
        elif index < len(rest) - 1:
            arguments[-1].append(token)
    return None


def _fitted(arguments: list[list[Token]], macro: Macro) -> list[list[Token]]:
    """As many arguments as the macro has parameters, where C says how."""
    assert macro.parameters is not None
    count = len(macro.parameters)
    if count == 0 and arguments == [[]]:
        return []
    if macro.variadic:
        tail: list[Token] = []
        for index, each in enumerate(arguments[count - 1 :]):
            tail += [Token(",")] * bool(index) + each
        return [*arguments[: count - 1], tail] if len(arguments) >= count - 1 else arguments
    return arguments


def _paste(made: list[Token], right: list[Token]) -> None:
    """Join the last token with the first of `right`."""
    left = made.pop()
    if not right:
        made.append(left)
        return
    made.append(Token(left.text + right[0].text, left.spaced, left.hidden & right[0].hidden))
    made += right[1:]


def _quoted(tokens: list[Token]) -> str:
    """The argument of the operator #."""
    parts = []
    for index, token in enumerate(tokens):
        text = token.text
        if text[0] in "\"'":
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(" " * (token.spaced and index > 0) + text)
    return f'"{"".join(parts)}"'


PRIORITIES = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8,
              ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}  # fmt: skip


class _Expression:
    """The value of what stands behind #if; raises ValueError or IndexError where it has none.

    All operands are computed, those that do not count, too; so x / 0 is 0 and no error.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.index = 0

    def value(self) -> int:
        value = self._ternary()
        if self.index < len(self.tokens):
            raise ValueError(f"'{self.tokens[self.index]}' stands where nothing can")
        return value

    def _take(self) -> str:
        if self.index == len(self.tokens):
            raise IndexError("it ends too early")
        self.index += 1
        return self.tokens[self.index - 1]

    def _next(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def _ternary(self) -> int:
        condition = self._binary(1)
        if self._next() != "?":
            return condition
        self._take()
        first = self._ternary()
        if self._take() != ":":
            raise ValueError("? without :")
        second = self._ternary()
        return first if condition else second

    def _binary(self, priority: int) -> int:
        left = self._unary()
        while PRIORITIES.get(self._next(), 0) >= priority:
            operator = self._take()
            right = self._binary(PRIORITIES[operator] + 1)
            left = _applied(operator, left, right)
        return left

    def _skip_parentheses(self) -> None:
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self._take(), 0)
            if depth == 0:
                return

    def _unary(self) -> int:
        token = self._take()
        if token == "(":
            value = self._ternary()
            if self._take() != ")":
                raise ValueError("a parenthesis is not closed")
            return value
        if token in ("!", "-", "+", "~"):
            operand = self._unary()
            return {"!": int(not operand), "-": -operand, "+": operand, "~": ~operand}[token]
        if token[0] == "'":
            character = token[1:-1].encode().decode("unicode_escape")
            if len(character) != 1:
                raise ValueError(f"{token} is not one character")
            return ord(character)
        if token[0].isdigit():
            return _number(token)
        if NAME.fullmatch(token):
            if self._next() == "(":  # such as __has_builtin(x), which nobody here has
                self._skip_parentheses()
            return int(token == "true")
        raise ValueError(f"'{token}' is no operand")


def _number(token: str) -> int:
    digits = token.rstrip("uUlL")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(digits, 8)
    return int(digits, 0)


def _applied(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            return 0
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    results = {
        "||": lambda: int(bool(left or right)), "&&": lambda: int(bool(left and right)),
        "|": lambda: left | right, "^": lambda: left ^ right, "&": lambda: left & right,
        "==": lambda: int(left == right), "!=": lambda: int(left != right),
        "<": lambda: int(left < right), ">": lambda: int(left > right),
        "<=": lambda: int(left <= right), ">=": lambda: int(left >= right),
        "<<": lambda: left << (right & 63), ">>": lambda: left >> (right & 63),
        "+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
    }  # fmt: skip
    value: int = results[operator]()
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if abs(value) >= 1 << 64 else value


DEEPEST_CONSTANT = 16


def constant(text: str, macros: Mapping[str, str], depth: int = 0) -> int | None:
    """The value of an expression of numbers and of macros that are such expressions; None if it is none."""
    tokens = []
    for token in tokens_of(text):
        word = token.text
        if NAME.fullmatch(word):
            value = constant(macros[word], macros, depth + 1) if word in macros and depth < DEEPEST_CONSTANT else None
            if value is None:
                return None
            word = f"{value}" if value >= 0 else f"(0-{-value})"
        tokens += [each.text for each in tokens_of(word)]
    try:
        return _Expression(tokens).value()
    except (ValueError, IndexError):
        return None
