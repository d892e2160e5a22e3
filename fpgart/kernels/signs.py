# SPDX-License-Identifier: Apache-2.0
"""Signs that a program needs a translator, and those names of translators that programs without one need, too.

Translators are imported when a program needs them: their modules take longer to import than the engine takes to load a
small kernel, and most programs need none.
"""

from __future__ import annotations

import re

from fpgart.base.patterns import Sign, pattern

TABLE = 0x2F50_4741_0000
"""The address at which kernels find the address of operation(), unless it is in use."""
DECLARE = "__fpgart_declare"
"""The kernel that creates the variables, and the channels that the host uses, before any other kernel runs."""
CHANNEL = Sign(("channel", "pipe"), r"\b(?:channel|pipe)\b")
_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_SIZE = r"\[[^\];{}]*\]"
_COMMENT = r"//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|/(?![*/])"
"""A comment, or a slash that begins none."""
VARIABLE = Sign(
    ("global",),
    r"(?:\n[^\S\n]*|;\s*|\}\s*|\)\s*|\*/\s*)(?:(?:static|extern|const|volatile)\s+)*(?:__)?global\b"
    rf"(?:__attribute(?:__)?\s*{_PARENTHESES}|{_SIZE}|{_COMMENT}|[^()\[{{}};=*/]){{0,2000}}[;={{]",
)
"""A declaration of a program-scope variable; local ones of functions look the same."""
LOCAL_DECLARATION = Sign(
    ("local",), rf"(?:\n[^\S\n]*|;\s*|\{{\s*|\}}\s*)(?:__)?local\b(?:{_SIZE}|{_COMMENT}|[^()\[{{}};=*/])*;"
)
"""A declaration of local variables (local_variables.py)."""
UNROLL = pattern(r"^[ \t]*#[ \t]*pragma[ \t]+unroll\b(?P<count>[^\n]*)", re.MULTILINE)
"""A pragma that has a loop unrolled (unrolling.py)."""


def may_be_lowered(text: str) -> bool:
    """True if a text may declare channels, pipes or program-scope variables (lowering.py)."""
    return CHANNEL.is_in(text) or VARIABLE.is_in(text)


class LoweringError(Exception):
    """Raised for a declaration that cannot be translated; line, and reason."""


class PreprocessorError(Exception):
    """An error in a source, in the form `file:line:column: error: words`."""

    def __init__(self, file: str, line: int, words: str) -> None:
        super().__init__(f"{file}:{line}:1: error: {words}")
