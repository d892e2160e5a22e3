# SPDX-License-Identifier: Apache-2.0
"""The names that the functions of an OpenCL C program use, found without a compiler.

Conditions are not evaluated and macros are treated like functions. So a name may be found that the compiler would
not see. Any kernel may call a function whose name is not seen, because a macro makes it or it stands in parentheses.
"""

from __future__ import annotations

from fpgart.base.patterns import pattern
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.source_text import ATTRIBUTES, CONTINUED, DIRECTIVE, INCLUDE, NAME, macros, visible

PUT_TOGETHER = pattern(r"##|<%|%>|%:|<:|:>|\?\?[/<>=()'!-]")
"""Signs of names that are put together, and of brackets that are spelt in other ways."""
TOKEN = pattern(r'"(?:\\.|[^"\\\n])*"|\\[^\n]|[A-Za-z_]\w*|[{}();]')
_FILE_SCOPE = ""
"""Stands for the function of names outside of functions and braces."""
_UNNAMED = "{}"
"""Stands for all functions whose names are not seen, and for types and tables with braces."""


class CallGraph:
    def __init__(self, source: str, options: str = "") -> None:
        text = CONTINUED.sub("", visible(source))
        self._functions: dict[str, set[str]] = {}
        self._known: dict[str, set[str]] = {}
        defined = [*macros(DIRECTIVE.finditer(text)), *macros_of_options(options)]
        if not (INCLUDE.search(text) or PUT_TOGETHER.search(f"{text}\n{options}")):
            self._functions = _functions(DIRECTIVE.sub("", text), {name for name, _ in defined}, _makers(defined))
        for name, names in [*self._functions.items(), *((name, NAME.findall(body)) for name, body in defined)]:
            self._known.setdefault(name, set()).update(names)

    def names_used(self, kernel: str) -> frozenset[str] | None:
        """Returns all names that a kernel uses, itself or through its calls; None if they cannot be found."""
        if not kernel or kernel not in self._functions:
            return None
        return frozenset(_reached(kernel, self._known) | _reached(_UNNAMED, self._known))

    def names_at_file_scope(self) -> frozenset[str]:
        """Returns all names that declarations without braces use, themselves or through macros."""
        return frozenset(_reached(_FILE_SCOPE, self._known))


def macros_of_options(options: str) -> list[tuple[str, str]]:
    """Returns the names of the macros of a compiler's options, and their bodies."""
    return [(name.partition("(")[0], body) for name, body in CompilerOptions.read(options).macros.items()]


def _makers(defined: list[tuple[str, str]]) -> set[str]:
    """Returns the names of the macros that may define functions: there is a brace in them, or in one that they use."""
    users = {_UNNAMED: {name for name, body in defined if "{" in body}}
    for user, body in defined:
        for name in NAME.findall(body):
            users.setdefault(name, set()).add(user)
    return _reached(_UNNAMED, users)


def _functions(text: str, defined: set[str], makers: set[str]) -> dict[str, set[str]]:
    """Returns, by function, the names in its head and its body; by _FILE_SCOPE and _UNNAMED those of all else.

    `defined`: the names of macros; `makers`: of those that may define functions.
    """
    found: dict[str, set[str]] = {_FILE_SCOPE: set(), _UNNAMED: set()}
    head: list[str] = []
    depth = 0
    name = ""
    for token in TOKEN.findall(text):
        if token in ("{", ";") and not depth and not makers.isdisjoint(head):
            found[_UNNAMED].update(head)
        if token == "{":
            if not depth:
                name = function_named(head) or _UNNAMED
                if name in defined or ") (" in " ".join(head):
                    name = _UNNAMED
                found.setdefault(name, set()).update(head)
            depth += 1
        elif token == "}":
            depth = max(0, depth - 1)
            head = []
        elif depth:
            found[name].add(token)
        elif token == ";":
            found[_FILE_SCOPE].update(head)
            head = []
        else:
            head.append(token)
    return found


def function_named(head: list[str]) -> str:
    """Returns the name of the function with this head; "" for anything else in front of a brace."""
    depth, name, before = 0, "", ""
    for token in head:
        if token == "(":
            if not depth and NAME.fullmatch(before) and before not in ATTRIBUTES:
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
