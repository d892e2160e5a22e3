# SPDX-License-Identifier: Apache-2.0
"""The names that the functions of an OpenCL C program use, found without a compiler.

Conditions are not evaluated and macros are treated like functions. So a name may be found that the compiler would
not see, but none is missed. A function whose head or name comes out of a macro is not found. Which names a macro makes
with `##` is not known: nothing is found of a kernel that uses such a macro, nor of any if one may name functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fpgart.base.patterns import pattern
from fpgart.kernels.source_text import COMMENT, CONTINUED, DIRECTIVE, NAME, macros

INCLUDE = pattern(r"^[ \t]*#[ \t]*(?:include|import)", re.MULTILINE)
TOKEN = pattern(r'"(?:\\.|[^"\\\n])*"|\\[^\n]|[A-Za-z_]\w*|[{}();]')
_FILE_SCOPE = ""
"""Stands for the function of names outside of functions."""
_JOINED = "##"
"""Stands for the names that a macro makes."""


class CallGraph:
    def __init__(self, source: str, options: str = "") -> None:
        text = CONTINUED.sub(" ", COMMENT.sub(lambda found: found[1] or found[2] or " ", source))
        bodies: dict[str, set[str]] = {}
        for name, body in [*macros(DIRECTIVE.finditer(text)), *macros_of_options(options)]:
            bodies.setdefault(name, set()).update(NAME.findall(body), [_JOINED] if "##" in body else [])
        code = DIRECTIVE.sub("", text)
        makes_functions = _JOINED in _reached(_names_beside_parameters(code), bodies)
        self._functions = {} if makes_functions or "##" in options or INCLUDE.search(text) else _functions(code)
        self._known = dict(self._functions)
        for name, names in bodies.items():
            self._known[name] = self._known.get(name, set()) | names

    def names_used(self, kernel: str) -> frozenset[str] | None:
        """Returns all names that a kernel uses, itself or through its calls; None if they cannot be found."""
        if not kernel or kernel not in self._functions:
            return None
        used = frozenset(_reached([kernel], self._known))
        return None if _JOINED in used else used

    def names_at_file_scope(self) -> frozenset[str]:
        """Returns all names that declarations outside of functions use, themselves or through macros."""
        return frozenset(_reached([_FILE_SCOPE], self._known))


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


def _names_beside_parameters(code: str) -> list[str]:
    """Returns the names outside of functions and parentheses: a name of a function is one, or comes out of one."""
    depth, found = 0, []
    for token in TOKEN.findall(code):
        if token in "({":
            depth += 1
        elif token in ")}":
            depth = max(0, depth - 1)
        elif not depth:
            found.append(token)
    return found


def _reached(begin: Iterable[str], known: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(begin)
    while waiting:
        for name in known.get(waiting.pop(), set()) - found:
            found.add(name)
            waiting.append(name)
    return found
