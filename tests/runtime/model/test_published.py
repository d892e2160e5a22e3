"""The model of time beside published measurements (scripts/compare_published.py, docs/time.md)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_published", ROOT / "scripts" / "compare_published.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_the_table_in_the_documentation_is_what_the_model_says(script: ModuleType) -> None:
    assert script.table() in (ROOT / "docs" / "time.md").read_text(encoding="utf-8")


LARGEST_ERRORS = [
    ("STREAM copy, interleaved, 2", 0.01),
    ("STREAM", 0.21),
    ("GEMM", 0.09),
    ("FFT", 0.14),
    ("RandomAccess", 0.26),
    ("writing", 0.05),
    ("reading", 0.05),
]


@pytest.mark.parametrize(("what", "largest"), LARGEST_ERRORS, ids=[row[0] for row in LARGEST_ERRORS])
def test_no_error_is_larger_than_the_documentation_says(script: ModuleType, what: str, largest: float) -> None:
    found = [row for row in script.rows() if row.what.startswith(what)]
    assert found
    assert {row.what: row.error for row in found if abs(row.error) > largest} == {}
