# SPDX-License-Identifier: Apache-2.0
"""Why `icpx` cannot do what it was asked for."""

from __future__ import annotations


class IcpxError(Exception):
    """One line: what is wrong, and what to do."""


class NotInstalled(IcpxError):
    """A piece is missing."""


class UsageError(IcpxError):
    """The command line asks for what `icpx` does not do."""


class PassFailed(Exception):
    """A compiler refused the program; `words` is what it said."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
