"""Fixtures for boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from machine import Machine, machine_of


@pytest.fixture
def boards() -> Iterator[Callable[..., Machine]]:
    """`boards("a10_ref", "hetero")`: a machine with these boards."""
    with ExitStack() as open_machines:

        def make(*names: Any, simulator: bool = False, modelled: bool = False) -> Machine:
            made = contextmanager(machine_of)(*names, simulator=simulator, modelled=modelled)
            return open_machines.enter_context(made)

        yield make
