# SPDX-License-Identifier: Apache-2.0
"""`make demo`: compile host.c against the system's OpenCL loader, then run it and host.py on a board."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(title: str, *command: str) -> int:
    """Run a host that knows nothing of fpgart; its summary of what moved goes to stderr."""
    print(f"\n== {title}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "fpgart.cli", "run", "--summary", "--", *command], check=False
    ).returncode


def main() -> int:
    """Exit status 0 when both hosts got right results."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("no C compiler (Debian, Ubuntu: apt install gcc)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        host = str(Path(folder) / "host")
        include = str(HERE.parent / "include")
        subprocess.run(
            [compiler, "-O2", "-I", include, str(HERE / "host.c"), "-o", host, "-lOpenCL", "-lm"], check=True
        )
        failed = run("a C host, through the OpenCL loader", host)
    failed |= run("a pyopencl host", sys.executable, str(HERE / "host.py"))
    return failed


if __name__ == "__main__":
    sys.exit(main())
