# SPDX-License-Identifier: Apache-2.0
"""Features that compilers refuse in a version of OpenCL C and hosts use: such programs are built for a newer version.

`static`, which OpenCL C has from 1.2 on, is accepted in programs for older ones, too: hosts such as CLBlast ask for 1.1
and use it. OpenCL C 2.0 is optional for a device of OpenCL 3.0, and PoCL refuses it from 4.0 on; hosts that build
programs with CL/opencl.hpp ask for it, unless they say otherwise. OpenCL C 3.0 has what such programs use as far as the
compiler has it.
"""

from __future__ import annotations

import re

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import pattern


class VersionRefusal(NamedTuple):
    """A feature that a compiler refuses if options request certain versions of OpenCL C."""

    words: re.Pattern[str]
    """A pattern that the compiler's log has if the feature was refused."""
    asked: re.Pattern[str]
    """A pattern of the options that request such a version."""
    instead: str
    """The option for a version in which it is not refused."""
    may_concern: re.Pattern[str]
    """A pattern that each source with the feature has."""

    def shows(self, log: str, options: str) -> bool:
        """True if this refusal is the reason of a failed build."""
        return bool(self.words.search(log) and self.asked.search(options))

    def newer(self, options: str) -> str:
        """Returns the options of the build, with a version of OpenCL C in which the compiler accepts the feature."""
        return self.asked.sub(self.instead, options)


REFUSALS = (
    VersionRefusal(
        pattern(r"OpenCL C version 1\.[01] does not support the 'static' storage class"),
        pattern(r"-cl-std=CL1\.[01]\b"),
        "-cl-std=CL1.2",
        pattern(r"\b(?:static|inline)\b"),  # what makes functions static, here or in the words of the translation
    ),
    VersionRefusal(
        pattern(r"OpenCL C version 2\.0, ?but device .* doesn't support that OpenCL C version"),
        pattern(r"-cl-std=CL2\.0\b"),
        "-cl-std=CL3.0",
        pattern(r"\S"),
    ),
)
