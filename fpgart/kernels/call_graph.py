# SPDX-License-Identifier: Apache-2.0
"""The names that the functions of an OpenCL C program use, found without a compiler.

Conditions are not evaluated and macros are treated like functions. So a name may be found that the compiler would
not see. A function is not found if its head or name comes out of a macro, or if its name stands in parentheses.
"""

from __future__ import annotations

import re

from fpgart.base.patterns import pattern
from fpgart.kernels.source_text import COMMENT, CONTINUED, DIRECTIVE, NAME, macros

INCLUDE = pattern(r"^[ \t]*#[ \t]*(?:include|import)", re.MULTILINE)
TOKEN = pattern(r'"(?:\\.|[^"\\\n])*"|\\[^\n]|[A-Za-z_]\w*|[{}();]')
_FILE_SCOPE = ""
"""Stands for the function of names outside of functions."""


class CallGraph:
    def __init__(self, source: str, options: str = "") -> None:
        text = CONTINUED.sub(" ", COMMENT.sub(lambda found: found[1] or found[2] or " ", source))
        self._functions = {} if INCLUDE.search(text) else _functions(DIRECTIVE.sub("", text))
        self._known = dict(self._functions)
        for name, body in [*macros(DIRECTIVE.finditer(text)), *macros_of_options(options)]:
            self._known[name] = self._known.get(name, set()) | set(NAME.findall(body))

    def names_used(self, kernel: str) -> frozenset[str] | None:
        """Returns all names that a kernel uses, itself or through its calls; None if they cannot be found."""
        if not kernel or kernel not in self._functions:
            return None
        return frozenset(_reached(kernel, self._known))

    def names_at_file_scope(self) -> frozenset[str]:
        """Returns all names that declarations outside of functions use, themselves or through macros."""
        return frozenset(_reached(_FILE_SCOPE, self._known))


def macros_of_options(options: str) -> list[tuple[str, str]]:
    """Returns the macros of a compiler's options, and their values."""
    return [(name, body) for name, body in re.findall(r"-D\s*(\w+)(?:=(\S+))?", options)]


def _functions(text: str) -> dict[str, set[str]]:
    """Returns, by function, the names in its head and its body; by _FILE_SCOPE those of all else."""
    found: dict[str, set[str]] = {}
    head: list[str] = []
    depth = 0
    name = ""
    for token in TOKEN.findall(text):
        if token == "{":
            if not depth:
                name = function_named(head)
                found.setdefault(name, set()).update(head)
            depth += 1
        elif token == "}":
            depth = max(0, depth - 1)
            if not depth:
                head = []
        elif depth:
            found[name].add(token)
        elif token == ";":
            found.setdefault(_FILE_SCOPE, set()).update(head)
            head = []
        else:
            head.append(token)
    return found


def function_named(head: list[str]) -> str:
    """Returns the name of the function with this head; "" for anything else in front of a brace."""
    depth, name, before = 0, "", ""
    for token in head:
        if token == "(":
            if not depth and NAME.fullmatch(before) and before != "__attribute__":
                name = before
            depth += 1
        elif token == ")":
            depth -= 1
        before = token
    return name


def _reached(begin: str, known: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [begin]
    while waiting:
        for name in known.get(waiting.pop(), set()) - found:
            found.add(name)
            waiting.append(name)
    return found
