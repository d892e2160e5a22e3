# SPDX-License-Identifier: Apache-2.0
"""Errors in containers and in the sources of kernels."""

from __future__ import annotations


class AocxError(Exception):
    """Raised for an invalid container, or part of one; the sentence says where and why."""


def of_file(error: OSError) -> str:
    """Returns the file and its error; not every error names its file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror) if part)
