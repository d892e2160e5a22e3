# SPDX-License-Identifier: Apache-2.0
"""The designs of altera-fpga/hls-samples, built by their own CMake projects and run, unmodified.

    git clone https://github.com/altera-fpga/hls-samples FOLDER && git -C FOLDER checkout 3ffc397
    python clients/hls_samples.py FOLDER

Each design has a sample.json with the commands by which its authors test it; those of the test fpga_emu are run here.
The last of them runs the design: on Intel's emulator alone, and on fpgart with the emulator as engine. A run is right
if it ends with status 0 and reports no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from client import FPGART, run

from fpgart.base.registration import variables_for_only
from fpgart.cli import running
from fpgart.engine.choice import EMULATOR, candidates
from fpgart.sdk.folder import sdk_variables

ALONE = "emulator"
DRIVERS = (ALONE, FPGART)
BUILD_PATIENCE_S = 900
RUN_PATIENCE_S = 600
TEST = "fpga_emu"
FAILURE = re.compile(r"\bFAIL(?:ED|URE)?\b|Caught a SYCL host exception|verification failed", re.IGNORECASE)
LACKING = {
    "Tutorials/Features/fpga_reg": "-DPART=REGISTERED",
    "Tutorials/Tools/dynamic_profiler": "-DFPGA_DEVICE=fpgart:usm_s10",
}
"""Options without which a design's own CMakeLists.txt refuses its own test."""
EXPORT = re.compile(r"(?:export\s+)?(\w+)=(.*)")


@dataclass(frozen=True)
class Design:
    """A design, by its folder, and how it is tested."""

    name: str
    build: tuple[str, ...]
    command: str
    variables: tuple[tuple[str, str], ...]


@dataclass
class Result:
    """What became of a design: seconds, and what it said where it was wrong."""

    design: Design
    build_s: float = 0.0
    run_s: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def is_right(self, driver: str) -> bool:
        return driver in self.run_s and driver not in self.wrong


def designs(tree: Path) -> Iterator[Design]:
    """Returns all designs of a tree, in the order of their names."""
    for file in sorted(tree.rglob("sample.json")):
        name = str(file.parent.relative_to(tree))
        tests = json.loads(file.read_text())["ciTests"].get("linux", ())
        test = next((each for each in tests if each["id"].startswith(TEST)), None)
        if test is None:
            yield Design(name, (), "", ())
            continue
        steps = [step for step in test["steps"] if not step.startswith("icpx")]
        steps = [step.replace("cmake ..", f"cmake .. {LACKING[name]}") if name in LACKING else step for step in steps]
        found = (EXPORT.fullmatch(line) for line in test.get("env", ()))
        variables = tuple((each[1], each[2]) for each in found if each is not None)
        yield Design(name, tuple(steps[:-1]), steps[-1], variables)


