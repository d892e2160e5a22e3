# SPDX-License-Identifier: Apache-2.0
"""Compile a host of this folder, run it on the board that it is about, and show its report.

python examples/synopses/run.py [NAME ...] [--trace FILE]    (without a name: all of them)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FPGART = [sys.executable, "-m", "fpgart.cli"]
SYNOPSES = {
    # name: (source, board, arguments)
    "container": ("container.c", "a10_ref", ["scale.aocx"]),
    "sycl-order": ("call_orders.c", "hetero", ["sycl"]),
    "preferred-order": ("call_orders.c", "hetero", ["preferred"]),
    "four-copies": ("four_copies.c", "a10_ref,usm_s10", []),
    "vecadd-mpax": ("vecadd_mpax.c", str(HERE / "small_66ak2x.xml"), []),
    "eight-tasks": ("eight_tasks.c", "k2h", []),
    "linked-list": ("linked_list.c", "usm_s10", []),
}


def call(*words: object, folder: Path) -> None:
    subprocess.run(list(map(str, words)), cwd=folder, check=True)


def show(name: str, folder: Path, trace: Path) -> None:
    """Raises CalledProcessError where a command fails; hosts fail with wrong results."""
    source, board, arguments = SYNOPSES[name]
    print(f"\n== {name}: {source} on {Path(board).stem}", flush=True)
    call("cc", "-O2", "-I", HERE.parent.parent / "include", HERE / source, "-o", name, "-lOpenCL", folder=folder)
    if arguments == ["scale.aocx"]:
        call(*FPGART, "aoc", HERE / "scale.cl", "-o", "scale.aocx", f"-board={board}", folder=folder)
    host = [folder / name, *arguments]
    call(*FPGART, "run", "--board", board, "--trace", trace, "--", *host, folder=folder)
    call(*FPGART, "report", trace, folder=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SYNOPSES, []], metavar="NAME")
    parser.add_argument("--trace", type=Path, help="where the trace of the last host goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = options.trace.resolve() if options.trace else Path(folder) / "trace.json"
        for name in options.names or SYNOPSES:
            try:
                show(name, Path(folder), trace)
            except subprocess.CalledProcessError as error:
                print(f"{name}: status {error.returncode}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
