# SPDX-License-Identifier: Apache-2.0
"""Finds the names that constant expressions of a program may use, each with its block.

These are enumerators, variables that are constant and have an integer type (clang takes them in OpenCL C), and the
types that typedef, struct, union and enum declare. The text is output of the preprocessor.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass

from fpgart.kernels.preprocessing.expressions import QUALIFIERS, TAGGED, Parser
from fpgart.kernels.preprocessing.literals import Value
from fpgart.kernels.preprocessing.tokens import NAME, TOKEN
from fpgart.kernels.preprocessing.types import BASIC, INT, LONG, NAMED, POINTER, UINT, ULONG, Shape, converted
from fpgart.kernels.source_text import ATTRIBUTES, DIRECTIVE, blank

STARTING = BASIC | QUALIFIERS | TAGGED | ATTRIBUTES | NAMED.keys() | {"typedef"}
"""Words that a declaration may begin with, besides names that a typedef declared."""
CONSTANT = frozenset(("const", "constant", "__constant"))
ENDS = frozenset(";{}")


@dataclass(slots=True)
class _Declared:
    """The meaning of a name from token `begin` until its block ends before token `end`."""

    item: Value | Shape
    begin: int
    end: int


class Declarations:
    """The names that a text declares. A statement that cannot be parsed declares no further names."""

    def __init__(self, text: str) -> None:
        hits = [hit for hit in TOKEN.finditer(blank(DIRECTIVE, text)) if hit.lastgroup != "space"]
        self._tokens = [hit[0] for hit in hits]
        self._places = [hit.start() for hit in hits]
        self._names: dict[str, list[_Declared]] = {}
        self._read()

    def before(self, position: int) -> Names:
        """Returns the names that may be used at a position of the text."""
        return Names(self, bisect_left(self._places, position))

    def visible(self, name: str, index: int) -> Value | Shape | None:
        """Returns the meaning of a name at the token `index`."""
        for declared in reversed(self._names.get(name, ())):
            if declared.begin <= index < declared.end:
                return declared.item
        return None

    def _read(self) -> None:
        blocks: list[list[_Declared]] = [[]]
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            if token == "{":
                blocks.append([])
            elif token == "}" and len(blocks) > 1:
                for declared in blocks.pop():
                    declared.end = index
            elif token not in ENDS:
                index = self._statement(index, blocks[-1])
                continue
            index += 1

    def _statement(self, index: int, block: list[_Declared]) -> int:
        """Reads the statement at `index`, and returns the index of the token that ends it."""
        if self._tokens[index] in STARTING or isinstance(self.visible(self._tokens[index], index), Shape):
            reader = _Reader(self._tokens, Names(self, index), index)
            with suppress(ValueError, IndexError):
                reader.read()
                index = reader.index
            for name, item in reader.declared.items():
                declared = _Declared(item, index, len(self._tokens) + 1)
                self._names.setdefault(name, []).append(declared)
                block.append(declared)
        while index < len(self._tokens) and self._tokens[index] not in ENDS:
            index += 1
        return index


class Names:
    """The `Scope` of an expression at token `index`, with names that the statement itself has declared so far."""

    def __init__(self, declarations: Declarations, index: int) -> None:
        self._declarations = declarations
        self._index = index
        self.own: dict[str, Value | Shape] = {}

    def value(self, name: str) -> Value | None:
        found = self._item(name)
        return found if isinstance(found, Value) else None

    def shape(self, name: str) -> Shape | None:
        found = self._item(name)
        return found if isinstance(found, Shape) else None

    def _item(self, name: str) -> Value | Shape | None:
        return self.own.get(name) or self._declarations.visible(name, self._index)


class _Reader(Parser):
    """Reads one declaration; `declared` receives its names, even if the rest cannot be parsed."""

    def __init__(self, tokens: list[str], names: Names, index: int) -> None:
        super().__init__(tokens, names, index)
        self.declared = names.own

    def read(self) -> None:
        begin = self.index
        is_type = self.next() == "typedef"
        self.index += is_type
        shape = self.specifiers()
        if shape is None:
            return
        is_constant = not CONSTANT.isdisjoint(self.tokens[begin : self.index])
        while self._declarator(shape, is_type=is_type, is_constant=is_constant):
            pass

    def _declarator(self, shape: Shape, *, is_type: bool, is_constant: bool) -> bool:
        """Reads a declarator with its value, and returns whether another one follows."""
        name, shape = self._named_shape(shape)
        if is_type:
            self.declared[name] = shape
        elif self.next() == "=" and is_constant and shape.type is not None and not shape.type.floating:
            self.take()
            value = self.expression().number
            self.declared[name] = Value(converted(value, shape.type), shape.type)
        if self.next() != ",":
            return False
        self.take()
        return True

    def _named_shape(self, shape: Shape) -> tuple[str, Shape]:
        """Reads a declarator: its name, and the type that pointers and arrays make of `shape`."""
        while self.next() in ("*", *QUALIFIERS):
            if self.take() == "*":
                shape = POINTER
        name = self.take()
        if not NAME.fullmatch(name):
            raise ValueError(f"'{name}' is not a name")
        shape = self.arrays(shape)
        while self.next() in ATTRIBUTES:
            self.attribute()
        return name, shape

    def attribute(self) -> list[str]:
        """Reads an attribute; raises ValueError for one that changes the size of a type."""
        tokens = super().attribute()
        if any(token.strip("_") in ("aligned", "packed", "vector_size", "ext_vector_type") for token in tokens):
            raise ValueError("the size of a type with attributes is not known")
        return tokens

    def tagged(self) -> Shape:
        """Reads `struct x`, `union x` or `enum x`, with the members or enumerators if they follow."""
        kind = self.take()
        while self.next() in ATTRIBUTES:
            self.attribute()
        name = self.take() if self.next() != "{" else ""
        if self.next() != "{":
            self.index -= 2
            return super().tagged()
        self.take()
        shape = self._enumerators() if kind == "enum" else self._members(is_union=kind == "union")
        if self.next() in ATTRIBUTES:
            self.attribute()
        if name:
            self.declared[f"{kind} {name}"] = shape
        return shape

    def _enumerators(self) -> Shape:
        """Reads enumerators and their closing brace (C99, section 6.7.2.2)."""
        number: int | float = -1
        is_negative = False
        while self.next() != "}":
            name = self.take()
            number += 1
            if self.next() == "=":
                self.take()
                number = self.expression().number
            type = next((each for each in (INT, UINT, LONG) if converted(number, each) == number), ULONG)
            self.declared[name] = Value(number, type)
            is_negative = is_negative or number < 0
            if self.next() != ",":
                break
            self.take()
        self.expect("}", "the enumerators do not end")
        return Shape.of(INT if is_negative else UINT)

    def _members(self, *, is_union: bool) -> Shape:
        """Reads members and their closing brace, and lays them out as C does."""
        size, alignment = 0, 1
        while self.next() != "}":
            each = self.specifiers()
            if each is None:
                raise ValueError(f"'{self.next()}' is not a type")
            more = True
            while more:
                _, shape = self._named_shape(each)
                begin = 0 if is_union else -(-size // shape.alignment) * shape.alignment
                size, alignment = max(size, begin + shape.size), max(alignment, shape.alignment)
                more = self.next() == ","
                self.index += more
            self.expect(";", "a member does not end")
        self.take()
        return Shape(-(-size // alignment) * alignment, alignment)