def environment_of(driver: str, emulator: Path, folder: Path) -> dict[str, str]:
    """Loaders find one driver and no other."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD", "FPGART"))}
    if driver == FPGART:
        return running.environment(kept | {"FPGART_ENGINE": "emulator", "FPGART_PLATFORM": "emulator"})
    alone = variables_for_only(emulator, folder / "vendors")
    return {**kept, **alone, "CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "default"}


@dataclass(frozen=True)
class Place:
    """Where designs are built, and the driver that they also run on alone."""

    tree: Path
    work: Path
    emulator: Path
    drivers: tuple[str, ...]
    patience_s: int
    """How long a run may take."""


def outcome(design: Design, place: Place) -> Result:
    """Builds a design in a copy of the tree, unless it is there already, and runs it on each driver."""
    result = Result(design)
    folder = place.work / design.name.replace("/", "-")
    built, copy = folder / "built.json", folder / "samples"
    if not built.exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.tree, copy, symlinks=True)
        begin = time.monotonic()
        tools = {**os.environ, **sdk_variables(), **dict(design.variables)}
        script = "\n".join(["set -e", *design.build, "pwd"])
        status, said = run(tools, copy / design.name, "sh", "-c", script, patience=BUILD_PATIENCE_S)
        result.build_s = time.monotonic() - begin
        (folder / "build.log").write_text(said)
        if status:
            result.wrong = dict.fromkeys(place.drivers, "does not compile: " + last_words(said))
            return result
        built.write_text(json.dumps({"seconds": result.build_s, "folder": said.strip().splitlines()[-1]}))
    facts = json.loads(built.read_text())
    result.build_s = facts["seconds"]
    for driver in place.drivers:
        environment = environment_of(driver, place.emulator, folder) | dict(design.variables)
        begin = time.monotonic()
        where = Path(facts["folder"])
        command = command_of(design, where)
        status, said = run(environment, where, "sh", "-c", command, patience=place.patience_s)
        result.run_s[driver] = time.monotonic() - begin
        (folder / f"{driver}.log").write_text(said)
        if status or FAILURE.search(said):
            result.wrong[driver] = f"{driver}: status {status}: {last_words(said)}"
    return result


def command_of(design: Design, folder: Path) -> str:
    """Returns the command that runs a design, whose own may name a program that its CMakeLists.txt calls otherwise."""
    program, space, arguments = design.command.partition(" ")
    made = sorted(folder.glob(f"*.{TEST}"))
    if (folder / program).exists() or len(made) != 1:
        return design.command
    return f"./{made[0].name}{space}{arguments}"


def last_words(said: str) -> str:
    """Returns the most informative line of a long output."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|fail|not finished", line, re.IGNORECASE)]
    return (telling or lines or ["nothing"])[-1 if not telling else 0][:200]


def row(result: Result, drivers: tuple[str, ...]) -> str:
    cells = [f"`{result.design.name}`", f"{result.build_s:.0f}"]
    cells += [f"{result.run_s[driver]:.1f}" if result.is_right(driver) else "-" for driver in drivers]
    cells.append("; ".join(dict.fromkeys(result.wrong.values())).replace("|", "\\|"))
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="the samples, checked out")
    parser.add_argument("names", nargs="*", metavar="DESIGN", help="parts of names; default: all")
    parser.add_argument("--driver", action="append", choices=DRIVERS, help="default: both")
    parser.add_argument(
        "--patience", type=int, default=RUN_PATIENCE_S, help="seconds that a run may take; default: 600"
    )
    parser.add_argument("--table", type=Path, help="file that gets the table")
    parser.add_argument("--work", type=Path, help="folder that keeps what is built, and the output of each step")
    options = parser.parse_args()
    emulators = [path for _, path in candidates("emulator")]
    if not emulators:
        parser.error(f"there is no {EMULATOR}: pip install 'fpgart[sycl]'")
    drivers = tuple(options.driver or DRIVERS)
    results = []
    with tempfile.TemporaryDirectory(prefix="fpgart-designs-") as temporary:
        place = Place(options.tree.resolve(), (options.work or Path(temporary)).resolve(), emulators[0], drivers,
                      options.patience)  # fmt: skip
        for design in designs(options.tree):
            if options.names and not any(name in design.name for name in options.names):
                continue
            if design.command:
                results.append(outcome(design, place))
            else:
                results.append(Result(design, wrong=dict.fromkeys(drivers, "has no test for the emulator")))
            print(row(results[-1], drivers), flush=True)
    lines = [f"| design | compiled in s | {' | '.join(f'{driver}, s' for driver in drivers)} | what is wrong |",
             "|---|" + "---|" * (len(drivers) + 2), *(row(result, drivers) for result in results)]  # fmt: skip
    if options.table is not None:
        options.table.write_text("\n".join(lines) + "\n")
    for driver in drivers:
        print(f"{driver}: {sum(result.is_right(driver) for result in results)} of {len(results)} are right")
    return int(not all(result.is_right(driver) for result in results for driver in drivers))


if __name__ == "__main__":
    sys.exit(main())
