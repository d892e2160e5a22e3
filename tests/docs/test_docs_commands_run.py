# SPDX-License-Identifier: Apache-2.0
"""Each line of shell code with `fpgart` that the documentation shows runs as a reader would type it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import finished, fpgart, output
from test_docs_commands import CALL, FENCED, NO_CALL, PAGES, ROOT

EXAMPLES = ROOT / "examples"
INTEL_HOST = EXAMPLES / "intel-host"
SDK = re.compile(r"\bmake\b|\baoc\b")
OF_INTEL_HOST = re.compile(r"\bmake\b|\bbin/|\bdevice/")
"""Lines that readers type in the folder of that example."""
SHELLS_OWN = re.compile(r"[$|&;<>*~`\\]")
LINE = re.compile(r"^ {4}(?:\$ )?(.*)$", re.MULTILINE)
HOSTS = ("host", "my_host", "my_sycl_program", "a.out", "vecadd")
"""Names of the reader's own hosts."""
HOST_IN_CPP = "#include <CL/cl.h>\nint main() { cl_uint found = 0; return clGetPlatformIDs(0, nullptr, &found); }\n"
READERS_OWN = {
    "...": "a part that the reader fills in",
    "[": "a form of a command",
    "/path/to/": "a board package of a vendor",
    "TI_OCL_INSTALL": "an example of TI's",
    "python my_dpctl_program.py": "a program of the reader's, which needs dpctl",
    "make check": "a Makefile of the reader's",
    "CXX=": "a compiler of the reader's",
    "--cmake-dir": "a project of the reader's, which needs CMake (tests/sdk/test_sdk.py)",
    "fcd": "Intel's own runtime (docs/mmd.md)",
    "FPGART_MEETING": "a folder that several machines share",
    "fpgart icd": "changes the machine",
    "fpgart clean": "changes the reader's folders (tests/test_clean.py)",
    "board serve": "goes on until it is stopped",
    "board status": "a server that another line starts",
    "--platform emulator --trace": "Intel's emulator (tests/sycl/test_sycl_programs.py)",
    "--served": "a server that another line starts",
    "kernels": "Oclgrind, which interprets kernels (tests/check/test_kernel_check.py)",
    "fpgart errors": "a run for each call of the host (tests/api/test_api_faults.py)",
}
"""Parts of lines that cannot run here, and the reason."""
FAILING = {
    "read:ecc": "the host gets an error",
    "fail": "the host gets an error",
    "api:": "the host gets an error",
    "--check usm -- ./sums": "the tutorial's program has a race",
    "--check order -- ./sums": "the tutorial's program has a race",
    "./sums": "the tutorial's program has a race, so that it may print WRONG",
}
"""Parts of lines that may end with a status other than 0, and the reason."""


def lines() -> Iterator[str]:
    """Without what cannot run here, and without comments."""
    found: list[str] = []
    for page in PAGES:
        for match in LINE.finditer(FENCED.sub("", page.read_text())):
            line = match[1].partition(" #")[0].partition("      ")[0].strip()
            if CALL.search(line) and not NO_CALL.search(line) and not line.startswith("#"):
                found.append(line)
    yield from (line for line in dict.fromkeys(found) if not any(part in line for part in READERS_OWN))


def environment(home: Path) -> dict[str, str]:
    """The reader's shell: the commands of this installation come first. Two cores may have four ranks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FPGART", "CL_", "ACL_", "AOCL"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{kept.get('PATH', os.defpath)}",
        "HOME": str(home),
        "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
        "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI 4
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def shell(line: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Pages about Intel's tools name the folder of the SDK first. A line of words alone needs no shell."""
    sdk = 'eval "$(fpgart sdk)"; ' if SDK.search(line) else ""
    if line.startswith("fpgart ") and not sdk and not SHELLS_OWN.search(line):
        return fpgart(*shlex.split(line)[1:], cwd=folder, env=environment(home))
    return finished("bash", "-c", sdk + line, cwd=folder, env=environment(home))


def succeed(line: str, folder: Path, home: Path) -> None:
    output(shell(line, folder, home))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with what the lines name (hosts, sources of kernels, traces), and the reader's home."""
    pytest.importorskip("pyopencl")  # brings the engine
    folder, home = tmp_path_factory.mktemp("reader"), tmp_path_factory.mktemp("home")
    shutil.copytree(EXAMPLES, folder / "examples")
    for source in (EXAMPLES / "cluster").glob("allreduce.*"):
        shutil.copy(source, folder)
    shutil.copy(EXAMPLES / "host.c", folder)
    (folder / "host.cpp").write_text(HOST_IN_CPP)
    shutil.copy(INTEL_HOST / "device" / "vector_add.cl", folder / "kernel.cl")
    flags = output(fpgart("cflags")).strip()
    for name, file in {
        "banks": "banks/banks.c",
        "sums": "tutorial/sums.c",
        "host": "host.c",
        "allreduce": "cluster/allreduce.c",
    }.items():
        succeed(f"cc -g {EXAMPLES / file} {flags} -lOpenCL -lm -o {name}", folder, home)
    if shutil.which("mpicc"):
        succeed(f"mpicc -DUSE_MPI allreduce.c {flags} -lOpenCL -o allreduce-mpi", folder, home)
    for name in HOSTS[1:]:
        shutil.copy(folder / "host", folder / name)
    shutil.copytree(INTEL_HOST, folder / "intel")
    succeed("fpgart run --board a10_ref -- make all kernels", folder / "intel", home)
    succeed("fpgart run --time model --trace t.json -- ./host", folder, home)
    for name in ("before", "after", "apart", "first", "early", "late", "rank0", "rank1"):
        shutil.copy(folder / "t.json", folder / f"{name}.json")
    return folder, home


@pytest.mark.parametrize("line", list(lines()))
def test_a_line_of_the_documentation_runs(line: str, prepared: tuple[Path, Path], tmp_path: Path) -> None:
    if "mpi" in line.partition("fpgart")[0] and not shutil.which("mpirun"):
        pytest.skip("no MPI is installed")
    files, home = prepared
    folder = shutil.copytree(files, tmp_path / "reader")
    result = shell(line, folder / "intel" if OF_INTEL_HOST.search(line) else folder, home)
    expected = any(part in line for part in FAILING)
    assert "Traceback" not in result.stderr
    assert expected or result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert result.returncode < 126, result.stderr  # neither a signal nor a command that there is not


def test_a_service_of_boards_runs_as_the_documentation_shows_it(prepared: tuple[Path, Path]) -> None:
    (shown,) = re.findall(r"(?:^ {4}fpgart .*\n){3}", (ROOT / "docs" / "serving.md").read_text(), re.MULTILINE)
    serve, others = shown.split("&", 1)
    # A script waits for the first line, as the page says.
    ready = f"mkfifo ready; {serve.strip()} >ready & exec 3<ready; rm ready; read -r _ <&3"
    printed = output(shell(f"{ready}\n{others}status=$?; fpgart board stop; wait; exit $status", *prepared))
    assert "usm_s10" in printed
