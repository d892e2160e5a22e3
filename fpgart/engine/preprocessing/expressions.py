# SPDX-License-Identifier: Apache-2.0
"""Integer constant expressions, as #if and #pragma unroll have them."""

from __future__ import annotations

from collections.abc import Mapping

from fpgart.engine.preprocessing.tokens import NAME, tokens_of

DEEPEST = 64
DEEPEST_CONSTANT = 16
LONGEST = 2048
"""Characters of a constant."""
PRIORITIES = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8,
              ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}  # fmt: skip


class Expression:
    """The value of an integer constant expression; raises ValueError or IndexError if it has none.

    Both operands of &&, || and ?: are computed, so x / 0 is 0 and no error.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0

    def value(self) -> int:
        value = self._ternary()
        if self.index < len(self.tokens):
            raise ValueError(f"'{self.tokens[self.index]}' follows the expression")
        return value

    def _take(self) -> str:
        if self.index == len(self.tokens):
            raise IndexError("it ends too early")
        self.index += 1
        return self.tokens[self.index - 1]

    def _next(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def _ternary(self) -> int:
        self._descend()
        value = self._condition()
        self.depth -= 1
        return value

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"operators and parentheses are more than {DEEPEST} deep within each other")

    def _condition(self) -> int:
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
            self._descend()
            operand = self._unary()
            self.depth -= 1
            return {"!": int(not operand), "-": -operand, "+": operand, "~": ~operand}[token]
        if token[0] == "'":
            character = token[1:-1].encode().decode("unicode_escape")
            if len(character) != 1:
                raise ValueError(f"{token} is not one character")
            return ord(character)
        if token[0].isdigit():
            return _number(token)
        if NAME.fullmatch(token):
            if self._next() == "(":  # __has_builtin(x) and the like are false
                self._skip_parentheses()
            return int(token == "true")
        raise ValueError(f"'{token}' is not an operand")


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


def constant(text: str, macros: Mapping[str, str]) -> int | None:
    """The value of an expression of numbers and of macros that are such expressions; None if it has no value.

    Expressions of more than LONGEST characters, with those of their macros, have none.
    """
    return _Constant(macros).value(text, 0)


class _Constant:
    """Finds the value of one expression; each name is looked for once."""

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
            return Expression(tokens).value()
        except (ValueError, IndexError):
            return None

    def _named(self, name: str, depth: int) -> int | None:
        if name not in self._known:
            self._known[name] = None  # while it is being looked for
            if name in self._macros and depth < DEEPEST_CONSTANT:
                self._known[name] = self.value(self._macros[name], depth + 1)
        return self._known[name]
