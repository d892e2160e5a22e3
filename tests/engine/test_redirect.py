# SPDX-License-Identifier: Apache-2.0
"""The replacement of functions that the engine's libraries call (engine/containment/redirect.c)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from c_hosts import ROOT

CONTAINMENT = ROOT / "fpgart" / "engine" / "containment"
SOURCE = ROOT / "tests" / "programs" / "still_loading.c"
WARNINGS = ("-Wall", "-Werror")


def test_a_library_that_another_thread_still_loads_is_left_alone(tmp_path: Path) -> None:
    """The linker writes its tables, which must not be write-protected meanwhile."""
    program, library = tmp_path / "program", tmp_path / "library.so"
    parts = [CONTAINMENT / f"{name}.c" for name in ("redirect", "environment", "exits", "diagnostics")]
    subprocess.run(["gcc", *WARNINGS, "-rdynamic", f"-I{CONTAINMENT}", SOURCE, *parts, "-o", program], check=True)
    options = ["-DLIBRARY", "-shared", "-fPIC", "-fno-plt", "-Wl,-z,relro,-z,now"]
    subprocess.run(["gcc", *WARNINGS, *options, SOURCE, "-o", library], check=True)
    subprocess.run([program, library], check=True)
