# SPDX-License-Identifier: Apache-2.0
"""How long builds take with the compiler in a process of its own and in the host's, in turns: builds.py [ROUNDS]

Prints a table of docs/isolation.md: medians in milliseconds, and the shortest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
KINDS = {
    "first": "the first build of a process",
    "new": "a source that no cache knows",
    "known": "a source that was built before",
}
PLACES = {"0": "in the host's process", "1": "in a process of its own"}


def build(folder: Path) -> Path:
    """The host, linked with the driver."""
    made = folder / "builds"
    linked = [f"-L{ROOT / 'fpgart'}", "-l:libfpgart.so", f"-Wl,-rpath,{ROOT / 'fpgart'}"]
    source = ROOT / "benchmarks" / "builds.c"
    subprocess.run(["gcc", "-O2", f"-I{ROOT / 'include'}", source, "-o", made, *linked], check=True)
    return made


def main(rounds: int) -> None:
    """Print the table."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        host = build(Path(folder))
        for _ in range(rounds):
            for place in PLACES:
                environment = os.environ | {"FPGART_COMPILE_APART": place}
                lines = subprocess.run([host], check=True, capture_output=True, text=True, env=environment).stdout
                for line in lines.splitlines():
                    kind, took = line.split()
                    found[kind, place].append(float(took))
    print(f"| median (least) of {rounds} runs, ms | {' | '.join(PLACES.values())} |\n|---|---|---|")
    for kind, words in KINDS.items():
        cells = (f"{median(found[kind, place]):.1f} ({min(found[kind, place]):.1f})" for place in PLACES)
        print(f"| {words} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
