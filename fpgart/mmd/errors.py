# SPDX-License-Identifier: Apache-2.0
"""Why a call of aocl_mmd.h fails."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What functions return; the numbers are aocl_mmd.h's."""

    SUCCESS = 0
    INVALID_HANDLE = -1
    OUT_OF_MEMORY = -2
    UNSUPPORTED_ALIGNMENT = -3
    UNSUPPORTED_PROPERTY = -4
    INVALID_POINTER = -5


FAILURE = -1
"""What a function returns that knows one error only."""


class MmdError(Exception):
    """A call that fails, with a sentence; `status` is what it returns."""

    def __init__(self, words: str, status: int = FAILURE) -> None:
        super().__init__(words)
        self.status = status
