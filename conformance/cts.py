# SPDX-License-Identifier: Apache-2.0
"""Khronos' conformance tests on fpgart, and beside it on its bare engine (make cts CTS=folder).

The folder holds the sources of OpenCL-CTS, which are then built with CMake, or what was built of them. Every test is a
process of its own with a time limit, and both drivers are registered alone with the system's loader. What passes on the
engine has to pass on fpgart; the exit status is 1 if something fails that conformance/deviations.py does not declare.
Tests that leave themselves out, because the device says that it has no such feature, are counted apart.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path

import deviations
from patience import Unfinished, ending, status_within

from fpgart.engine.choice import candidates

ROOT = Path(__file__).resolve().parent.parent
FPGART = "fpgart"
BOARD = "FPGART_BOARD"
PATIENCE_S = 120
TRIES = 2
"""How often a test is begun that does not end in time."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of OpenCL-CTS: the program in it, and the words that shorten its tests."""

    program: str
    options: tuple[str, ...] = ()


# Short ones first.
SUITES = {
    "computeinfo": Suite("test_computeinfo"),
    "api": Suite("test_api"),
    "basic": Suite("test_basic"),
    "buffers": Suite("test_buffers"),
    "events": Suite("test_events"),
    "profiling": Suite("test_profiling"),
    "mem_host_flags": Suite("test_mem_host_flags"),
    "multiple_device_context": Suite("test_multiples"),
    "device_partition": Suite("test_device_partition"),
    "SVM": Suite("test_svm"),
    "compiler": Suite("test_compiler"),
    "printf": Suite("test_printf"),
    "atomics": Suite("test_atomics"),
    "vectors": Suite("test_vectors"),
    "thread_dimensions": Suite("test_thread_dimensions"),
    "workgroups": Suite("test_workgroups"),
    "subgroups": Suite("test_subgroups"),
    "allocations": Suite("test_allocations", ("single", "5%")),
    "commonfns": Suite("test_commonfns"),
    "relationals": Suite("test_relationals"),
    "select": Suite("test_select"),
    "c11_atomics": Suite("test_c11_atomics"),
    "integer_ops": Suite("test_integer_ops"),
}
PASSED, FAILED, SKIPPED = "pass", "fail", "skip"


class Unusable(Exception):
    """The tests cannot be built or run; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a suite."""

    suite: str
    name: str

    def __str__(self) -> str:
        return f"{self.suite}/{self.name}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a test: PASSED, FAILED or SKIPPED, and how it ended if it failed."""

    outcome: str
    words: str = ""


@dataclass
class Row:
    """A line of the table."""

    tests: list[Test] = field(default_factory=list)
    on_engine: list[Test] = field(default_factory=list)
    on_fpgart: list[Test] = field(default_factory=list)
    lost: list[Test] = field(default_factory=list)
    left_out: list[Test] = field(default_factory=list)

    def add(self, test: Test, here: Result, engine: Result) -> None:
        self.tests.append(test)
        if engine.outcome == PASSED:
            self.on_engine.append(test)
        if here.outcome == PASSED:
            self.on_fpgart.append(test)
        elif engine.outcome == PASSED:
            (self.left_out if here.outcome == SKIPPED else self.lost).append(test)

    def cells(self) -> list[str]:
        return [str(len(each)) for each in (self.tests, self.on_engine, self.on_fpgart, self.lost, self.left_out)]


# The programs


def programs(folder: Path, suites: list[str]) -> dict[str, Path]:
    """The suites' programs below a folder of built ones; a suite that was not built is left out."""
    places = (folder / "test_conformance", folder)
    found = {}
    for suite in suites:
        files = (place / suite / SUITES[suite].program for place in places)
        program = next((file for file in files if file.is_file() and os.access(file, os.X_OK)), None)
        if program is not None:
            found[suite] = program.resolve()
    return found


