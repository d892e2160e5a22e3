# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import pytest


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Imports a module of fpgart/bridge for one test, with doubles of the driver's library (`lib`, `ffi`)."""

    def import_one(name: str, **doubles: object) -> ModuleType:
        monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(**doubles))
        return importlib.import_module(f"fpgart.bridge.{name}")

    before = set(sys.modules)
    yield import_one
    for name in set(sys.modules) - before:
        if name.startswith("fpgart.bridge"):
            del sys.modules[name]
