# SPDX-License-Identifier: Apache-2.0
"""Finds out if kernels may wait, while they run, for what another command or the host writes.

That takes a loop without a count, and in it a read that the compiler has to repeat. The answer is True unless the
program shows that one of them is missing.
"""

from __future__ import annotations

from fpgart.base.patterns import Sign

REPEATED_READ = Sign(
    ("volatile", "atom", "mem_fence", "CLK_GLOBAL_MEM_FENCE", "asm", "include"),
    r"\bvolatile\b|\batom|mem_fence\b|\bCLK_GLOBAL_MEM_FENCE\b|\basm\b|\b__asm|\n[ \t]*#[ \t]*include",
)
"""Signs that a read in a loop is repeated. Without any, a compiler may read a place once for the whole loop."""
_TERM = r"(?:get_\w+\(\w*\)|[\w.]+)"
_TERMS = rf"{_TERM}(?:\s*[-+*/%]\s*{_TERM})*"
_COUNTED = (
    rf"(?:[^;(){{}}]|get_\w+\(\w*\))*;\s*\w+\s*(?:[<>]=?|!=)\s*{_TERMS}\s*;"
    rf"\s*(?:\+\+\w+|--\w+|\w+\+\+|\w+--|\w+\s*[-+]=\s*{_TERMS})\s*\)"
)
UNCOUNTED_LOOP = Sign(
    ("while", "goto", "for", "include"),
    rf"\bwhile\b|\bgoto\b|\bfor\b(?!\s*\({_COUNTED})|\n[ \t]*#[ \t]*include",
)
"""Loops but those of the form `for (i = a; i < b; i++)`. Included files may have any."""


def source_may_poll(source: str, options: str) -> bool:
    """True if kernels of this OpenCL C may poll; the options of the build may contain parts of them."""
    text = f"{source}\n{options}"
    return REPEATED_READ.is_in(text) and UNCOUNTED_LOOP.is_in(text)