def build(sources: Path, into: Path, suites: list[str], headers: Path, spirv_headers: Path) -> None:
    """Build the suites' programs with CMake; raises Unusable."""
    cmake = shutil.which("cmake")
    if cmake is None:
        raise Unusable("cmake is not installed (Debian, Ubuntu: apt install cmake)")
    loader = next((p for p in map(Path, loader_folders()) if (p / "libOpenCL.so").exists()), None)
    if loader is None:
        raise Unusable("there is no libOpenCL.so to link with (Debian, Ubuntu: apt install ocl-icd-opencl-dev)")
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CL_INCLUDE_DIR": headers,
        "CL_LIB_DIR": loader,
        "OPENCL_LIBRARIES": "OpenCL",
        "SPIRV_INCLUDE_DIR": spirv_headers,
    }
    targets = [SUITES[suite].program for suite in suites]
    jobs = str(os.cpu_count() or 1)
    for command in (
        [cmake, "-S", str(sources), "-B", str(into), *(f"-D{name}={value}" for name, value in settings.items())],
        [cmake, "--build", str(into), "--parallel", jobs, "--target", *targets],
    ):
        if subprocess.run(command).returncode:
            newer = "newer headers of OpenCL and SPIR-V may help: --headers, --spirv-headers"
            raise Unusable(f"{' '.join(command[:2])} failed; {newer}")


def loader_folders() -> Iterator[str]:
    """Where the C compiler looks for libraries."""
    words = subprocess.run(["cc", "-print-search-dirs"], capture_output=True, text=True, check=True).stdout
    for line in words.splitlines():
        if line.startswith("libraries:"):
            yield from line.partition("=")[2].split(os.pathsep)


def names(program: Path) -> list[str]:
    """The tests of a program, as it lists them; raises Unusable."""
    result = subprocess.run([program, "--list"], capture_output=True, text=True)
    found = [line.strip() for line in result.stdout.splitlines() if line.startswith("\t") and line.strip()]
    if result.returncode or not found:
        raise Unusable(f"{program} --list names no tests (status {result.returncode}): {result.stderr[-300:]}")
    return found


# Running them


