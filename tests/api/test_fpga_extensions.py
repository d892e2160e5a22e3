"""The functions that Intel's FPGA runtime adds (include/CL/cl_ext_intelfpga.h), and eager programming."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from c_hosts import build
from processes import ROOT, finished, fpgart, output

HOST = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Failed, Host, Loader, Usm, callback, handles
host = Host(Loader())
call = Usm(host).status
"""


def run(body: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = [f"{name}={value}" for name, value in environment.items()]
    result = fpgart("run", "--board", "a10_ref", "--", "env", *variables, sys.executable, "-c", HOST + body, *words)
    assert result.returncode == 0, result.stderr
    return result


def test_live_objects_are_reported_with_type_and_references() -> None:
    body = """
buffer = host.buffer(64)
host.cl.check("clRetainMemObject", buffer)
seen = []
report = callback(lambda data, handle, name, count: seen.append((handle, name.decode(), count)),
                  ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)
call("clTrackLiveObjectsIntelFPGA", host.platform)
call("clReportLiveObjectsIntelFPGA", host.platform, report, None)
assert (buffer, "cl_mem", 2) in seen
print(*sorted(name for _, name, _ in seen))
"""
    assert run(body).stdout.split() == ["cl_command_queue", "cl_command_queue", "cl_context", "cl_mem"]


def test_what_is_alive_at_the_end_is_told_when_asked_for() -> None:
    lines = run("buffer = host.buffer(64)", ACL_TRACK_LEAKS="1").stderr.splitlines()
    assert [line for line in lines if line.startswith("fpgart:   1 cl_mem, 64 bytes, created by clCreateBuffer, ")]
    assert "alive at the end" not in run("buffer = host.buffer(64)").stderr


@pytest.mark.parametrize("board", ["usm_s10", "k2h"])
def test_a_variable_is_read_while_launches_of_other_programs_take_the_board(board: str, tmp_path: Path) -> None:
    result = finished(build("variables_in_turns", tmp_path, "-lpthread"), FPGART_BOARD=board)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize(("device", "told"), [("host.device", []), ("host.context", ["CL_INVALID_DEVICE"])])
def test_boards_have_no_functions_of_their_own_and_other_objects_are_no_boards(device: str, told: list[str]) -> None:
    """The function has no status, so the log says what was wrong."""
    body = f"print(call('clGetBoardExtensionFunctionAddressIntelFPGA', b'none', {device}))"
    result = run(body, FPGART_LOG="stderr")
    assert result.stdout == "0\n"
    assert re.findall(r"CL_INVALID_\w+", result.stderr) == told


STATUSES = [
    ('call("clReconfigurePLLIntelFPGA", host.device, b"1 2 3 4 5 6 7 8 9")', 0),
    ('call("clReconfigurePLLIntelFPGA", host.device, b"1 2 3")', -59),
    ('call("clReconfigurePLLIntelFPGA", host.device, None)', -30),
    ('call("clReconfigurePLLIntelFPGA", None, b"1 2 3 4 5 6 7 8 9")', -33),
    ('call("clResetKernelsIntelFPGA", host.context, 1, handles(host.device))', 0),
    ('call("clResetKernelsIntelFPGA", host.context, 1, None)', -30),
    ('call("clResetKernelsIntelFPGA", None, 1, handles(host.device))', -34),
    ('call("clSetDeviceExceptionCallbackIntelFPGA", 1, handles(host.device), 3, callback(print), None)', 0),
    ('call("clSetDeviceExceptionCallbackIntelFPGA", 1, handles(host.device), 3, None, None)', -30),
    ('call("clSetDeviceExceptionCallbackIntelFPGA", 0, None, 3, callback(print), None)', -30),
    (
        'host.cl.attempt("clCreateBufferWithProperties", host.context, handles(0x4213, 1, 0x419E, 0, 0), 1, 9, 0)[1]',
        0,
    ),
    (
        'call("clEnqueueReadHostPipeINTEL", host.queue, Host(host.cl).program("kernel void k() {}"), '
        'b"pipe", 1, b"room", 4, 0, None, None)',
        -34,
    ),
]


@pytest.mark.parametrize(("expression", "status"), STATUSES)
def test_statuses(expression: str, status: int) -> None:
    assert run(f"print({expression})").stdout.split() == [str(status)]


LOAD = """
data = open(sys.argv[1], "rb").read()
kept = ctypes.create_string_buffer(data, len(data))
arguments = (host.context, 1, handles(host.device), handles(len(data)), handles(ctypes.addressof(kept)), None)
status = ctypes.c_int32(1)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two containers for the board."""
    made = []
    for name in ("one", "two"):
        source = tmp_path_factory.mktemp(name) / f"{name}.cl"
        source.write_text(f"kernel void {name}(global int *x) {{ x[0] = 1; }}")
        output(fpgart("aoc", source, "-board=a10_ref", cwd=source.parent))
        made.append(source.with_suffix(".aocx"))
    return made


def programmings(trace: Path) -> int:
    return sum(event.get("name") == "aocl_mmd_program" for event in json.loads(trace.read_text()))


def test_the_first_binary_of_a_device_is_loaded_at_once(programs: list[Path], tmp_path: Path) -> None:
    body = LOAD + 'host.cl.make("clCreateProgramWithBinary", *arguments)\n'
    body += 'data = open(sys.argv[2], "rb").read(); kept = ctypes.create_string_buffer(data, len(data))\n'
    body += "arguments = (host.context, 1, handles(host.device), handles(len(data)), "
    body += "handles(ctypes.addressof(kept)), None)\n"
    body += 'host.cl.make("clCreateProgramWithBinary", *arguments)\n'
    for setting, times in (("1", 1), ("0", 0)):
        trace = tmp_path / f"{setting}.json"
        run(body, *programs, FPGART_TRACE=str(trace), AOCL_EAGERLY_LOAD_FIRST_BINARY=setting)
        assert programmings(trace) == times


def test_a_program_can_be_loaded_when_it_is_created(programs: list[Path], tmp_path: Path) -> None:
    body = (
        LOAD
        + """
for _ in range(2):
    assert Usm(host).make("clCreateProgramWithBinaryAndProgramDeviceIntelFPGA", *arguments)
"""
    )
    trace = tmp_path / "t.json"
    run(body, programs[0], FPGART_TRACE=str(trace), AOCL_EAGERLY_LOAD_FIRST_BINARY="0")
    assert programmings(trace) == 1


PROFILED = """
import os
os.chdir(sys.argv[1])
kernel = host.kernel("kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }", "twice", host.buffer(64))
for _ in range(3):
    host.launch(kernel, 16)
host.finish(host.queue)
program = host.program("kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }")
def data(clear):
    return call("clGetProfileDataDeviceIntelFPGA", host.device, program, ctypes.c_uint32(1), ctypes.c_uint32(0),
                ctypes.c_uint32(clear), ctypes.c_size_t(0), None, None, None)
"""


def test_launches_are_counted_into_profile_mon(tmp_path: Path) -> None:
    body = PROFILED + "print(data(1), data(0))"
    assert run(body, tmp_path, ACL_RUNTIME_PROFILING_ACTIVE="1").stdout.split() == ["0", "0"]
    counted, cleared = (line.split(",") for line in (tmp_path / "profile.mon").read_text().splitlines())
    assert (counted[0], counted[2], counted[5:8]) == ("0", "twice", ["-1", "2", "3"])
    assert int(counted[8]) > 0
    assert cleared[6:] == ["2", "0", "0"]


def test_nothing_is_counted_unless_asked_for(tmp_path: Path) -> None:
    assert run(PROFILED + "print(data(0))", tmp_path).stdout.split() == ["-5"]
    assert not (tmp_path / "profile.mon").exists()


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ('call("clGetProfileInfoIntelFPGA", None)', -58),
        ('call("clGetProfileInfoIntelFPGA", host.cl.make("clCreateUserEvent", host.context))', -58),
        ("call('clGetProfileDataDeviceIntelFPGA', None, program, *[None] * 7)", -33),
        ("call('clGetProfileDataDeviceIntelFPGA', host.device, None, *[None] * 7)", -44),
    ],
)
def test_profiles_of_nothing_are_refused(tmp_path: Path, expression: str, status: int) -> None:
    assert run(PROFILED + f"print({expression})", tmp_path, ACL_RUNTIME_PROFILING_ACTIVE="1").stdout.split() == [
        str(status)
    ]
