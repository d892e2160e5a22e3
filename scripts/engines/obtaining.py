# SPDX-License-Identifier: Apache-2.0
"""Engines that package registries offer, each fetched into a folder of its own and not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fpgart.engine.choice import EMULATOR, INTEL, oclgrind_libraries, pocl_libraries

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "engines"
DEBIAN_PACKAGES = ("libpocl2", "libpocl2t64")
"""Debian's PoCL up to 12, and from 13 on."""


class Missing(Exception):
    """An engine or program is not here; the sentence says how to get it."""


class Obtained(NamedTuple):
    """An engine's library and the folders in which the libraries beside it are found."""

    library: Path
    beside: tuple[Path, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which the library can be opened."""
        return {"LD_LIBRARY_PATH": os.pathsep.join(map(str, self.beside))} if self.beside else {}


def run(*command: str | Path, folder: Path | None = None) -> str:
    """Runs a command; returns what it prints. Raises Missing with its last line if it fails or does not exist."""
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{command[0]}: {error.strerror}") from None
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines() or ["no message"]
        raise Missing(f"{' '.join(map(str, command[:2]))} failed: {said[-1]}")
    return result.stdout


def completed(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Fills a folder once: one that was interrupted has no mark and is made anew."""
    mark = folder / ".complete"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fill(folder)
        mark.touch()
    return folder


def one(paths: list[Path], name: str) -> Path:
    if not paths:
        raise Missing(f"{name} is not in what was fetched")
    return paths[0]


def from_wheels(*requirements: str, name: str, library: str) -> Obtained:
    """Fetches an engine from packages of pip's registry."""

    def fill(folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--ignore-installed")
        run(*pip, "--prefix", folder, *requirements)

    folder = completed(FOLDER / name, fill)
    return Obtained(one([path for path in [folder / "lib" / library] if path.exists()], library), (folder / "lib",))


def with_dependencies(package: str) -> list[str]:
    """Lists a Debian package, its own data, and what it needs and the system does not have."""
    without = [f"--option=APT::Install-{kind}=false" for kind in ("Recommends", "Suggests")]
    plan = run("apt-get", "install", "--simulate", *without, package)
    absent = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    needed = run("apt-cache", "depends", "--important", package)
    data = re.findall(r"Depends: (libpocl2\S*)", needed)  # PoCL looks for it beside its library
    return list(dict.fromkeys([package, *data, *absent]))


def from_debian() -> Obtained:
    """Extracts the PoCL of this Debian or Ubuntu with what it needs; nothing is installed."""

    def fill(folder: Path) -> None:
        known = set(run("apt-cache", "pkgnames", "libpocl2").split())
        package = next((name for name in reversed(DEBIAN_PACKAGES) if name in known), None)
        if package is None:
            raise Missing("this system's packages have no libpocl2; as root: apt-get update")
        archives = folder / "archives"
        archives.mkdir()
        run("apt-get", "download", *with_dependencies(package), folder=archives)
        for archive in sorted(archives.glob("*.deb")):
            run("dpkg", "-x", archive, folder)
        shutil.rmtree(archives)

    folder = completed(FOLDER / "pocl-debian", fill)
    library = one(sorted((folder / "usr" / "lib").glob("*/libpocl.so.2")), "libpocl.so.2")
    return Obtained(library, (library.parent, *sorted((folder / "usr" / "lib").glob("llvm-*/lib"))))


def installed(paths: Callable[[], object], how: str) -> Obtained:
    """Finds an engine that is installed already."""
    found = [path for path in paths() if path.exists()]  # type: ignore[attr-defined]
    if not found:
        raise Missing(how)
    return Obtained(found[0])


def wheel_of_pyopencl() -> list[Path]:
    return [path for path in pocl_libraries() if "site-packages" in path.parts]


def intel(version: str) -> Obtained:
    requirements = [f"{package}=={version}" for package in ("intel-opencl-rt", "intel-cmplr-lib-rt")]
    return from_wheels(*requirements, name=f"intel-{version}", library=INTEL)


def emulator(version: str) -> Obtained:
    packages = ("intel-opencl-fpga-emu-rt", "intel-opencl-rt", "intel-cmplr-lib-rt")
    requirements = [f"{package}=={version}" for package in packages]
    return from_wheels(*requirements, name=f"emulator-{version}", library=EMULATOR)


RELEASES: dict[str, Callable[[], Obtained]] = {
    "pocl-wheel": partial(installed, wheel_of_pyopencl, "PoCL's wheel is not installed: pip install 'pyopencl[pocl]'"),
    "pocl-debian": from_debian,
    "intel-2025.3.3": partial(intel, "2025.3.3"),
    "intel-2026.2.0": partial(intel, "2026.2.0"),
    "emulator-2025.0.5": partial(emulator, "2025.0.5"),
    "oclgrind": partial(installed, oclgrind_libraries, "Oclgrind is not installed; as root: apt install oclgrind"),
}
"""By name, as ENGINES= selects them. pocl-debian is PoCL 3.1 on Debian 12 and 6.0 on Debian 13."""
