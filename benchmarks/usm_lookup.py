# SPDX-License-Identifier: Apache-2.0
"""What finding the allocation of an interior pointer costs with many live allocations.

python benchmarks/usm_lookup.py [ALLOCATIONS]
"""

from __future__ import annotations

import random
import sys
from time import perf_counter
from typing import Any

from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.usm import Kind, UsmAllocation

STEP, SIZE = 4096, 3000
ROUNDS = 200_000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    chance = random.Random(1)
    registry = AddressRegistry[UsmAllocation]()
    nobody: Any = None
    for index in range(count):
        registry.add(UsmAllocation(Kind.HOST, None, SIZE, 0, 0, index * STEP, nobody))
    pointers = [chance.randrange(count) * STEP + chance.randrange(SIZE) for _ in range(ROUNDS)]
    begin = perf_counter()
    for pointer in pointers:
        registry.find(pointer)
    print(f"find with {count} allocations: {(perf_counter() - begin) / ROUNDS * 1e6:.2f} us")
    begin = perf_counter()
    for pointer in pointers[:2000]:
        allocation = registry.find(pointer)
        if allocation is not None:
            registry.remove(allocation.pointer)
            registry.add(allocation)
    print(f"remove and add: {(perf_counter() - begin) / 2000 * 1e6:.1f} us")


if __name__ == "__main__":
    main()
