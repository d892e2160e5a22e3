# SPDX-License-Identifier: Apache-2.0
"""Comments and continued lines, which a reader of C skips before anything else."""

from __future__ import annotations

import re

from fpgart.base.patterns import pattern

COMMENT = pattern(r'//[^\n]*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n])*")|(\\[^\n])', re.DOTALL)
"""A comment; or a literal (first group), or an escaped character (second), in which none begins."""
CONTINUED = pattern(r"\\\r?\n")
