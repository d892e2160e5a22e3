"""Python models of kernels: for real boards' binaries, and as doubles of kernels that have a source."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from machine import Boards, SetOption, nothing
from processes import fpgart, output

from fpgart.aocx import container as sections
from fpgart.aocx import system as s
from fpgart.aocx.autodiscovery import format as written
from fpgart.aocx.compiler import memories_of
from fpgart.aocx.container import Container
from fpgart.base import config
from fpgart.board import simulated_board
from fpgart.board.catalogue import describe
from fpgart.engine import models

MODEL = """
import fpgart

@fpgart.kernel("vadd")
def vadd(a, b, c, n):
    c[:n] = a[:n] + b[:n]

@fpgart.kernel("shape")
def shape(out, *, nd_range):
    out[0], out[1], out[2] = nd_range.global_size[0], nd_range.local_size[0], len(out)
"""
HOST = """
import sys
import numpy as np, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
a = np.arange(100, dtype=np.int32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
buffers = [cl.Buffer(context, flags, hostbuf=a) for _ in range(3)]

def run(program, name, size, local, *arguments):
    kernel = cl.Kernel(program, name)
    kernel.set_args(*arguments)
    cl.enqueue_nd_range_kernel(queue, kernel, size, local).wait()
"""


def pointer(name: str) -> s.Argument:
    return s.Argument(s.AddressSpace.GLOBAL, s.Category.MEMORY, 8, 1024, name=name, type_name="int*")


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    """An .aocx as a real board has it: bits instead of a source."""
    board = describe("a10_ref")
    value = s.Argument(s.AddressSpace.NONE, s.Category.VALUE, 4, 4, name="n", type_name="int")
    hidden = s.Argument(s.AddressSpace.NONE, s.Category.MEMORY, 8, 8, name="printf_buffer")
    kernel = s.DescribedKernel("vadd", (pointer("a"), pointer("b"), pointer("c"), value, hidden))
    system = s.Autodiscovery("b" * 40, "a10_ref", memories_of(board), (kernel,))
    file = tmp_path / "hw.aocx"
    made = {
        sections.BOARD: b"a10_ref",
        sections.AUTODISCOVERY: written(system).encode(),
        sections.RANDOM_HASH: b"b" * 40,
        sections.BOARD_IMAGE: b"bits of a real board",
    }
    file.write_bytes(Container(made).encode())
    return file


def run(body: str, *words: object, models: Path | None = None, trace: Path | None = None) -> str:
    pytest.importorskip("pyopencl")
    settings = ["env", f"FPGART_MODELS={models}"] if models else ["env"]
    traced = ["--trace", str(trace)] if trace else []
    host = (*settings, sys.executable, "-W", "ignore", "-c", HOST + body)
    return output(fpgart("run", "--board", "a10_ref", *traced, "--", *host, *words))


RUN_HARDWARE = """
program = cl.Program(context, [device], [open(sys.argv[1], "rb").read()]).build()
try:
    run(program, "vadd", (1,), None, *buffers, np.int32(50))
    cl.enqueue_copy(queue, a, buffers[2])
    print(a.sum())
except cl.RuntimeError as error:
    print("refused")
"""


def test_a_real_boards_kernel_is_run_by_its_model(hardware: Path, tmp_path: Path) -> None:
    model = tmp_path / "models.py"
    model.write_text(MODEL)
    expected = sum(2 * i if i < 50 else i for i in range(100))
    assert run(RUN_HARDWARE, hardware, models=model).split() == [str(expected)]


def test_a_real_boards_kernel_without_a_model_fails_with_words(hardware: Path, tmp_path: Path) -> None:
    assert run(RUN_HARDWARE, hardware).split() == ["refused"]
    trace = tmp_path / "t.json"
    run(RUN_HARDWARE, hardware, trace=trace)
    assert "CL_OUT_OF_RESOURCES" in trace.read_text()


def test_hidden_arguments_are_not_the_hosts(hardware: Path) -> None:
    body = """
program = cl.Program(context, [device], [open(sys.argv[1], "rb").read()]).build()
print(cl.Kernel(program, "vadd").num_args)
"""
    assert run(body, hardware).split() == ["4"]


def test_wrong_arguments_of_a_real_boards_kernel_are_refused(hardware: Path) -> None:
    body = """
program = cl.Program(context, [device], [open(sys.argv[1], "rb").read()]).build()
kernel = cl.Kernel(program, "vadd")
for index, value in ((3, np.int64(1)), (0, np.int32(1)), (4, np.int32(1))):
    try:
        kernel.set_arg(index, value)
    except cl.Error as error:
        print(error.code)
"""
    assert len(run(body, hardware).split()) == 3


def test_a_model_replaces_a_kernel_that_has_a_source(tmp_path: Path) -> None:
    model = tmp_path / "models.py"
    model.write_text(MODEL)
    body = """
program = cl.Program(context, "kernel void shape(global int *out) { out[0] = -1; }").build(cache_dir=False)
run(program, "shape", (64,), (16,), buffers[0])
cl.enqueue_copy(queue, a, buffers[0])
print(*a[:3])
"""
    assert run(body, models=model).split() == ["64", "16", "100"]
    assert run(body).split()[0] == "-1"


def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    model = tmp_path / "models.py"
    model.write_text("import no_such_module\n")
    body = HOST + 'cl.Kernel(cl.Program(context, "kernel void k() {}").build(cache_dir=False), "k")'
    host = (sys.executable, "-W", "ignore", "-c", body)
    result = fpgart("run", "--", "env", f"FPGART_MODELS={model}", *host)
    assert result.returncode == 0
    assert "models.py cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'" in result.stderr


def test_programming_takes_as_long_as_it_is_told(
    boards: Boards, set_option: SetOption, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    set_option(config.PROGRAM_SECONDS, "1.5")
    monkeypatch.setattr(simulated_board.time, "sleep", slept.append)
    machine = boards("usm_s10")
    for source in ("one", "two", "two"):
        machine.run(machine.kernel(nothing, source=source))
    monkeypatch.undo()
    assert slept == [1.5, 1.5]


def test_models_are_found_through_what_packages_say_of_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models.entry_points() == []
    described = tmp_path / "doubles-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: doubles\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[console_scripts]\ndouble = doubles:main\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert models.entry_points() == []
    (described / "entry_points.txt").write_text("[fpgart.models]\nadders = doubles.adders\n")
    assert models.entry_points() == ["doubles.adders"]
