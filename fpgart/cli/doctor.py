# SPDX-License-Identifier: Apache-2.0
"""`fpgart doctor`: is the installation whole, and what to do where it is not."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import click

from fpgart import config
from fpgart.cli import registration, running
from fpgart.cli.places import places
from fpgart.cli.validation import wrong_options
from fpgart.engine.cache import cache_folder
from fpgart.engine.choice import choose
from fpgart.engine.driver import DriverError
from fpgart.engine.interface import NoEngine

SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"
PROBE = Path(__file__).with_name("probe.py")


class Failure(Exception):
    """A check did not pass; the sentence says what to do."""


def check_compiler() -> str:
    found = shutil.which("gcc") or shutil.which("cc")
    if not found:
        raise Failure("no C compiler; only building the driver needs one: apt install gcc")
    return found


def check_libpython() -> str:
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise Failure(f"this Python has no shared library: apt install python3 libpython{SERIES}, and use that one")
    return str(sysconfig.get_config_var("LDLIBRARY"))


def check_library() -> str:
    try:
        return str(registration.vendor_folder() / "fpgart.icd")
    except registration.RegistrationError as error:
        raise Failure(str(error)) from None


def check_loader() -> str:
    found = ctypes.util.find_library("OpenCL")
    if not found:
        raise Failure("no OpenCL loader on this system: apt install ocl-icd-libopencl1 (pyopencl brings its own)")
    return found


def check_options() -> str:
    """All options of the environment make sense."""
    faults = [*config.misspelt(os.environ), *(wrong.words for wrong in wrong_options())]
    if faults:
        raise Failure("; ".join(faults))
    given = [name for name, option in config.OPTIONS.items() if option.is_set]
    return ", ".join(given) or "none is set"


def check_cache() -> str:
    """Where PoCL keeps compiled kernels, and why there."""
    try:
        cache = cache_folder()
    except DriverError as error:
        raise Failure(str(error)) from None
    return f"{cache.folder} (private, because {cache.words})" if cache.words else cache.folder


def check_folders() -> str:
    """Nobody else can change what fpgart executes or writes."""
    found = list(places())
    faults = [fault for place in found if (fault := place.fault())]
    if faults:
        raise Failure("; ".join(faults))
    return f"{len(found)} files and folders that nobody else can change (`fpgart info` lists them)"


def check_engine() -> str:
    choice = choose()
    engine = choice.engine
    if isinstance(engine, NoEngine):
        raise Failure(engine.reason)
    return "; passed over: ".join([f"{engine.name}: {engine.path}", *map(str, choice.passed_over)])


def check_kernel() -> str:
    """Builds and runs a kernel through the driver, in a process of its own."""
    result = subprocess.run(
        [sys.executable, str(PROBE), str(registration.LIBRARY)],
        env=running.environment({"FPGART_LOG": "stderr"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if result.returncode:
        raise Failure(f"the driver did not run a kernel (status {result.returncode}): {result.stderr.strip()}")
    return result.stdout.strip()


CHECKS: dict[str, Callable[[], str]] = {
    "compiler": check_compiler,
    "libpython": check_libpython,
    "options": check_options,
    "driver": check_library,
    "loader": check_loader,
    "cache": check_cache,
    "folders": check_folders,
    "engine": check_engine,
    "kernel": check_kernel,
}


def run_checks() -> int:
    """Run all checks, print a line for each; 0 when all passed."""
    failed = 0
    for name, check in CHECKS.items():
        try:
            found = check()
        except Failure as failure:
            failed += 1
            click.echo(f"{click.style('FAIL', fg='red')}  {name:<10} {failure}")
        else:
            click.echo(f"{click.style('ok', fg='green')}    {name:<10} {found}")
    return 1 if failed else 0
