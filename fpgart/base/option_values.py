# SPDX-License-Identifier: Apache-2.0
"""Readers of the texts of options: each function raises ValueError with the values that are allowed."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.personality import ALIASES, PERSONALITIES


def one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"not one of {', '.join(choices)}")
        return text

    return read


def names(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("a list of names, separated by commas, is expected")
    return found


def rank(text: str) -> tuple[int, int]:
    """Returns the number of a process and the number of processes: `1/4`."""
    first, _, size = text.partition("/")
    if not first.isdecimal() or not 0 <= number(first) < number(size) <= 1 << 20:
        raise ValueError("a number from 0 and the number of processes are expected, as in 1/4")
    return number(first), number(size)


def job(text: str) -> str:
    if not text.replace("-", "").replace(".", "").replace("_", "").isalnum() or text.startswith("."):
        raise ValueError("letters, digits, points, dashes and underscores are expected")
    return text


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise ValueError("a number of seconds from 0 is expected")
    return value


class Launches(NamedTuple):
    """Launches of the kernels whose names match a pattern: those from `first` to `last` of each, counted from 1."""

    pattern: str
    first: int = 1
    last: int = sys.maxsize

    def __str__(self) -> str:
        return f"{self.pattern}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")


def launches(text: str) -> tuple[Launches, ...]:
    """Reads `name`, `name:n` or `name:n-m`, separated by commas; names may have wildcards."""
    found = []
    for part in names(text):
        pattern, colon, numbers = part.partition(":")
        if not colon:
            found.append(Launches(pattern))
            continue
        first, dash, last = numbers.partition("-")
        chosen = Launches(pattern, number(first), number(last) if dash else number(first))
        if not pattern or not 0 < chosen.first <= chosen.last:
            raise ValueError("names are expected, each with or without :n or :n-m behind it, the first launch being 1")
        found.append(chosen)
    return tuple(found)


def number(text: str) -> int:
    """Returns the number, or 0 for any other text."""
    return int(text) if text.isdecimal() else 0


def switch(text: str) -> bool:
    """True unless the text is 0, as in the original."""
    return text != "0"


def presence(text: str) -> bool:
    """True for any text, as in the original."""
    return True


def count(text: str) -> int:
    value = number(text)
    if not 1 <= value <= 128:
        raise ValueError("a number from 1 to 128 is expected")
    return value


def seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise ValueError("a number from 0 to 18446744073709551615 is expected")
    return int(text)


def compiler_mode(text: str) -> int:
    value = int(text) if text.isdigit() else -1
    if not 0 <= value <= 5:
        raise ValueError("a number from 0 to 5 is expected")
    return value


def size(text: str) -> int:
    """Returns a number of bytes; K, M and G are powers of 1024."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    try:
        value = int(number[:-1]) * units[number[-1]] if number[-1:] in units else int(number)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError("a number of bytes is expected, such as 4096, 64M or 1G")
    return value


ENGINES = {
    "auto": "",
    "pocl": "PoCL: pip install 'pyopencl[pocl]', or, for newer processors, apt install libpocl2 on Debian and Ubuntu",
    "intel": "Intel's CPU runtime: pip install 'fpgart[intel]'",
    "emulator": "Intel's FPGA emulator: pip install 'fpgart[sycl]'",
    "oclgrind": "Oclgrind, which checks kernels: apt install oclgrind, or name its driver in FPGART_ENGINE",
    "none": "",
}
"""The values of FPGART_ENGINE, each with the way to get that engine; "" where nothing has to be installed."""

HOST_CHECKS = ("usm", "buffers", "order", "fpga")
CHECKS = (*HOST_CHECKS, "kernels")


def checks(text: str) -> tuple[str, ...]:
    """Returns names of CHECKS; `all` stands for those that need no particular engine."""
    found = names(text)
    for name in found:
        if name not in (*CHECKS, "all"):
            raise ValueError(f"{name} is not one of {', '.join(CHECKS)}, all")
    if "all" in found:
        found = (*found, *HOST_CHECKS)
    return tuple(name for name in CHECKS if name in found)


PLATFORMS = ("auto", *PERSONALITIES)


def platform(text: str) -> str:
    """Returns one of PLATFORMS; ALIASES are accepted."""
    return one_of(*PLATFORMS)(ALIASES.get(text, text))
