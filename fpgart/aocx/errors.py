# SPDX-License-Identifier: Apache-2.0
"""Errors in containers and in the sources of kernels."""

from __future__ import annotations


class AocxError(Exception):
    """A container, or part of one, is not what it should be; the sentence says where and why."""


def of_file(error: OSError) -> str:
    """The file and what is wrong with it; not every error names its file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror) if part)
