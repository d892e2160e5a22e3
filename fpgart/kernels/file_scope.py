# SPDX-License-Identifier: Apache-2.0
"""Files of OpenCL C that become one text though each was written to be compiled alone.

`static` and `inline` functions of two files may have one name: they are renamed. Types that two files declare alike are
declared once, and so are channels, which are the same channel in all files: the first declaration has its depth.
Other functions stay: the compiler reports two with one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fpgart.kernels.call_graph import TOKEN, function_named
from fpgart.kernels.source_text import DIRECTIVE, NAME, blank, replaced, without_attributes

LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\\[^\n]')
LONGEST_HEAD = 4096
"""Characters in front of a function's body."""
PLACE = re.compile(r"[{};]")
PRIVATE = frozenset(("static", "inline", "__inline", "__inline__"))
SHARED = frozenset(("typedef", "struct", "union", "enum", "channel"))
"""First words of declarations that several files may have."""

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Statement:
    """A declaration at file scope; `function` is the name of the function that it defines."""

    begin: int
    end: int
    words: tuple[str, ...]
    function: str = ""


@dataclass(slots=True)
class File:
    """The declarations of a file; its text is output of the preprocessor."""

    text: str
    private: set[str] = field(default_factory=set)
    public: set[str] = field(default_factory=set)
    shared: dict[tuple[str, ...], Statement] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Sequence[str]) -> File:
        made = cls("\n".join(lines))
        for each in statements(made.text):
            if each.function:
                head = each.words[: each.words.index("{")]
                (made.public if PRIVATE.isdisjoint(head) else made.private).add(each.function)
            elif each.words and each.words[0] in SHARED:
                made.shared[_meaning(each.words)] = each
        return made


def without_clashes(files: Sequence[Lines]) -> list[Lines]:
    """Returns the files' lines, as many as they were, without private names that occur in two files."""
    if len(files) < 2:
        return list(files)
    known = [File.of(lines) for lines in files]
    taken = set().union(*(file.public for file in known))
    shared: set[tuple[str, ...]] = set()
    result = []
    for number, file in enumerate(known, 1):
        text = _blanked(file.text, [each for words, each in file.shared.items() if words in shared])
        shared |= file.shared.keys()
        result.append(_renamed(text, {name: f"{name}__{number}" for name in file.private & taken}).split("\n"))
        taken |= file.private
    return result


def _meaning(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the part in which two declarations of one thing agree: files may give different depths of a channel."""
    return tuple(without_attributes(" ".join(words)).split()) if words[0] == "channel" else words


def statements(text: str) -> Iterator[Statement]:
    """Yields the declarations at file scope, in their order."""
    bare = blank(LITERAL, blank(DIRECTIVE, text))
    begin, depth, function = 0, 0, ""
    for hit in PLACE.finditer(bare):
        if hit[0] == "{":
            if depth == 0:
                function = _function_before(bare[max(begin, hit.start() - LONGEST_HEAD) : hit.start()])
            depth += 1
        else:
            depth -= hit[0] == "}"
            if depth == 0 and (hit[0] == ";" or function):
                yield Statement(begin, hit.end(), tuple(re.findall(r"\w+|\S", bare[begin : hit.end()])), function)
                begin, function = hit.end(), ""


def _function_before(head: str) -> str:
    """Returns the name of the function whose body begins behind these words; "" if a type or a table begins."""
    return "" if "=" in head else function_named(TOKEN.findall(head))


def _blanked(text: str, chosen: Sequence[Statement]) -> str:
    """Returns the text with blanks in place of these declarations."""
    return replaced(text, ((s.begin, s.end, re.sub(r"[^\n]", " ", text[s.begin : s.end])) for s in chosen))


def _renamed(text: str, names: dict[str, str]) -> str:
    """Returns the text with functions renamed in calls, declarations and definitions."""
    if not names:
        return text

    def renamed(found: re.Match[str]) -> str:
        word = found[0]
        return names.get(word, word) if CALL.match(text, found.end()) else word

    return WORD.sub(renamed, text)


WORD = re.compile(rf"{LITERAL.pattern}|(?<![\w.])(?<!->){NAME.pattern}")
CALL = re.compile(r"\s*\(")
