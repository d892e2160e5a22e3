# SPDX-License-Identifier: Apache-2.0
"""The suites that run on each engine, and the counting of their outcomes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from obtaining import FOLDER, ROOT, Missing, Obtained, completed, run

BARE, FPGART = "bare", "fpgart"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
NO_TESTS = (4, 5)
"""Exit statuses of pytest that was called wrongly, or found no test."""
TESTS_WITH_KERNELS = (
    "tests/runtime/programs/test_kernels.py", "tests/kernels/test_kernel_language.py", "tests/api/test_pipes.py",
    "tests/runtime/model/test_streams.py", "tests/icd/test_python_hosts.py",
)  # fmt: skip
TEST_LIMIT_S = 120
"""Of a test of conformance/, after which it counts as hung: so one that hangs does not take the time of all."""
OPERATIONS = (
    "gaussian_blur", "maximum_filter", "minimum_filter", "median", "threshold_otsu", "voronoi_otsu_labeling",
    "connected_component_labeling", "top_hat", "sobel", "laplace", "sum_of_all_pixels", "std_z_projection",
)  # fmt: skip
OPERATE = """
import sys
import numpy
import pyclesperanto as cle
image = cle.push(numpy.random.default_rng(1).random((64, 64, 16)).astype(numpy.float32))
for name in sys.argv[1:]:
    getattr(cle, name)(image)
    print("done", name, flush=True)
"""
BUILD = '''
import time
import pyopencl as cl
SOURCE = """
kernel void scale(global float *data, float factor) { data[get_global_id(0)] *= factor; }
kernel void sum(global const float *data, global float *sums, local float *part)
{
    size_t mine = get_local_id(0);
    part[mine] = data[get_global_id(0)];
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine < step) part[mine] += part[mine + step];
    }
    if (mine == 0) sums[get_group_id(0)] = part[0];
}
"""
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
begin = time.perf_counter()
cl.Program(context, SOURCE).build(cache_dir=False)
print("seconds", time.perf_counter() - begin)
'''


@dataclass
class Outcome:
    """The number of checks that passed, failed, crashed the process, or exceeded the time limit."""

    passed: int = 0
    failed: int = 0
    crashed: int = 0
    hung: int = 0
    skipped: int = 0
    seconds: float | None = None

    def __add__(self, other: Outcome) -> Outcome:
        mine, theirs = asdict(self), asdict(other)
        return Outcome(**{name: mine[name] + theirs[name] for name in mine if name != "seconds"})


class Place:
    """An engine, alone or with the driver on it, and where its runs may write."""

    def __init__(self, engine: Obtained, way: str, folder: Path, patience_s: float) -> None:
        self.engine, self.way, self.folder, self.patience_s = engine, way, folder, patience_s
        vendors = folder / "vendors"
        vendors.mkdir()
        (vendors / "only.icd").write_text(f"{engine.library if way == BARE else ROOT / 'fpgart' / 'libfpgart.so'}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FPGART_", "OCL_ICD_"))}
        self.environment = {
            **kept,
            **engine.variables,
            "OCL_ICD_VENDORS": f"{vendors}/",
            "POCL_CACHE_DIR": str(folder / "kernels"),
            "PYOPENCL_NO_CACHE": "1",
            "FPGART_ENGINE": str(engine.library),
        }
        (folder / "kernels").mkdir()

    def run(self, *command: str | Path, folder: Path = ROOT) -> tuple[int | None, str]:
        """Runs a program; returns its status, None if it did not end in time, and its output."""
        with (self.folder / "output").open("w+b") as output:
            process = subprocess.Popen(
                command, env=self.environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            status: int | None = None
            try:
                status = process.wait(self.patience_s)
            except subprocess.TimeoutExpired:
                pass
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
                    process.wait()
            output.seek(0)
            return status, output.read().decode(errors="replace")

    def pytest(self, *words: str | Path, folder: Path = ROOT, python: Path | None = None) -> Outcome:
        """Runs pytest, and counts the outcomes in its report."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        start = PYTEST if python is None else (python, *PYTEST[1:])
        status, text = self.run(*start, f"--junitxml={report}", *words, folder=folder)
        if status in NO_TESTS:
            lines = text.strip().splitlines()  # those of the two outputs in any order
            raise Missing(
                f"pytest ran nothing: {next((line for line in lines if line.startswith('ERROR')), lines[-1])}"
            )
        found = counted(report) if report.exists() else Outcome()
        if status is None:
            return found + Outcome(hung=1)
        if not report.exists():  # it did not get as far as that
            return Outcome(crashed=1) if status < 0 else Outcome(failed=1)
        return found


def counted(report: Path) -> Outcome:
    """Counts the cases of a report of pytest's; a worker that died counts as a crash."""
    found = Outcome()
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = next((part for part in (case.find("failure"), case.find("error")) if part is not None), None)
        if wrong is not None:
            words = f"{wrong.get('message')} {wrong.text}"
            if re.search(r"worker '\w+' crashed|returncode=-(?:6|11)|signal (?:6|11)\b", words):
                found.crashed += 1
            elif re.search(r"TimeoutExpired|Timeout \(?>|did not end within|a thread hangs", words):
                found.hung += 1
            else:
                found.failed += 1
        elif case.find("skipped") is not None:
            found.skipped += 1
        else:
            found.passed += 1
    return found


