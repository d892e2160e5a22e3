# SPDX-License-Identifier: Apache-2.0
"""Evaluates constant expressions as C does: those of #if, of attributes and of pragmas.

An expression of the language has C's types (types.py), and names, which a `Scope` knows. In #if there are no names,
and all integers have 64 bits. Signed overflow wraps, and a shift uses the low bits of its right operand (OpenCL C
specification, section 6.4.9), as the engines' compilers do. Operands that C does not evaluate may divide by zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

from fpgart.kernels.preprocessing.literals import LIMITS, Value, literal
from fpgart.kernels.preprocessing.tokens import NAME, tokens_of
from fpgart.kernels.preprocessing.types import (
    BASIC,
    INT,
    LONG,
    NAMED,
    POINTER,
    ULONG,
    Shape,
    Type,
    basic,
    common,
    converted,
    promoted,
)
from fpgart.kernels.source_text import ATTRIBUTES

DEEPEST = 64
DEEPEST_CONSTANT = 16
LONGEST = 2048
"""The most characters of a constant."""
PRIORITIES = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8,
              ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}  # fmt: skip
COMPARE: Final[dict[str, Callable[..., bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
COMPUTE: Final[dict[str, Callable[..., int]]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip
QUALIFIERS: Final = frozenset((
    "const", "volatile", "restrict", "static", "extern", "inline", "constant", "__constant", "global", "__global",
    "local", "__local", "private", "__private", "generic", "__generic",
))  # fmt: skip
TAGGED: Final = frozenset(("struct", "union", "enum"))


class Scope(Protocol):
    """The names that an expression may use."""

    def value(self, name: str) -> Value | None:
        """Returns the value of an enumerator or of a constant variable; None for any other name."""

    def shape(self, name: str) -> Shape | None:
        """Returns the type of a typedef's name, or of `struct x`; None for any other name."""


