"""Generated files are up to date: fpgart/base/opencl.py, docs/options.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize("script", ["generate_constants.py", "generate_locks.py", "generate_options.py"])
def test_what_the_script_makes_is_up_to_date(script: str) -> None:
    result = subprocess.run([sys.executable, str(SCRIPTS / script), "--check"], check=False)
    assert result.returncode == 0, f"run scripts/{script}"
