# SPDX-License-Identifier: Apache-2.0
"""What C tells about the commands that it carries (fpgart/bridge/carried.py)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from unittest.mock import Mock

import pytest

from fpgart.runtime.objects.queue import CommandQueue

QUEUE = 0x1000


@pytest.mark.parametrize("is_known", [True, False])
def test_contexts_are_told_of_commands_that_the_engine_could_not_carry_out(
    imported: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """Those whose queue is still there."""
    carried = imported("bridge.carried")
    queue = object.__new__(CommandQueue)
    queue.context = Mock()
    monkeypatch.setattr(carried, "known", lambda handle: queue if is_known and handle == QUEUE else None)
    carried.failed(QUEUE, 0, -5, 0)
    assert queue.context.notify.call_count == is_known
