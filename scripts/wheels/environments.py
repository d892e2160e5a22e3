# SPDX-License-Identifier: Apache-2.0
"""Pythons of all kinds that a wheel is installed in, and the hosts that are run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = [sys.executable, "-m", "uv"]
HOST = ROOT / "examples" / "host.c"
PYTHON_HOST = ROOT / "examples" / "host.py"
SYSTEM = Path("/usr/bin/python3")


class NotHere(Exception):
    """This machine lacks what an environment is made of; the sentence says what."""


@dataclass(frozen=True)
class Environment:
    """An environment for a wheel: an interpreter, and the options by which uv installs into it."""

    python: Path
    packages: Path
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


def output(*words: str | Path, **variables: str) -> str:
    """Returns a program's output, run with few variables; raises RuntimeError with both streams if it fails."""
    environment = {"PATH": os.defpath, "HOME": os.environ.get("HOME", "/"), **variables}
    result = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=600, env=environment, cwd="/"
    )
    if result.returncode:
        raise RuntimeError((result.stdout + result.stderr).strip())
    return result.stdout


def facts(python: Path) -> tuple[str, Path]:
    """Series and folder of packages."""
    code = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2]); print(sysconfig.get_paths()['platlib'])"
    series, packages = output(python, "-c", code).split("\n")[:2]
    return series, Path(packages)


def virtual(base: Path | str, place: Path) -> Environment:
    subprocess.run([*UV, "venv", "--quiet", "--python", base, place], check=True)
    return Environment(place / "bin" / "python", facts(place / "bin" / "python")[1])


def of_system(work: Path) -> Environment:
    if not SYSTEM.exists():
        raise NotHere("no /usr/bin/python3")
    output(SYSTEM, "-m", "venv", "--without-pip", work / "venv")
    python = work / "venv" / "bin" / "python"
    return Environment(python, facts(python)[1])


def pyenv(series: str) -> Callable[[Path], Environment]:
    def make(work: Path) -> Environment:
        found = sorted(Path.home().glob(f".pyenv/versions/{series}.*/bin/python"))
        if not found:
            raise NotHere(f"pyenv has no {series}")
        return virtual(found[-1], work / "venv")

    return make


def uv(series: str) -> Callable[[Path], Environment]:
    """python-build-standalone, as uv downloads it."""

    def make(work: Path) -> Environment:
        installed = subprocess.run([*UV, "python", "install", series], capture_output=True, text=True, timeout=300)
        if installed.returncode:
            raise NotHere("uv cannot download it")
        found = subprocess.run(
            [*UV, "python", "find", "--managed-python", series], capture_output=True, text=True, check=True
        )
        return virtual(found.stdout.strip(), work / "venv")

    return make


def relocated(work: Path) -> Path:
    """A Python in a folder of its own: a static executable with the library beside it, as uv and conda lay theirs out.

    Made of the system's, which is as static as those.
    """
    series, _ = facts(SYSTEM)
    executable = Path(os.path.realpath(SYSTEM))
    libraries = list(Path("/usr/lib").glob(f"*-linux-gnu/libpython{series}.so.1.0"))
    linked = subprocess.run(["ldd", executable], capture_output=True, text=True).stdout
    if not libraries or "libpython" in linked:
        raise NotHere("the system's Python is not a static one with a shared library besides")
    place = work / "python"
    (place / "bin").mkdir(parents=True)
    shutil.copy2(executable, place / "bin" / f"python{series}")
    (place / "bin" / "python3").symlink_to(f"python{series}")
    ignored = shutil.ignore_patterns("__pycache__", "test", "dist-packages")
    shutil.copytree(f"/usr/lib/python{series}", place / "lib" / f"python{series}", ignore=ignored)
    shutil.copy2(libraries[0], place / "lib")
    return place


def standalone(work: Path) -> Environment:
    return virtual(relocated(work) / "bin" / "python3", work / "venv")


def without_environment(work: Path) -> Environment:
    """As conda installs: into the Python itself, no virtual environment."""
    place = relocated(work)
    series, _ = facts(place / "bin" / "python3")
    packages = place / "lib" / f"python{series}" / "site-packages"
    found = (("PYTHONPATH", str(packages)),)  # Debian's looks into dist-packages by itself
    return Environment(place / "bin" / "python3", packages, ("--target", str(packages)), found)