class Parser:
    """Reads expressions and names of types in a sequence of tokens, from `index` on.

    `scope` is None in #if. Raises ValueError for an expression without a value, and IndexError if the tokens end too
    early.
    """

    def __init__(self, tokens: list[str], scope: Scope | None = None, index: int = 0) -> None:
        self.tokens = tokens
        self.scope = scope
        self.index = index
        self._depth = 0
        self._unevaluated = 0

    def take(self) -> str:
        if self.index >= len(self.tokens):
            raise IndexError("it ends too early")
        self.index += 1
        return self.tokens[self.index - 1]

    def next(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def expect(self, token: str, words: str) -> None:
        if self.take() != token:
            raise ValueError(words)

    def expression(self) -> Value:
        """Reads a conditional expression (C99, section 6.5.15)."""
        self._descend()
        condition = self._binary(1)
        if self.next() == "?":
            self.take()
            holds = condition.number != 0
            first = self._operand(self.expression, evaluated=holds)
            self.expect(":", "? without :")
            second = self._operand(self.expression, evaluated=not holds)
            condition = self._value((first if holds else second).number, common(first.type, second.type))
        self._depth -= 1
        return condition

    def skip_group(self) -> None:
        """Skips a group in parentheses, which begins here."""
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)
            if depth == 0:
                return

    # Expressions

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"operators and parentheses are more than {DEEPEST} deep within each other")

    def _operand(self, read: Callable[[], Value], *, evaluated: bool) -> Value:
        self._unevaluated += not evaluated
        value = read()
        self._unevaluated -= not evaluated
        return value

    def _value(self, number: int | float, type: Type) -> Value:
        if self.scope is None and type.bits < LONG.bits:
            type = LONG if type.signed else ULONG
        return Value(converted(number, type), type)

    def _binary(self, priority: int) -> Value:
        left = self._unary()
        while PRIORITIES.get(self.next(), 0) >= priority:
            sign = self.take()
            used = not (sign == "||" and left.number) and not (sign == "&&" and not left.number)
            right = self._operand(partial(self._binary, PRIORITIES[sign] + 1), evaluated=used)
            left = self._applied(sign, left, right)
        return left

    def _applied(self, sign: str, left: Value, right: Value) -> Value:
        if sign in ("||", "&&"):
            operands = (left.number != 0, right.number != 0)
            return self._value(any(operands) if sign == "||" else all(operands), INT)
        if sign in ("<<", ">>"):
            return self._shifted(sign, left, right)
        type = common(left.type, right.type)
        first, second = converted(left.number, type), converted(right.number, type)
        if sign in COMPARE:
            return self._value(COMPARE[sign](first, second), INT)
        if type.floating and sign in "|^&%":
            raise ValueError(f"'{sign}' has a floating-point operand")
        return self._value(
            COMPUTE[sign](first, second) if sign in COMPUTE else self._divided(sign, first, second), type
        )

    def _shifted(self, sign: str, left: Value, right: Value) -> Value:
        type = promoted(left.type)
        if not (isinstance(left.number, int) and isinstance(right.number, int)):
            raise ValueError(f"'{sign}' has a floating-point operand")
        by = right.number & (type.bits - 1)
        return self._value(left.number << by if sign == "<<" else left.number >> by, type)

    def _divided(self, sign: str, first: int | float, second: int | float) -> int | float:
        if not second:
            if not self._unevaluated:
                raise ValueError("it divides by zero")
            return 0
        if isinstance(first, float) or isinstance(second, float):
            return first / second
        quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
        return quotient if sign == "/" else first - quotient * second

    def _unary(self) -> Value:
        token = self.take()
        if token == "(":
            return self._parenthesis()
        if token in ("!", "-", "+", "~"):
            self._descend()
            operand = self._unary()
            self._depth -= 1
            return self._signed(token, operand)
        if token == "sizeof" and self.scope is not None:
            return self._value(self._size(), ULONG)
        if token[0] in "'0123456789" or (token[0] == "." and len(token) > 1):
            return self._literal(token)
        if NAME.fullmatch(token):
            return self._named(token)
        raise ValueError(f"'{token}' is not an operand")

    def _parenthesis(self) -> Value:
        """Reads a cast, or an expression in parentheses. The opening parenthesis has been read."""
        shape = self.type_name() if self.scope is not None else None
        if shape is None:
            value = self.expression()
            self.expect(")", "a parenthesis is not closed")
            return value
        self.expect(")", "a parenthesis is not closed")
        self._descend()
        operand = self._unary()
        self._depth -= 1
        if shape.type is None:
            raise ValueError("it has a cast to a type that is not arithmetic")
        return self._value(operand.number, shape.type)

    def _signed(self, sign: str, operand: Value) -> Value:
        if sign == "!":
            return self._value(not operand.number, INT)
        number, type = operand.number, promoted(operand.type)
        if sign == "~":
            if isinstance(number, float):
                raise ValueError("'~' has a floating-point operand")
            number = ~number
        return self._value(-number if sign == "-" else number, type)

    def _size(self) -> int:
        """Reads the operand of sizeof."""
        if self.next() == "(":
            begin = self.index
            self.take()
            shape = self.type_name()
            if shape is not None:
                self.expect(")", "a parenthesis is not closed")
                return shape.size
            self.index = begin
        self._descend()
        size = self._operand(self._unary, evaluated=False).type.size
        self._depth -= 1
        return size

    def _literal(self, token: str) -> Value:
        value = literal(token)
        if self.scope is None and value.type.floating:
            raise ValueError(f"'{token}' is not an integer")
        return self._value(*value)

    def _named(self, name: str) -> Value:
        if self.scope is None:
            if self.next() == "(":  # __has_builtin(x) and the like are false
                self.skip_group()
            return self._value(name == "true", INT)
        found = self.scope.value(name)
        if found is not None:
            return found
        if name in LIMITS:
            return LIMITS[name]
        raise ValueError(f"'{name}' is not a constant")

    # Names of types

    def type_name(self) -> Shape | None:
        """Reads the name of a type (C99, section 6.7.6); returns None, and reads nothing, if there is none."""
        begin = self.index
        shape = self.specifiers()
        if shape is None:
            self.index = begin
            return None
        while self.next() in ("*", *QUALIFIERS):
            if self.take() == "*":
                shape = POINTER
        return self.arrays(shape)

    def specifiers(self) -> Shape | None:
        """Reads the words that name a type, qualifiers and attributes included; None if they name none."""
        words: list[str] = []
        shape = None
        while token := self.next():
            if token in ATTRIBUTES:
                self.attribute()
            elif token in QUALIFIERS:
                self.take()
            elif token in BASIC and shape is None:
                words.append(self.take())
            elif token in TAGGED and shape is None and not words:
                shape = self.tagged()
            else:
                found = self._declared(token) if shape is None and not words else None
                if found is None:
                    break
                self.take()
                shape = found
        type = basic(words) if words else None
        return shape if shape is not None or type is None else Shape.of(type)

    def attribute(self) -> list[str]:
        """Reads one __attribute__, and returns the tokens in its parentheses."""
        begin = self.index + 1
        self.take()
        self.skip_group()
        return self.tokens[begin : self.index]

    def _declared(self, name: str) -> Shape | None:
        found = self.scope.shape(name) if self.scope is not None else None
        return found or NAMED.get(name)

    def tagged(self) -> Shape:
        """Reads `struct x`, `union x` or `enum x`."""
        name = f"{self.take()} {self.take()}"
        found = self._declared(name)
        if found is None:
            raise ValueError(f"the size of '{name}' is not known")
        return found

    def arrays(self, shape: Shape) -> Shape:
        """Reads the lengths of arrays of a type."""
        lengths = 1
        is_array = self.next() == "["
        while self.next() == "[":
            self.take()
            length = self.expression().number
            self.expect("]", "a bracket is not closed")
            if not isinstance(length, int) or length < 0:
                raise ValueError(f"the length of an array is {length}")
            lengths *= length
        return Shape(shape.size * lengths, shape.alignment) if is_array else shape


