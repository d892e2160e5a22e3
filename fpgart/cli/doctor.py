# SPDX-License-Identifier: Apache-2.0
"""`fpgart doctor`: checks the installation, and gives a remedy for each failure."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import click

from fpgart.base import config, option_paths, option_values, registration
from fpgart.cli import running
from fpgart.cli.kept_files import places
from fpgart.cli.validation import wrong_options
from fpgart.engine.choice import EMULATOR, candidates, choose
from fpgart.engine.compiling.cache import cache_folder
from fpgart.engine.driver import DriverError
from fpgart.engine.interface import NoEngine
from fpgart.engine.known_faults import in_words, product_behind
from fpgart.icpx.compilation import compile_sample
from fpgart.icpx.errors import IcpxError, NotInstalled, PassFailed
from fpgart.icpx.pieces import AC_TYPES, INSTALL, ac_types
from fpgart.version import __version__
from fpgart.watch import report

SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"
PROBE = Path(__file__).with_name("probe.py")
PYOPENCL_PROBE = Path(__file__).with_name("pyopencl_probe.py")
C_HOST = registration.PACKAGE / "c-host"
LOADER = "libOpenCL.so.1"
SECONDS = 120
"""The time limit of a host; PoCL compiles its first kernel in a few seconds."""
COMPILED = "compiled while the host runs"
"""The only finding in the host PROBE."""
FOREIGN = ("OCL_ICD_", "OPENCL_", "POCL_", "PYOPENCL_", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME")
"""Prefixes of the names of others' variables that select the driver, loader or Python."""


class Failure(Exception):
    """Raised if a check failed; the sentence gives the remedy."""


class Missing(Exception):
    """Raised if an optional part is missing; the sentence names its users and the remedy."""


@dataclass(frozen=True)
class Outcome:
    """The result of a check. `state`: ok, missing (optional), failed, or skipped (a check that it needs has failed)."""

    name: str
    state: str
    words: str


def check_libraries() -> str:
    """Checks that the driver is built for this Python."""
    behind = sorted(registration.PACKAGE.glob("libfpgart.3.*.so"), key=lambda path: int(path.suffixes[-2][1:]))
    series = [path.name.removeprefix("libfpgart.").removesuffix(".so") for path in behind]
    if SERIES not in series:
        served = f"serves Python {', '.join(series)}" if series else f"is not in {registration.PACKAGE}"
        raise Failure(f"the driver {served}, but this is Python {SERIES}: install fpgart with this Python")
    return f"{registration.LIBRARY}, for Python {', '.join(series)}"


def check_registration() -> str:
    try:
        return "; ".join([str(registration.vendor_folder() / "fpgart.icd"), *registration.stale()])
    except registration.RegistrationError as error:
        raise Failure(str(error)) from None


def check_options() -> str:
    faults = [*config.misspelt(os.environ), *(wrong.words for wrong in wrong_options())]
    if faults:
        raise Failure("; ".join(faults))
    given = [name for name, option in config.OPTIONS.items() if option.is_set]
    return ", ".join(given) or "none set"


def check_cache() -> str:
    """Returns the folder of compiled kernels, and the reason if it is a private one."""
    try:
        kept = cache_folder()
    except DriverError as error:
        raise Failure(str(error)) from None
    return f"{kept.folder} (private, because {kept.words})" if kept.words else kept.folder


def check_folders() -> str:
    """Checks that no other user can change files that fpgart executes or writes."""
    found = list(places())
    faults = [fault for place in found if (fault := place.fault())]
    if faults:
        raise Failure("; ".join(faults))
    return f"{len(found)} files and folders, which no other user can change (`fpgart info` lists them)"


def check_engine() -> str:
    choice = choose()
    engine = choice.engine
    if isinstance(engine, NoEngine):
        raise Failure(engine.reason)
    named = f"{engine.name}: {engine.path} ({engine.version})"
    whole = "; passed over: ".join([named, *map(str, choice.passed_over)])
    return "\n".join([whole, *in_words(product_behind(engine))])


