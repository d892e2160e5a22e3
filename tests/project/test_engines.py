"""`make engines`: what it counts, what it repeats, and what it says of an engine that cannot be had."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from c_hosts import ROOT

FOLDER = ROOT / "scripts" / "engines"
sys.path.insert(0, str(FOLDER))

import obtaining  # noqa: E402
import suites  # noqa: E402

CASES = {
    "<testcase/>": "passed",
    "<testcase><skipped/></testcase>": "skipped",
    '<testcase><failure message="assert 1 == 2"/></testcase>': "failed",
    '<testcase><error message="fixture"/></testcase>': "failed",
    "<testcase><failure message=\"worker 'gw0' crashed while running it\"/></testcase>": "crashed",
    '<testcase><failure message="the host ended with signal 11"/></testcase>': "crashed",
    '<testcase><failure message="x">subprocess.TimeoutExpired</failure></testcase>': "hung",
    '<testcase><failure message="Failed: Timeout (&gt;120.0s) from pytest-timeout."/></testcase>': "hung",
}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The command, with its results and its page in a folder of the test."""
    spec = importlib.util.spec_from_file_location("engines_command", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "PUBLISHED", tmp_path / "page.json")
    return module


@pytest.fixture
def measured(command: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways in which a suite was run; it passes on an engine that is there, and another cannot be had."""
    ways: list[str] = []

    def run(_suite: object, _engine: object, way: str, _patience_s: float) -> tuple[suites.Outcome, float]:
        ways.append(way)
        return suites.Outcome(passed=3), 1.0

    def nowhere() -> obtaining.Obtained:
        raise obtaining.Missing("as root: apt install it")

    engines: dict[str, Callable[[], obtaining.Obtained]] = {
        "here": lambda: obtaining.Obtained(Path("/lib/here.so")),
        "nowhere": nowhere,
    }
    monkeypatch.setattr(command, "RELEASES", engines)
    monkeypatch.setattr(command, "measured", run)
    return ways


@pytest.mark.parametrize(("case", "kind"), CASES.items(), ids=list(CASES.values()))
def test_a_case_of_a_report_counts_as_what_it_is(case: str, kind: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    assert suites.counted(report) == suites.Outcome(**{kind: 1})


def test_what_has_a_result_is_not_run_again(command: ModuleType, measured: list[str]) -> None:
    for _ in range(2):
        command.run_all(["here"], ["silx"], 1)
    assert measured == ["bare", "fpgart"]


def test_an_engine_that_cannot_be_had_is_left_out_with_one_line(
    command: ModuleType, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command.run_all(["nowhere", "here"], ["silx", "hosts"], 1)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "nowhere" in line] == ["nowhere: left out: as root: apt install it"]
    assert measured == ["bare", "fpgart", "fpgart"]


def test_the_page_keeps_its_words_and_says_what_was_not_run(command: ModuleType, measured: list[str]) -> None:
    command.PAGE.write_text(f"Before.\n{command.BEGIN}\nof an earlier run\n{command.END}\nAfter.\n")
    command.run_all(["here"], ["silx"], 1)
    for _ in range(2):
        command.write_page()
    text = command.PAGE.read_text()
    assert (text.startswith("Before.\n"), text.endswith("\nAfter.\n"), "of an earlier run" in text) == (
        True,
        True,
        False,
    )
    assert text.count("| silx | bare | 3 passed | not run |") == 1


def test_a_part_that_is_run_elsewhere_keeps_the_other_results(
    command: ModuleType, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for machine, suite in (("one", "silx"), ("two", "hosts")):
        monkeypatch.setattr(command, "RESULTS", command.PAGE.parent / machine)
        command.PAGE.write_text(f"{command.BEGIN}\n{command.END}\n")
        command.run_all(["here"], [suite], 1)
        command.write_page()
    for row in ("silx | bare", "silx | fpgart", "hosts | fpgart"):
        assert f"| {row} | 3 passed | not run |" in command.PAGE.read_text()


def test_a_process_whose_time_is_up_counts_as_hung(tmp_path: Path) -> None:
    place = suites.Place(obtaining.Obtained(Path("/lib/here.so")), suites.BARE, tmp_path, 0.1)
    assert place.run(sys.executable, "-c", "import signal; signal.pause()") == (None, "")


def test_tests_that_do_not_exist_are_no_result(tmp_path: Path) -> None:
    place = suites.Place(obtaining.Obtained(Path("/lib/here.so")), suites.FPGART, tmp_path, 600)
    with pytest.raises(obtaining.Missing, match=r"nowhere/test_nothing\.py"):
        place.pytest("nowhere/test_nothing.py")


def test_the_tests_that_run_kernels_exist() -> None:
    assert [file for file in suites.TESTS_WITH_KERNELS if not (ROOT / file).is_file()] == []


def test_a_folder_that_was_left_half_filled_is_filled_again(tmp_path: Path) -> None:
    folder = tmp_path / "engine"

    def interrupted(into: Path) -> None:
        (into / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obtaining.completed(folder, interrupted)
    obtaining.completed(folder, lambda into: (into / "whole").touch())
    assert sorted(path.name for path in folder.iterdir()) == [".complete", "whole"]
