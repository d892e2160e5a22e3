"""fpgart/opencl.py is made from include/CL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "generate_constants.py"


def test_constants_are_those_of_the_headers() -> None:
    result = subprocess.run([sys.executable, str(SCRIPT), "--check"], check=False)
    assert result.returncode == 0, "run scripts/generate_constants.py"
