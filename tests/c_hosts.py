"""Hosts in C that are linked with the driver itself, and the environment that they run in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fpgart import config

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fpgart"


def build(name: str, into: Path, *flags: str) -> Path:
    """The program tests/programs/`name`.c, in a folder."""
    built = into / name
    source = ROOT / "tests" / "programs" / f"{name}.c"
    linked = [f"-L{PACKAGE}", "-l:libfpgart.so", f"-Wl,-rpath,{PACKAGE}"]
    subprocess.run(
        ["gcc", "-Wall", "-Werror", f"-I{ROOT / 'include'}", source, "-o", built, *linked, *flags], check=True
    )
    return built


def plain_environment() -> dict[str, str]:
    """That of the tests, with no option of the driver."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(config.PREFIX) and name not in config.OPTIONS
    }
