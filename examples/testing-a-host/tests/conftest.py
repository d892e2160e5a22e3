# SPDX-License-Identifier: Apache-2.0
"""Compiles the C host once."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program `scale`."""
    program = tmp_path_factory.mktemp("bin") / "scale"
    flags = shlex.split(os.environ.get("CFLAGS", "-O2"))
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *flags, str(HERE / "scale.c"), "-o", str(program), "-lOpenCL"], check=True)
    return program
