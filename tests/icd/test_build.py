"""build_icd.py: what the compiler is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cffi import FFI

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import build_icd  # noqa: E402


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str | Path]]:
    """Returns a list that gets the commands, which are not run."""
    ran: list[list[str | Path]] = []
    monkeypatch.setattr(build_icd, "run", ran.append)
    return ran


def test_options_of_the_environment_stand_behind_those_that_they_replace(
    commands: list[list[str | Path]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CFLAGS", "-fsanitize=thread -O1 -g")
    build_icd.compiled([Path("a.c")], tmp_path / "work", [])
    (compile_,) = commands
    assert "-fsanitize=thread" in compile_
    assert compile_.index("-g") > compile_.index("-g0")
    assert compile_.index("-O1") > compile_.index("-O2")


def test_options_of_the_environment_are_given_where_libraries_are_linked(
    commands: list[list[str | Path]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LDFLAGS", "-fsanitize=thread")
    build_icd.linked(tmp_path / "made.so", [tmp_path / "a.o"], "cl*")
    build_icd.build_preload(tmp_path, "only")
    assert all("-fsanitize=thread" in command for command in commands)


def test_c_functions_that_take_no_time_are_called_with_the_interpreters_lock(tmp_path: Path) -> None:
    ffi = FFI()
    ffi.cdef("int at_once(int x); int in_time(int x);")
    ffi.set_source("example", "")
    source = build_icd.calls_at_once(build_icd.emitted(ffi, tmp_path / "example.c"), "int at_once(int x);")
    at_once, in_time = (
        source.split(f"_cffi_f_{name}(PyObject *self")[1].split("\n}\n")[0] for name in ("at_once", "in_time")
    )
    assert "result = at_once(x0)" in at_once
    assert "ALLOW_THREADS" not in at_once
    assert in_time.count("ALLOW_THREADS") == 2
