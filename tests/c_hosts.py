"""Hosts in C that are linked with the driver itself, and the environment that they run in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fpgart.base import config
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import NoEngine

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fpgart"
INCLUDES = (f"-I{ROOT / 'include'}", f"-I{ROOT / 'conformance' / 'c'}")


def build(name: str, into: Path, *flags: str) -> Path:
    """The program tests/programs/`name`.c, in a folder."""
    built = into / name
    source = ROOT / "tests" / "programs" / f"{name}.c"
    linked = [f"-L{PACKAGE}", "-l:libfpgart.so", f"-Wl,-rpath,{PACKAGE}"]
    subprocess.run(["gcc", "-Wall", "-Werror", *INCLUDES, source, "-o", built, *linked, *flags], check=True)
    return built


def wrapped_engine(name: str, into: Path) -> dict[str, str]:
    """The variables that choose tests/programs/`name`_engine.c around the usual engine; skips where there is none."""
    usual = choose_engine()
    if isinstance(usual, NoEngine):
        pytest.skip(usual.reason)
    made = into / f"libpocl-{name}.so"
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'include'}"]
    subprocess.run(["gcc", *flags, ROOT / "tests" / "programs" / f"{name}_engine.c", "-o", made], check=True)
    return {"FPGART_ENGINE": str(made), "WRAPPED_ENGINE": usual.path}


def plain_environment() -> dict[str, str]:
    """Returns the environment of the tests, without options of the driver."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(config.PREFIX) and name not in config.OPTIONS
    }
