# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of fpgart, on it and on its bare engine in turns (make programs).

Nothing is fetched: a program that is not installed is named and left out. A figure is the median of the turns, and a
ratio is that of times, so that less is better.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import measured
from turns import HERE, Driver, engine_and_fpgart, progress

PATIENCE_S = 600
MD5_OF_ZZZZZ = "95ebc3c7b3b9f1d2c40fec14415d3cb8"


@dataclass(frozen=True)
class Program:
    """A program, the modules that it needs in Python, and its figure: a number of its output, or the whole run."""

    name: str
    command: tuple[str, ...]
    modules: tuple[str, ...] = ()
    figure: str = ""
    unit: str = "s"
    is_rate: bool = False
    variables: tuple[tuple[str, str], ...] = ()


def client(*words: str) -> Program:
    return Program(
        " ".join(["clFFT-client", *words]),
        ("clFFT-client", *words),
        figure=r"Execution gflops:\s*([\d.e+-]+)",
        unit="Gflops",
        is_rate=True,
    )


def host(file: str, *modules: str, **variables: str) -> Program:
    command = ("python", str(HERE / "hosts" / f"{file}.py"))
    return Program(file, command, modules, r"^step ([\d.]+)", "us", variables=tuple(variables.items()))


PROGRAMS = [
    client("-x", "1024", "-p", "10"),
    client("-x", "1024", "-p", "1000"),
    Program("clFFT-client -x 64 -b 100, the whole run", ("clFFT-client", "-x", "64", "-b", "100")),
    host("nengo_ocl_step", "nengo_ocl"),
    host("tinygrad_matmul", "tinygrad", DEV="CL"),
    host("tinygrad_training", "tinygrad", DEV="CL", TRAINING="1"),
    host("pyopencl_scan", "pyopencl", "mako"),
    host("pyopencl_sort", "pyopencl", "mako"),
    Program("clblast_tuner_xdot", ("clblast_tuner_xdot", "-n", "65536", "-runs", "5")),
    Program("clblast_tuner_xaxpy", ("clblast_tuner_xaxpy", "-n", "65536", "-runs", "5")),
    Program(
        "hashcat, MD5 by mask",
        ("hashcat", "-m", "0", "-a", "3", "--potfile-disable", "--force", "--opencl-device-types=1,2,3", "--quiet")
        + ("-n", "1024", "-u", "676", "-T", "1", "--backend-vector-width", "16", MD5_OF_ZZZZZ, "?l?l?l?l?l"),
    ),
]


def lacking(program: Program, python: str) -> str | None:
    """Returns the requirements of a program that are not installed."""
    if program.command[0] != "python" and not shutil.which(program.command[0]):
        return program.command[0]
    for module in program.modules:
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            return f"the Python module {module}"
    return None


def ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def figure(program: Program, python: str, environment: dict[str, str]) -> float:
    """Raises RuntimeError if the program fails."""
    command = [python if word == "python" else word for word in program.command]
    begin = perf_counter()
    try:
        result = subprocess.run(
            command, env={**environment, **dict(program.variables)}, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"did not end in {PATIENCE_S} s") from None
    seconds = perf_counter() - begin
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise RuntimeError(f"ended with {ending(result.returncode)}: {lines[-1] if lines else 'without a word'}")
    if not program.figure:
        return seconds
    found = re.search(program.figure, result.stdout, re.MULTILINE)
    if not found:
        raise RuntimeError(f"its output has nothing like {program.figure}")
    return float(found[1])


def figure_on(driver: Driver, program: Program, python: str, environment: dict[str, str]) -> float:
    """Raises RuntimeError, which names the driver, if the program fails."""
    try:
        return figure(program, python, environment)
    except RuntimeError as error:
        raise RuntimeError(f"on {driver.name}: {error}") from None


def turns_of(
    program: Program, python: str, number: int, places: list[tuple[Driver, dict[str, str]]]
) -> list[list[float]]:
    """Returns the figures of each driver, in its environment. Raises RuntimeError.

    A run before the turns fills caches of compiled kernels.
    """
    for driver, environment in places:
        progress(f"{program.name}: first run")
        figure_on(driver, program, python, environment)
    found: list[list[float]] = [[] for _ in places]
    for turn in range(number):
        progress(f"{program.name}: turn {turn + 1} of {number}")
        for samples, (driver, environment) in zip(found, places, strict=True):
            samples.append(figure_on(driver, program, python, environment))
    return found


def row(program: Program, engine: list[float], fpgart: list[float]) -> str:
    ratios = [e / f if program.is_rate else f / e for e, f in zip(engine, fpgart, strict=True)]
    return (
        f"| {program.name} | {median(engine):.3g} {program.unit} | {median(fpgart):.3g} {program.unit} "
        f"| {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="a part of the name of those to run (default: all)")
    parser.add_argument("--turns", type=int, default=5, help="of each driver (default 5)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for hosts in Python")
    parser.add_argument("--page", type=Path, help="the page whose table gets the figures")
    options = parser.parse_args()
    pair: tuple[Driver, Driver] = engine_and_fpgart()
    rows = []
    with tempfile.TemporaryDirectory(prefix="fpgart-programs-") as work:
        places = [(driver, driver.environment(Path(work), pair[0].library)) for driver in pair]
        for program in PROGRAMS:
            if options.names and not any(name in program.name for name in options.names):
                continue
            if missing := lacking(program, options.python):
                rows.append(f"| {program.name} | not run: {missing} is not installed | | |")
            else:
                try:
                    rows.append(row(program, *turns_of(program, options.python, options.turns, places)))
                except RuntimeError as error:
                    rows.append(f"| {program.name} | failed: {error} | | |")
            progress("")
            print(rows[-1], flush=True)
    if options.page:
        words = (
            f"{measured.circumstances(pair[0].library)} Figures are medians of "
            f"{options.turns} turns, ratios those of times within a turn: their median, least and most."
        )
        head = "| program | engine | fpgart | ratio |\n|---|---|---|---|\n"
        measured.write(options.page, "make programs", words, head + "\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
