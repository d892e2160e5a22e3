# SPDX-License-Identifier: Apache-2.0
"""What the families of FPGART_CHECK cost, each alone and all together, beside a run without them.

python benchmarks/checks.py [ROUNDS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from fpgart.base.config import HOST_CHECKS
from fpgart.cli import running

ROOT = Path(__file__).resolve().parent.parent
ROWS = {
    "round_trip": "kernel on a buffer of 1 MiB, and finish",
    "chain": "3,000 kernels in a chain, each",
    "usm_round_trip": "kernel on a device allocation, and finish",
    "write_4k": "blocking write of 4 KiB",
    "write_1m": "non-blocking write of 1 MiB, and finish",
    "place": "create, write and release 4 KiB",
}


def measure(program: Path, checks: str) -> dict[str, float]:
    """Microseconds by row."""
    environment = running.environment({"FPGART_CHECK": checks} if checks else {})
    result = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True)
    lines = (line.split() for line in result.stdout.splitlines())
    return {name: float(number) for name, number in lines}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    columns = ["", *HOST_CHECKS, "all"]
    with tempfile.TemporaryDirectory(prefix="fpgart-checks-") as folder:
        program = Path(folder, "checks")
        compiler = os.environ.get("CC", "cc")
        source = ROOT / "benchmarks" / "checks.c"
        include = ["-I", str(ROOT / "include")]
        subprocess.run([compiler, "-O2", *include, str(source), "-o", str(program), "-lOpenCL"], check=True)
        runs = [{column: measure(program, column) for column in columns} for _ in range(rounds)]
    print(f"{'microseconds':<44}" + "".join(f"{column or 'off':>9}" for column in columns))
    for name, words in ROWS.items():
        numbers = [median(run[column][name] for run in runs) for column in columns]
        print(f"{words:<44}" + "".join(f"{number:>9.1f}" for number in numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
