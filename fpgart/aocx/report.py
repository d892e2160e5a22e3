# SPDX-License-Identifier: Apache-2.0
"""The page that `aoc -report` writes: facts of the source, none of hardware.

Interfaces and memories come from the compiled program; channels, loops and local memories are read in the preprocessed
source, by names, braces and parentheses. Places are those of the files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, DescribedKernel
from fpgart.kernels.functions import functions_in
from fpgart.kernels.source_text import DIRECTIVE, HIDDEN, blank, closings, end_of_statement, visible

LINE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"([^"]*)")?')
PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(.*?)[ \t]*$")
LOOPS = ("for", "while", "do")
TOKEN = re.compile(r"^[ \t]*#[^\n]*|[A-Za-z_]\w*|\S", re.MULTILINE)
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


def read(source: str) -> Findings:
    """Reads a preprocessed source, in which `#line` gives the origin of lines."""
    bare = HIDDEN.sub(lambda hit: re.sub(r"[^\n]", " ", hit[0]) if hit[0][0] == "/" else hit[0], source)
    lines = bare.split("\n")
    begins = [0, *(hit.end() for hit in re.finditer("\n", bare))]
    places = list(_places(lines))
    channels = [
        Channel(place, ATTRIBUTE.sub("", found["rest"]).strip(), _depth(found["rest"]))
        for place, line in zip(places, lines, strict=True)
        if (found := CHANNEL.match(line))
    ]
    loops: list[Loop] = []
    memories: list[LocalMemory] = []
    for function in functions_in(visible(source)):
        for word, position, around, pragmas in _statements(function.body):
            at = function.begin + position
            number = bisect_right(begins, at) - 1
            place, line = places[number], lines[number][at - begins[number] :]
            if word in LOOPS:
                loops.append(Loop(place, function.name, around + 1, _head_of(line), pragmas))
            else:
                declaration = ATTRIBUTE.sub("", line[len(word) :]).partition(";")[0].strip()
                memories.append(LocalMemory(place, function.name, declaration))
    return Findings(tuple(channels), tuple(loops), tuple(memories))


def _depth(declaration: str) -> str:
    found = DEPTH.search(declaration)
    return found[1].strip() if found else ""


def _places(lines: list[str]) -> Iterator[SourceLine]:
    """Yields the places that `#line` gives to lines; it has itself that of the line behind it."""
    file, number = "", 1
    for text in lines:
        found = LINE.match(text)
        if found:
            number, file = int(found[1]), found[2] if found[2] is not None else file
        yield SourceLine(file, number)
        number += not found


def _statements(body: str) -> Iterator[tuple[str, int, int, tuple[str, ...]]]:
    """Yields the words that begin loops and local variables: word, position, loops around it, pragmas before it."""
    plain = blank(DIRECTIVE, body)
    closed = closings(plain)
    around: list[tuple[int, str]] = []
    pragmas: list[str] = []
    parentheses = 0
    for hit in TOKEN.finditer(body):
        word, at = hit[0], hit.start()
        if "#" in word:
            pragma = PRAGMA.match(word)
            pragmas += [pragma[1]] if pragma and PIPELINING.match(pragma[1]) else []
            continue
        after_do = False
        while around and around[-1][0] <= at:
            after_do |= around.pop()[1] == "do"
        if (word in LOOPS and not after_do) or (word in ("local", "__local") and not parentheses):
            yield word, at, len(around), tuple(pragmas)
        if word in LOOPS and not after_do:
            around.append((end_of_statement(plain, hit.end(), closed), word))
        parentheses += {"(": 1, ")": -1}.get(word, 0)
        pragmas = []


def _head_of(text: str) -> str:
    """Returns a loop up to the parenthesis that ends its head, or its part on this line."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (character == ")" and not depth) or (character == "{" and not depth):
            return text[: index + (character == ")")].strip()
    return text.strip()


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
