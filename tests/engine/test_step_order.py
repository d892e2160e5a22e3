"""Steps that write the same files of PoCL's cache run one after another (engine/compiling/step_order.py)."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fpgart.engine.compiling.step_order import one_at_a_time

HOLDER = """
import sys
from fpgart.engine.compiling.step_order import one_at_a_time
with one_at_a_time("step", (b"a",)):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    return tmp_path


def begun(kind: str, *contents: bytes) -> threading.Event:
    """Set once a thread has begun a step."""
    begins = threading.Event()

    def step() -> None:
        with one_at_a_time(kind, contents):
            begins.set()

    threading.Thread(target=step, daemon=True).start()
    return begins


def test_a_step_waits_for_another_process_with_the_same_contents(cache: Path) -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        waiting = begun("step", b"a")
        assert begun("link", b"a").wait()  # another kind does not wait, so that the first thread has had its time
        assert not waiting.is_set()
        process.stdin.close()
        assert waiting.wait()


def test_a_step_that_fails_lets_the_next_one_begin(cache: Path) -> None:
    with pytest.raises(ValueError, match="fails"), one_at_a_time("step", (b"a",)):
        raise ValueError("fails")
    assert begun("step", b"a").wait()


def test_a_cache_that_cannot_be_written_stops_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "file"))
    assert begun("step", b"a").wait()