def registered_alone(library: Path, folder: Path) -> dict[str, str]:
    """The environment in which the system's loader finds one driver."""
    folder.mkdir(parents=True)
    (folder / "only.icd").write_text(f"{library}\n")
    foreign = ("OCL_ICD", "FPGART", "CL_")
    kept = {name: value for name, value in os.environ.items() if name == BOARD or not name.startswith(foreign)}
    return {
        **kept,
        "OCL_ICD_VENDORS": f"{folder}/",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "CL_WIMPY_MODE": "1",
    }


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs tests on one driver."""

    environment: dict[str, str]
    folder: Path
    patience_s: float

    def run(self, program: Path, test: Test) -> Result:
        """A test that does not end in time is begun again once."""
        words = ""
        for _ in range(TRIES):
            try:
                return self.once(program, test)
            except Unfinished as late:
                words = str(late)
        return Result(FAILED, f"{TRIES} times: {words}")

    def once(self, program: Path, test: Test) -> Result:
        """Raises Unfinished."""
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            report = Path(work) / "results.json"
            output = Path(work) / "output"
            status = status_within(
                self.patience_s,
                [program, *SUITES[test.suite].options, test.name],
                {**self.environment, "CL_CONFORMANCE_RESULTS_FILENAME": str(report)},
                Path(work),
                output,
            )
            return judged(test, status, report, output)


def judged(test: Test, status: int, report: Path, output: Path) -> Result:
    """What a test that ended says of itself."""
    said = json.loads(report.read_text())["results"].get(test.name) if report.exists() else None
    if said == SKIPPED or (said == PASSED and status == 0):
        return Result(said)
    end = output.read_text(errors="replace")[-4000:]
    return Result(FAILED, f"ended with {ending(status)}\n{end}")


def compared(
    programs: dict[str, Path], tests: list[Test], runners: dict[str, Runner], jobs: int
) -> Iterator[tuple[Test, dict[str, Result]]]:
    """The results of each test, driver by driver, as they come."""

    def both(test: Test) -> tuple[Test, dict[str, Result]]:
        return test, {driver: runner.run(programs[test.suite], test) for driver, runner in runners.items()}

    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(both, test) for test in tests]):
            yield done.result()


# What is told


def table(rows: dict[str, Row], engine: str) -> str:
    heads = ["suite", "tests", f"pass on {engine}", "pass on fpgart", f"only on {engine}", "left out here"]
    lines = [[suite, *row.cells()] for suite, row in rows.items()]
    sums = [str(sum(int(line[column]) for line in lines)) for column in range(1, len(heads))]
    widths = [max(len(line[column]) for line in (heads, *lines, ["all", *sums])) for column in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) if not column else cell.rjust(width) for column, (cell, width) in enumerate(cells))
        for cells in (list(zip(line, widths, strict=True)) for line in (heads, *lines, ["all", *sums]))
    )


def undeclared(lost: list[Test]) -> list[Test]:
    return [test for test in lost if str(test) not in deviations.CTS]


def tell_lost(rows: dict[str, Row], results: dict[Test, dict[str, Result]]) -> None:
    for test in chain.from_iterable(row.lost for row in rows.values()):
        print(f"    fails on fpgart only: {test}")
        reason = deviations.CTS.get(str(test))
        words = f"declared: {reason}" if reason else results[test][FPGART].words[-1500:]
        print("        " + words.strip().replace("\n", "\n        "))
    for suite, row in rows.items():
        if row.left_out:
            print(f"    left out on fpgart only: {suite}: {', '.join(test.name for test in row.left_out)}")


def note(file: Path, test: Test, results: dict[str, Result]) -> None:
    """Append a line, so that an interrupted run keeps what it found."""
    with file.open("a") as lines:
        told = {driver: asdict(result) for driver, result in results.items()}
        lines.write(json.dumps({"test": str(test), **told}) + "\n")


def chosen_tests(found: dict[str, Path], patterns: list[str]) -> list[Test]:
    every = (Test(suite, name) for suite, program in found.items() for name in names(program))
    return [test for test in every if not patterns or any(fnmatch.fnmatch(test.name, p) for p in patterns)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="sources of OpenCL-CTS, or what was built of them")
    parser.add_argument("--suite", action="append", choices=SUITES, metavar="NAME", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--test", action="append", default=[], metavar="PATTERN", help="only tests of such names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append a line for each test: outcomes and words")
    parser.add_argument("--patience", type=float, default=PATIENCE_S, metavar="SECONDS", help="for one test")
    parser.add_argument("--jobs", type=int, default=1, help="tests at the same time")
    parser.add_argument("--build-folder", type=Path, help="where sources are built (default: build/ in the folder)")
    parser.add_argument("--headers", type=Path, default=Path("/usr/include"), help="has CL/cl.h, for building")
    parser.add_argument("--spirv-headers", type=Path, default=Path("/usr"), help="has include/spirv, for building")
    return parser.parse_args()


def found_programs(options: argparse.Namespace) -> dict[str, Path]:
    """The programs of the suites that are asked for; sources are built first. Raises Unusable."""
    suites = options.suite or list(SUITES)
    folder = options.folder
    if (folder / "CMakeLists.txt").exists():
        sources, folder = folder, options.build_folder or folder / "build"
        build(sources, folder, suites, options.headers, options.spirv_headers)
    found = programs(folder, suites)
    for suite in suites:
        if suite not in found:
            print(f"{suite:<24} left out: {folder} has no {suite}/{SUITES[suite].program}", flush=True)
    if not found:
        raise Unusable(f"{folder} has neither sources of OpenCL-CTS nor programs that were built of them")
    return found


def main() -> int:
    options = arguments()
    engines = candidates(os.environ.get("FPGART_ENGINE") or "auto")
    if not engines:
        raise Unusable("no engine is installed: kernels could not run")
    engine, engine_library = engines[0]
    found = found_programs(options)
    tests = chosen_tests(found, options.test)
    results: dict[Test, dict[str, Result]] = {}
    rows = {suite: Row() for suite in found}
    with tempfile.TemporaryDirectory(prefix="fpgart-cts-") as work:
        folder = Path(work)
        libraries = {FPGART: ROOT / "fpgart" / "libfpgart.so", engine: engine_library}
        runners = {
            driver: Runner(registered_alone(library, folder / driver), folder, options.patience)
            for driver, library in libraries.items()
        }
        runners[FPGART].environment["FPGART_ENGINE"] = str(engine_library)
        for number, (test, outcome) in enumerate(compared(found, tests, runners, options.jobs), 1):
            results[test] = outcome
            if options.json:
                note(options.json, test, outcome)
            rows[test.suite].add(test, outcome[FPGART], outcome[engine])
            words = ", ".join(f"{driver} {result.outcome}" for driver, result in outcome.items())
            print(f"[{number}/{len(tests)}] {test}: {words}", flush=True)
    tell_lost(rows, results)
    print(table(rows, engine))
    return int(any(undeclared(row.lost) for row in rows.values()))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as error:
        sys.exit(f"cts: {error}")
