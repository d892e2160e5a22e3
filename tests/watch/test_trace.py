"""FPGART_TRACE and `fpgart report`: what hosts that know nothing of them leave in a trace."""

from __future__ import annotations

import _thread
import gzip
import json
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock

import pytest
from c_hosts import host_of
from machine import Machine
from processes import ROOT, fpgart, output

from fpgart.base import opencl as cl
from fpgart.base.output_file import KeptOutput
from fpgart.kernels.fpga_spirv import PipeFacts
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.version import __version__
from fpgart.watch import report
from fpgart.watch.family import COMPILER
from fpgart.watch.names import COMMANDS
from fpgart.watch.report.advice import covers
from fpgart.watch.report.model import CERTAIN
from fpgart.watch.trace.channels import ChannelEvents
from fpgart.watch.trace.file import TraceFile
from fpgart.watch.trace.memory import BlockEvents, BufferEvents
from fpgart.watch.trace.mmd import TracedMmd
from fpgart.watch.trace.recorder import Trace
from fpgart.watch.trace.sites import Sites

HETERO_KERNEL = """
__kernel void twice(__global __attribute__((buffer_location("HBM"))) int *x) { x[get_global_id(0)] *= 2; }
__kernel void once(__global int *x) { x[get_global_id(0)] += 1; }
"""
HOST = f"""
import sys
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, {HETERO_KERNEL!r}).build(cache_dir=False)
def aligned(count):
    whole = np.zeros(count + 16, np.int32)
    return whole[-(whole.ctypes.data // 4) % 16:][:count]
data = aligned(1 << 20)
data[:] = np.arange(1 << 20, dtype=np.int32)
"""
WRITE_FIRST = """
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
cl.enqueue_copy(queue, buffer, data)
kernel = cl.Kernel(program, "twice")
kernel.set_arg(0, buffer)
cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
cl.enqueue_copy(queue, data, buffer)
assert data[3] == 6
buffer.release()
"""
SET_FIRST = WRITE_FIRST.replace("cl.enqueue_copy(queue, buffer, data)\n", "", 1).replace(
    "kernel.set_arg(0, buffer)\n", "kernel.set_arg(0, buffer)\ncl.enqueue_copy(queue, buffer, data)\n"
)


def traced(tmp_path: Path, body: str, board: str = "hetero", *options: str) -> Path:
    """The trace of a pyopencl host."""
    file = tmp_path / "trace.json"
    file.write_bytes(trace_of(body, board, *options))
    return file


@cache
def trace_of(body: str, board: str, *options: str) -> bytes:
    """Runs a host once for all tests that look at its trace."""
    pytest.importorskip("pyopencl")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        command = "run", "--board", board, *options, "--trace", file, "--", sys.executable, "-c", HOST + body
        output(fpgart(*command))
        return file.read_bytes()


def certain(found: report.Report) -> list[report.Advice]:
    """The advice without what depends on how fast the run was."""
    return [advice for advice in found.advice if advice.noun in CERTAIN]


def of(file: Path, category: str, *names: str) -> list[dict[str, Any]]:
    return [e for e in json.loads(file.read_text()) if e.get("cat") == category and (not names or e["name"] in names)]


def test_a_trace_is_a_json_array_of_chrome_events(tmp_path: Path) -> None:
    for event in json.loads(traced(tmp_path, SET_FIRST).read_text()):
        assert {"name", "ph", "pid", "tid"} <= event.keys()
        assert event["ph"] in "MXi"
        assert event["ph"] == "M" or event["ts"] >= 0