def conformance(place: Place) -> Outcome:
    """The conformance suite through the driver, or on the engine alone."""
    driver = "fpgart" if place.way == FPGART else str(place.engine.library)
    return place.pytest("-n", "2", "-m", "not slow", f"--timeout={TEST_LIMIT_S}", "conformance", "--driver", driver)


def kernels(place: Place) -> Outcome:
    """The driver's own tests that run kernels."""
    return place.pytest("-n", "2", "-m", "not slow", *TESTS_WITH_KERNELS)


def hosts(place: Place) -> Outcome:
    """Each host of conformance/hosts.json once."""
    _, text = place.run(sys.executable, "conformance/repeat.py", "--runs", "1", "conformance/hosts.json")
    rows = re.findall(r"(?:\s{2}(\d+)\s+(\d+)\s+(\d+)|\s(lacking))\s*$", text, re.MULTILINE)
    found = Outcome()
    for runs, hangs, failures, lacking in rows:
        if lacking:
            found.skipped += 1
            continue
        found += Outcome(int(runs) - int(hangs) - int(failures), int(failures), hung=int(hangs))
    if not rows:
        raise Missing(f"conformance/repeat.py gave no table: {text[-200:].strip()}")
    return found


def pyopencl(place: Place) -> Outcome:
    """pyopencl's own tests, each file in a process of its own."""
    sources = pyopencl_sources()
    files = sorted((sources / "test").glob("test_*.py"))
    return total(place.pytest(file, folder=file.parent, python=clients()) for file in files)


def pyopencl_sources() -> Path:
    version = metadata.version("pyopencl")

    def fill(folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps")
        run(*pip, "--no-binary=pyopencl", "--dest", folder, f"pyopencl=={version}")
        shutil.unpack_archive(next(folder.glob("*.tar.gz")), folder)

    return completed(FOLDER / "sources" / "pyopencl", fill) / f"pyopencl-{version}"


def clients() -> Path:
    """A Python in which pyclesperanto and silx are installed."""

    def fill(folder: Path) -> None:
        run(sys.executable, "-m", "venv", folder)
        pip = (folder / "bin" / "pip", "--disable-pip-version-check", "install")
        run(*pip, "pyclesperanto", "silx", f"pyopencl=={metadata.version('pyopencl')}", "mako", "pytest", "hdf5plugin")

    return completed(FOLDER / "clients", fill) / "bin" / "python"


def pyclesperanto(place: Place) -> Outcome:
    """Twelve operations of pyclesperanto in one process: those after the one that ends it count as crashed."""
    status, text = place.run(clients(), "-c", OPERATE, *OPERATIONS)
    done = len(re.findall(r"^done ", text, re.MULTILINE))
    rest = len(OPERATIONS) - done
    if status is None:
        return Outcome(passed=done, hung=rest)
    if status < 0:
        return Outcome(passed=done, crashed=max(rest, 1))
    return Outcome(passed=done, failed=rest)


def silx(place: Place) -> Outcome:
    """The tests of silx that decompress on the device."""
    return place.pytest("--pyargs", "silx.opencl.codec", "-k", "decompress", folder=place.folder, python=clients())


def build(place: Place) -> Outcome:
    """Seconds until clBuildProgram has returned, for a program of two kernels that no cache has."""
    status, text = place.run(sys.executable, "-W", "ignore", "-c", BUILD)
    found = re.search(r"^seconds (\S+)", text, re.MULTILINE)
    if status is None:
        return Outcome(hung=1)
    return (
        Outcome(passed=1, seconds=float(found[1]))
        if found
        else Outcome(failed=int(status >= 0), crashed=int(status < 0))
    )


def total(outcomes: Iterable[Outcome]) -> Outcome:
    whole = Outcome()
    for outcome in outcomes:
        whole += outcome
    return whole


@dataclass(frozen=True)
class Suite:
    """A suite, and whether it says something about an engine alone, too."""

    run: Callable[[Place], Outcome]
    ways: tuple[str, ...] = (FPGART,)


SUITES = {
    "build": Suite(build, (BARE, FPGART)),
    "hosts": Suite(hosts),
    "pyclesperanto": Suite(pyclesperanto, (BARE, FPGART)),
    "silx": Suite(silx, (BARE, FPGART)),
    "kernels": Suite(kernels),
    "pyopencl": Suite(pyopencl, (BARE, FPGART)),
    "conformance": Suite(conformance, (BARE, FPGART)),
}


def measured(suite: Suite, engine: Obtained, way: str, patience_s: float) -> tuple[Outcome, float]:
    """Runs a suite; returns its outcome and the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="fpgart-engines-", ignore_cleanup_errors=True) as folder:
        begin = time.monotonic()
        return suite.run(Place(engine, way, Path(folder), patience_s)), time.monotonic() - begin
