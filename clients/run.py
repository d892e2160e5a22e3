# SPDX-License-Identifier: Apache-2.0
"""Real OpenCL programs on fpgart, and beside it on the bare engine (make clients).

Each client is a program that knows nothing of fpgart. What passes on the engine has to pass on fpgart too;
the exit status is 1 if something does not. Programs that are not installed are named and left out.

With --check they run under FPGART_CHECK instead, on fpgart alone, and what was found is listed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

import fpga_hosts as public

from fpgart.cli import running
from fpgart.cli.information import serving_engines

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 1800
PATIENCE_OF_A_HOST_S = 600
FPGART = "fpgart"


class Missing(Exception):
    """A program that is not here, and how to get it."""


@dataclass
class Outcome:
    """What became of a client on a driver: names of single checks, if it has any."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{len(self.passed)} passed, {len(self.failed)} failed{skipped}"


Environment = dict[str, str]
Function = Callable[[Environment, Path], Outcome]


@cache
def first_engine() -> tuple[str, Path]:
    """Name and file of the driver that fpgart would choose; raises Missing."""
    found = serving_engines()
    if not found:
        raise Missing("no engine works here: kernels could not run")
    return found[0]


@dataclass(frozen=True, slots=True)
class Client:
    """A program, and which engine it runs on."""

    run: Function
    engine: Callable[[], tuple[str, Path]]


CLIENTS: dict[str, Client] = {}


def client_on(engine: Callable[[], tuple[str, Path]]) -> Callable[[Function], Function]:
    """Registers a client that runs on a certain engine."""

    def register(function: Function) -> Function:
        CLIENTS[function.__name__] = Client(function, engine)
        return function

    return register


client = client_on(first_engine)


def program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Missing(f"{name} is not installed (Debian, Ubuntu: apt install {package})")
    return path


