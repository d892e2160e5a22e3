# SPDX-License-Identifier: Apache-2.0
"""The page that `aoc -report` writes: facts of the source, none of hardware.

Interfaces and memories come from the compiled program; channels, loops and local memories are read in the preprocessed
source, by names, braces and parentheses. Places are those of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, DescribedKernel

HIDDEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
LINE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"([^"]*)")?')
PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(.*?)[ \t]*$")
LOOPS = ("for", "while", "do")
WORD = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\S')
CHANNEL = re.compile(r"^\s*(?:extern\s+|static\s+)*channel\s+(?P<rest>[^;]+);")
DEPTH = re.compile(r"depth\s*\(\s*([^)]*)\)")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
PIPELINING = re.compile(
    r"unroll|ivdep|ii\b|loop_coalesce|speculated_iterations|max_concurrency|disable_loop_pipelining"
)
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{border-bottom:1px solid #ddd;padding:.25rem .9rem .25rem 0;
text-align:left;vertical-align:top}code{font:13px ui-monospace,monospace}h1{font-size:1.5rem}h2{font-size:1.15rem}"""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel or an array of them; `depth` as in the source, "" if there is none."""

    place: SourceLine
    declaration: str
    depth: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a kernel or function: `nesting` is 1 for the outermost ones, `pragmas` are those directly before it."""

    place: SourceLine
    function: str
    nesting: int
    head: str
    pragmas: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """A variable in local memory, with its declaration."""

    place: SourceLine
    function: str
    declaration: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The declarations of the source, in its order."""

    channels: tuple[Channel, ...]
    loops: tuple[Loop, ...]
    memories: tuple[LocalMemory, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    place: SourceLine
    text: str


def read(source: str) -> Findings:
    """Reads a preprocessed source, in which `#line` gives the origin of lines."""
    bare = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][0] == "/" else found[0], source)
    lines = list(_placed(bare))
    channels = [
        Channel(line.place, ATTRIBUTE.sub("", found["rest"]).strip(), _depth(found["rest"]))
        for line in lines
        if (found := CHANNEL.match(line.text))
    ]
    scanner = _Scanner()
    for line in lines:
        scanner.line(line)
    return Findings(tuple(channels), tuple(scanner.loops), tuple(scanner.memories))


def _depth(declaration: str) -> str:
    found = DEPTH.search(declaration)
    return found[1].strip() if found else ""


def _placed(source: str) -> Iterator[_Line]:
    """Yields the lines with the places that `#line` gives them."""
    file, number = "", 1
    for text in source.splitlines():
        found = LINE.match(text)
        if found:
            number, file = int(found[1]), found[2] if found[2] is not None else file
            continue
        yield _Line(SourceLine(file, number), text)
        number += 1


@dataclass(slots=True)
class _Open:
    """A loop whose body has not ended; `depth` of braces around it, `braces` once its body is a block."""

    word: str
    depth: int
    braces: bool = False


class _Scanner:
    """Scans functions, braces and loops word by word."""

    def __init__(self) -> None:
        self.loops: list[Loop] = []
        self.memories: list[LocalMemory] = []
        self._function = ""
        self._head: list[str] = []
        self._depth = 0
        self._parentheses = 0
        self._open: list[_Open] = []
        self._pragmas: list[str] = []
        self._after_do = False

    def line(self, line: _Line) -> None:
        pragma = PRAGMA.match(line.text)
        if pragma and PIPELINING.match(pragma[1]):
            self._pragmas.append(pragma[1])
        if line.text.lstrip().startswith("#"):
            return
        for found in WORD.finditer(line.text):
            self._word(found[0], line, found.start())

    def _word(self, word: str, line: _Line, at: int) -> None:
        after_do, self._after_do = self._after_do, False
        pragmas, self._pragmas = self._pragmas, []
        if not self._depth:
            self._head.append(word)
        if word in LOOPS and self._depth and not after_do:
            head = _head_of(line.text[at:])
            self.loops.append(Loop(line.place, self._function, len(self._open) + 1, head, tuple(pragmas)))
            self._open.append(_Open(word, self._depth))
        elif word in ("local", "__local") and self._depth and not self._parentheses:
            declaration = ATTRIBUTE.sub("", line.text[at + len(word) :]).partition(";")[0].strip()
            self.memories.append(LocalMemory(line.place, self._function, declaration))
        elif word == "{":
            self._begin()
        elif word == "}":
            self._end()
        elif word in "()":
            self._parentheses += 1 if word == "(" else -1
        elif word == ";" and not self._parentheses:
            self._statement_ends()

    def _begin(self) -> None:
        if not self._depth:
            self._function = _name_of(self._head)
        if self._open and self._open[-1].depth == self._depth:
            self._open[-1].braces = True
        self._depth += 1

    def _end(self) -> None:
        self._depth = max(self._depth - 1, 0)
        if self._open and self._open[-1].depth == self._depth and self._open[-1].braces:
            self._close()
        self._statement_ends()

    def _statement_ends(self) -> None:
        """Ends loops without braces, whose body was that statement."""
        if not self._depth:
            self._head = []
        while not self._after_do and self._open and self._open[-1].depth == self._depth and not self._open[-1].braces:
            self._close()

    def _close(self) -> None:
        self._after_do = self._open.pop().word == "do"


def _head_of(text: str) -> str:
    """Returns a loop up to the parenthesis that ends its head, or its part on this line."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (character == ")" and not depth) or (character == "{" and not depth):
            return text[: index + (character == ")")].strip()
    return text.strip()


def _name_of(head: list[str]) -> str:
    """Returns the name of the function that is declared by the words before its body."""
    depth = 0
    for index in range(len(head) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(head[index], 0)
        if head[index] == "(" and not depth and head[index - 1] != "__attribute__":
            return head[index - 1]
    return ""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the page."""

    title: str
    columns: tuple[str, ...]
    rows: Iterable[Iterable[object]]


def as_page(source: str, options: str, system: Autodiscovery, name: str) -> str:
    """Returns the page of a program in OpenCL C."""
    found = read(source)
    kernels = [kernel.name for kernel in system.kernels]
    sections = [
        Section("Channels", ("place", "declaration", "depth"), ((c.place, c.declaration, c.depth or "1 at least")
                for c in found.channels)),
        Section("Local memories", ("place", "function", "declaration"), ((m.place, m.function, m.declaration)
                for m in found.memories)),
        Section("Loops", ("place", "function", "nesting", "loop", "pragmas"), (
            (loop.place, f"kernel {loop.function}" if loop.function in kernels else loop.function, loop.nesting,
             loop.head, ", ".join(loop.pragmas)) for loop in found.loops)),
    ]  # fmt: skip
    return page_of(sections, options, system, name)


def page_of(sections: Iterable[Section], options: str, system: Autodiscovery, name: str) -> str:
    """Returns the page, complete in one file: interfaces, these sections, memories of the board."""
    parts = [
        f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{escape(name)}</title><style>{STYLE}</style>",
        f"<h1>{escape(name)}</h1>",
        f"<p>For board <code>{escape(system.board)}</code>"
        + (f", compiled with <code>{escape(options)}</code>" if options else "")
        + ". All facts come from the source; area and clock rates need a compilation for hardware.</p>",
        "<h2>Kernels and their interfaces</h2>",
        *(_kernel(kernel) for kernel in system.kernels),
        *(_section(each.title, each.columns, each.rows) for each in sections),
        _section("Global memories", ("name", "from", "to", "banks"), (
            (m.name, f"{m.begin:#x}", f"{m.end:#x}",
             f"{m.banks}, {'interleaved' if m.interleaved else 'separate'}" if m.banks > 1 else "1")
            for m in system.memories)),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _kernel(kernel: DescribedKernel) -> str:
    rows = [
        (index, argument.name, argument.type_name, _space(argument), f"{argument.size} bytes")
        for index, argument in enumerate(kernel.arguments)
    ]
    return f"<h3><code>{escape(kernel.name)}</code></h3>" + _table(("", "name", "type", "where", "size"), rows)


def _space(argument: Argument) -> str:
    if argument.space is AddressSpace.NONE:
        return f"host pipe {argument.host_channel}" if argument.host_channel else "value"
    where = argument.space.name.lower()
    return f"{where}, in {argument.buffer_location}" if argument.buffer_location else where


def _section(title: str, names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    rows = list(rows)
    return f"<h2>{title}</h2>" + (_table(names, rows) if rows else "<p>None.</p>")


def _table(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(name)}" for name in names)
    body = "".join("<tr>" + "".join(f"<td><code>{escape(str(cell))}</code>" for cell in row) for row in rows)
    return f"<table><tr>{head}{body}</table>"
