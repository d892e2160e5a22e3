# SPDX-License-Identifier: Apache-2.0
"""Finds out which kernels may wait, while they run, for what another command or the host writes.

That takes a loop without a count, and a read that the compiler has to repeat in it. A kernel may wait unless its
functions show that one of them is missing.
"""

from __future__ import annotations

from fpgart.base.patterns import Sign, pattern
from fpgart.kernels.call_graph import CallGraph, macros_of_options
from fpgart.kernels.source_text import visible

REPEATED_READ = Sign(
    ("volatile", "atom", "mem_fence", "CLK_GLOBAL_MEM_FENCE", "asm", "__sync", "include", "import"),
    r"\b(?:__)?volatile|(?:\b|_)atom|mem_fence\b|\bCLK_GLOBAL_MEM_FENCE\b|\basm\b|\b__asm|\b__sync_"
    r"|\n[ \t]*#[ \t]*(?:include|import)",
)
"""Signs that a read in a loop is repeated. Without any, a compiler may read a place once for the whole loop."""
_REPEATED_NAME = pattern(
    r"(?:__)?volatile(?:__)?|(?:\w*_)?atom\w*|\w*mem_fence|CLK_GLOBAL_MEM_FENCE|asm|__asm\w*|__sync_\w+"
)
_OF_LOCAL_MEMORY = pattern(r"\bvolatile\s+(?=(?:__)?local\b)|(?<=\blocal)\s+volatile\b|(?<=\b__local)\s+volatile\b")
"""No other command sees local memory."""
_ASKED = (
    r"get_(?:(?:global|local|enqueued_local)_(?:size|id|offset|linear_id)|group_id|num_groups|work_dim"
    r"|(?:max_|num_|enqueued_num_)?sub_group\w*)\(\w*\)"
)
_TERM = rf"(?:{_ASKED}|[\w.]+)"
_TERMS = rf"{_TERM}(?:\s*[-+*/%]\s*{_TERM})*"
_COUNTED = (
    rf"(?:[^;(){{}}]|{_ASKED})*;\s*\w+\s*(?:[<>]=?|!=)\s*{_TERMS}\s*;"
    rf"\s*(?:\+\+\w+|--\w+|\w+\+\+|\w+--|\w+\s*(?:[-+*/]|<<|>>)=\s*{_TERMS})\s*\)"
)
"""The head of a loop of the form `for (i = a; i < b; i++)`, behind its opening parenthesis."""
_COUNTED_FOR = pattern(rf"\bfor\b(?=\s*\((?P<head>{_COUNTED}))")
_LOOP = Sign(("while", "goto", "for", "include", "import"), r"\b(?:while|goto|for)\b|\n[ \t]*#[ \t]*(?:include|import)")
"""Included files may have loops."""


class Polling:
    """Says which kernels of an OpenCL C source may poll. The options of the build may contain parts of them."""

    def __init__(self, source: str, options: str) -> None:
        self.options = options
        text = f"{source}\n{options}"
        code = _uncounted(source, options) if REPEATED_READ.is_in(text) else ""
        self.is_possible = _LOOP.is_in(f"{code}\n{options}" if code else "")
        """True if any kernel may poll."""
        self._calls = CallGraph(_OF_LOCAL_MEMORY.sub(" ", code), options) if self.is_possible else None
        self._answers: dict[str, bool] = {}

    def may_include(self, kernel: str) -> bool:
        """True unless the kernel has no loop without a count or no repeated read, nor has a function that it calls."""
        if self._calls is None:
            return False
        if kernel not in self._answers:  # facts are often learned again, and calls take long to follow
            self._answers[kernel] = _may_poll(self._calls, kernel)
        return self._answers[kernel]


def _uncounted(source: str, options: str) -> str:
    """Returns a source without comments, literals, and the word `for` of loops that count."""
    from fpgart.kernels.counted_loops import without_counted_loops  # few programs need it

    bare = visible(source)
    if "for" not in bare:
        return bare
    return without_counted_loops(bare, _COUNTED_FOR.finditer(bare), macros_of_options(options))


def _may_poll(calls: CallGraph, kernel: str) -> bool:
    used = calls.names_used(kernel)
    if used is None:
        return True
    declared = calls.names_at_file_scope()  # the type of what it reads may be volatile
    return not used.isdisjoint(("while", "goto", "for")) and any(map(_REPEATED_NAME.fullmatch, used | declared))
