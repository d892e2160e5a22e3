#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the options of `fpgart run` cost: one host that writes, launches and reads, run in turns with each of them.

python benchmarks/modes.py [--rounds N] [--turns N]

Prints a table of the median time of a round, and its ratio to that without an option. Compare ratios, not times.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOST = """
import sys, time
import numpy as np, pyopencl as cl
rounds = int(sys.argv[1])
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }").build(cache_dir=False)
kernel = cl.Kernel(program, "twice")
whole = np.zeros(4096 + 16, np.int32)
data = whole[-(whole.ctypes.data // 4) % 16:][:4096]
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
def turn():
    cl.enqueue_copy(queue, buffer, data, is_blocking=False)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
    cl.enqueue_copy(queue, data, buffer)
turn()
begin = time.perf_counter()
for _ in range(rounds):
    turn()
print((time.perf_counter() - begin) / rounds)
"""
MODES = {
    "no option": [],
    "`--trace t.json`": ["--trace", "{folder}/t.json"],
    "`--trace t.json.gz`": ["--trace", "{folder}/t.json.gz"],
    "`--time model`": ["--time", "model"],
    "`--check`": ["--check"],
    "`--leaks`": ["--leaks"],
    "`--watchdog 5`": ["--watchdog", "5"],
    "`--isolate`": ["--isolate"],
}


def seconds(options: list[str], rounds: int) -> float:
    """Returns the time of one round of the host."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(folder=folder) for word in options]
        host = Path(folder) / "host.py"
        host.write_text(HOST)
        command = [sys.executable, "-m", "fpgart", "run", *words, "--", sys.executable, str(host), str(rounds)]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return float(told.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, help="rounds of a run")
    parser.add_argument("--turns", type=int, default=5, help="runs with each option")
    given = parser.parse_args()
    taken: dict[str, list[float]] = {name: [] for name in MODES}
    for _ in range(given.turns):
        for name, options in MODES.items():
            taken[name].append(seconds(options, given.rounds))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    print("| option | time of a round | ratio |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {1e6 * median:.0f} us | {median / medians['no option']:.2f} |")


if __name__ == "__main__":
    main()
