"""Whole programs on the driver: a C host through the system's loader, pyopencl, the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from processes import fpgart, output


def test_doctor_finds_a_whole_installation() -> None:
    assert "FAIL" not in output(fpgart("doctor"))


def test_info_is_json_for_programs() -> None:
    facts = json.loads(fpgart("info", "--json").stdout)
    assert facts["chosen_boards"] == ["usm_s10"]
    assert facts["chosen_engine"]["name"] in {engine["name"] for engine in facts["engines"]}


def test_info_lists_an_engine_that_is_named_by_its_path_once() -> None:
    path = json.loads(fpgart("info", "--json").stdout)["chosen_engine"]["path"]
    facts = json.loads(fpgart("info", "--json", FPGART_ENGINE=path).stdout)
    assert [engine["path"] for engine in facts["engines"]].count(path) == 1
    assert facts["chosen_engine"]["path"] == path


def test_info_lists_an_engine_that_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "driver.so"
    path.write_bytes(b"")
    (row,) = (
        engine
        for engine in json.loads(fpgart("info", "--json", FPGART_ENGINE=str(path)).stdout)["engines"]
        if engine["path"] == str(path)
    )
    assert row["passed_over"]


def test_info_says_why_no_engine_is_in_use() -> None:
    assert fpgart("info", "--json").stdout.count('"reason": ""') == 1
    result = fpgart("info", FPGART_ENGINE="none")
    assert "none is in use, so kernels cannot be built: FPGART_ENGINE=none" in result.stdout


def test_run_passes_on_exit_status_and_output() -> None:
    result = fpgart("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")


def test_run_of_nothing_that_exists_says_so() -> None:
    result = fpgart("run", "--", "no-such-program")
    assert result.returncode == 2
    assert "no-such-program: no such program" in result.stderr


def test_a_misspelt_board_is_an_error_that_lists_the_right_ones() -> None:
    result = fpgart("info", env={"FPGART_BOARD": "usm_s11", "PATH": "/usr/bin"})
    assert result.returncode == 2
    assert "usm_s11" in result.stderr
    assert "usm_s10" in result.stderr


@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_clinfo_prints_no_error(raw: list[str]) -> None:
    result = fpgart("run", "--", "clinfo", *raw)
    assert result.returncode == 0
    lines = (result.stdout + result.stderr).splitlines()
    assert not [line for line in lines if "error -" in line.lower() or "<print" in line]
    assert any("usm_s10" in line for line in lines)


def test_pyopencl_sees_this_platform_only() -> None:
    program = "import pyopencl as cl; print([p.name for p in cl.get_platforms()])"
    result = fpgart("run", "--platform", "fpgart", "--", sys.executable, "-c", program)
    assert result.stdout.strip() == "['fpgart']"


PRINTING = """
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
program = cl.Program(context, 'kernel void k(int x) { printf("%d and %s", x, "so on"); }').build(cache_dir=False)
queue = cl.CommandQueue(context)
program.k(queue, (1,), None, __import__("numpy").int32(42))
queue.finish()
"""


def test_printf_of_a_kernel_reaches_the_hosts_stdout() -> None:
    assert output(fpgart("run", "--", sys.executable, "-W", "ignore", "-c", PRINTING)) == "42 and so on"


WITHOUT_ENGINE = """
import pyopencl as cl, numpy as np
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
data, back = np.arange(100), np.zeros(100, int)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
cl.enqueue_copy(queue, buffer, data)
cl.enqueue_copy(queue, back, buffer)
assert (back == data).all()
try:
    cl.Program(context, "kernel void k() {}").build(cache_dir=False)
except cl.RuntimeError as error:
    print(error)
"""


def test_without_an_engine_all_but_building_works_and_the_log_says_what_to_install() -> None:
    printed = output(fpgart("run", "--engine", "none", "--", sys.executable, "-c", WITHOUT_ENGINE))
    assert "BUILD_PROGRAM_FAILURE" in printed
    assert "FPGART_ENGINE=none: no engine to build kernels with" in printed


def test_a_wrong_board_file_is_told_and_no_program_starts_with_it(tmp_path: Path) -> None:
    file = tmp_path / "board_spec.xml"
    file.write_text('<board name="b">\n<global_mem name="M"/></board>')
    words = f"{file}:2: global_mem interface: memory 'M' has none"
    board = f"a10_ref,{file}"
    assert words in fpgart("info", env={"FPGART_BOARD": board, "PATH": "/usr/bin"}).stdout
    result = fpgart("run", "--board", board, "--", "echo", "started")
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


COUNTING = (
    "CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA",
    "CL_CONTEXT_MPSIM_DEVICE_INTELFPGA",
    "CL_CONFIG_CPU_EMULATE_DEVICES",
)


@pytest.mark.parametrize(("value", "names"), [("hetero", ["hetero"]), ("+hetero", ["a10_ref", "hetero"])])
def test_an_offline_device_replaces_the_boards_or_comes_besides(value: str, names: list[str]) -> None:
    variable = f"CL_CONTEXT_OFFLINE_DEVICE_INTELFPGA={value}"
    result = fpgart("run", "--board", "a10_ref", "--", "env", variable, "clinfo", "--list")
    found = [line.split(": ", 1)[1] for line in result.stdout.splitlines() if "Device" in line]
    assert [name.partition(" :")[0] for name in found] == names


@pytest.mark.parametrize("variable", COUNTING)
def test_the_originals_variables_give_that_many_devices(variable: str) -> None:
    result = fpgart("run", "--", "env", f"{variable}=3", "clinfo", "--list")
    assert sum("Device" in line for line in result.stdout.splitlines()) == 3


BINARIES_BY_DEVICE = """
import struct, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())

def binary(device, number):
    source = "kernel void k(global int *x) { *x = %d; }" % number
    built = cl.Program(cl.Context([device]), source).build(cache_dir=False)
    return built.get_info(cl.program_info.BINARIES)[0]

binaries = [binary(device, number) for number, device in enumerate(context.devices, 1)]
program = cl.Program(context, context.devices, binaries).build()
kernel = cl.Kernel(program, "k")
for device in context.devices:
    queue, read = cl.CommandQueue(context, device), bytearray(4)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
    kernel(queue, (1,), None, buffer)
    cl.enqueue_copy(queue, read, buffer)
    print(device.name.split()[0], *struct.unpack("i", read))
"""


def test_each_device_runs_its_own_one_of_a_programs_binaries() -> None:
    printed = output(
        fpgart("run", "--board", "a10_ref,hetero", "--", sys.executable, "-W", "ignore", "-c", BINARIES_BY_DEVICE)
    )
    assert [line.split()[-1] for line in printed.splitlines()] == ["1", "2"]