def evaluate(tokens: list[str]) -> int:
    """Returns the value of an expression as in #if. Raises ValueError or IndexError if it has no integer value."""
    parser = Parser(tokens)
    number = parser.expression().number
    if parser.index < len(tokens):
        raise ValueError(f"'{parser.next()}' follows the expression")
    if isinstance(number, float):
        raise ValueError("it is not an integer")
    return number


def constant(text: str, macros: Mapping[str, str]) -> int | None:
    """Returns the value of an expression of numbers and of macros that are such expressions; None if it has no value.

    Expressions of more than LONGEST characters, with those of their macros, have none.
    """
    return _Constant(macros).value(text, 0)


class _Constant:
    """Computes the value of one expression; each name is evaluated once."""

    def __init__(self, macros: Mapping[str, str]) -> None:
        self._macros = macros
        self._known: dict[str, int | None] = {}
        self._left = LONGEST

    def value(self, text: str, depth: int) -> int | None:
        self._left -= len(text)
        if self._left < 0:
            return None
        tokens = []
        for token in tokens_of(text):
            word = token.text
            if NAME.fullmatch(word):
                number = self._named(word, depth)
                if number is None:
                    return None
                tokens += [str(number)] if number >= 0 else ["(", "-", str(-number), ")"]
            else:
                tokens.append(word)
        try:
            return evaluate(tokens)
        except (ValueError, IndexError):
            return None

    def _named(self, name: str, depth: int) -> int | None:
        if name not in self._known:
            self._known[name] = None  # while it is being evaluated
            if name in self._macros and depth < DEEPEST_CONSTANT:
                self._known[name] = self.value(self._macros[name], depth + 1)
        return self._known[name]