def run_host(*command: str | Path, **options: str) -> dict[str, str]:
    """Runs a host as `fpgart run` would; returns its lines `word: text`, or raises Failure with its output."""
    given = running.environment({"FPGART_LOG": option_paths.STDERR, **options})
    try:
        result = subprocess.run(command, env=given, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{Path(command[-1]).name} did not end within {SECONDS} s") from None
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    if result.returncode:
        *earlier, last = result.stderr.splitlines() or [""]
        told = [line for line in earlier if line.startswith("fpgart: ")]
        said = [line for line in (*result.stdout.splitlines()[-1:], *told, last) if line]
        raise Failure(f"the host exited with status {result.returncode}: {'; '.join(said)}")
    return dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)


def check_kernel() -> str:
    """Builds and runs a kernel straight on the driver, in a Python process."""
    said = run_host(sys.executable, PROBE, registration.LIBRARY)
    return f"{said['ran']} ran, with the right result"


@cache
def run_c_host() -> dict[str, str]:
    """Runs the C host on the system's loader; raises Missing if there is no loader."""
    if not C_HOST.exists():
        raise Failure(f"{C_HOST} is missing: reinstall fpgart")
    probed = subprocess.run([C_HOST, LOADER], env={}, capture_output=True, text=True, timeout=SECONDS, check=False)
    if f"failed: {LOADER}" in probed.stdout:
        raise Missing("no OpenCL loader on this system; C hosts need one: apt install ocl-icd-libopencl1")
    return run_host(C_HOST, LOADER)


def check_libpython() -> str:
    """Checks that hosts that are not written in Python get an interpreter."""
    try:
        return run_c_host()["libpython"]
    except Missing:
        return run_host(C_HOST, registration.LIBRARY)["libpython"]


def check_loader() -> str:
    said = run_c_host()
    return ", ".join(said[word] for word in ("library", "loader") if word in said)


def check_c_host() -> str:
    said = run_c_host()
    return f"{said['ran']} on {said['device']}"


def check_pyopencl() -> str:
    """Runs a host in Python, on the loader that pyopencl brings or was built for."""
    if importlib.util.find_spec("pyopencl") is None:
        raise Missing("pyopencl is not installed; hosts written in Python need it: pip install 'fpgart[pocl]'")
    said = run_host(sys.executable, PYOPENCL_PROBE, PYOPENCL_NO_CACHE="1")  # its cache needs a home
    return f"pyopencl {said['pyopencl']}: {said['ran']} on {said['device']}"


def check_trace() -> str:
    with tempfile.TemporaryDirectory(prefix="fpgart-doctor-") as folder:
        file = Path(folder) / "trace.json"
        run_host(sys.executable, PROBE, registration.LIBRARY, FPGART_TRACE=str(file))
        try:
            found = report.read(file)
        except (OSError, report.TraceError) as error:
            raise Failure(f"the trace of a host cannot be read: {error}") from None
    return f"the trace of a host has a kernel and {len(found.buffers)} buffer"


def check_checks() -> str:
    """Checks that they report one finding in a host that compiles while it runs and has no other mistake."""
    with tempfile.TemporaryDirectory(prefix="fpgart-doctor-") as folder:
        file = Path(folder) / "findings"
        run_host(sys.executable, PROBE, registration.LIBRARY, FPGART_CHECK="all", FPGART_FINDINGS=str(file))
        lines = file.read_text().splitlines() if file.exists() else []
    rules = [json.loads(line)["rule"] for line in lines]
    if rules != [COMPILED]:
        raise Failure(f"the findings in the test host are {rules} instead of only '{COMPILED}'")
    return f"{', '.join(option_values.HOST_CHECKS)} report the expected finding in the test host"


def check_compiler() -> str:
    found = shutil.which("gcc") or shutil.which("cc")
    if not found:
        raise Missing("no C compiler; only building C hosts, or fpgart itself, needs one: apt install gcc")
    return found


def check_sycl() -> str:
    """Compiles a program with the compiler of SYCL programs."""
    try:
        tools = compile_sample()
    except NotInstalled as error:
        raise Missing(f"{error}; only SYCL programs for FPGAs need it") from None
    except (IcpxError, PassFailed) as error:
        raise Failure(f"icpx cannot compile: {error}") from None
    limits = "" if tools.device.has_properties else ", without device globals, host pipes and specialization constants"
    return f"{tools.runtime.compiler} ({tools.runtime.version}) for devices{limits}, {tools.host} for hosts"


