# SPDX-License-Identifier: Apache-2.0
"""Random hosts on fpgart beside its bare engine (make random-shapes).

benchmarks/random_shapes.c draws each host from its seed. Both drivers run the same hosts in turns; a figure is the best
of all turns. The table has the median of the ratios, and the hosts whose ratios are highest.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

import measured
from shapes import parser_of, row
from turns import HERE, compiled, engine_and_fpgart, lowest_of_turns

LIMITS = (1.5, 2, 3, 5)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first host (default 1); others follow")
    parser.add_argument("--hosts", type=int, default=300, help="default 300")
    parser.add_argument("--rows", type=int, default=12, help="of the table (default 12)")
    options = parser.parse_args()
    pair = engine_and_fpgart()
    with tempfile.TemporaryDirectory(prefix="fpgart-shapes-") as work:
        sources = [HERE / "random_shapes.c", HERE / "shapes" / "host.c"]
        command = [str(compiled(sources, Path(work) / "random_shapes")), str(options.seed), str(options.hosts)]
        engine, fpgart = lowest_of_turns(command, pair, Path(work), options.turns, options.board)
    text = table(engine, fpgart, options.rows)
    print(text)
    if options.page:
        words = (
            f"{measured.circumstances(pair[0].library)} {options.hosts} hosts "
            f"from seed {options.seed} on; figures: the best of {options.turns} turns, microseconds an iteration."
        )
        measured.write(options.page, "make random-shapes", words, text)
    return 0


def table(engine: dict[str, float], fpgart: dict[str, float], most: int) -> str:
    """The `most` rows with the highest ratios, and what is known of all ratios."""
    ratios = {name: fpgart[name] / engine[name] for name in fpgart}
    above = ", ".join(f"{sum(ratio > limit for ratio in ratios.values())} above {limit}" for limit in LIMITS)
    highest = sorted(ratios, key=ratios.__getitem__, reverse=True)[:most]
    rows = [row(name, engine[name], fpgart[name]) for name in highest]
    head = ["| host: its seed, queues, end of an iteration, steps | engine | fpgart | ratio |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, f"| median of {len(ratios)}; {above} | | | {median(ratios.values()):.2f} |"])


if __name__ == "__main__":
    sys.exit(main())
