"""The mutants of `make mutants` (scripts/mutants): what is changed, and what is left alone."""

from __future__ import annotations

import _thread
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

pytest.importorskip("cosmic_ray", reason="comes with fpgart[mutants]")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "mutants"))

import covering  # type: ignore[import-not-found]  # noqa: E402
import mutate  # noqa: E402
import sandbox  # noqa: E402

SOURCE = '''
LIMIT: Final = 3

class Queue:
    def put(self, item: int | None, last: bool = False) -> int | None:
        """Words."""
        if self.full and not last:
            raise Full(f"{item + 1}")
        self.items.append(item)
        return None
'''


DECLARED = "def put(self, item: int | None, last: bool = False) -> int | None:"


def changes(source: str) -> set[tuple[str, str, str]]:
    return {(made.function, made.before, made.after) for made in mutate.mutants_of("m", source)}


def test_statements_conditions_operators_and_numbers_are_mutated_each_by_itself() -> None:
    condition = "if self.full and not last:"
    raised = 'raise Full(f"{item + 1}")'
    assert changes(SOURCE) == {
        ("(module)", "LIMIT: Final = 3", "LIMIT: Final = 4"),
        ("(module)", "LIMIT: Final = 3", "LIMIT: Final = 2"),
        ("Queue.put", condition, "if True:"),
        ("Queue.put", condition, "if False:"),
        ("Queue.put", condition, "if self.full or not last:"),
        ("Queue.put", condition, "if self.full and last:"),
        ("Queue.put", raised, "pass"),
        ("Queue.put", "self.items.append(item)", "pass"),
        ("Queue.put", DECLARED, DECLARED.replace("False", "True")),
    }


def test_each_mutant_differs_from_the_source_in_the_lines_that_it_names() -> None:
    lines = SOURCE.splitlines()
    for made in mutate.mutants_of("m", SOURCE):
        mutated = made.code.splitlines()
        assert mutated[: made.first - 1] == lines[: made.first - 1]
        assert mutated[len(mutated) - len(lines) + made.last :] == lines[made.last :]


def test_what_a_protocol_declares_is_left_alone() -> None:
    declared = "    def put(self, last: bool = False) -> None:\n        self.last = last\n"
    assert changes(f"class Queue(Protocol):\n{declared}") == set()
    assert changes(f"class Queue(Base[int], Protocol[T]):\n{declared}") == set()
    assert len(changes(f"class Queue(Base):\n{declared}")) == 2


def test_equal_mutants_of_a_function_are_told_apart_by_number() -> None:
    made = mutate.mutants_of("m", "def f():\n    g()\n    g()\n")
    assert [mutant.number for mutant in made if mutant.before == "g()"] == [1, 2]


def test_each_explanation_has_a_reason_and_fits_a_mutant() -> None:
    entries = json.loads((ROOT / "tests" / "mutants.json").read_text())["explained"]
    sources = {entry["module"]: (ROOT / "fpgart" / f"{entry['module']}.py").read_text() for entry in entries}
    known = {made.identity for module, source in sources.items() for made in mutate.mutants_of(module, source)}
    for entry in entries:
        assert entry["reason"]
        identity = (entry["module"], entry["function"], entry["before"], entry["after"], entry.get("number", 1))
        assert identity in known, f"there is no such mutant: {identity}"


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_all_work_is_done_so_many_at_once(tmp_path: Path, count: int, at_once: int) -> None:
    running = 0

    def work() -> Iterator[tuple[int, sandbox.Child]]:
        nonlocal running
        for number in range(count):
            running += 1
            assert running <= at_once
            yield number, sandbox.fork(partial(int.__eq__, number % 2, 0), tmp_path / f"{number}")

    found = {}
    for number, status in sandbox.each(work(), at_once):
        running -= 1
        found[number] = status
    assert found == {number: number % 2 for number in range(count)}


@pytest.mark.parametrize(
    "line", ["from fpgart.board.mmd import Traffic", "from fpgart.board import mmd as doors, timing"]
)
def test_what_an_import_runs_is_tested_by_the_files_that_import_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test_one.py").write_text(f"import os\n{line}\n")
    Path("test_other.py").write_text("from fpgart.board.mmdx import Traffic\nfrom fpgart.board import mmdx\n")
    reached = covering.Covering()
    reached.add({
        "seconds": {"test_one.py::a": 2.0, "test_one.py::b": 1.0, "test_other.py::c": 1.0, "test_third.py::d": 3.0},
        "lines": {"test_one.py::b": {"fpgart/board/mmd.py": [7]}, "test_third.py::d": {"fpgart/board/mmd.py": [8]}},
    })  # fmt: skip
    Path("test_third.py").touch()
    assert [*reached.tests_of("fpgart/board/mmd.py", 7, 7, importing=False)] == ["test_one.py::b"]
    found = reached.tests_of("fpgart/board/mmd.py", 7, 7, importing=True)
    assert [*found] == ["test_one.py::b", "test_one.py::a", "test_third.py::d"]


def test_threads_that_are_made_without_the_module_for_threads_are_traced_too() -> None:
    traced: list[str] = []
    ended = threading.Event()

    def work(words: str, *, last: str) -> None:
        ended.set()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        traced.append(frame.f_code.co_name)

    threading.settrace(trace)
    try:
        with covering.all_threads_traced():
            _thread.start_new_thread(work, ("words",), {"last": "words"})
            assert ended.wait(20)
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
    assert "work" in traced


def test_a_sample_is_as_large_as_was_asked_in_the_order_of_the_lines_and_the_same_for_the_same_seed() -> None:
    everything = mutate.mutants_of("m", SOURCE)
    assert mutate.sample(everything, len(everything) + 1, 1) == everything
    some = mutate.sample(everything, 4, 1)
    assert len(some) == 4
    assert some == [mutant for mutant in everything if mutant in some]
    assert mutate.sample(everything, 4, 1) == some
    assert any(mutate.sample(everything, 4, seed) != some for seed in range(2, 6))


@pytest.mark.parametrize(("idle", "status"), [(True, -signal.SIGALRM), (False, 0)])
def test_who_waits_too_long_is_ended_and_who_only_has_no_processor_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: bool, status: int
) -> None:
    monkeypatch.setattr(sandbox, "CLOCK_S", 0.05)
    monkeypatch.setattr(sandbox, "waited_for_processor", lambda: 0.0 if idle else time.monotonic())

    def work() -> bool:
        sandbox.limit(0)
        time.sleep(0.2)
        return True

    ((_, found),) = sandbox.each(iter([(None, sandbox.fork(work, tmp_path / "output"))]), 1)
    assert found == status


def test_the_time_without_a_processor_is_known() -> None:
    before = sandbox.waited_for_processor()
    assert 0 <= before <= sandbox.waited_for_processor()
