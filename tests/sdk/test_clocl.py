"""`clocl`: TI's offline compiler, whose binaries the DSP boards load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from processes import finished, output

from fpgart.aocx.checks import check
from fpgart.aocx.container import Container
from fpgart.board.catalogue import describe
from fpgart.engine.interface import Engine
from fpgart.sdk.clocl import as_header

ADD = "kernel void add(global int *x) { x[get_global_id(0)] += ONE; }\n"
HOST = """
import sys, numpy, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
program = cl.Program(context, [device], [open(sys.argv[1], "rb").read()]).build()
queue = cl.CommandQueue(context)
x = numpy.arange(4, dtype=numpy.int32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
program.add(queue, (4,), None, buffer)
cl.enqueue_copy(queue, x, buffer)
print(*x)
"""


@pytest.fixture
def folder(tmp_path: Path, engine: Engine) -> Path:
    """A folder with add.cl in it."""
    (tmp_path / "add.cl").write_text(ADD)
    return tmp_path


def fpgart(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "fpgart.cli", *map(str, words)]
    return finished(*command, cwd=folder)


def clocl(folder: Path, *words: object) -> str:
    """Returns the output of `clocl`, which must succeed."""
    return output(fpgart(folder, "clocl", *words))


@pytest.mark.parametrize("board", ["k2h", "k2h_low"])
def test_a_binary_runs_on_every_partition_of_the_memory(folder: Path, board: str) -> None:
    clocl(folder, "-DONE=1", "add.cl")
    result = fpgart(folder, "run", "--board", board, "--", sys.executable, "-W", "ignore", "-c", HOST, "add.out")
    assert result.stdout == "1 2 3 4\n", result.stderr


def test_the_header_has_the_binary_as_an_array(folder: Path) -> None:
    clocl(folder, "-t", "-DONE=1", "add.cl")
    program = (
        '#include "add.dsp_h"\n#include <cstdio>\n'
        "int main() { return fwrite(add_dsp_bin, 1, add_dsp_bin_len, stdout) != sizeof(add_dsp_bin); }\n"
    )
    (folder / "host.cpp").write_text(program)
    subprocess.run(["g++", "-Wall", "-Werror", "-o", folder / "host", folder / "host.cpp"], check=True)
    printed = subprocess.run([folder / "host"], capture_output=True, check=True).stdout
    assert printed == (folder / "add.out").read_bytes()


def test_a_name_that_is_none_in_c_becomes_one() -> None:
    assert as_header("my-kernel.v2", b"\x7f\xff").splitlines() == [
        "unsigned int my_kernel_v2_dsp_bin_len = 2;",
        "char my_kernel_v2_dsp_bin[] = {",
        "    127, -1",
        "};",
    ]


def test_the_name_of_a_source_that_begins_with_a_digit_becomes_one_in_c(folder: Path) -> None:
    (folder / "add.cl").rename(folder / "2-x².cl")
    clocl(folder, "-t", "-DONE=1", "2-x².cl")
    (folder / "host.c").write_text(
        '#include "2-x².dsp_h"\nint main(void) { return !_2_x__dsp_bin_len || !_2_x__dsp_bin; }\n'
    )
    subprocess.run(["gcc", "-o", folder / "host", folder / "host.c"], check=True)
    subprocess.run([folder / "host"], check=True)


def test_objects_are_linked_with_a_source(folder: Path) -> None:
    (folder / "more.cl").write_text("int twice(int x) { return 2 * x; }\n")
    (folder / "use.cl").write_text("int twice(int);\nkernel void use(global int *x) { x[0] = twice(x[0]); }\n")
    clocl(folder, "-l", "more.cl")
    clocl(folder, "use.cl", "more.obj")
    (kernel,) = check(Container.read(folder / "use.out"), describe("k2h")).kernels
    assert kernel.name == "use"


def test_errors_are_on_stderr_with_file_line_and_caret(folder: Path) -> None:
    result = fpgart(folder, "clocl", "add.cl")
    assert result.returncode == 1
    assert "add.cl:1:" in result.stderr
    assert result.stderr.rstrip().endswith("Compilation failed")
    assert not (folder / "add.out").exists()


def test_code_for_the_dsp_is_refused_with_words(folder: Path) -> None:
    (folder / "fast.obj").write_bytes(b"code of the DSP")
    result = fpgart(folder, "clocl", "-DONE=1", "add.cl", "fast.obj")
    assert result.returncode == 1
    assert "fast.obj is not an object of `clocl -l`" in result.stderr


def test_a_misspelt_option_is_told(folder: Path) -> None:
    result = fpgart(folder, "clocl", "--text", "add.cl")
    assert (result.returncode, result.stderr) == (2, "clocl: --text is not an option of clocl\n")


def test_help_and_version_are_answered(folder: Path) -> None:
    assert clocl(folder, "--help").startswith("Usage: clocl [options] <OpenCL C file> [<link files>]")
    assert "clocl" in clocl(folder, "--version")
