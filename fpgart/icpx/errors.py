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
    """Raised with the log of a compiler that refused the program."""
