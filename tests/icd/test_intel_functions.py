# SPDX-License-Identifier: Apache-2.0
"""libalteracl.a, with which hosts for Intel's boards are linked, on a loader that the test makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

from c_hosts import INCLUDES, ROOT
from processes import finished


def test_functions_of_intels_runtime_are_those_of_the_first_platform_that_has_them(tmp_path: Path) -> None:
    """Without one they return CL_INVALID_OPERATION, NULL or nothing."""
    program, library = tmp_path / "intel_functions", tmp_path / "alteracl.o"
    subprocess.run(
        ["gcc", "-O1", *INCLUDES, "-Dfree=noted_free", "-c", ROOT / "icd/host/alteracl.c", "-o", library], check=True
    )
    source = ROOT / "tests" / "programs" / "intel_functions.c"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", *INCLUDES, source, library, "-o", program], check=True)
    done = finished(program)
    assert (done.returncode, done.stdout) == (0, "")
