# SPDX-License-Identifier: Apache-2.0
"""Very many objects, commands and bytes, on the driver and the bare engine: do time and memory stay in proportion?

    python conformance/limits.py                  # all cases; ten minutes
    python conformance/limits.py --case chain --share 0.1

Each case (conformance/c/limits.c) runs with an eighth of its number and with all of it. The exit status is 1 if one
fails on the driver, takes more than twice as long for each as with an eighth, or keeps memory between the rounds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from compilation import compiled  # noqa: E402
from conftest import find_driver, seen_alone  # noqa: E402

CASES = {
    "unwaited": (1_000_000, "commands that nobody waits for"),
    "held": (100_000, "commands behind a user event"),
    "chain": (100_000, "events in a chain, which one user event ends"),
    "wait_list": (100_000, "events in one wait list"),
    "kernels": (10_000, "kernels"),
    "programs": (10_000, "programs"),
    "queues": (10_000, "queues"),
    "contexts": (10_000, "contexts"),
    "buffers": (100_000, "buffers"),
    "source": (1 << 20, "bytes of a source"),
    "log": (10 << 20, "bytes of a build log"),
}
PARTS = 8
PATIENCE = 300
LEAST_SECONDS = 0.3
"""Of the whole: below, times say nothing."""
KEPT_KIB = 4096
"""That may be kept from one round to the next: what allocators divide."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of a processor of the two rounds; resident KiB before, with all, and after each of them."""

    first: float
    second: float
    before: int
    most: int
    after: int
    again: int

    @property
    def seconds(self) -> float:
        return min(self.first, self.second)


def measure(program: Path, environment: dict[str, str], case: str, count: int) -> Measured | str:
    """What the program says, or why it says nothing."""
    command = [str(program), case, str(count)]
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"takes more than {PATIENCE} s"
    if result.returncode:
        said = result.stderr.splitlines()[-1:] or [""]
        return f"status {result.returncode} {said[0]}".strip()
    first, second, *memory = result.stdout.split()[-6:]
    return Measured(float(first), float(second), *map(int, memory))


def in_words(whole: Measured | str, part: Measured | str, count: int) -> tuple[bool, str]:
    """Whether time and memory are in proportion, and the cell of the table."""
    if isinstance(whole, str) or isinstance(part, str):
        return False, f"**{whole if isinstance(whole, str) else part}**"
    growth = whole.seconds / (PARTS * max(part.seconds, 1e-3))
    each = 1024 * (whole.most - whole.before) / count
    kept = whole.again - whole.after
    linear = whole.seconds < LEAST_SECONDS or growth < 2
    words = f"{whole.seconds:.2f} s ({growth:.1f}), {each:.0f} bytes each, {kept} KiB kept"
    return linear and kept < KEPT_KIB, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this one; may be repeated")
    parser.add_argument("--share", type=float, default=1.0, metavar="X", help="of the numbers, from 0 to 1")
    parser.add_argument("--driver", action="append", help="fpgart, pocl, or a library; the default: both")
    asked = parser.parse_args()
    program = compiled([FOLDER / "c" / "limits.c"])
    drivers = {name: find_driver(name) for name in asked.driver or ("fpgart", "pocl")}
    right = True
    print("| number | of |", " | ".join(drivers), "|")
    print("|---" * (2 + len(drivers)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for case in asked.case or CASES:
            full, words = CASES[case]
            count = max(PARTS, int(full * asked.share))
            cells = []
            for name, library in drivers.items():
                if library is None:
                    parser.error(f"--driver {name}: there is no such driver here")
                vendors = Path(folder) / name
                vendors.mkdir(exist_ok=True)
                environment = seen_alone(library, vendors)
                part, whole = (measure(program, environment, case, number) for number in (count // PARTS, count))
                good, cell = in_words(whole, part, count)
                right &= good or name != "fpgart"
                cells.append(cell)
            print(f"| {count} | {words} | {' | '.join(cells)} |", flush=True)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
