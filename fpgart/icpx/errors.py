# SPDX-License-Identifier: Apache-2.0
"""The errors of `icpx`."""

from __future__ import annotations


class IcpxError(Exception):
    """Raised with one line: the error, and the remedy."""


class NotInstalled(IcpxError):
    """Raised if a tool is not installed."""


class UsageError(IcpxError):
    """Raised for a command line that `icpx` does not support."""


class PassFailed(Exception):
    """Raised if a compiler refused the program; `words` is its log."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
