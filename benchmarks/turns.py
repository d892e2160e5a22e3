# SPDX-License-Identifier: Apache-2.0
"""Programs that run on fpgart, its bare engine and other drivers in turns, so that all see the same load."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from measured import engine_version

from fpgart.cli.information import serving_engines

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = "libfpgart.so"
FPGART = "fpgart"
ISOLATED = "isolated"


@dataclass(frozen=True)
class Driver:
    name: str
    library: Path
    isolate: bool = False
    """Whether its kernels run in a process of their own."""

    def environment(self, folder: Path, engine: Path) -> dict[str, str]:
        """Loaders find this driver alone, and that of pyopencl's wheel: hosts in Python choose by the version."""
        vendors = folder / self.name
        vendors.mkdir(exist_ok=True)
        (vendors / "only.icd").write_text(f"{self.library}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD", "FPGART"))}
        isolate = {"FPGART_ISOLATE": "1"} if self.isolate else {}
        version = "(fpgart)" if self.library.name == LIBRARY else engine_version(self.library)
        chosen = {"OCL_ICD_VENDORS": f"{vendors}/", "BENCHMARKED_VERSION": version, "FPGART_ENGINE": str(engine)}
        return {**kept, **chosen, **isolate}


def drivers() -> list[Driver]:
    """Returns fpgart first, then its engine, then fpgart with kernels in a process of their own, then the others."""
    engines = [Driver(name, path) for name, path in serving_engines()]
    if not engines:
        sys.exit("no engine works here: there is nothing to compare with")
    names: dict[str, int] = {}
    unique = []
    for engine in engines:
        names[engine.name] = names.get(engine.name, 0) + 1
        number = names[engine.name]
        unique.append(engine if number == 1 else Driver(f"{engine.name}-{number}", engine.library))
    own = ROOT / "fpgart" / LIBRARY
    return [Driver(FPGART, own), unique[0], Driver(ISOLATED, own, isolate=True), *unique[1:]]


def measurements(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    """Returns the lines of a program: a name and a number each. Raises RuntimeError if it fails."""
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {result.returncode}\n{result.stderr}")
    return {name: float(value) for name, value in (line.split() for line in result.stdout.splitlines())}


def lowest_of_turns(
    command: list[str], pair: tuple[Driver, Driver], folder: Path, turns: int, board: str | None
) -> list[dict[str, float]]:
    """Runs a program on the engine and on fpgart in turns. Returns, for each, the lowest number of each name."""
    engine = pair[0].library
    lowest: list[dict[str, float]] = [{}, {}]
    for turn in range(turns):
        for driver, found in zip(pair, lowest, strict=True):
            progress(f"turn {turn + 1} of {turns}: {driver.name}")
            environment = driver.environment(folder, engine)
            if board:
                environment["FPGART_BOARD"] = board
            for name, number in measurements(command, environment).items():
                found[name] = min(number, found.get(name, number))
    progress("")
    return lowest


def engine_and_fpgart() -> tuple[Driver, Driver]:
    """Returns the bare engine, and fpgart on it."""
    own, engine, *_ = drivers()
    return engine, own


def compiled(sources: Iterable[Path], program: Path) -> Path:
    """Returns a C program, built from its sources."""
    command = ["gcc", "-O2", f"-I{ROOT / 'include'}", "-o", str(program), *map(str, sources), "-lOpenCL", "-lpthread"]
    subprocess.run(command, check=True)
    return program


def progress(words: str) -> None:
    """Prints a line that overwrites the one before, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r{words:<60}\r", end="", file=sys.stderr, flush=True)
