"""Hosts in C that are linked with the driver itself, and the environment that they run in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from fpgart.base import config
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import NoEngine

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))

from compilation import compiled, kept  # noqa: E402

PACKAGE = ROOT / "fpgart"
CHECKS = ROOT / "tests" / "checks"
INCLUDES = (f"-I{ROOT / 'include'}", f"-I{ROOT / 'conformance' / 'c'}")


def build(name: str, into: Path, *flags: str) -> Path:
    """The program tests/programs/`name`.c, in a folder."""
    return gcc(name, into, f"-L{PACKAGE}", "-l:libfpgart.so", f"-Wl,-rpath,{PACKAGE}", *flags)


def gcc(name: str, into: Path, *options: str, folder: str = "programs") -> Path:
    """What gcc makes of tests/`folder`/`name`.c, as a file of that name: some findings and errors have it."""
    source = ROOT / "tests" / folder / f"{name}.c"
    command = ["gcc", "-Wall", "-Werror", *INCLUDES, str(source), *options]  # some programs include check.h
    return Path(shutil.copy(kept(command, [source, CHECKS / "check.h"]), into / name))


@dataclass(frozen=True)
class Mistake:
    """A function of tests/checks/`family`.c, the finding that it gives, and the board that it is for."""

    family: str
    name: str
    finds: str
    board: str

    def host(self) -> Path:
        """The host that makes the mistake, unless it is called with `fixed`."""
        return compiled([CHECKS / f"{self.family}.c"], f"-DMISTAKE={self.name}")


@cache
def mistakes() -> dict[str, Mistake]:
    """The mistakes in tests/checks, by family and name: a comment above the function has the finding and the board."""
    found = {}
    for file in sorted(CHECKS.glob("*.c")):
        for comment, name in re.findall(r"^/\* (finds: [^/]*) \*/\nvoid (\w+)\(void\)$", file.read_text(), re.M):
            facts = dict(re.findall(r"^(?: \* )?(finds|board): (.*)$", comment, re.M))
            board = facts.get("board", "usm_s10")
            board = str(CHECKS / board) if board.endswith(".xml") else board
            found[f"{file.stem}_{name}"] = Mistake(file.stem, name, facts["finds"], board)
    return found


def host_of(source: Path | str, made: Path, *options: str, suffix: str = "c") -> Path:
    """The host that gcc makes of a file, or of a text, which then lies beside it."""
    if isinstance(source, str):
        text, source = source, made.with_name(f"{made.name}.{suffix}")
        source.write_text(text)
    subprocess.run(["gcc", *INCLUDES, source, "-o", made, *options, "-lOpenCL", "-lm", "-lpthread"], check=True)
    return made


def line(source: str, marker: str) -> int:
    """The number of the line of a source that ends in a marker."""
    return next(number for number, text in enumerate(source.splitlines(), 1) if text.endswith(f" {marker}"))


def shared_library(source: str, made: Path, *options: str) -> Path:
    """What gcc makes of a text."""
    command = ["gcc", "-w", "-shared", "-fPIC", "-xc", "-", "-o", made, *options]
    subprocess.run(command, input=source, text=True, check=True)
    return made


def library_that_creates(file: Path, made: Path) -> Path:
    """A library that creates a file when it is loaded."""
    code = f'#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ fopen("{file}", "w"); }}\n'
    return shared_library(code, made)


def wrapped_engine(name: str, into: Path) -> dict[str, str]:
    """The variables that choose tests/programs/`name`_engine.c around the usual engine; skips where there is none."""
    usual = choose_engine()
    if isinstance(usual, NoEngine):
        pytest.skip(usual.reason)
    engine = gcc(f"{name}_engine", into, "-shared", "-fPIC").rename(into / f"libpocl-{name}.so")
    return {"FPGART_ENGINE": str(engine), "WRAPPED_ENGINE": usual.path}


def plain_environment() -> dict[str, str]:
    """Returns the environment of the tests, without options of the driver."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(config.PREFIX) and name not in config.OPTIONS
    }
