# SPDX-License-Identifier: Apache-2.0
"""Functions of the driver's C that threads call at once, each interrupted by another at each of its steps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_hosts import ROOT
from processes import finished, output

PROGRAMS = ROOT / "tests" / "programs"
HEADERS = ("include", "icd/entry", "icd/interpreter", "core", "fpgart/base", "fpgart/board", "fpgart/engine")


@pytest.mark.parametrize("rule", ["calls_and_switchers", "ends_and_readings"])
def test_threads_that_interrupt_each_other_keep_the_rule(rule: str, tmp_path: Path) -> None:
    (tmp_path / "Python.h").touch()  # the program has what it needs of it
    built = tmp_path / rule
    folders = [f"-I{folder}" for folder in (tmp_path, *(ROOT / folder for folder in HEADERS))]
    subprocess.run(
        ["gcc", "-Wall", "-Werror", "-g", *folders, PROGRAMS / f"{rule}.c", "-o", built, "-lpthread"], check=True
    )
    output(finished(built))
