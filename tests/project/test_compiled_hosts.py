# SPDX-License-Identifier: Apache-2.0
"""Hosts that tests compile and keep (conformance/compilation.py)."""

from __future__ import annotations

from pathlib import Path

import compilation
import pytest

COMPILER = """#!/bin/sh
[ "$1" = --version ] && exit
while [ "$1" != -o ]; do shift; done
echo later > "$2"
[ -z "$ANOTHER" ] || echo earlier > "$ANOTHER/$(basename "$2")"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A compiler; with ANOTHER it ends after another process has made the same program."""
    monkeypatch.setattr(compilation, "KEPT", tmp_path / "kept")
    made = tmp_path / "compiler"
    made.write_text(COMPILER)
    made.chmod(0o755)
    return str(made)


@pytest.mark.parametrize(("another", "words"), [("kept", "earlier\n"), ("", "later\n")])
def test_a_program_that_another_process_has_made_meanwhile_stays_because_it_may_run(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another: str, words: str
) -> None:
    source = tmp_path / "host.c"
    source.touch()
    monkeypatch.setenv("ANOTHER", str(tmp_path / another) if another else "")
    assert compilation.kept([compiler], [source]).read_text() == words
    assert [path.name.partition("-")[0] for path in (tmp_path / "kept").iterdir()] == ["host"]
