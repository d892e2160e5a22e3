# SPDX-License-Identifier: Apache-2.0
"""Finds out which kernels may wait, while they run, for what another command or the host writes.

That takes a loop without a count, and a read that the compiler has to repeat in it. A kernel may wait unless its
functions show that one of them is missing.
"""

from __future__ import annotations

from fpgart.base.patterns import Sign, pattern
from fpgart.kernels.call_graph import CallGraph

REPEATED_READ = Sign(
    ("volatile", "atom", "mem_fence", "CLK_GLOBAL_MEM_FENCE", "asm", "include"),
    r"\bvolatile\b|\batom|mem_fence\b|\bCLK_GLOBAL_MEM_FENCE\b|\basm\b|\b__asm|\n[ \t]*#[ \t]*include",
)
"""Signs that a read in a loop is repeated. Without any, a compiler may read a place once for the whole loop."""
_REPEATED_NAME = pattern(r"volatile|atom\w*|\w*mem_fence|CLK_GLOBAL_MEM_FENCE|asm|__asm\w*")
_OF_LOCAL_MEMORY = pattern(r"\bvolatile\s+(?=(?:__)?local\b)|(?<=\blocal)\s+volatile\b|(?<=\b__local)\s+volatile\b")
"""No other command sees local memory."""
_TERM = r"(?:get_\w+\(\w*\)|[\w.]+)"
_TERMS = rf"{_TERM}(?:\s*[-+*/%]\s*{_TERM})*"
_COUNTED = (
    rf"(?:[^;(){{}}]|get_\w+\(\w*\))*;\s*\w+\s*(?:[<>]=?|!=)\s*{_TERMS}\s*;"
    rf"\s*(?:\+\+\w+|--\w+|\w+\+\+|\w+--|\w+\s*(?:[-+*/]|<<|>>)=\s*{_TERMS})\s*\)"
)
UNCOUNTED_LOOP = Sign(
    ("while", "goto", "for", "include"),
    rf"\bwhile\b|\bgoto\b|\bfor\b(?!\s*\({_COUNTED})|\n[ \t]*#[ \t]*include",
)
"""Loops but those of the form `for (i = a; i < b; i++)`. Included files may have any."""
_COUNTED_FOR = pattern(rf"\bfor\b(?=\s*\({_COUNTED})")


class Polling:
    """Says which kernels of an OpenCL C source may poll. The options of the build may contain parts of them."""

    def __init__(self, source: str, options: str) -> None:
        self.options = options
        text = f"{source}\n{options}"
        self.is_possible = REPEATED_READ.is_in(text) and UNCOUNTED_LOOP.is_in(text)
        """True if any kernel may poll."""
        self._calls: CallGraph | None = None
        self._answers: dict[str, bool] = {}
        if self.is_possible and "##" not in text:
            self._calls = CallGraph(_COUNTED_FOR.sub("", _OF_LOCAL_MEMORY.sub(" ", source)), options)

    def may_include(self, kernel: str) -> bool:
        """True unless the kernel has no loop without a count or no repeated read, nor has a function that it calls."""
        if self._calls is None:
            return self.is_possible
        if kernel not in self._answers:  # facts are often learned again, and calls take long to follow
            self._answers[kernel] = _may_poll(self._calls, kernel)
        return self._answers[kernel]


def _may_poll(calls: CallGraph, kernel: str) -> bool:
    used = calls.names_used(kernel)
    if used is None:
        return True
    declared = calls.names_at_file_scope()  # the type of what it reads may be volatile
    return not used.isdisjoint(("while", "goto", "for")) and any(map(_REPEATED_NAME.fullmatch, used | declared))
