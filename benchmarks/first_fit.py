# SPDX-License-Identifier: Apache-2.0
"""What claiming and freeing a block of a board's memory costs with many live blocks.

python benchmarks/first_fit.py [BLOCKS]
"""

from __future__ import annotations

import random
import sys
from statistics import median
from time import perf_counter

from fpgart.board.first_fit import FirstFit

GIB = 1 << 30
ROUNDS = 20_000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    chance = random.Random(1)
    heap = FirstFit(1024, 64 * GIB)
    live: list[tuple[int, int]] = []
    while len(live) < count:
        size = chance.randrange(1, 64 * 1024)
        address = heap.allocate(size)
        assert address is not None
        live.append((address, size))
    allocating, freeing = [], []
    for _ in range(ROUNDS):
        index = chance.randrange(count)
        begin = perf_counter()
        heap.free(*live[index])
        freed = perf_counter()
        size = chance.randrange(1, 64 * 1024)
        address = heap.allocate(size)
        allocating.append(perf_counter() - freed)
        freeing.append(freed - begin)
        assert address is not None
        live[index] = address, size
    for name, times in (("allocate", allocating), ("free", freeing)):
        worst = sorted(times)[int(len(times) * 0.99)]
        print(f"{name} with {count} live blocks: median {median(times) * 1e6:.1f} us, 99 % below {worst * 1e6:.1f} us")


if __name__ == "__main__":
    main()
