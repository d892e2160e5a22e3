# SPDX-License-Identifier: Apache-2.0
"""The start of a C host with this tree, with other trees and on the bare engine, in turns.

    .venv/bin/python benchmarks/starts.py --rounds 15 ../before

prints the smallest and the median milliseconds of each. Another tree is a checkout that has been built.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from turns import HERE, Driver, compiled, engine_and_fpgart, measurements, progress

SHOWN = {"first_platform": "platform", "first_query": "device", "first_result": "result", "resident_mib": "memory"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, help="other trees")
    parser.add_argument("--rounds", type=int, default=15, help="turns that each gets (default 15)")
    options = parser.parse_args()
    engine, own = engine_and_fpgart()
    others = [Driver(tree.resolve().name, tree.resolve() / "fpgart" / "libfpgart.so") for tree in options.trees]
    drivers = [engine, *others, own]
    samples: dict[str, list[dict[str, float]]] = {driver.name: [] for driver in drivers}
    with tempfile.TemporaryDirectory(prefix="fpgart-starts-") as work:
        program = compiled([HERE / "bench.c"], Path(work) / "bench")
        for number in range(options.rounds + 1):
            for driver in drivers:
                progress(f"round {number} of {options.rounds}: {driver.name}")
                found = measurements([str(program), "first"], driver.environment(Path(work), engine.library))
                if number:  # the round before the first fills caches
                    samples[driver.name].append(found)
    progress("")
    print(f"{'':<12}" + "".join(f"{words:>20}" for words in SHOWN.values()))
    for name, rounds in samples.items():
        cells = []
        for measurement in SHOWN:
            scale = 1 if measurement == "resident_mib" else 1000
            values = [each[measurement] / scale for each in rounds]
            cells.append(f"{min(values):.1f} ({median(values):.1f})")
        print(f"{name:<12}" + "".join(f"{cell:>20}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
