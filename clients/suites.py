# SPDX-License-Identifier: Apache-2.0
"""Clients with tests of their own, which are counted: pyopencl's, and dpctl's on Intel's SYCL runtime."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from client import ROOT, Client, Environment, Missing, Outcome, first_engine, one, run, together

Function = Callable[[Environment, Path], Outcome]
SUITES: list[Client] = []


def suite(engine: Callable[[], tuple[str, Path]]) -> Callable[[Function], Function]:
    """Registers a client that runs on a certain engine; its docstring stands in the table."""

    def register(function: Function) -> Function:
        words = (function.__doc__ or "").strip().rstrip(".")
        SUITES.append(Client(function.__name__, function, words, engine=engine))
        return function

    return register


def kept_folder() -> Path:
    """Returns the folder of downloads, which are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fpgart" / "clients"


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def pyopencl_sources() -> Path:
    """Returns pyopencl's source distribution of the installed version, which is fetched once."""
    version = metadata.version("pyopencl")
    kept = kept_folder()
    folder = kept / f"pyopencl-{version}"
    if not folder.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--no-binary", "pyopencl", "--dest", str(kept), f"pyopencl=={version}"]  # fmt: skip
        result = subprocess.run(command, capture_output=True, text=True)
        archive = next(kept.glob(f"pyopencl-{version}.tar.gz"), None)
        if archive is None:
            raise Missing(f"pyopencl's source distribution cannot be fetched: {last_line(result.stderr)}")
        shutil.unpack_archive(archive, kept)
    return folder


@suite(first_engine)
def pyopencl_tests(environment: Environment, folder: Path) -> Outcome:
    """pyopencl's own test-suite, each file in a process of its own."""
    if find_spec("mako") is None:
        raise Missing("Mako, without which pyopencl has no algorithms: pip install Mako")
    found = []
    alone = {**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plugins of other packages may not fit this pytest
    tests = folder / "test"
    shutil.copytree(pyopencl_sources() / "test", tests, ignore=shutil.ignore_patterns("tmpdir_*"))
    for file in sorted(tests.glob("test_*.py")):
        report = folder / f"{file.stem}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(file)]
        status, text = run(alone, file.parent, *command)
        if report.exists():
            found.append(junit(report))
            report.unlink()
        else:
            found.append(Outcome(failed={file.name: f"ended with status {status}\n{text[-300:]}"}))
    return together(found)


DEVICE = re.compile(r"<context factory for <pyopencl.Device '.*?' on '.*?'>>\d*")  # numbered if there are twins


def junit(report: Path) -> Outcome:
    """Returns the results in a report of pytest's."""
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


@suite(first_engine)
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
    """Returns a virtual environment with dpctl, Intel's SYCL runtime and CPU driver, made once. Raises Missing."""
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
            raise Missing(f"dpctl cannot be installed: {last_line(result.stderr)}")
        done.touch()
    return folder


def intel_engine() -> tuple[str, Path]:
    """Returns Intel's CPU driver: dpctl needs an engine that takes SPIR-V."""
    return "intel", dpctl_installation() / "lib" / "libintelocl.so"


def dpctl_test_folder() -> Path:
    return next((dpctl_installation() / "lib").glob("python3.*/site-packages/dpctl/tests"))


def resumed(environment: Environment, folder: Path, file: Path) -> Outcome:
    """Runs a file of tests. A test that ends the process or hangs has failed, and the others still run."""
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
    """Returns the outcome in the lines of clients/progress.py, and the test that began and did not end."""
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


@suite(intel_engine)
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


@suite(intel_engine)
def dpctl(environment: Environment, folder: Path) -> Outcome:
    """The SYCL runtime under dpctl: its own tests but those of tensors, each file in a process of its own."""
    tests = dpctl_test_folder()
    files = [file for file in sorted(tests.glob("test_*.py")) if not any(map(file.match, NEITHER_TENSORS))]
    return together([resumed(environment, folder, file) for file in files])


@suite(intel_engine)
def dpctl_tensor(environment: Environment, folder: Path) -> Outcome:
    """Seven files of dpctl.tensor's tests: kernels that Intel compiled to SPIR-V."""
    tests = dpctl_test_folder()
    return together([resumed(environment, folder, tests / file) for file in TENSOR_FILES])