def run(environment: Environment, folder: Path, *words: str, patience: int = PATIENCE_S) -> tuple[int, str]:
    """Exit status and all output; a status of -1 means that it did not end in time."""
    try:
        result = subprocess.run(
            list(words),
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return -1, f"not finished after {patience} s"
    return result.returncode, result.stdout


def one(name: str, right: bool, words: str) -> Outcome:
    return Outcome(passed={name}) if right else Outcome(failed={name: words[-400:]})


def together(outcomes: list[Outcome]) -> Outcome:
    whole = Outcome()
    for outcome in outcomes:
        whole.passed |= outcome.passed
        whole.failed |= outcome.failed
        whole.skipped |= outcome.skipped
    return whole


@client
def clinfo(environment: Environment, folder: Path) -> Outcome:
    """No error line."""
    path = program("clinfo", "clinfo")
    found = []
    for options in ([], ["--raw"], ["--list"]):
        status, text = run(environment, folder, path, *options)
        errors = [line for line in text.splitlines() if re.search(r"error -|<print|CL_\w+ : get", line)]
        found.append(one(" ".join(["clinfo", *options]), status == 0 and not errors, "\n".join(errors) or text))
    return together(found)


@client
def clpeak(environment: Environment, folder: Path) -> Outcome:
    """To the end."""
    path = program("clpeak", "clpeak")
    tests = ["global-bandwidth", "compute-sp", "compute-dp", "compute-integer", "transfer-bandwidth", "kernel-latency"]
    found = []
    for test in tests:
        status, text = run(environment, folder, path, f"--{test}")
        wrong = status != 0 or re.search(r"fail|error", text, re.IGNORECASE)
        found.append(one(f"clpeak {test}", not wrong, text))
    return together(found)


@client
def hashcat(environment: Environment, folder: Path) -> Outcome:
    """Finds words from their hashes: MD5 and SHA2-256 by mask, and from a list of words."""
    path = program("hashcat", "hashcat")
    home = {**environment, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    words = folder / "words"
    words.write_text("".join(f"word{number}\n" for number in range(5000)))
    common = ["--potfile-disable", "--force", "--opencl-device-types=1,2,3", "--quiet", "-w", "1"]
    cases = {
        "hashcat MD5 by mask": ("0", "abcd", ["-a", "3"], "?l?l?l?l"),
        "hashcat SHA2-256 from a list": ("1400", "word4321", [], str(words)),
    }
    hashes = {"0": hashlib.md5, "1400": hashlib.sha256}
    found = []
    for name, (mode, word, options, source) in cases.items():
        digest = hashes[mode](word.encode()).hexdigest()
        status, text = run(home, folder, path, *common, "-m", mode, *options, digest, source)
        found.append(one(name, f"{digest}:{word}" in text, f"status {status}\n{text}"))
    return together(found)


@client
def clblast(environment: Environment, folder: Path) -> Outcome:
    """CLBlast's tuners: dozens of variants of a kernel, each compared with a reference."""
    found = []
    for tuner in ("xaxpy", "xdot", "transpose_fast", "copy_fast"):
        path = program(f"clblast_tuner_{tuner}", "clblast-utils")
        size = ["-n", "4096"] if tuner in ("xaxpy", "xdot") else ["-m", "256", "-n", "256"]
        status, text = run(environment, folder, path, "-platform", "0", "-device", "0", *size, "-runs", "1")
        wrong = status != 0 or "FAILED" in text or "Found best result" not in text
        found.append(one(f"clblast {tuner}", not wrong, f"status {status}\n{text}"))
    return together(found)


@client
def opencl_hpp(environment: Environment, folder: Path) -> Outcome:
    """A C++ host written with CL/opencl.hpp."""
    if not Path("/usr/include/CL/opencl.hpp").exists():
        raise Missing("CL/opencl.hpp is not installed (Debian, Ubuntu: apt install opencl-clhpp-headers)")
    made = folder / "clhpp"
    source = ROOT / "conformance" / "c" / "clhpp.cpp"
    status, text = run(environment, folder, "g++", "-std=c++17", "-o", str(made), str(source), "-lOpenCL")
    if status == 0:
        status, text = run(environment, folder, str(made))
    return one("clhpp.cpp", status == 0, text)


def kept_folder() -> Path:
    """Where what was fetched stays."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fpgart" / "clients"


def pyopencl_sources() -> Path:
    """pyopencl's source distribution of the version that is installed, fetched once."""
    version = metadata.version("pyopencl")
    kept = kept_folder()
    folder = kept / f"pyopencl-{version}"
    if not folder.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                   "--no-build-isolation", "--dest", str(kept), f"pyopencl=={version}"]  # fmt: skip
        result = subprocess.run(command, capture_output=True, text=True)
        archive = next(kept.glob(f"pyopencl-{version}.tar.gz"), None)
        if archive is None:
            raise Missing(f"pyopencl's source distribution cannot be fetched: {result.stderr[-300:]}")
        shutil.unpack_archive(archive, kept)
    return folder


@client
def pyopencl_tests(environment: Environment, folder: Path) -> Outcome:
    """pyopencl's own test-suite, each file in a process of its own."""
    found = []
    tests = folder / "test"
    shutil.copytree(pyopencl_sources() / "test", tests, ignore=shutil.ignore_patterns("tmpdir_*"))
    for file in sorted(tests.glob("test_*.py")):
        report = folder / f"{file.stem}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(file)]
        status, text = run(environment, file.parent, *command)
        if report.exists():
            found.append(junit(report))
            report.unlink()
        else:
            found.append(Outcome(failed={file.name: f"ended with status {status}\n{text[-300:]}"}))
    return together(found)


DEVICE = re.compile(r"<context factory for <pyopencl.Device '.*?' on '.*?'>>\d*")  # numbered if there are twins


def junit(report: Path) -> Outcome:
    """The results in a report of pytest's."""
    outcome = Outcome()
    for case in ElementTree.parse(report).iter("testcase"):
        name = DEVICE.sub("device", f"{case.get('classname')}.{case.get('name')}")
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        if wrong is not None:
            outcome.failed[name] = (wrong.get("message") or "")[:200]
        elif case.find("skipped") is not None:
            outcome.skipped.add(name)
        else:
            outcome.passed.add(name)
    return outcome


# Those that need a window, images, or a person.
NOT_THESE = {"gl_interop_demo", "gl_particle_animation", "image_filters_using_image2d_t", "demo_mandelbrot",
             "black-hole-accretion", "demo_meta_codepy", "demo_meta_template", "median-filter"}  # fmt: skip


@client
def pyopencl_examples(environment: Environment, folder: Path) -> Outcome:
    """pyopencl's example programs."""
    found = []
    chosen = {**environment, "PYOPENCL_CTX": "0", "PYOPENCL_TEST": "0"}
    for file in sorted((pyopencl_sources() / "examples").glob("*.py")):
        if file.stem in NOT_THESE:
            continue
        status, text = run(chosen, folder, sys.executable, str(file), patience=300)
        if "ModuleNotFoundError" in text:
            found.append(Outcome(skipped={file.name}))
        else:
            found.append(one(file.name, status == 0, text))
    return together(found)


@client
def vecadd_mpax(environment: Environment, folder: Path) -> Outcome:
    """Three buffers of 2 GiB in four launches, ping-pong, eight tasks: the use cases for large buffers, full size."""
    if "FPGART_ONLY" not in environment:  # other drivers have no such board
        return Outcome(skipped={"vecadd_mpax"})
    made = folder / "vecadd_mpax"
    source = ROOT / "conformance" / "c" / "vecadd_mpax.c"
    include = ROOT / "include"
    status, text = run(environment, folder, "cc", "-O2", f"-I{include}", "-o", str(made), str(source), "-lOpenCL")
    if status != 0:
        return one("vecadd_mpax.c", False, text)
    found = []
    for way in ("sub_buffers 2048 4", "ping_pong 512 4", "tasks 256 8", "tasks 128 16"):
        status, text = run({**environment, "FPGART_BOARD": "k2h"}, folder, str(made), *way.split())
        found.append(one(f"vecadd_mpax {way}", status == 0 and text.strip().endswith("ok"), text))
    return together(found)


@client
def fpga_hosts(environment: Environment, folder: Path) -> Outcome:
    """Public hosts for boards, of the folder FPGA_HOSTS: each builds and gives the right result, unmodified."""
    hosts = os.environ.get("FPGA_HOSTS")
    if not hosts:
        raise Missing("FPGA_HOSTS names no folder with hosts and recipes (see clients/fpga_hosts.py)")
    if "FPGART_ONLY" not in environment:  # other drivers have no boards
        return Outcome(skipped={"fpga_hosts"})
    found = []
    for recipe in public.recipes(Path(hosts).resolve()):
        fpgart = [sys.executable, "-m", "fpgart.cli", "run", *recipe.options, "--", "sh", "-c"]

        def shell(surroundings: Environment, place: Path, command: str, fpgart: list[str] = fpgart) -> tuple[int, str]:
            return run(surroundings, place, *fpgart, command, patience=PATIENCE_OF_A_HOST_S)

        for result in public.results(recipe, environment, folder, shell):
            print(f"    {'passes' if result.right else 'fails '} {result.name}", flush=True)
            found.append(one(result.name, result.right, result.words))
    return together(found)


DPCTL = "0.21.1"
INTEL_RUNTIME = "2025.3.3"  # of the same release as the SYCL runtime that this dpctl asks for
NEITHER_TENSORS = ("test_tensor_*.py", "test_usm_ndarray_*.py")
TENSOR_FILES = (
    "test_tensor_sum.py",
    "test_tensor_clip.py",
    "test_usm_ndarray_sorting.py",
    "test_usm_ndarray_linalg.py",
    "elementwise/test_add.py",
    "elementwise/test_trigonometric.py",
    "test_tensor_accumulation.py",
)
PATIENCE_OF_A_TEST_S = 300
MOST_DEATHS = 20


def dpctl_installation() -> Path:
    """A virtual environment with dpctl, Intel's SYCL runtime and CPU driver, made once (1.5 GB). Raises Missing."""
    folder = kept_folder() / f"dpctl-{DPCTL}"
    done = folder / "installed"
    if not done.exists():
        packages = [
            f"dpctl=={DPCTL}",
            f"intel-opencl-rt=={INTEL_RUNTIME}",
            "numpy",
            "pytest",
            "cffi",
            "cython",
            "setuptools",
        ]
        venv.create(folder, with_pip=True, clear=True)
        command = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *packages]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            shutil.rmtree(folder)
            raise Missing(f"dpctl cannot be installed: {result.stderr[-300:]}")
        done.touch()
    return folder


