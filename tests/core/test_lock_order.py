# SPDX-License-Identifier: Apache-2.0
"""The check of the order in which C takes locks (tests/lock_order.py), and hosts under it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import lock_order
import pytest
from c_hosts import ROOT, plain_environment, shared_library
from compilation import compiled

SOURCE = "tests/programs/lock_inversions.c"
RANKS = {f"{SOURCE}:upper": 0, f"{SOURCE}:lock": 1, f"{SOURCE}:lower": 2}
PYTHON = "int PyGILState_Ensure(void) { return 0; }"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that takes locks; beside it the library that checks it, and one with a function of Python's."""
    folder = tmp_path_factory.mktemp("locks")
    python, made = shared_library(PYTHON, folder / "libpython.so"), folder / "lock_inversions"
    subprocess.run(["gcc", "-O0", "-Wall", "-Werror", ROOT / SOURCE, python, "-o", made], check=True)
    lock_order.build(folder, [made], RANKS)
    return made


def reports(program: Path, words: str, found: Path) -> list[str]:
    """Returns the reports on the program that takes these locks."""
    preloaded = {"LD_PRELOAD": str(program.parent / "lock_order.so"), "LOCK_ORDER_FOUND": str(found)}
    subprocess.run([program, *words.split()], env=os.environ | preloaded, check=True)
    return [line.replace(f"{SOURCE}:", "") for line in lock_order.reports(found, [program])]


@pytest.mark.parametrize(
    "words",
    ["upper box lower", "lower -lower upper", "upper lower -upper -lower upper", "upper wait", "box -box sleep python"],
)
def test_locks_in_the_order_of_the_table_are_not_reported(program: Path, words: str, tmp_path: Path) -> None:
    assert reports(program, words, tmp_path / "found") == []


@pytest.mark.parametrize(
    ("words", "report"),
    [
        ("lower upper", "upper is taken at step() while lower is held, taken at step()"),
        ("lower box", "lock is taken at step() while lower is held, taken at step()"),
        ("box upper", "upper is taken at step() while lock is held, taken at step()"),
        ("lower lower", "lower is taken at step() while lower is held, taken at step()"),
        ("unlisted", "a lock without a row is taken at step()"),
        ("upper lower wait", "a thread waits for a condition at step() while lower is held, taken at step()"),
        ("upper sleep", "a thread sleeps at step() while upper is held, taken at step()"),
        ("box python", "a thread waits for the interpreter at step() while lock is held, taken at step()"),
    ],
)
def test_what_is_against_the_order_is_reported(program: Path, words: str, report: str, tmp_path: Path) -> None:
    assert reports(program, words, tmp_path / "found") == [report.replace("()", "() in lock_inversions")]


def run(host: str, vendors: Path, options: dict[str, str], ranks: dict[str, int] = lock_order.IN_C) -> int:
    """Returns the status of the check of a host in conformance/c."""
    (vendors / "only.icd").write_text(f"{ROOT}/fpgart/libfpgart.so\n")
    name, *words = host.split()
    environment = plain_environment() | {"OCL_ICD_VENDORS": str(vendors)} | options
    return lock_order.main([compiled([ROOT / f"conformance/c/{name}.c"]), *words], environment, ranks)


@pytest.mark.parametrize(
    ("host", "options"),
    [
        ("waited", {}),
        ("shared_queue callback", {}),
        ("released_in_flight", {"FPGART_BOARD": "hetero"}),
        ("made_again", {"FPGART_ISOLATE": "1"}),
        ("made_again", {"FPGART_CHECK": "all"}),
    ],
)
def test_a_host_takes_locks_in_the_order_of_the_table(
    host: str, options: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(host, tmp_path, options) == 0, capfd.readouterr().err


def test_a_host_fails_where_its_locks_have_another_order(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reverse = {lock: 100 - rank for lock, rank in lock_order.IN_C.items()}
    assert run("made_again", tmp_path, {}, reverse) == 1
    said = capfd.readouterr().err
    assert re.search(r"arguments.h:lock is taken at fpgart_\w+\(\) in \S+ while icd/entry/kernels.c:lock is held", said)


def test_the_status_is_that_of_the_command() -> None:
    assert lock_order.main(["sh", "-c", "exit 3"]) == 3


def test_every_lock_in_c_is_found_in_the_driver() -> None:
    found = {row.split('"')[3] for row in lock_order.rows(lock_order.DRIVER, lock_order.IN_C)}
    absent = {"icd/interpreter/switcher.c:mutex"} if sys.version_info >= (3, 13) else set()
    assert found - lock_order.OF_CFFI == set(lock_order.IN_C) - absent