def target(work: Path) -> Environment:
    """`pip install --target`: a folder that no path connects with a Python."""
    python = pyenv("3.12")(work).python
    folder = work / "folder"
    return Environment(python, folder, ("--target", str(folder)), (("PYTHONPATH", str(folder)),))


def moved(work: Path) -> Environment:
    """A virtual environment that lies elsewhere since fpgart was installed; the wheel is installed by `try_one`."""
    return of_system(work)


def move(environment: Environment) -> Environment:
    before = environment.python.parents[1]
    after = before.rename(before.with_name("moved venv"))
    return Environment(after / "bin" / "python", after / environment.packages.relative_to(before))


KINDS: dict[str, Callable[[Path], Environment]] = {
    "Debian's Python, venv": of_system,
    "pyenv 3.10, venv": pyenv("3.10"),
    "pyenv 3.11, venv": pyenv("3.11"),
    "pyenv 3.12, venv": pyenv("3.12"),
    "pyenv 3.13, venv": pyenv("3.13"),
    "uv's 3.13, venv": uv("3.13"),
    "uv's 3.14, venv": uv("3.14"),
    "static Python with libpython in its lib/ (uv's layout), uv's venv": standalone,
    "the same, installed into the Python itself (conda's layout)": without_environment,
    "folder of pip install --target, pyenv 3.12": target,
    "Debian's Python, venv that was moved": moved,
}


def c_host(environment: Environment, work: Path) -> str:
    """A C host on the system's loader, without any variable but the one that names the driver."""
    program = work / "host"
    subprocess.run(["gcc", f"-I{ROOT / 'include'}", "-o", program, HOST, "-lOpenCL", "-lm"], check=True)
    vendors = work / "vendors"
    vendors.mkdir()
    (vendors / "fpgart.icd").write_text(f"{environment.packages / 'fpgart' / 'libfpgart.so'}\n")
    said = output("/usr/bin/env", "-i", f"OCL_ICD_VENDORS={vendors}", program)
    if said.count("right") != 2:
        raise RuntimeError(said)
    return "right"


def python_host(environment: Environment, work: Path) -> str:
    """A pyopencl host on the loader that pyopencl brings."""
    command = [environment.python, "-m", "fpgart.cli", "run", "--", environment.python, PYTHON_HOST]
    said = output(*command, **dict(environment.variables))
    if "right" not in said:
        raise RuntimeError(said)
    return "right"


def doctor(environment: Environment, work: Path) -> str:
    try:
        output(environment.python, "-m", "fpgart.cli", "doctor", **dict(environment.variables))
    except RuntimeError as error:
        failed = [line for line in str(error).splitlines() if line.startswith("FAIL")]
        raise RuntimeError("; ".join(failed) or str(error)) from None
    return "ok"


TRIALS: dict[str, Callable[[Environment, Path], str]] = {
    "fpgart doctor": doctor,
    "C host": c_host,
    "pyopencl host": python_host,
}


def install(wheel: Path, environment: Environment) -> float:
    """Installs the wheel alone and then what it needs; returns the seconds for the wheel."""
    into = [*UV, "pip", "install", "--quiet", "--python", environment.python, *environment.options]
    begin = time.monotonic()
    subprocess.run([*into, "--no-deps", wheel], check=True)
    taken = time.monotonic() - begin
    subprocess.run([*into, f"{wheel}[pocl]"], check=True)
    return taken


def outcomes(wheel: Path, make: Callable[[Path], Environment], work: Path) -> Iterator[str]:
    """Returns the cells of one line: seconds, and the outcome of each trial."""
    environment = make(work)
    yield f"{install(wheel, environment):.1f} s"
    if make is moved:
        environment = move(environment)
    for trial in TRIALS.values():
        try:
            yield trial(environment, work)
        except (RuntimeError, subprocess.SubprocessError) as error:
            yield f"FAILED: {error}"


def try_all(wheel: Path, work: Path) -> int:
    """Prints a line of a table for each kind of Python; 1 if anything failed."""
    failed = False
    print(f"| installed in | install | {' | '.join(TRIALS)} |\n|{'---|' * (len(TRIALS) + 2)}", flush=True)
    for number, (name, make) in enumerate(KINDS.items()):
        place = work / str(number)
        place.mkdir()
        try:
            cells = list(outcomes(wheel, make, place))
        except NotHere as reason:
            cells = [f"not here: {reason}"]
        failed = failed or any("FAILED" in cell for cell in cells)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        shutil.rmtree(place)
    return int(failed)