def test_writing_first_costs_a_copy_that_the_trace_shows(tmp_path: Path) -> None:
    file = traced(tmp_path, WRITE_FIRST)
    calls = [(e["name"], e["args"].get("address"), e["args"]["size"]) for e in of(file, "mmd")]
    size = 4 << 20
    assert [call for call in calls if call[0] != "aocl_mmd_program"] == [
        ("aocl_mmd_write", "0x400", size),
        ("aocl_mmd_copy", "0x100000000", size),
        ("aocl_mmd_read", "0x100000000", size),
    ]
    blocks = [(e["name"], e["args"]["memory"], e["args"]["bank"], e["args"]["address"]) for e in of(file, "memory")]
    assert blocks == [
        ("reserve", "DDR", 1, "0x400"),
        ("reserve", "HBM", 1, "0x100000000"),
        ("free", "DDR", 1, "0x400"),
        ("free", "HBM", 1, "0x100000000"),
    ]
    (migration,) = [e["args"] for e in of(file, "device", "migration") if not e["args"]["skipped"]]
    assert migration["reason"] == "argument 0 ('x') of kernel 'twice'"
    assert (migration["from"], migration["to"]) == ("device 0, DDR at 0x400", "device 0, HBM at 0x100000000")


def test_setting_the_argument_first_saves_the_copy(tmp_path: Path) -> None:
    file = traced(tmp_path, SET_FIRST)
    assert [e["name"] for e in of(file, "mmd") if e["name"] != "aocl_mmd_program"] == [
        "aocl_mmd_write",
        "aocl_mmd_read",
    ]
    assert [e["args"]["skipped"] for e in of(file, "device", "migration")] == [True]


def test_a_kernel_event_has_its_name_and_nd_range(tmp_path: Path) -> None:
    (kernel,) = of(traced(tmp_path, SET_FIRST), "device", "kernel")
    assert kernel["args"]["kernel"] == "twice"
    assert kernel["args"]["global"] == [1 << 20]
    image = bytes.fromhex(kernel["args"]["image"])
    assert image[72:] == (0x100000000).to_bytes(8, "little")


def test_mmd_calls_name_their_buffer_and_operation(tmp_path: Path) -> None:
    file = traced(tmp_path, WRITE_FIRST)
    operations = {e["args"]["operation"] for e in of(file, "device")}
    for event in of(file, "mmd", "aocl_mmd_write", "aocl_mmd_copy", "aocl_mmd_read"):
        assert event["args"]["buffer"] == 1
        assert event["args"]["operation"] in operations


def test_addresses_are_those_that_kernels_are_given_with_the_boards_beside_them(tmp_path: Path) -> None:
    body = """
second = cl.CommandQueue(context, context.devices[1])
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
cl.enqueue_copy(second, buffer, data)
kernel = cl.Kernel(program, "once")
kernel.set_arg(0, buffer)
cl.enqueue_nd_range_kernel(second, kernel, data.shape, None)
second.finish()
"""
    file = traced(tmp_path, body, "a10_ref,a10_ref")
    (kernel,) = of(file, "device", "kernel")
    given = int.from_bytes(bytes.fromhex(kernel["args"]["image"])[72:], "little")
    assert given == 1 << 54 | 0x400
    (reserve,), (write,) = of(file, "memory", "reserve"), of(file, "mmd", "aocl_mmd_write")
    for event in (reserve, write):
        assert (event["args"]["address"], event["args"]["board_address"]) == (hex(given), "0x400")
    assert f"device 1, DDR bank 1 at {given:#x}" in report.as_text(report.read(file))


def test_calls_have_names_and_errors_have_words(tmp_path: Path) -> None:
    body = "try: cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 60).get_info(cl.mem_info.SIZE)\n"
    file = traced(tmp_path, body + "except cl.Error: pass\n")
    errors = [e["args"]["error"] for e in of(file, "api", "clCreateBuffer") if "error" in e["args"]]
    assert [words.split(":")[0] for words in errors] == ["CL_INVALID_BUFFER_SIZE"]
    names = {e["name"] for e in of(file, "api")}
    assert {"clGetDeviceIDs", "clCreateContext", "clBuildProgram"} <= names


