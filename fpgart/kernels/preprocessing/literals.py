# SPDX-License-Identifier: Apache-2.0
"""The values and types of C's integer, floating-point and character constants (C99, section 6.4.4)."""

from __future__ import annotations

import re
from typing import Final

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.preprocessing.types import DOUBLE, FLOAT, HALF, INT, LONG, UINT, ULONG, Type, converted


class Value(NamedTuple):
    number: int | float
    type: Type


INTEGER = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?P<suffix>[uU]?[lL]{0,2}|[lL]{1,2}[uU])")
FLOATING = re.compile(r"(?P<digits>0[xX][0-9a-fA-F.]+[pP][-+]?[0-9]+|[0-9.]+(?:[eE][-+]?[0-9]+)?)(?P<suffix>[fFhH]?)")
CHARACTER = re.compile(r"\\(?:x(?P<hex>[0-9a-fA-F]+)|(?P<octal>[0-7]{1,3})|(?P<escape>.))|(?P<plain>[ -~])", re.DOTALL)
ESCAPES: Final = dict(zip("abfnrtve", b"\a\b\f\n\r\t\v\x1b", strict=True)) | {c: ord(c) for c in "\\'\"?"}
CHAR: Final = Type(8)
LIMITS: Final = {
    "CHAR_BIT": Value(8, INT),
    "true": Value(1, INT),
    "false": Value(0, INT),
    **{f"{name}_MAX": Value((1 << bits - 1) - 1, INT if bits < 32 else Type(bits))
       for name, bits in (("CHAR", 8), ("SCHAR", 8), ("SHRT", 16), ("INT", 32), ("LONG", 64))},
    **{f"{name}_MIN": Value(-(1 << bits - 1), INT if bits < 32 else Type(bits))
       for name, bits in (("CHAR", 8), ("SCHAR", 8), ("SHRT", 16), ("INT", 32), ("LONG", 64))},
    **{f"{name}_MAX": Value((1 << bits) - 1, INT if bits < 32 else Type(bits, False))
       for name, bits in (("UCHAR", 8), ("USHRT", 16), ("UINT", 32), ("ULONG", 64))},
}  # fmt: skip
"""Names that OpenCL C predefines (specification, section 6.15.3)."""


def literal(token: str) -> Value:
    """Returns the value of a constant, which begins with a digit, a point or an apostrophe. Raises ValueError."""
    if token[0] == "'":
        return _character(token)
    found = INTEGER.fullmatch(token)
    return _floating(token) if found is None else _integer(found["digits"], found["suffix"].lower())


def _integer(digits: str, suffix: str) -> Value:
    is_octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    number = int(digits, 8) if is_octal else int(digits, 0)
    types = [type for type in (INT, UINT, LONG, ULONG) if type.bits == LONG.bits or "l" not in suffix]
    if "u" in suffix:
        types = [type for type in types if not type.signed]
    elif digits[0] != "0":
        types = [type for type in types if type != UINT]
    for type in types:
        if converted(number, type) == number:
            return Value(number, type)
    raise ValueError("an integer has more than 64 bits")


def _floating(token: str) -> Value:
    found = FLOATING.fullmatch(token)
    if found is None:
        raise ValueError(f"'{token}' is not a number")
    digits, suffix = found["digits"], found["suffix"].lower()
    number = float.fromhex(digits) if digits[:2] in ("0x", "0X") else float(digits)
    type = {"f": FLOAT, "h": HALF}.get(suffix, DOUBLE)
    return Value(converted(number, type), type)


def _character(token: str) -> Value:
    codes = []
    at = 1
    while at < len(token) - 1:
        found = CHARACTER.match(token, at, len(token) - 1)
        code = _code(found) if found else None
        if found is None or code is None or code > 255:
            break
        codes.append(code)
        at = found.end()
    if not codes or at < len(token) - 1:
        raise ValueError(f"{token} is not a character")
    return Value(converted(int.from_bytes(codes, "big"), CHAR if len(codes) == 1 else INT), INT)


def _code(found: re.Match[str]) -> int | None:
    """Returns the code of a character or an escape sequence; None for an escape sequence that C lacks."""
    if found["hex"]:
        return int(found["hex"], 16)
    if found["octal"]:
        return int(found["octal"], 8)
    return ord(found["plain"]) if found["plain"] else ESCAPES.get(found["escape"])