def intel_engine() -> tuple[str, Path]:
    """Intel's CPU driver: dpctl needs an engine that takes SPIR-V."""
    return "intel", dpctl_installation() / "lib" / "libintelocl.so"


def dpctl_test_folder() -> Path:
    return next((dpctl_installation() / "lib").glob("python3.*/site-packages/dpctl/tests"))


def resumed(environment: Environment, folder: Path, file: Path) -> Outcome:
    """A file of tests; what ends the process or hangs has failed, and the others still run."""
    results = folder / f"{file.stem}.results"
    python = dpctl_installation() / "bin" / "python"
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "progress",
               f"--progress={results}", f"--patience={PATIENCE_OF_A_TEST_S}", str(file)]  # fmt: skip
    surroundings = {**environment, "ONEAPI_DEVICE_SELECTOR": "opencl:*", "PYTHONPATH": str(Path(__file__).parent)}
    outcome = Outcome()
    for _ in range(MOST_DEATHS):
        status, text = run(surroundings, folder, *command)
        if not results.exists():
            break
        outcome, unfinished = told(results)
        if unfinished is None:
            return outcome if status in (0, 1, 5) else together([outcome, one(f"{file.name}: end", False, text)])
        words = f"ended the process with status {status}, or hung for {PATIENCE_OF_A_TEST_S} s\n{text[-3000:]}"
        with results.open("a") as more:
            for what in ("failed", "ended"):
                more.write(json.dumps({"test": unfinished, "outcome": what, "words": words}) + "\n")
        outcome, _ = told(results)
    return together([outcome, one(file.name, False, f"status {status}\n{text}")])


