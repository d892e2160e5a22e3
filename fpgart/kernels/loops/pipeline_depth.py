# SPDX-License-Identifier: Apache-2.0
"""The number of stages of a kernel's pipeline, by the longest chain of operations in its source (docs/time.md).

An estimate: a compiler shares, moves and balances operations, which the source does not show. It matters for launches
with little work.
"""

from __future__ import annotations

import re

from fpgart.kernels.source_text import NAME

TOKEN = re.compile(r"[A-Za-z_]\w*|\+\+|--|->|[-+*/%&|^<>=!]=?|[(){};]")
FLOATS = re.compile(r"\b(?:float|double|half)\d*\s+(?:\*\s*)?(?:const\s+|restrict\s+)*(?P<name>[A-Za-z_]\w*)")
ASSIGNED = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="))
FLOAT_CYCLES = {"+": 3, "-": 3, "*": 3, "/": 14, "<": 1, ">": 1}
INTEGER_CYCLES = {"+": 1, "-": 1, "*": 2, "/": 32, "%": 32}
CALLS = {"sqrt": 16, "rsqrt": 16, "exp": 17, "exp2": 17, "log": 21, "log2": 21, "pow": 38, "sin": 36, "cos": 36,
         "fma": 4, "mad": 4}  # fmt: skip
DEEPEST = 4096
"""Cycles; a longer chain is an unrolled loop, and a compiler would not chain it."""


def pipeline_depth(body: str, parameters: str = "") -> int:
    """Returns the cycles of the longest chain of operations from the first statement of a kernel's body to the last."""
    floats = {found["name"] for text in (parameters, body) for found in FLOATS.finditer(text)}
    ready: dict[str, int] = {}
    deepest = 0
    statement: list[str] = []
    for token in TOKEN.findall(body):
        if token not in (";", "{", "}"):
            statement.append(token)
            continue
        names = {word for word in statement if NAME.match(word)}
        cost = _cost(statement, is_float=not names.isdisjoint(floats))
        end = max((ready.get(name, 0) for name in names), default=0) + cost
        target = _target(statement)
        if target:
            ready[target] = end
        deepest = max(deepest, end)
        statement = []
    return min(deepest, DEEPEST)


def _cost(statement: list[str], *, is_float: bool) -> int:
    cycles = FLOAT_CYCLES if is_float else INTEGER_CYCLES
    operators = sum(cycles.get(token.rstrip("=") or "=", 0) for token in statement if not NAME.match(token))
    return operators + sum(CALLS.get(token.removeprefix("native_"), 0) for token in statement)


def _target(statement: list[str]) -> str:
    """Returns the name that a statement assigns; "" for none, or for an element of an array."""
    for index, token in enumerate(statement):
        if token in ASSIGNED:
            return statement[index - 1] if index and NAME.match(statement[index - 1]) else ""
    return ""
