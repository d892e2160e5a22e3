# SPDX-License-Identifier: Apache-2.0
"""Files in memory and the limit for the size of files (fpgart/board/memory_file.py)."""

from __future__ import annotations

import os
import resource

import pytest

from fpgart.board.memory_file import lengthen
from fpgart.board.mmd import BoardError

LIMIT = 4096


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Files may have LIMIT bytes. Returns the sizes that the system is asked for."""
    asked: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (LIMIT, LIMIT))
    monkeypatch.setattr(os, "ftruncate", lambda descriptor, size: asked.append(size))
    return asked


def test_the_system_is_not_asked_for_a_file_that_is_larger_than_files_may_be(limited: list[int]) -> None:
    with pytest.raises(BoardError, match=r"no file of 4097 bytes for a test: files may have 4096 bytes \(ulimit -f\)"):
        lengthen(0, LIMIT + 1, "a test")
    assert limited == []


def test_a_file_may_be_as_large_as_files_may_be(limited: list[int]) -> None:
    lengthen(0, LIMIT, "a test")
    assert limited == [LIMIT]
