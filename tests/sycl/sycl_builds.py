"""What tests of `icpx` share: the compiler in a folder of its own, and the ways to run a program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from execution_graphs import why_not_installed
from processes import finished

from fpgart.cli.running import environment
from fpgart.engine.choice import candidates
from fpgart.sdk.folder import lay_out

NEEDS_COMPILERS = pytest.mark.skipif(bool(why_not_installed()), reason=f"needs fpgart[sycl]: {why_not_installed()}")
Icpx = Callable[..., "subprocess.CompletedProcess[str]"]


def icpx_in(folder: Path) -> Icpx:
    """Returns `icpx(words, ...)`, which runs in the folder, with temporary files in `temporary` below it."""
    program = lay_out(folder / "sdk") / "bin" / "icpx"
    (folder / "temporary").mkdir()
    variables = {**os.environ, "TMPDIR": str(folder / "temporary")}

    def compile(*words: str) -> subprocess.CompletedProcess[str]:
        return finished(program, *words, cwd=folder, env=variables)

    return compile


def alone(program: Path, *words: str) -> str:
    """Returns the output of a program on the emulator without fpgart."""
    emulator = str(candidates("emulator")[0][1])
    own = {"OCL_ICD_FILENAMES": emulator, "CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "default"}
    variables = {**os.environ, **own}
    return subprocess.run([program, *words], env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def on_board(program: Path, *words: str, **options: str) -> str:
    """Returns the output on a board, without an option for the engine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FPGART")}
    given = {**kept, **environment(options)}
    given.pop("FPGART_ENGINE", None)
    return subprocess.run([program, *words], env=given, stdout=subprocess.PIPE, text=True, check=True).stdout
