# SPDX-License-Identifier: Apache-2.0
"""One small launch in many shapes of hosts, on fpgart beside its bare engine (make shapes).

The program benchmarks/shapes runs on both in turns. A figure is the best of its rounds of all turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

import measured
from turns import HERE, compiled, engine_and_fpgart, lowest_of_turns

ROUNDS_OF_A_TURN = 3


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="default: all")
    options = parser.parse_args()
    pair = engine_and_fpgart()
    chosen = [name.replace(" ", "_") for name in options.shapes]
    with tempfile.TemporaryDirectory(prefix="fpgart-shapes-") as work:
        program = compiled(sorted((HERE / "shapes").glob("*.c")), Path(work) / "shapes")
        command = [str(program), str(ROUNDS_OF_A_TURN), *chosen]
        engine, fpgart = lowest_of_turns(command, pair, Path(work), options.turns, options.board)
    unknown = set(chosen) - set(engine)
    if unknown:
        parser.error(
            f"there is no shape {', '.join(sorted(unknown))}; those that there are: benchmarks/shapes/shapes.c"
        )
    text = table(engine, fpgart)
    print(text)
    if options.page:
        words = (
            f"{measured.circumstances(pair[0].library)} Each figure "
            f"is the best of {options.turns} turns of {ROUNDS_OF_A_TURN} rounds, in microseconds a launch."
        )
        measured.write(options.page, "make shapes", words, text)
    return 0


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Returns a parser of the options of all measurements that lowest_of_turns() makes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", help="of fpgart (default: its own)")
    parser.add_argument("--turns", type=int, default=3, help="of each driver (default 3)")
    parser.add_argument("--page", type=Path, help="the page whose table gets the figures")
    return parser


def row(name: str, engine: float, fpgart: float) -> str:
    return f"| {name.replace('_', ' ')} | {engine:.2f} us | {fpgart:.2f} us | {fpgart / engine:.2f} |"


def table(engine: dict[str, float], fpgart: dict[str, float]) -> str:
    """Rows by their ratio, and the median of the ratios."""
    ratios = {name: fpgart[name] / engine[name] for name in fpgart}
    rows = [row(name, engine[name], fpgart[name]) for name in sorted(ratios, key=ratios.__getitem__)]
    head = ["| shape | engine | fpgart | ratio |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, f"| median of {len(rows)} | | | {median(ratios.values()):.2f} |"])


if __name__ == "__main__":
    sys.exit(main())
