# SPDX-License-Identifier: Apache-2.0
"""What is imported before a host needs it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parents[2] / "fpgart" / "bridge" / "chapters.py"  # only the driver can import it


def test_the_modules_of_a_launch_exist() -> None:
    (names,) = (
        ast.literal_eval(line.value)
        for line in ast.parse(CHAPTERS.read_text()).body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "MODULES_OF_LAUNCH"
    )
    assert names
    assert [name for name in names if find_spec(name) is None] == []