def told(results: Path) -> tuple[Outcome, str | None]:
    """What the lines of clients/progress.py say, and the test that was begun and did not end."""
    outcome, unfinished = Outcome(), None
    for line in results.read_text().splitlines():
        said = json.loads(line)
        name = said["test"]
        unfinished = {"begun": name, "ended": None}.get(said["outcome"], unfinished)
        if said["outcome"] == "failed":
            outcome.failed[name] = said["words"]
            outcome.passed.discard(name)
        elif said["outcome"] == "skipped":
            outcome.skipped.add(name)
        elif said["outcome"] == "passed" and name not in outcome.failed:
            outcome.passed.add(name)
    return outcome, unfinished


@client_on(intel_engine)
def sycl_host(environment: Environment, folder: Path) -> Outcome:
    """A C host on the SYCL runtime, without Python."""
    package, libraries = dpctl_test_folder().parent, dpctl_installation() / "lib"
    made = folder / "sycl_host"
    source = ROOT / "clients" / "sycl_host.c"
    status, text = run(
        environment, folder, "cc", f"-I{package / 'include'}", "-o", str(made), str(source), f"-L{package}",
        "-lDPCTLSyclInterface", f"-Wl,-rpath,{package},-rpath-link,{libraries}",
    )  # fmt: skip
    if status == 0:
        chosen = {**environment, "ONEAPI_DEVICE_SELECTOR": "opencl:*", "LD_LIBRARY_PATH": str(libraries)}
        status, text = run(chosen, folder, str(made))
    return one("sycl_host.c", status == 0 and text.strip().endswith("ok"), text)


@client_on(intel_engine)
def dpctl(environment: Environment, folder: Path) -> Outcome:
    """The SYCL runtime under dpctl: its own tests but those of tensors, each file in a process of its own."""
    tests = dpctl_test_folder()
    files = [file for file in sorted(tests.glob("test_*.py")) if not any(map(file.match, NEITHER_TENSORS))]
    return together([resumed(environment, folder, file) for file in files])