def check_ac_types() -> str:
    folder = ac_types()
    if folder is None:
        raise Missing(f"{AC_TYPES} is not installed; only SYCL programs with ac_int need its headers: {INSTALL}")
    return str(folder)


def check_emulator() -> str:
    found = next((path for _, path in candidates("emulator")), None)
    if found is None:
        raise Missing(f"{EMULATOR} is not installed; only SYCL programs with pipes need Intel's emulator: {INSTALL}")
    said = run_host(sys.executable, PROBE, registration.LIBRARY, FPGART_ENGINE="emulator")
    return f"{found}: {said['ran']} ran"


CHECKS: dict[str, Callable[[], str]] = {
    "driver": check_libraries,
    "registered": check_registration,
    "options": check_options,
    "cache": check_cache,
    "folders": check_folders,
    "engine": check_engine,
    "kernel": check_kernel,
    "libpython": check_libpython,
    "loader": check_loader,
    "C host": check_c_host,
    "pyopencl": check_pyopencl,
    "trace": check_trace,
    "checks": check_checks,
    "compiler": check_compiler,
    "icpx": check_sycl,
    "ac_types": check_ac_types,
    "emulator": check_emulator,
}
RUN_KERNELS = ("driver", "options", "cache", "engine", "kernel")
NEEDS = {
    "registered": ("driver",),
    "engine": ("options", "cache"),
    "kernel": RUN_KERNELS[:-1],
    "libpython": RUN_KERNELS,
    "loader": (*RUN_KERNELS, "libpython"),
    "C host": (*RUN_KERNELS, "libpython", "loader"),
    "pyopencl": (*RUN_KERNELS, "registered"),
    "trace": RUN_KERNELS,
    "checks": RUN_KERNELS,
    "emulator": ("driver", "options", "cache"),
}
"""For each check, those that it needs. If one of them has failed, the check is skipped."""
COLOURS = {"ok": "green", "missing": "yellow", "failed": "red", "skipped": "yellow"}
INDENT = 17
"""The column at which the words of an outcome begin."""
SHOWN = {"ok": "ok", "missing": "--", "failed": "FAIL", "skipped": "skip"}


def outcomes() -> Iterator[Outcome]:
    failed: list[str] = []
    for name, check in CHECKS.items():
        cause = next((each for each in NEEDS.get(name, ()) if each in failed), "")
        if cause:
            yield Outcome(name, "skipped", f"not tried, because '{cause}' failed")
            continue
        try:
            yield Outcome(name, "ok", check())
        except Missing as missing:
            yield Outcome(name, "missing", str(missing))
        except Failure as failure:
            failed.append(name)
            yield Outcome(name, "failed", str(failure))


def versions() -> dict[str, str]:
    """Returns the versions that a bug report has to name."""
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "fpgart": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, {libc}",
    }


def variables() -> dict[str, str]:
    """Returns every variable that is set and that the driver, the engine, a loader or Python obeys."""
    known = {*config.OPTIONS, *config.OWN_NAMES}
    named = {name: text for name, text in os.environ.items() if name in known or name.startswith(config.PREFIX)}
    return named | {name: text for name, text in os.environ.items() if name.startswith(FOREIGN)}


def run_checks(as_json: bool = False) -> int:
    """Runs all checks and prints their outcomes; returns 1 if one failed."""
    found: list[Outcome] = []
    if not as_json:
        click.echo(", ".join(f"{name} {text}" for name, text in versions().items()))
    for outcome in outcomes():
        found.append(outcome)
        if not as_json:
            state = click.style(f"{SHOWN[outcome.state]:<4}", fg=COLOURS[outcome.state])
            first, *further = outcome.words.splitlines()
            click.echo(f"{state}  {outcome.name:<10} {first}")
            for line in further:
                click.echo(f"{'':<{INDENT}}{line}")
    failed = any(outcome.state == "failed" for outcome in found)
    if as_json:
        checks = [asdict(outcome) for outcome in found]
        whole = {**versions(), "whole": not failed, "checks": checks, "environment": variables()}
        click.echo(json.dumps(whole, indent=2))
        return int(failed)
    in_force = variables()
    click.echo("variables in force:" if in_force else "variables in force: none")
    for name, text in sorted(in_force.items()):
        click.echo(f"      {name}={text}")
    return int(failed)
