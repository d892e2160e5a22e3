# SPDX-License-Identifier: Apache-2.0
"""What planning the mapped regions of a launch costs on a 66AK2x.

python benchmarks/mpax_plan.py [BUFFERS]
"""

from __future__ import annotations

import random
import sys
from statistics import median
from time import perf_counter

from fpgart.board.keystone.addresses import PhysicalAddress, power_of_two_from, round_up
from fpgart.board.keystone.mpax import Need, NoMapping, plan
from fpgart.board.keystone.partition import describe

MIB = 1 << 20
UPPER = 0x8_8000_0000


def wanted(count: int, chance: random.Random, least: int, most: int) -> list[Need]:
    """Buffers as a mapped heap places them, in the order of some kernel's arguments."""
    at, found = UPPER, []
    for _ in range(count):
        size = chance.randint(least, most) * MIB
        at = round_up(at, power_of_two_from(size))
        found.append(Need(PhysicalAddress(at), size))
        at += size
    chance.shuffle(found)
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    destinations = describe("k2h").destinations
    chance = random.Random(1)
    for words, least, most in (("that can be mapped", 17, 64), ("too large together", 100, 256)):
        times = []
        for _ in range(200):
            needs = wanted(count, chance, least, most)
            begin = perf_counter()
            try:
                plan(needs, destinations)
            except NoMapping:
                assert least > 17
            times.append(perf_counter() - begin)
        worst = sorted(times)[int(len(times) * 0.99)]
        print(f"{count} buffers {words}: median {median(times) * 1e6:.0f} us, 99 % below {worst * 1e6:.0f} us")


if __name__ == "__main__":
    main()