@client_on(intel_engine)
def dpctl_tensor(environment: Environment, folder: Path) -> Outcome:
    """Seven files of dpctl.tensor's tests: kernels that Intel compiled to SPIR-V."""
    tests = dpctl_test_folder()
    return together([resumed(environment, folder, tests / file) for file in TENSOR_FILES])


def checked(names: list[str], families: str) -> int:
    """Run clients under FPGART_CHECK and list the findings: how often, and the words of the first one of a kind."""
    library = ROOT / "fpgart" / "libfpgart.so"
    for name in names:
        with tempfile.TemporaryDirectory(prefix="fpgart-clients-") as work:
            folder = Path(work)
            file = folder / "findings"
            more = {"FPGART_CHECK": families, "FPGART_FINDINGS": str(file), "FPGART_LOG": str(folder / "log")}
            try:
                _, engine = CLIENTS[name].engine()
                environment = {**environment_of(FPGART, library, engine, folder), **more}
                outcome = CLIENTS[name].run(environment, folder)
            except Missing as missing:
                print(f"{name:<20} left out: {missing}", flush=True)
                continue
            lines = file.read_text().splitlines() if file.exists() else []
        print(f"{name:<20} {outcome}; {len(lines)} findings", flush=True)
        for check, reason in outcome.failed.items():
            print(f"    fails: {check}: {reason}")
        found = [json.loads(line) for line in lines]
        kinds = Counter((finding["check"], finding["rule"]) for finding in found)
        for (family, rule), count in sorted(kinds.items()):
            first = next(f for f in found if (f["check"], f["rule"]) == (family, rule))
            print(f"    {family}: {rule}: {count} times, such as {first['object']}: {first['words']}")
    return 0


def environment_of(driver: str, library: Path, engine: Path, folder: Path) -> Environment:
    """Loaders find one driver and no other."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD", "FPGART"))}
    kept |= {"FPGART_ENGINE": str(engine), "XDG_CACHE_HOME": str(folder / "cache")}
    if driver == FPGART:
        return running.environment(kept)
    vendors = folder / "vendors"
    vendors.mkdir()
    (vendors / "only.icd").write_text(f"{library}\n")
    return {**kept, "OCL_ICD_VENDORS": f"{vendors}/"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CLIENT", help=f"which of: {', '.join(CLIENTS)} (default: all)")
    parser.add_argument("--isolate", action="store_true", help="run the kernels in a process of their own")
    parser.add_argument("--check", metavar="FAMILIES", help="families of FPGART_CHECK: list findings instead")
    options = parser.parse_args()
    unknown = set(options.names) - CLIENTS.keys()
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(CLIENTS)}")
    if options.check:
        return checked(options.names or list(CLIENTS), options.check)
    worse = 0
    for name in options.names or CLIENTS:
        outcomes = {}
        try:
            engine_name, engine = CLIENTS[name].engine()
            for driver, library in ((FPGART, ROOT / "fpgart" / "libfpgart.so"), (engine_name, engine)):
                with tempfile.TemporaryDirectory(prefix="fpgart-clients-") as work:
                    folder = Path(work)
                    environment = environment_of(driver, library, engine, folder)
                    if options.isolate:
                        environment["FPGART_ISOLATE"] = "1"
                    outcomes[driver] = CLIENTS[name].run(environment, folder)
        except Missing as missing:
            print(f"{name:<20} left out: {missing}", flush=True)
            continue
        words = "; ".join(f"{driver}: {outcome}" for driver, outcome in outcomes.items())
        print(f"{name:<20} {words}", flush=True)
        ours, theirs = outcomes.values()
        lost = {check: reason for check, reason in ours.failed.items() if check not in theirs.failed}
        for check, reason in lost.items():
            print(f"    fails on fpgart only: {check}\n        " + reason.replace("\n", "\n        "))
        worse += len(lost)
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
