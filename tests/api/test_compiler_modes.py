"""CL_CONTEXT_COMPILER_MODE_INTELFPGA: where a context's programs come from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import ROOT, fpgart, output

HOST = f"""
import sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Failed, Host, Loader, handles, strings
host = Host(Loader())

def context(mode):
    if mode == 3:  # a device is not at once for its own kernels and for binaries
        host.cl.check("clReleaseCommandQueue", host.queue)
        host.cl.check("clReleaseCommandQueue", host.out_of_order)
        host.cl.check("clReleaseContext", host.context)
    return host.cl.make("clCreateContext", handles(0x40F0, mode, 0), 1, handles(host.device), None, None)

def build(where, source="kernel void k(global int *x) {{ x[0] = 7; }}", options=b"-DA=1"):
    program = host.cl.make("clCreateProgramWithSource", where, 1, strings(source), None)
    status = host.cl.status("clBuildProgram", program, 0, None, options, None, None)
    return status, host.cl.text("clGetProgramBuildInfo", program, host.device, 0x1183)
"""


def run(body: str, folder: Path, **environment: str) -> list[str]:
    variables = [f"{name}={value}" for name, value in environment.items()]
    host = ("env", *variables, sys.executable, "-c", HOST + body)
    bare = {"PYTHONPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    return output(fpgart("run", "--board", "a10_ref", "--", *host, cwd=folder, env=bare)).split("\n")[:-1]


@pytest.mark.parametrize(("mode", "status"), [(0, -3), (1, 0), (2, -11), (3, -3), (4, 0), (5, 0)])
def test_a_source_is_compiled_where_the_mode_has_a_compiler(tmp_path: Path, mode: int, status: int) -> None:
    assert run(f"print(build(context({mode}))[0])", tmp_path) == [str(status)]


@pytest.mark.parametrize(
    ("first", "second", "status"), [(3, 3, 0), (3, 4, -30), (4, 3, -30), (0, 5, 0), (1, 3, -30), (2, 4, 0)]
)
def test_a_device_is_for_its_own_kernels_or_for_binaries(tmp_path: Path, first: int, second: int, status: int) -> None:
    body = f"""
def attempt(*arguments):
    try: return host.cl.make(*arguments)
    except Failed as error: return error.status
for name, item in (("CommandQueue", host.queue), ("CommandQueue", host.out_of_order), ("Context", host.context)):
    host.cl.check("clRelease" + name, item)
one = attempt("clCreateContext", handles(0x40F0, {first}, 0), 1, handles(host.device), None, None)
two = attempt("clCreateContext", handles(0x40F0, {second}, 0), 1, handles(host.device), None, None)
print(min(two, 0))
typed = attempt("clCreateContextFromType", handles(0x1084, host.platform, 0x40F0, {second}, 0), 0xFFFFFFFF, None, None)
print(min(typed, 0))
"""
    assert run(body, tmp_path) == [str(status), str(-2 if status else 0)]


def test_a_mode_that_is_none_is_refused(tmp_path: Path) -> None:
    body = "try: context(6)\nexcept Failed as error: print(error.status)"
    assert run(body, tmp_path) == ["-30"]


@pytest.mark.parametrize("text", ["1x", "x", "-1", "6"])
def test_an_environment_that_is_no_mode_fails_contexts_that_need_it(tmp_path: Path, text: str) -> None:
    program = (
        HOST.replace("host = Host(Loader())", "")
        + """
loader = Loader()
found = handles(0)
loader.check("clGetPlatformIDs", 1, found, None)
loader.check("clGetDeviceIDs", int(found[0]), 0xFFFFFFFF, 1, found, None)
for properties in (None, handles(0x40F0, 4, 0)):
    try:
        loader.make("clCreateContext", properties, 1, handles(int(found[0])), None, None)
        print("made")
    except Failed as error:
        print(error.status)
"""
    )
    result = fpgart("run", "--", "env", f"CL_CONTEXT_COMPILER_MODE_INTELFPGA={text}", sys.executable, "-c", program)
    assert result.stdout.split() == ["-30", "made"], result.stderr


def test_what_mode_1_puts_into_the_library_mode_2_finds_there(tmp_path: Path) -> None:
    assert run("print(build(context(1))[0])", tmp_path) == ["0"]
    (file,) = tmp_path.glob("aocl_program_library/??/??/*/kernels.aocx")
    assert len(file.parent.name) == 36
    assert {path.name for path in file.parent.iterdir()} == {"kernels.cl", "build.cmd", "build.log", "kernels.aocx"}
    assert run("print(build(context(2))[0])", tmp_path) == ["0"]
    other = "print(*build(context(2), options=b'-DA=2'), sep='\\n')"
    status, log, *_ = run(other, tmp_path)
    assert status == "-11"
    assert "is not there: compile the program into the library first (compiler mode 1)" in log


def test_the_environment_chooses_mode_and_folder(tmp_path: Path) -> None:
    chosen = {
        "CL_CONTEXT_COMPILER_MODE_INTELFPGA": "1",
        "CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA": str(tmp_path / "mine"),
    }
    assert run("print(build(host.context)[0])", tmp_path, **chosen) == ["0"]
    assert len(list(tmp_path.glob("mine/??/??/*/kernels.aocx"))) == 1


def test_split_kernels_program_the_board_for_every_launch(tmp_path: Path) -> None:
    body = """
for _ in range(3):
    host.launch(host.kernel("kernel void k(global int *x) { x[0] = 7; }", "k", host.buffer(4)), 1)
host.finish()
"""
    for mode, times in (("4", 1), ("5", 3)):
        trace = tmp_path / f"{mode}.json"
        run(body, tmp_path, CL_CONTEXT_COMPILER_MODE_INTELFPGA=mode, FPGART_TRACE=str(trace))
        assert trace.read_text().count('"aocl_mmd_program"') == times
