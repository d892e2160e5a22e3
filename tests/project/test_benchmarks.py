"""The output of `make shapes`, `make random-shapes` and `make programs` (benchmarks/)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "scripts")]

import measured  # noqa: E402
import programs  # noqa: E402
import random_shapes  # noqa: E402
import shapes  # noqa: E402
import turns  # noqa: E402
from turns import Driver, compiled, engine_and_fpgart, measurements  # noqa: E402


def test_shapes_are_in_the_order_of_their_ratios_with_the_median_last() -> None:
    engine, fpgart = {"a_b": 1.0, "c": 2.0, "d": 4.0}, {"a_b": 3.0, "c": 2.0, "d": 8.0}
    assert shapes.table(engine, fpgart).splitlines()[2:] == [
        "| c | 2.00 us | 2.00 us | 1.00 |",
        "| d | 4.00 us | 8.00 us | 2.00 |",
        "| a b | 1.00 us | 3.00 us | 3.00 |",
        "| median of 3 | | | 2.00 |",
    ]


def test_the_best_of_all_turns_counts_for_each_shape_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns_of_both = iter([{"a": 1.0, "b": 5.0}, {"a": 7.0, "b": 7.0}, {"a": 2.0, "b": 4.0}, {"a": 6.0, "b": 8.0}])
    monkeypatch.setattr(turns, "measurements", lambda command, environment: next(turns_of_both))
    pair = Driver("engine", Path("engine.so")), Driver("fpgart", tmp_path / "libfpgart.so")
    monkeypatch.setattr(Driver, "environment", lambda *_: {})
    found = turns.lowest_of_turns(["shapes"], pair, tmp_path, 2, None)
    assert found == [{"a": 1.0, "b": 4.0}, {"a": 6.0, "b": 7.0}]


def test_the_table_of_random_hosts_has_the_highest_ratios_and_how_many_are_above_limits() -> None:
    engine, fpgart = {"1:_a": 1.0, "2:_b": 2.0, "3:_c": 4.0}, {"1:_a": 3.5, "2:_b": 2.0, "3:_c": 7.0}
    assert random_shapes.table(engine, fpgart, 2).splitlines()[2:] == [
        "| 1: a | 1.00 us | 3.50 us | 3.50 |",
        "| 3: c | 4.00 us | 7.00 us | 1.75 |",
        "| median of 3; 2 above 1.5, 1 above 2, 1 above 3, 0 above 5 | | | 1.75 |",
    ]


def test_random_hosts_are_the_same_on_both_drivers(tmp_path: Path) -> None:
    engine, fpgart = engine_and_fpgart()
    program = compiled([BENCHMARKS / "random_shapes.c", BENCHMARKS / "shapes" / "host.c"], tmp_path / "random_shapes")
    command = [str(program), "1", "6"]
    hosts = [measurements(command, each.environment(tmp_path, engine.library)).keys() for each in (engine, fpgart)]
    assert hosts[0] == hosts[1]
    assert [name.partition(":")[0] for name in hosts[0]] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("number", [0, 1], ids=["engine", "fpgart"])
def test_shapes_have_right_results(tmp_path: Path, number: int) -> None:
    pair = engine_and_fpgart()
    program = compiled(sorted((BENCHMARKS / "shapes").glob("*.c")), tmp_path / "shapes")
    names = ["copy,_launch", "a_kernel_each", "out_of_order,_each_waits_for_the_one_before"]
    found = measurements([str(program), "1", *names], pair[number].environment(tmp_path, pair[0].library))
    assert found.keys() == set(names)


def python(code: str, **more: object) -> programs.Program:
    return programs.Program("program", ("python", "-c", code), **more)  # type: ignore[arg-type]


def figure(program: programs.Program) -> float:
    return programs.figure(program, sys.executable, dict(os.environ))


def test_the_figure_of_a_program_is_the_number_in_its_output() -> None:
    assert figure(python("print('x 1'); print('step 2.5')", figure=r"^step ([\d.]+)")) == 2.5


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit('no device')", "status 1: no device"),
        ("raise SystemExit(3)", "status 3: without a word"),
        ("print('nothing')", "its output has nothing like step"),
    ],
)
def test_a_program_that_fails_has_no_figure_but_a_reason(code: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        figure(python(code, figure="step (.)"))


@pytest.mark.parametrize(("is_rate", "ratio"), [(False, "2.00 (0.50 to 3.00)"), (True, "0.50 (0.33 to 2.00)")])
def test_a_ratio_is_of_times_within_a_turn_also_where_the_figure_is_a_rate(is_rate: bool, ratio: str) -> None:
    row = programs.row(python("", unit="us", is_rate=is_rate), [1.0, 4.0, 1.0], [2.0, 2.0, 3.0])
    assert row == f"| program | 1 us | 2 us | {ratio} |"


def test_what_is_not_installed_is_named() -> None:
    assert programs.lacking(programs.Program("x", ("no-such-command",)), sys.executable) == "no-such-command"
    lacking = programs.lacking(python("", modules=("no_such_module",)), sys.executable)
    assert lacking == "the Python module no_such_module"
    assert programs.lacking(python("", modules=("json",)), sys.executable) is None


def test_each_command_has_its_own_place_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    places = "".join(f"<!-- table of: make {name} -->\nold\n<!-- end -->\n" for name in ("bench", "shapes"))
    page.write_text(places)
    measured.write(page, "make shapes", "two cores.", "| a |\n|---|\n")
    made = f"\nMade by `make shapes` on {measured.today()}: two cores.\n\n| a |\n|---|\n\n"
    head, _, tail = places.rpartition("old\n")
    assert page.read_text() == head + made + tail


def test_the_page_of_benchmarks_has_a_place_for_each_command() -> None:
    for command in ("make bench", "make shapes", "make random-shapes", "make programs"):
        measured.between(ROOT / "docs" / "benchmarks.md", command)
