# SPDX-License-Identifier: Apache-2.0
"""A colour for each kind of work and each kernel, the same in all parts of the page; style.css names them."""

from __future__ import annotations

from collections.abc import Iterable

from fpgart.watch.family import PROGRAMMING
from fpgart.watch.lanes import Lane, Span, in_numbers

NAMED_KERNELS = 10
"""The colours of kernels in style.css; further ones advance around the circle of hues by the golden angle."""
BUFFER_COLOURS = 10
IN_WORDS = {
    "call": "call of the host",
    "transfer": "transfer, in its queue",
    "write": "host to board",
    "read": "board to host",
    "copy": "within the board",
    "program": PROGRAMMING,
    "migration": "migration",
    "compile": "the engine's compiler, which boards do not have",
    "full": "waits to write to a channel that is full",
    "empty": "waits to read from one that is empty",
}


class Colours:
    """The colours of one page. A kernel's colour depends on its name, so that runs can be compared."""

    def __init__(self, lanes: Iterable[Lane], loading: str = PROGRAMMING) -> None:
        """`loading` is the word for bringing programs onto the boards."""
        self._words = IN_WORDS | {"program": loading}
        found = sorted({key_of(span) for lane in lanes for span in lane.spans}, key=in_numbers)
        kinds = [kind for kind in IN_WORDS if kind in found]
        self.keys = kinds + [key for key in found if key not in IN_WORDS]
        """The drawn keys, each once: the kinds in their order, then kernels."""
        self.kernels = {key: number for number, key in enumerate(key for key in found if key not in IN_WORDS)}

    def css(self, key: str) -> str:
        """Returns the CSS colour of a kind, or of a kernel ("kernel " and its name)."""
        number = self.kernels.get(key)
        return f"var(--{key})" if number is None else kernel_css(number)

    def words(self, key: str) -> str:
        return self._words.get(key, key)


def key_of(span: Span) -> str:
    return f"kernel {span.name}" if span.kind == "kernel" else span.kind


def kernel_css(number: int) -> str:
    if number < NAMED_KERNELS:
        return f"var(--k{number})"
    return f"hsl({number * 137.508 % 360:.0f} 55% 45%)"


def buffer_css(number: int) -> str:
    return f"var(--k{number % BUFFER_COLOURS})"