def test_tracing_keeps_no_object_for_a_thread_that_has_ended(tmp_path: Path) -> None:
    trace = Trace(str(tmp_path / "t.json"))
    before = threading.active_count()
    for _ in range(5):  # threads that Python's module `threading` did not make, as those of a host in C
        ended = _thread.allocate_lock()
        ended.acquire()

        def work(ended: _thread.LockType = ended) -> None:
            trace.timeline.emit("call", "clFlush", 0, 1, {})
            ended.release()

        _thread.start_new_thread(work, ())
        ended.acquire()
    trace.close()
    events = json.loads((tmp_path / "t.json").read_text())
    assert len({e["tid"] for e in events if e["name"] == "thread_name"}) == 5
    assert threading.active_count() <= before


def test_tracks_are_threads_and_queues(tmp_path: Path) -> None:
    file = traced(tmp_path, SET_FIRST)
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in json.loads(file.read_text()) if e["ph"] == "M"}
    assert "device 0: hetero" in tracks.values()
    for event in of(file, "api") + of(file, "device"):
        assert (event["pid"], event["tid"]) in tracks


def test_a_killed_host_leaves_a_trace_that_can_be_read(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    file = tmp_path / "trace.json"
    body = SET_FIRST + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    result = fpgart("run", "--board", "hetero", "--trace", file, "--", sys.executable, "-c", HOST + body)
    assert result.returncode == -signal.SIGKILL
    found = report.read(file)
    assert not found.whole
    assert found.kernels[0, "twice"].launches == 1
    with file.open("a") as cut:
        cut.write('{"name": "aocl_mmd_wri')
    assert report.read(file).kernels[0, "twice"].launches == 1


def test_the_child_of_a_fork_writes_nothing(tmp_path: Path) -> None:
    body = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n" + SET_FIRST
    file = traced(tmp_path, body)
    assert len(of(file, "fpgart", "end")) == 1


def test_a_disk_that_fills_up_ends_the_trace_and_not_the_host(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    fill = f"""
import os, resource
data[:] = np.arange(1 << 20, dtype=np.int32)
size = os.path.getsize({str(file)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
"""
    # The first launch writes files of the engine and of pyopencl, which the limit would cut off, too.
    host = HOST + SET_FIRST + fill + SET_FIRST
    result = fpgart("run", "--board", "hetero", "--trace", file, "--", sys.executable, "-c", host)
    assert result.returncode == 0, result.stderr
    told = [line for line in result.stderr.splitlines() if line.startswith("fpgart:")]
    assert told == ["fpgart: the trace ends here: File too large"]
    assert "clCreateContext" in report.read(file).calls


def test_a_file_that_the_host_opens_in_place_of_the_trace_gets_none_of_it(tmp_path: Path) -> None:
    file, own = tmp_path / "trace.json", tmp_path / "own"
    replace = f"""
import os
for number in os.listdir("/proc/self/fd"):
    if os.path.realpath("/proc/self/fd/" + number) == {str(file)!r}:
        os.dup2(os.open({str(own)!r}, os.O_RDWR | os.O_CREAT), int(number))
"""
    command = ["run", "--board", "hetero", "--trace", file, "--", sys.executable, "-c", HOST + replace + SET_FIRST]
    result = fpgart(*command)
    assert result.returncode == 0, result.stderr
    assert "the trace ends here: the program has closed the file and opened another one" in result.stderr
    assert own.read_bytes() == b""


def test_a_trace_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    result = fpgart("run", "--trace", tmp_path / "no" / "such", "--", "clinfo", "-l")
    assert "FPGART_TRACE=" in result.stderr
    assert "No such file or directory" in result.stderr


C_HOST_EVENTS = [
    ("memory", "reserve", 1),
    ("mmd", "aocl_mmd_write", 1),
    ("device", "transfer", 1),
    ("api", "clCreateBuffer", None),
    ("api", "clCreateBuffer", None),
    ("api", "clCreateBuffer", None),
    ("memory", "reserve", 2),
    ("api", "clEnqueueWriteBuffer", None),
    *[("api", "clSetKernelArg", None)] * 4,
    ("memory", "reserve", 3),
    ("api", "clEnqueueNDRangeKernel", None),
]
"""The events of the multiplication in examples/host.c on the host's thread, up to its launch, with the buffer."""


@pytest.fixture(scope="module")
def c_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of examples/host.c."""
    folder = tmp_path_factory.mktemp("c")
    host, file = host_of(ROOT / "examples/host.c", folder / "host"), folder / "trace.json"
    output(fpgart("run", "--board", "usm_s10", "--trace", file, "--", host))
    return file


def test_the_calls_of_a_c_host_are_traced_in_order(c_trace: Path) -> None:
    events = of(c_trace, "api")
    names = [event["name"] for event in sorted(events, key=lambda event: event["ts"])]
    assert names[names.index("clGetDeviceIDs") :] == [
        "clGetDeviceIDs",
        "clGetDeviceInfo",
        "clCreateContext",
        "clCreateCommandQueueWithProperties",
        "clCreateProgramWithSource",
        "clBuildProgram",
        "clCreateKernel",
        *[name for category, name, _ in C_HOST_EVENTS if category == "api"],
        "clEnqueueReadBuffer",
        "clCreateKernel",
        "clCreateBuffer",
        "clCreateBuffer",
        *["clSetKernelArg"] * 4,
        "clEnqueueNDRangeKernel",
        "clEnqueueMapBuffer",
        "clEnqueueUnmapMemObject",
        "clFinish",
    ]


def test_what_a_c_host_causes_is_traced_beside_its_calls(c_trace: Path) -> None:
    events = [
        (event["cat"], event["name"], event["args"].get("buffer"))
        for event in json.loads(c_trace.read_text())
        if event.get("cat") in ("api", "memory", "mmd", "device")
    ]
    begin = events.index(C_HOST_EVENTS[0])
    # what the worker threads do for the non-blocking write may come anywhere
    ours = [event for event in events[begin:] if event in C_HOST_EVENTS]
    assert ours[: len(C_HOST_EVENTS)] == C_HOST_EVENTS


def test_each_address_of_a_c_host_is_that_of_its_block(c_trace: Path) -> None:
    blocks = {e["args"]["buffer"]: e["args"]["address"] for e in of(c_trace, "memory", "reserve")}
    base = 0x1000000000000
    assert blocks == {n: hex(base + place * 0x40000) for n, place in [(1, 0), (2, 1), (3, 2), (4, 0), (5, 1)]}
    calls = [(e["name"], e["args"]["buffer"]) for e in of(c_trace, "mmd") if "buffer" in e["args"]]
    write, read = "aocl_mmd_write", "aocl_mmd_read"
    assert calls == [(write, 1), (write, 2), (read, 3), (write, 4), (read, 5)]
    for event in of(c_trace, "mmd", write, read):
        assert event["args"]["address"] == blocks[event["args"]["buffer"]]
        assert event["args"]["size"] == 0x40000


def test_copy_host_ptr_goes_to_the_first_device_of_the_context(tmp_path: Path) -> None:
    """Without a command of the host: the transfer is in a queue that is not one of the host's."""
    body = "buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=data)\n"
    file = traced(tmp_path, body, board="a10_ref,a10_ref,usm_s10")
    calls = [(e["name"], e["args"]["device"], e["args"]["size"]) for e in of(file, "mmd")]
    assert calls == [("aocl_mmd_write", 0, 4 << 20)]
    enqueued = [e["name"] for e in of(file, "api") if e["name"].startswith("clEnqueue")]
    assert enqueued == []


# The report


def test_unmapping_what_was_mapped_for_reading_is_no_copy(c_trace: Path) -> None:
    found = report.read(c_trace)
    assert [copy.what for copy in found.copies if copy.buffer == 5] == ["MAP_BUFFER"]
    assert found.buffers[5].copied_bytes == 0x40000


def test_the_report_says_how_to_avoid_the_copy(tmp_path: Path) -> None:
    text = fpgart("report", traced(tmp_path, WRITE_FIRST)).stdout
    assert "device 0: aocl_mmd_copy: 1 call, 4 MiB" in text
    assert "set argument 0 ('x') of kernel 'twice' to buffer 1 before writing the buffer: 1 copy of 4 MiB saved" in text


def test_the_report_of_the_preferred_order_has_nothing_to_avoid(tmp_path: Path) -> None:
    found = report.read(traced(tmp_path, SET_FIRST))
    assert certain(found) == []
    assert "1 migration was skipped" in report.as_text(found)


AVOIDABLE_SETUP = "buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)\n"
AVOIDABLE = [
    (
        "for _ in range(2): cl.enqueue_copy(queue, buffer, data)\n",
        "buffer 1 is written again before anything used it: omit the first write: 1 copy of 4 MiB saved",
    ),
    (
        "cl.enqueue_map_buffer(queue, buffer, cl.map_flags.WRITE, 0, (100,), np.int32)[0].base.release(queue)\n",
        "map buffer 1 with CL_MAP_WRITE_INVALIDATE_REGION",
    ),
    (
        "other = cl.Program(context, 'kernel void o(global int *x) {}').build(cache_dir=False)\n"
        "for _ in range(2):\n"
        "    for kernel in (cl.Kernel(program, 'once'), cl.Kernel(other, 'o')):\n"
        "        kernel.set_arg(0, buffer)\n"
        "        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)\n"
        "queue.finish()\n",
        "device 0 is reprogrammed with a program that it held before",
    ),
]


@pytest.mark.parametrize(("body", "advice"), AVOIDABLE, ids=["written twice", "map for writing", "reprogrammed"])
def test_the_report_advises(tmp_path: Path, body: str, advice: str) -> None:
    found = report.read(traced(tmp_path, AVOIDABLE_SETUP + body))
    assert any(advice.split(":")[0] in given.words for given in found.advice)
    assert advice in report.as_text(found)


LOWEST_FIRST = """<board name="lowest_first"><fpgart lowest_first="1"/>
<global_mem name="low"><interface port="a" address="0x0" size="0x4000000"/></global_mem>
<global_mem name="fast" default="1"><interface port="b" address="0x4000000" size="0x4000000"/></global_mem></board>"""
LAUNCH_ONCE = """
kernel = cl.Kernel(program, "once")
kernel.set_arg(0, buffer)
cl.enqueue_copy(queue, buffer, data)
cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
queue.finish()
"""
TWO_PLACES = """
source = 'kernel void d(global __attribute__((buffer_location("DDR"))) int *x) { }'
for kernel in (cl.Kernel(cl.Program(context, source).build(cache_dir=False), "d"), cl.Kernel(program, "twice")):
    kernel.set_arg(0, buffer)
cl.enqueue_copy(queue, buffer, data)
cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
queue.finish()
"""


def test_the_report_does_not_advise_what_decides_nothing(tmp_path: Path) -> None:
    """The argument has no buffer_location, and was set before the buffer was written."""
    board = tmp_path / "lowest_first.xml"
    board.write_text(LOWEST_FIRST)
    found = report.read(traced(tmp_path, AVOIDABLE_SETUP + LAUNCH_ONCE, str(board)))
    (advice,) = certain(found)
    assert advice.words == (
        "create buffer 1 with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL 0 (fast), "
        "where argument 0 ('x') of kernel 'once' needs it"
    )


def test_the_report_does_not_advise_what_the_host_has_done(tmp_path: Path) -> None:
    found = report.read(traced(tmp_path, AVOIDABLE_SETUP + TWO_PLACES))
    (advice,) = certain(found)
    assert advice.words == (
        "set argument 0 ('x') of kernel 'twice' to buffer 1 before its other arguments, and then write the buffer"
    )


def test_the_report_tells_what_became_of_a_bank(tmp_path: Path) -> None:
    body = """
flags = cl.mem_flags.READ_WRITE | 2 << 16
buffers = [cl.Buffer(context, flags, size) for size in ((1 << 30) - 1024, 4096, 4096)]
for buffer in buffers:
    cl.enqueue_migrate_mem_objects(queue, [buffer])
queue.finish()
"""
    file = traced(tmp_path, body, "a10_ref")
    text = report.as_text(report.read(file))
    assert "device 0, DDR bank 2 at 0x40000000" in text
    assert text.count("bank 2, asked for, has no room for it: it is in bank 1") == 2


def test_the_report_says_what_programming_cost(tmp_path: Path) -> None:
    found = report.read(traced(tmp_path, AVOIDABLE_SETUP + AVOIDABLE[2][0]))
    assert len(found.programmed) == 4
    assert "programming: 4 times, 2 programs, " in report.as_text(found)
    assert found.programming_microseconds > 0


def test_the_report_advises_which_devices_queue_to_write_through(tmp_path: Path) -> None:
    body = """
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
cl.enqueue_copy(queue, buffer, data)
kernel = cl.Kernel(program, "once")
kernel.set_arg(0, buffer)
other = cl.CommandQueue(context, context.devices[1])
cl.enqueue_nd_range_kernel(other, kernel, data.shape, None)
other.finish()
"""
    text = report.as_text(report.read(traced(tmp_path, body, board="usm_s10,a10_ref")))
    assert "write buffer 1 through a queue of device 1" in text


def test_the_report_for_programs_is_json(tmp_path: Path) -> None:
    facts = json.loads(output(fpgart("report", "--json", traced(tmp_path, WRITE_FIRST))))
    assert {"device": 0, "call": "aocl_mmd_copy", "calls": 1, "bytes": 4 << 20} in [
        {key: entry[key] for key in ("device", "call", "calls", "bytes")} for entry in facts["traffic"]
    ]
    assert facts["advice"][0]["bytes"] == 4 << 20


@pytest.mark.parametrize("content", [b"hello\n", b"\xff\xfe\0", b""], ids=["text", "binary", "empty"])
def test_what_is_no_trace_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    result = fpgart("report", file)
    assert result.returncode == 2
    assert result.stderr.startswith(f"fpgart: {file} is not a trace")


def test_buffers_that_are_never_released_are_told(tmp_path: Path) -> None:
    body = SET_FIRST.replace("buffer.release()", "import os; os._exit(0)")
    assert "never released" in report.as_text(report.read(traced(tmp_path, body)))


def test_usm_is_in_trace_and_report_and_leaks_name_the_call(tmp_path: Path) -> None:
    body = """
from fpgart import usm
kept, given_back = usm.device_empty(context, 1000, np.int32), usm.shared_empty(context, 1000, np.int32)
usm.memcpy(queue, kept, given_back)
del given_back
import gc, os; gc.collect(); os._exit(0)
"""
    file = traced(tmp_path, body, board="usm_s10")
    events = [(e["name"], e["args"]["kind"], e["args"]["size"]) for e in of_lines(file, "usm")]
    assert events == [("allocate", "device", 4000), ("allocate", "shared", 4000), ("free", "shared", 4000)]
    text = report.as_text(report.read(file))
    assert "device 0, device interleaved over 4 banks, 4 KiB of each in turn at 0x1000000000000" in text
    assert "never freed (a leak), allocated by clDeviceMemAllocINTEL" in text


def of_lines(file: Path, category: str) -> list[dict[str, Any]]:
    """As of(), for a trace that has no end."""
    return [event for event in report.events(file) if event.get("cat") == category]


@pytest.mark.parametrize(
    ("later", "earlier", "covered"),
    [
        ((0, 64), (0, 64), True),
        ((0, 64), (16, 16), True),
        ((64, 64), (0, 64), False),
        ((16, 64), (0, 64), False),
        ((0, 32), (0, 64), False),
    ],
)
def test_a_write_is_in_vain_only_if_the_next_one_covers_it(
    later: tuple[int, int], earlier: tuple[int, int], covered: bool
) -> None:
    first, second = ({"offset": offset, "size": size} for offset, size in (earlier, later))
    assert covers(second, first) is covered


TWICE = """
for _ in range(2):
    cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
    queue.finish()
"""


@pytest.mark.parametrize("isolated", [False, True], ids=["here", "isolated"])
def test_the_engines_compiler_is_apart_from_a_first_run(tmp_path: Path, isolated: bool) -> None:
    """It ends where the kernel begins, in front of the first run alone, and no time of the kernel has any of it."""
    body = WRITE_FIRST.replace("cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)\n", TWICE)
    options = ["--isolate"] if isolated else []
    file = traced(tmp_path, body.replace("data[3] == 6", "data[3] == 12"), "hetero", *options)
    (compiled,) = of(file, "engine")
    first, second = of(file, "device", "kernel")
    assert first["ts"] == pytest.approx(compiled["ts"] + compiled["dur"], abs=0.01)
    found = report.read(file)
    (runs,) = found.kernels.values()
    assert (runs.launches, runs.compile_microseconds) == (2, compiled["dur"])
    assert runs.microseconds == pytest.approx(first["dur"] + second["dur"])
    assert found.activities[COMPILER] == round(compiled["dur"] * 1000)
    assert "the engine compiled it in" in report.as_text(found)


def test_commands_are_found_from_their_calls(tmp_path: Path) -> None:
    """By their numbers, and as arrows in Perfetto, which begin at the call."""
    file = traced(tmp_path, WRITE_FIRST)
    calls = {e["args"]["enqueued"]: e for e in of(file, "api") if "enqueued" in e["args"]}
    names = {e["args"]["command"]: calls[e["args"]["enqueued"]] for e in of(file, "device", "transfer", "kernel")}
    assert {command: call["name"] for command, call in names.items()} == {
        "WRITE_BUFFER": "clEnqueueWriteBuffer",
        "NDRANGE_KERNEL": "clEnqueueNDRangeKernel",
        "READ_BUFFER": "clEnqueueReadBuffer",
    }
    for call in calls.values():
        assert (call["flow_out"], call["bind_id"]) == (True, hex(call["args"]["enqueued"]))
    for each in of(file, "device"):
        assert (each["flow_in"], each["bind_id"]) == (True, hex(each["args"]["enqueued"]))
        assert calls[each["args"]["enqueued"]]["ts"] <= each["ts"]


def test_a_trace_says_what_was_run_and_on_what(tmp_path: Path) -> None:
    file = traced(tmp_path, WRITE_FIRST)
    run = report.read(file).run
    assert (run.command[:2], run.version, bool(run.engine)) == ([sys.executable, "-c"], __version__, True)
    told = report.as_text(report.read(file))
    assert f"{sys.executable} -c" in told
    assert f"fpgart {__version__}; engine {run.engine}" in told
    assert " UTC; " in told


def test_lines_of_several_threads_are_compressed_in_the_order_in_which_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    file = TraceFile(str(path), "")
    lines = [[f'"{writer} {number}"' for number in range(500)] for writer in range(4)]
    with ThreadPoolExecutor(len(lines)) as threads:
        list(threads.map(lambda own: [file.append(line) for line in own], lines))
    file.close('"end"')
    written = json.loads(gzip.decompress(path.read_bytes()))
    assert sorted(written) == sorted(["end", *(json.loads(line) for own in lines for line in own)])


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_no_line_is_written_behind_the_last(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    file = TraceFile(str(path), "")
    others, close = [], KeptOutput.close

    def may_write() -> bool:
        if may := file._lock.acquire(blocking=False):
            file._lock.release()
        return may

    def close_beside_others(output: KeptOutput) -> None:
        with ThreadPoolExecutor(1) as thread:
            others.append(thread.submit(may_write).result())
        file.append('"while it is closed"')
        close(output)

    monkeypatch.setattr(KeptOutput, "close", close_beside_others)
    file.close('"end"')
    file.append('"after it"')
    written = path.read_bytes()
    assert json.loads(gzip.decompress(written) if name.endswith("gz") else written) == ["end"]
    assert others == [False], "another thread could write between the last line and the end of the file"


def test_a_trace_whose_name_ends_in_gz_is_compressed_and_says_the_same(tmp_path: Path) -> None:
    """Also after a crash: what was written can be read, wherever the file ends."""
    pytest.importorskip("pyopencl")
    file = tmp_path / "trace.json.gz"
    output(fpgart("run", "--board", "hetero", "--trace", file, "--", sys.executable, "-c", HOST + WRITE_FIRST))
    text = gzip.decompress(file.read_bytes())
    assert len(file.read_bytes()) < len(text) / 2
    plain = tmp_path / "trace.json"
    plain.write_bytes(text)
    assert report.as_json(report.read(file)) == report.as_json(report.read(plain))
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(file.read_bytes()[:-100])
    found = list(report.events(cut))
    assert found == list(report.events(plain))[: len(found)]
    assert len(found) > 20
    cut.write_bytes(b"\x1f\x8b" + bytes(100))
    with pytest.raises(report.TraceError, match="damaged"):
        list(report.events(cut))


@pytest.mark.machine("a10_ref")
def test_addresses_belong_to_a_buffer_while_its_block_is_reserved(machine: Machine) -> None:
    blocks = AddressRegistry[Block]()
    events = BlockEvents(Mock(), blocks)
    block = machine.device.allocate(64, None, 0, owner=3)
    assert block is not None
    events.block_freed(block)  # it was reserved before the trace began
    events.block_reserved(block)
    mmd = TracedMmd(machine.device.mmd, 0, timeline := Mock(), blocks)
    timeline.of_operation.return_value = timeline.of_command.return_value = {}

    def owner(address: int) -> int:
        mmd.copy(address, address, 1)
        return int(timeline.emit.call_args[0][4].get("source", 0))

    found = [owner(block.address + offset) for offset in (0, block.range.size - 1, block.range.size)]
    events.block_freed(block)
    assert (found, owner(block.address)) == ([3, 3, 0], 0)


def test_what_no_call_of_the_host_caused_has_no_place() -> None:
    timeline = Mock()
    assert Sites(timeline).of(Mock()) == {}
    timeline.mark.assert_not_called()


@pytest.mark.parametrize("location", [None, "HBM"])
def test_a_buffer_has_its_location_if_the_host_asked_for_one(location: str | None) -> None:
    buffer = Mock(number=1, size=64, flags=0, parent=None, bank=0, stays_on_host=False, location=location)
    BufferEvents(timeline := Mock(), Sites(Mock())).buffer_created(buffer)
    _, _, args = timeline.mark.call_args[0]
    assert args.get("location") == location


def test_commands_have_the_names_of_opencl_without_the_prefix() -> None:
    named = {value: name for name, value in vars(cl).items() if name.startswith("CL_COMMAND_")}
    assert COMMANDS[cl.CL_COMMAND_NDRANGE_KERNEL] == "NDRANGE_KERNEL"
    assert {f"CL_COMMAND_{name}" for name in COMMANDS.values()} <= {*named.values(), "CL_COMMAND_PROGRAM_DEVICE"}


def test_pipes_are_told_when_a_board_is_programmed_with_them() -> None:
    events, program = ChannelEvents(timeline := Mock()), Mock()
    events._pipes[program] = (PipeFacts("p", 4, 16, ("source", "sink")),)
    events.network_made(Mock(id=2), Mock(), program)
    facts = {"device": 2, "packet": 4, "capacity": 16, "kernels": ("source", "sink")}
    timeline.mark.assert_called_once_with("pipe", "p", facts)
