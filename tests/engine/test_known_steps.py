"""The results of a compiler process's steps are kept for later hosts if they depend on step and engine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fpgart.engine.build_step import BUILD, COMPILE, LINK, BuildStep, ProgramInput, StepDone
from fpgart.engine.compiling.known_steps import KnownSteps, stands_alone

ENGINE = ("libengine.so", "1.0", "a processor")
DONE = StepDone("a warning", b"an object")


def step_of(source: str = "kernel void k(void) {}", options: str = "", *headers: str) -> BuildStep:
    texts = tuple((f"{number}.h", ProgramInput(text.encode())) for number, text in enumerate(headers))
    return BuildStep(COMPILE, (ProgramInput(source.encode()),), options, texts)


def test_a_step_that_was_kept_is_known_with_its_log(tmp_path: Path) -> None:
    KnownSteps(str(tmp_path), ENGINE).keep(step_of(), DONE)
    assert KnownSteps(str(tmp_path), ENGINE).find(step_of()) == DONE


OTHERS = {
    "source": step_of("kernel void other(void) {}"),
    "options": step_of(options="-DX"),
    "headers": step_of("kernel void k(void) {}", "", "int a;"),
    "device": step_of()._replace(on_caller=True),
    "call": step_of()._replace(call=BUILD),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_step_that_differs_is_not_known(tmp_path: Path, other: str) -> None:
    known = KnownSteps(str(tmp_path), ENGINE)
    known.keep(step_of(), DONE)
    assert known.find(OTHERS[other]) is None


def test_another_engine_does_not_know_a_step(tmp_path: Path) -> None:
    KnownSteps(str(tmp_path), ENGINE).keep(step_of(), DONE)
    assert KnownSteps(str(tmp_path), ("libengine.so", "1.1", "a processor")).find(step_of()) is None


def test_an_engine_with_other_variables_does_not_know_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownSteps(str(tmp_path), ENGINE)
    known.keep(step_of(), DONE)
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-DX")
    assert known.find(step_of()) is None


def test_linking_the_object_of_a_build_is_known(tmp_path: Path) -> None:
    known = KnownSteps(str(tmp_path), ENGINE)
    known.keep(step_of()._replace(call=BUILD), DONE)
    assert known.find(BuildStep(LINK, (ProgramInput(binary=DONE.binary),), "")) == StepDone("", b"")


def test_a_damaged_file_is_not_known(tmp_path: Path) -> None:
    known = KnownSteps(str(tmp_path), ENGINE)
    known.keep(step_of(), DONE)
    for file in (tmp_path / "fpgart").iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert known.find(step_of()) is None


@pytest.mark.parametrize("folder", ["", "/proc"])
def test_without_a_folder_nothing_is_known(folder: str) -> None:
    known = KnownSteps(folder, ENGINE)
    known.keep(step_of(), DONE)
    assert known.find(step_of()) is None


@pytest.mark.parametrize(
    "step",
    [
        step_of('#include "other.h"'),
        step_of('#inc\\\nlude "other.h"'),
        step_of('#inc??/\nlude "other.h"'),
        step_of('#import "other.h"'),
        step_of('# /* from */ include "other.h"'),
        step_of('%:include "other.h"'),
        step_of("constant char when[] = __TIME__;"),
        step_of(options="-DWHEN=__DATE__"),
        step_of(options="-include other.h"),
        step_of("kernel void k(void) {}", "", '#include "other.h"'),
    ],
)
def test_a_step_that_depends_on_more_than_itself_is_not_kept(step: BuildStep) -> None:
    assert not stands_alone(step)


@pytest.mark.parametrize(
    "step",
    [
        step_of("/* including, without limitation, important things */ kernel void k(void) {}"),
        step_of("#define N 1\nkernel void k(void) {}", "-I folder -DX"),
    ],
)
def test_a_step_that_includes_nothing_is_kept(step: BuildStep) -> None:
    assert stands_alone(step)
