# SPDX-License-Identifier: Apache-2.0
"""Finds where a name of file scope is hidden: by members, parameters and variables of blocks with the same name."""

from __future__ import annotations

from fpgart.base.patterns import pattern

TOKEN = pattern(r"[A-Za-z_]\w*|\d[\w.]*|->|\S")
NO_TYPES = frozenset(("return", "sizeof", "else", "case", "do", "goto", "typeof", "__typeof__", "define"))
"""Words behind which a name is not declared."""
MEMBER = frozenset((".", "->"))


class Uses:
    """One walk over a text without comments and literals.

    `found` has the positions at which each of the names means what it does at file scope, `hidden` the names that mean
    something else anywhere.
    """

    def __init__(self, bare: str, names: frozenset[str]) -> None:
        self.found: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        self.hidden: set[str] = set()
        self._blocks: list[set[str]] = []
        """The names that each open block hides."""
        self._parameters: set[str] = set()
        self._outer: list[bool] = []
        """For each open bracket, whether it is within a declaration."""
        self._declares = False
        self._is_type = True
        """True while the statement, or the parameter, has shown only words and stars."""
        self._last = ""
        for hit in TOKEN.finditer(bare):
            if hit[0] in names:
                self._name(hit[0], hit.span())
            self._step(hit[0])
            self._last = hit[0]

    def _name(self, name: str, span: tuple[int, int]) -> None:
        at_file_scope = not self._blocks and not self._outer
        if self._last in MEMBER:
            self.hidden.add(name)
        elif self._is_declarator() and not at_file_scope:
            self.hidden.add(name)
            (self._blocks[-1] if self._blocks else self._parameters).add(name)
        elif name not in self._parameters and not any(name in block for block in self._blocks):
            self.found[name].append(span)

    def _is_declarator(self) -> bool:
        """True if a name that comes now is declared."""
        if self._last == "*":
            return self._is_type or self._declares
        return _is_word(self._last) if self._last != "," else self._declares

    def _step(self, token: str) -> None:
        if token == "{":
            self._blocks.append(self._parameters)
            self._parameters = set()
            self._open(is_type=True)
        elif token in ("(", "["):
            self._open(is_type=token == "(" and (not self._blocks or self._last == "for"))
        elif token in ("}", ")", "]"):
            if token == "}" and self._blocks:
                self._blocks.pop()
            self._declares = bool(self._outer) and self._outer.pop()
            self._is_type = token == "}"
        elif token == ";":
            self._declares, self._is_type = False, True
            if not self._blocks and not self._outer:
                self._parameters = set()
        elif token == ",":
            self._is_type = not self._blocks and bool(self._outer)
        elif _is_word(token) or (token == "*" and (_is_word(self._last) or self._last == "*")):
            declared = self._is_type and _is_word(self._last) and token != "*"
            self._declares = self._declares or declared or (self._is_type and self._last == "*" and token != "*")
        else:
            self._is_type = False

    def _open(self, *, is_type: bool) -> None:
        self._outer.append(self._declares)
        self._declares, self._is_type = False, is_type


def _is_word(token: str) -> bool:
    return (token[:1].isalpha() or token[:1] == "_") and token not in NO_TYPES
