# SPDX-License-Identifier: Apache-2.0
"""Hosts in C and C++ are compiled once for the same sources: later runs and their other processes find them."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "hosts"
INCLUDES = tuple(folder for folder in (ROOT / "include", ROOT / "conformance" / "c") if folder.is_dir())
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LIBRARIES = ("-ldl", "-lm", "-lpthread")


def compiled(sources: Sequence[Path], *options: str, loader: bool = True) -> Path:
    """The program that these sources make, linked with the system's OpenCL loader unless `loader` is false.

    Sources whose names end in .cpp are C++17, others C11.
    """
    command = [*compiler(sources[0].suffix == ".cpp"), "-O1", "-g", *WARNINGS, *options]
    command += [word for folder in INCLUDES for word in ("-I", str(folder))]
    libraries = [*(["-lOpenCL"] if loader else []), *LIBRARIES]
    return kept([*command, *map(str, sources), *libraries], sources)


def kept(command: Sequence[str], sources: Sequence[Path]) -> Path:
    """The file that a compiler's command makes, which lacks -o, of sources and headers beside these and ours."""
    program = KEPT / f"{sources[0].stem}-{digest(command, [*sources, *headers(sources)])}"
    if not program.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            made = Path(folder) / program.name
            result = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
            with suppress(FileExistsError):  # another process has made it, and may run it
                program.hardlink_to(made)
    return program


def compiler(is_cpp: bool) -> list[str]:
    name, usual, standard = ("CXX", "c++", "c++17") if is_cpp else ("CC", "cc", "c11")
    return [*shlex.split(os.environ.get(name, usual)), f"-std={standard}"]


def headers(sources: Iterable[Path]) -> Iterator[Path]:
    """All headers that hosts may include: ours, and those beside the sources."""
    for folder in sorted({*INCLUDES, *(source.parent for source in sources)}):
        yield from (path for path in sorted(folder.rglob("*")) if path.suffix in (".h", ".hpp"))


def digest(command: Sequence[str], files: Iterable[Path]) -> str:
    """What a program depends on: the command, the compiler's version, and the contents of the files."""
    found = hashlib.sha256("\0".join([*command, version(command[0])]).encode())
    for file in files:
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:16]


@cache
def version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
