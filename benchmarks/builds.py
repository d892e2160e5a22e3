# SPDX-License-Identifier: Apache-2.0
"""How long builds take, and how much processor time, with the compiler in the host's process and in its own, in turns.

Prints a table of docs/isolation.md: of each figure the median, and the least in parentheses. The processor time is the
user and system time of a host that builds one program and of the processes that the driver starts for it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
LATER = 9
"""Programs that a host builds after the first."""
KINDS = {
    "first": "the first build of a process, ms",
    "new": "a later one, ms",
    "known": "a source that the process has built before, ms",
    "first again": "the first build of a process, of a source that another process has built, ms",
    "alone": "processor time of a host that builds one program, ms",
    "alone again": "the same for a source that another process has built, ms",
}
PLACES = {"0": "in the host's process", "1": "in a separate process"}
PR_SET_CHILD_SUBREAPER = 36


def build(folder: Path) -> Path:
    """Returns the host, linked with the driver."""
    made = folder / "builds"
    linked = [f"-L{ROOT / 'fpgart'}", "-l:libfpgart.so", f"-Wl,-rpath,{ROOT / 'fpgart'}"]
    source = ROOT / "benchmarks" / "builds.c"
    subprocess.run(["gcc", "-O2", f"-I{ROOT / 'include'}", source, "-o", made, *linked], check=True)
    return made


def run(command: list[str], place: str, cache: Path) -> tuple[list[tuple[str, float]], float]:
    """Returns the host's measurements, and the processor time of all that it starts, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {"FPGART_COMPILE_APART": place, "POCL_CACHE_DIR": str(cache)}
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | variables)
    with suppress(ChildProcessError):
        while True:  # processes that the host has not waited for come to this one
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = (line.split() for line in result.stdout.splitlines())
    return [(kind, float(each)) for kind, each in lines], took * 1000


def measure(host: Path, number: int, place: str, found: dict[tuple[str, str], list[float]]) -> None:
    """Measures one round at one place. `number` distinguishes its sources from others."""
    with tempfile.TemporaryDirectory() as cache:
        for kind, took in run([str(host), str(number), str(LATER)], place, Path(cache))[0]:
            found[kind, place].append(took)
    with tempfile.TemporaryDirectory() as cache:
        for again in ("", " again"):
            lines, spent = run([str(host), str(number), "0"], place, Path(cache))
            found[f"alone{again}", place].append(spent)
            if again:
                found[f"first{again}", place].append(lines[0][1])


def main(rounds: int) -> None:
    """Prints the table."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        host = build(Path(folder))
        for number in range(rounds):
            for place in PLACES:
                measure(host, number, place, found)
    print(f"| median (least) of {rounds} runs | {' | '.join(PLACES.values())} |\n|---|---|---|")
    for kind, words in KINDS.items():
        cells = (f"{median(found[kind, place]):.1f} ({min(found[kind, place]):.1f})" for place in PLACES)
        print(f"| {words} | {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=7, metavar="ROUNDS", help="how often (%(default)s)")
    main(parser.parse_args().rounds)
