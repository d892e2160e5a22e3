"""Clang's count of its messages stays away from standard error, and nothing else does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_hosts import ROOT, gcc, plain_environment
from processes import fpgart, quiet_output


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that writes its arguments through the driver's filter."""
    made = tmp_path_factory.mktemp("diagnostics") / "writer"
    sources = [
        ROOT / "tests" / "programs" / "diagnostics.c",
        ROOT / "fpgart" / "engine" / "containment" / "diagnostics.c",
    ]
    subprocess.run(["gcc", "-Wall", "-Werror", f"-I{ROOT / 'fpgart'}", *sources, "-o", made], check=True)
    return made


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (["2", " warning", "s", " generated", ".\n"], ""),
        (["1", " error", "", " generated", ".\n"], ""),
        (["2 warnings and 1 error generated.\n"], ""),
        (["1", " warning", " and ", "3", " error", "s", " generated", ".\n"], ""),
        (["1 error generated.\n", "Abort\n"], "Abort\n"),
        (["LLVM ERROR: out of memory\n"], "LLVM ERROR: out of memory\n"),
        (["12", " errors of another kind\n"], "12 errors of another kind\n"),
        (["1 error generated.\nmore\n"], "1 error generated.\nmore\n"),
        (["2 errors and 1 warning generated.\n"], "2 errors and 1 warning generated.\n"),
        (["1" * 70, " error generated.\n"], "1" * 70 + " error generated.\n"),
    ],
)
def test_only_the_count_of_messages_is_left_out(writer: Path, pieces: list[str], written: str) -> None:
    result = subprocess.run([writer, *pieces], capture_output=True, text=True, check=True)
    assert result.stderr == written


@pytest.mark.parametrize("option", ["FPGART_COMPILE_APART", "FPGART_ISOLATE"])
def test_a_build_writes_nothing_wherever_its_compiler_runs(option: str, tmp_path: Path) -> None:
    host = gcc("quiet_build", tmp_path, "-lOpenCL", "-lpthread", folder="engine_faults")
    variables = {"FPGART_COMPILE_APART": "0", option: str(int(option == "FPGART_ISOLATE"))}
    environment = {**plain_environment(), **variables, "POCL_CACHE_DIR": str(tmp_path / "kernels")}
    (tmp_path / "kernels").mkdir()
    quiet_output(fpgart("run", "--", host, env=environment))
