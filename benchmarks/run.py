# SPDX-License-Identifier: Apache-2.0
"""Speed of fpgart beside its bare engine and the other OpenCL drivers of this machine (make bench).

The same C and Python programs run on every driver in turns, so that all see the same noise; what counts is
the ratio to the bare engine, not a single time. Results are checked by the programs; times are not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import measured
from turns import FPGART, HERE, ISOLATED, compiled, drivers, measurements, progress


@dataclass(frozen=True)
class Target:
    """What fpgart has to reach: a ratio to another measurement, or microseconds."""

    limit: float
    of: str = ""
    """"engine": the bare engine's same measurement; a name: another of fpgart's own; "": microseconds."""


@dataclass(frozen=True)
class Row:
    name: str
    words: str
    unit: str = "us"
    target: Target | None = None


MOST_MORE_US = 15
"""What a hand-over to another process may cost an empty kernel."""
ROWS = [
    Row("first_platform", "a platform and its name, first of all", "ms", Target(25_000)),
    Row("exec_to_query", "exec to the first device", "ms", Target(100_000)),
    Row("first_query", "  the queries themselves", "ms"),
    Row("first_result", "first result of a C host", "ms"),
    Row("resident_mib", "resident memory at the first result", "MiB"),
    Row("round_trip", "empty kernel, enqueue and finish", "us", Target(2.5, "engine")),
    Row("enqueue", "empty kernel, enqueue alone", "us", Target(2.5)),
    Row("chain", "10,000 small kernels in a chain, each", "us", Target(6)),
    Row("bursts", "  in bursts of 20, each waited for"),
    Row("chain_events", "  with an argument set, and an event dropped"),
    Row("one_thread", "  in a thread of its own"),
    Row("eight_threads", "  in 8 threads, each", "us", Target(1, "one_thread")),
    Row("chain_traced", "  with --trace", "us", Target(10)),
    Row("chain_checked", "  with --check", "us", Target(20)),
    Row("set_arg", "clSetKernelArg, a value", "us", Target(0.06)),
    Row("set_arg_buffer", "clSetKernelArg, a buffer", "us", Target(0.1)),
    Row("device_info", "clGetDeviceInfo", "us", Target(0.04)),
    Row("retain_release", "retain and release", "us", Target(0.2)),
    Row("create_release", "create and release a buffer", "us", Target(4)),
    Row("write_4k", "blocking write of 4 KiB", "us", Target(2)),
    Row("read_4k", "blocking read of 4 KiB", "us", Target(2)),
    Row("write_1m", "blocking write of 1 MiB", "us", Target(1 / 0.9, "memcpy_1m")),
    Row("read_1m", "blocking read of 1 MiB", "us", Target(1 / 0.9, "memcpy_1m")),
    Row("memcpy_1m", "  memcpy of 1 MiB"),
    Row("write_64m", "blocking write of 64 MiB", "ms", Target(1 / 0.9, "memcpy_64m")),
    Row("read_64m", "blocking read of 64 MiB", "ms", Target(1 / 0.9, "memcpy_64m")),
    Row("memcpy_64m", "  memcpy of 64 MiB", "ms"),
    Row("map_unmap_4k", "map and unmap 4 KiB"),
    Row("memory_kernel", "64M-float multiply-add", "ms", Target(1.03, "engine")),
    Row("compute_kernel", "compute-bound kernel", "ms", Target(1.03, "engine")),
    Row("py_first_query", "pyopencl: first query", "ms"),
    Row("py_round_trip", "pyopencl: empty kernel and finish"),
    Row("py_set_args_and_run", "pyopencl: two arguments, kernel, finish"),
    Row("py_write_4k", "pyopencl: write 4 KiB"),
    Row("py_read_4k", "pyopencl: read 4 KiB"),
]
BYTES = {"4k": 4096, "1m": 1 << 20, "64m": 64 << 20}


WATCHED = {"chain_traced": {"FPGART_TRACE": "/dev/null"}, "chain_checked": {"FPGART_CHECK": "all"}}
"""By measurement, the options of a driver that watches a chain of kernels."""


def watched(program: Path, environment: dict[str, str]) -> dict[str, float]:
    """Returns the time of a kernel in a chain, in microseconds, with a trace and with all checks."""
    command = [str(program), "chain"]
    return {name: measurements(command, environment | options)["chain"] for name, options in WATCHED.items()}


def one_round(program: Path, environment: dict[str, str], python: bool) -> dict[str, float]:
    begin = perf_counter()
    found = measurements([str(program), "first"], environment)
    whole = (perf_counter() - begin) * 1e6
    found["exec_to_query"] = found["first_query"] + max(0.0, whole - found["first_result"]) / 2
    rest = measurements([str(program)], environment)
    found = {**rest, **found}
    if python:
        found |= measurements([sys.executable, str(HERE / "bench.py")], environment)
    return found


def shown(row: Row, value: float) -> str:
    return f"{value / 1000:.2f}" if row.unit == "ms" else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def judged(row: Row, medians: dict[str, dict[str, float]], engine: str) -> str:
    """Returns the target, with a mark if it was met."""
    target, own = row.target, medians[FPGART][row.name]
    if target is None:
        return ""
    if not target.of:
        met, text = own <= target.limit, f"<= {shown(row, target.limit)} {row.unit}"
    elif target.of == "engine":
        met, text = own <= target.limit * medians[engine][row.name], f"<= {target.limit:g} x engine"
    else:
        met = own <= target.limit * medians[FPGART][target.of]
        text = f">= {1 / target.limit:.1f} of {target.of.partition('_')[0]}"
    return f"{text}: {'met' if met else 'missed'}"


def spread(own: list[float], engine: list[float]) -> str:
    """Returns the smallest and the largest ratio of a round."""
    ratios = [mine / theirs for mine, theirs in zip(own, engine, strict=True) if theirs]
    return f"{min(ratios):.2g}-{max(ratios):.2g}" if ratios else ""


def table(samples: dict[str, dict[str, list[float]]], names: list[str]) -> str:
    medians = {driver: {name: median(v) for name, v in found.items()} for driver, found in samples.items()}
    engine = names[1]
    head = f"{'':<44} {'':>4}" + "".join(f"{name:>10}" for name in names) + "   ratio  of rounds  target"
    lines = [head, "-" * len(head)]
    for row in ROWS:
        if row.name not in medians[FPGART]:
            continue
        values = [medians[name].get(row.name) for name in names]
        cells = "".join(f"{shown(row, value) if value is not None else '-':>10}" for value in values)
        base = medians[engine].get(row.name)
        ratio = f"{medians[FPGART][row.name] / base:8.2f}" if base else f"{'':8}"
        size = (
            BYTES.get(row.name.rpartition("_")[2]) if row.name.startswith(("write", "read", "  mem", "memcpy")) else 0
        )
        rate = f"  {size / medians[FPGART][row.name] / 1000:.1f} GB/s" if size else ""
        of_rounds = spread(samples[FPGART][row.name], samples[engine].get(row.name, []) or []) if base else ""
        lines.append(
            f"{row.words:<44} {row.unit:>4}{cells}{ratio}  {of_rounds:<9}  {judged(row, medians, engine)}{rate}"
        )
    if ISOLATED in medians:
        more = medians[ISOLATED]["round_trip"] - medians[FPGART]["round_trip"]
        met = "met" if more <= MOST_MORE_US else "missed"
        lines.append(f"{ISOLATED}: an empty kernel takes {more:.1f} us more  <= {MOST_MORE_US} us: {met}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="turns that every driver gets (default 3)")
    parser.add_argument("--only", action="append", metavar="DRIVER", help="beside fpgart and its engine, only these")
    parser.add_argument("--no-python", action="store_true", help="leave the pyopencl program out")
    parser.add_argument("--page", type=Path, help="the page whose table gets the medians")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all medians there too")
    options = parser.parse_args()
    found = drivers()
    chosen = found[:2] + [d for d in found[2:] if not options.only or d.name in options.only]
    samples: dict[str, dict[str, list[float]]] = {driver.name: {} for driver in chosen}
    with tempfile.TemporaryDirectory(prefix="fpgart-bench-") as work:
        program = compiled([HERE / "bench.c"], Path(work) / "bench")
        for number in range(options.rounds):
            for driver in list(chosen):
                progress(f"round {number + 1} of {options.rounds}: {driver.name}")
                environment = driver.environment(Path(work), found[1].library)
                try:
                    values = one_round(program, environment, not options.no_python)
                    if driver.name == FPGART:
                        values |= watched(program, environment)
                except RuntimeError as error:
                    print(f"\n{driver.name} is left out: {error}", file=sys.stderr)
                    if driver in found[:2]:
                        return 1
                    chosen.remove(driver)
                    continue
                for name, value in values.items():
                    samples[driver.name].setdefault(name, []).append(value)
    progress("")
    medians = {d.name: {name: median(v) for name, v in samples[d.name].items()} for d in chosen}
    shown_table = table(samples, [driver.name for driver in chosen])
    words = (
        f"medians of {options.rounds} rounds; ratio: fpgart to {chosen[1].name}, its engine "
        f"({measured.engine_version(chosen[1].library)}), and the smallest and largest of a round"
    )
    print(f"{shown_table}{words}")
    if options.page:
        measured.write(options.page, "make bench", f"{measured.machine()}; {words}.", f"```\n{shown_table}```")
    if options.json:
        options.json.write_text(json.dumps(medians, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
