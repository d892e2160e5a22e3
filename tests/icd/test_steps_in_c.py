# SPDX-License-Identifier: Apache-2.0
"""Functions of the driver's C that threads call at once, each interrupted by another at each of its steps."""

from __future__ import annotations

import subprocess
from pathlib import Path

from c_hosts import ROOT
from processes import finished, output

PROGRAMS = ROOT / "tests" / "programs"


def test_threads_that_interrupt_each_other_keep_the_rule(tmp_path: Path) -> None:
    rule = "calls_and_switchers"
    (tmp_path / "Python.h").touch()  # the program has what it needs of it
    built = tmp_path / rule
    folders = [
        f"-I{folder}"
        for folder in (tmp_path, ROOT / "include", ROOT / "icd" / "entry", ROOT / "icd" / "interpreter", ROOT / "core")
    ]
    subprocess.run(
        ["gcc", "-Wall", "-Werror", "-g", *folders, PROGRAMS / f"{rule}.c", "-o", built, "-lpthread"], check=True
    )
    output(finished(built))
