# SPDX-License-Identifier: Apache-2.0
"""Runs host programs again and again on fpgart and counts hangs and failures: what depends on how threads meet.

    python conformance/repeat.py --runs 100 conformance/hosts.json

A list names hosts, each an object with

    file         C, compiled here and linked with the system's loader, or Python; from the folder of the list
    arguments    of the host
    options      of `fpgart run`, which starts it
    loader       true: started without `fpgart run`; the loader finds fpgart alone
    environment  further variables
    status       its exit status when all is right (0)
    prints       a pattern that is found in what it prints when all is right

Hosts take turns, so an interrupted run has tried each about as often. A host that ends with 77 says that the device
lacks what it is about: it is not run again. The exit status is 1 if a run hung or failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from patience import Unfinished, ending, status_within

from fpgart.engine.choice import candidates

ROOT = Path(__file__).resolve().parent.parent
LACKING = 77
PATIENCE_S = 120
LAST_WORDS = 1500
"""How many characters of a failing host's output are shown."""


class Unusable(Exception):
    """Hosts cannot be run; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Host:
    """A line of a list."""

    file: Path
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    loader: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    status: int = 0
    prints: str = ""

    def __str__(self) -> str:
        variables = (f"{name}={value}" for name, value in self.environment)
        ways = ["(loader)"] if self.loader else []
        return " ".join([*variables, self.file.stem, *self.arguments, *self.options, *ways])


@dataclass
class Tally:
    """What became of a host's runs."""

    runs: int = 0
    hangs: int = 0
    failures: int = 0
    lacking: bool = False

    @property
    def bad(self) -> int:
        return self.hangs + self.failures


# Lists


def listed(file: Path) -> list[Host]:
    """The hosts of a list; raises Unusable."""
    try:
        return [host_of(entry, file.resolve().parent) for entry in json.loads(file.read_text())]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Unusable(f"{file} is not a list of hosts: {type(error).__name__} {error}") from error


def host_of(entry: dict[str, object], folder: Path) -> Host:
    """An entry of a list. What it leaves out has the defaults of Host; an unknown key is a TypeError."""
    convert: dict[str, Callable[..., object]] = {
        "file": folder.joinpath,
        "arguments": tuple,
        "options": tuple,
        "environment": lambda variables: tuple(variables.items()),
    }
    known = {key: convert.get(key, lambda value: value)(value) for key, value in entry.items()}
    return Host(**known)  # type: ignore[arg-type]


# Running


@dataclass(frozen=True, slots=True)
class Runner:
    """Compiles and runs hosts; all that it writes is in one folder."""

    folder: Path
    engine: str
    patience_s: float

    def compile(self, source: Path) -> Path:
        """A C host's program; raises Unusable."""
        target = self.folder / source.stem
        words = [os.environ.get("CC", "cc"), "-O1", "-w", "-I", str(ROOT / "include"), str(source), "-o", str(target)]
        result = subprocess.run([*words, "-lOpenCL", "-lm", "-lpthread"], capture_output=True, text=True)
        if result.returncode:
            raise Unusable(f"{source} cannot be compiled:\n{result.stderr}")
        return target

    def program(self, host: Host) -> list[str]:
        """What is begun for a host, without its arguments."""
        if host.file.suffix == ".py":
            return [sys.executable, str(host.file)]
        return [str(self.folder / host.file.stem)]

    def command(self, host: Host) -> list[str]:
        start = [] if host.loader else [sys.executable, "-m", "fpgart.cli", "run", *host.options, "--"]
        return [*start, *self.program(host), *host.arguments]

    def environment(self, host: Host) -> dict[str, str]:
        """Nothing of OpenCL and fpgart but what the list says."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FPGART_", "OCL_ICD_"))}
        kept["FPGART_ENGINE"] = self.engine
        if host.loader:
            kept["OCL_ICD_VENDORS"] = f"{self.registered()}/"
        return {**kept, **dict(host.environment)}

    def registered(self) -> Path:
        """A folder in which loaders find fpgart alone."""
        vendors = self.folder / "vendors"
        vendors.mkdir(exist_ok=True)
        (vendors / "fpgart.icd").write_text(f"{ROOT / 'fpgart' / 'libfpgart.so'}\n")
        return vendors

    def run(self, host: Host, tally: Tally) -> None:
        """Run a host once and count how it ended."""
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            output = Path(work) / "output"
            try:
                status = status_within(self.patience_s, self.command(host), self.environment(host), Path(work), output)
            except Unfinished as late:
                tally.runs += 1
                tally.hangs += 1
                tell_bad(host, tally, str(late), output)
                return
            printed = output.read_text(errors="replace")
            tally.lacking = status == LACKING != host.status
            tally.runs += not tally.lacking
            if not tally.lacking and (status != host.status or not re.search(host.prints, printed)):
                tally.failures += 1
                tell_bad(host, tally, f"ended with {ending(status)}", output)


def rounds(hosts: list[Host], runner: Runner, runs: int, jobs: int, tallies: dict[Host, Tally]) -> Iterator[int]:
    """Run every host once in each round; gives the number of rounds so far."""
    pool = ThreadPoolExecutor(jobs)
    try:
        for done in range(1, runs + 1):
            able = [host for host in hosts if not tallies[host].lacking]
            for each in [pool.submit(runner.run, host, tallies[host]) for host in able]:
                each.result()
            yield done
    finally:
        pool.shutdown(cancel_futures=True)


# What is told


def table(tallies: dict[Host, Tally], engine: str) -> str:
    lines = [["host", "engine", "runs", "hangs", "failures"]]
    for host, tally in tallies.items():
        counts = ["lacking", "", ""] if tally.lacking else [str(tally.runs), str(tally.hangs), str(tally.failures)]
        lines.append([str(host), engine, *counts])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column > 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def tell_bad(host: Host, tally: Tally, how: str, output: Path) -> None:
    last = output.read_text(errors="replace")[-LAST_WORDS:].strip().replace("\n", "\n    ")
    print(f"{host}, run {tally.runs}: {how}\n    {last}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path, nargs="+", help="JSON files that name hosts")
    parser.add_argument("--runs", type=int, default=100, help="of each host")
    parser.add_argument("--jobs", type=int, default=1, help="hosts at the same time")
    parser.add_argument("--patience", type=float, default=PATIENCE_S, metavar="SECONDS", help="for one run")
    return parser.parse_args()


def chosen_engine() -> str:
    """The engine's file; raises Unusable."""
    engines = candidates(os.environ.get("FPGART_ENGINE") or "auto")
    if not engines:
        raise Unusable("no engine is installed: kernels could not run")
    return str(engines[0][1])


def ended_by_signal(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(f"signal {number}")


def main() -> int:
    options = arguments()
    hosts = [host for file in options.list for host in listed(file)]
    engine = chosen_engine()
    tallies = {host: Tally() for host in hosts}
    signal.signal(signal.SIGTERM, ended_by_signal)
    with tempfile.TemporaryDirectory(prefix="fpgart-repeat-") as folder:
        runner = Runner(Path(folder), engine, options.patience)
        for source in {host.file for host in hosts if host.file.suffix == ".c"}:
            runner.compile(source)
        try:
            for done in rounds(hosts, runner, options.runs, options.jobs, tallies):
                bad = sum(tally.bad for tally in tallies.values())
                print(f"[{done}/{options.runs}] {bad} hung or failed", flush=True)
        except KeyboardInterrupt:
            print("interrupted")
    print(table(tallies, Path(engine).name))
    return int(any(tally.bad for tally in tallies.values()))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as error:
        sys.exit(f"repeat: {error}")
