# SPDX-License-Identifier: Apache-2.0
"""The autodiscovery string, version 23: tokens separated by blanks that describe a board and its kernels.

Many groups begin with the number of tokens that follow, so that readers can skip additions of newer compilers. A count
belongs to the group around it; the tokens of a group belong to all groups around them.
"""

from fpgart.aocx.autodiscovery.reading import parse
from fpgart.aocx.autodiscovery.tokens import AutodiscoveryError
from fpgart.aocx.autodiscovery.writing import format, to_section

__all__ = ["AutodiscoveryError", "format", "parse", "to_section"]
