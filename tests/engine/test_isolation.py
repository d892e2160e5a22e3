"""The engine in a process of its own: what goes wrong there stays there, and hosts see nothing else of it."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from c_hosts import ROOT, build, plain_environment
from killing import board_processes, kill_all_the_time
from misbehaviours import HOSTS, MISBEHAVIOURS, Misbehaviour, run
from processes import finished, fpgart

IN_CI = {
    ("a write through NULL", "c"),
    ("a read of the host's own memory", "two threads"),
    ("an endless loop", "python"),
    ("exit()", "c"),
}
"""The others are for the night: each starts a host, an engine, and the engine again."""


pytestmark = pytest.mark.usefixtures("engine")
"""The table is of PoCL, which says where a kernel runs and compiles for this machine."""

CASES = [
    pytest.param(
        kernel,
        host,
        id=f"{kernel.name}, {host}",
        marks=[] if (kernel.name, host) in IN_CI else [pytest.mark.slow],
    )
    for kernel in MISBEHAVIOURS
    for host in HOSTS
]


@pytest.mark.parametrize(("kernel", "host"), CASES)
def test_a_host_outlives_whatever_its_kernel_does(kernel: Misbehaviour, host: str, tmp_path: Path) -> None:
    if "__asm__" in kernel.text and platform.machine() != "x86_64":
        pytest.skip("the kernel calls the system as on x86")
    outcome = run(kernel, host, tmp_path, isolated=True)
    assert not outcome.failures, outcome
    assert outcome.output.endswith("alive\n")
    assert len(outcome.output) >= kernel.prints
    if kernel.words:
        assert int(outcome.line("status")) < 0
        assert re.search(kernel.words, outcome.log), outcome.log
        if host != "python" and not kernel.source:
            assert re.search(kernel.words, outcome.line("told")) or host == "two threads"
    else:
        assert outcome.line("status") == "0"


def started(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A host in C whose kernels run in a process of their own."""
    program = build("isolated", tmp_path, "-lpthread")
    environment = plain_environment() | {"FPGART_ISOLATE": "1"}
    return subprocess.Popen(
        program, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def runs(process: int) -> bool:
    """True if the process exists and is no zombie."""
    try:
        return b"\nState:\tZ" not in Path(f"/proc/{process}/status").read_bytes()
    except OSError:
        return False


def await_end(processes: list[int]) -> None:
    """Until none of them is there."""
    while any(map(runs, processes)):
        time.sleep(0.02)


def stat_of(task: str) -> list[str]:
    """The fields of a process or thread, from its state on (proc(5))."""
    return Path(f"/proc/{task}/stat").read_text().rpartition(")")[2].split()


def await_loop(host: int) -> None:
    """Until a kernel has kept the board process busy for 20 clock ticks in a row, while the host's main thread sleeps.

    Its kernel then loops, and the host is in its call.
    """
    ticks, last = 0, 0
    while ticks < 20:
        used = sum(int(stat_of(str(process))[11]) for process in board_processes(host))
        if stat_of(f"{host}/task/{host}")[0] != "S":
            ticks = 0
        elif used > last:
            ticks += 1
        last = used
        time.sleep(0.005)


def test_a_host_that_is_killed_takes_its_board_process_along(tmp_path: Path) -> None:
    host = started(tmp_path)
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    processes = board_processes(host.pid)
    assert len(processes) == 2
    host.kill()
    host.communicate()
    await_end(processes)


def test_a_host_sees_no_child_no_signal_and_no_engine_of_the_board_process(tmp_path: Path) -> None:
    host = started(tmp_path)
    output, errors = host.communicate(b"\n")
    assert host.returncode == 0, errors
    assert output.splitlines() == [
        b"ready",
        b"children 0",
        b"signals 0",
        b"engines 0",
        b"before",
        b"kernel 1",
        b"between",
        b"kernel 2",
        b"after",
        b"moved: kernel 3",
    ]


def test_a_board_process_that_is_killed_while_nothing_runs_is_started_anew(tmp_path: Path) -> None:
    host = started(tmp_path)
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    processes = board_processes(host.pid)
    for process in processes:
        with suppress(ProcessLookupError):  # one may end with another
            os.kill(process, signal.SIGKILL)
    await_end(processes)
    output, errors = host.communicate(b"\n")
    assert host.returncode == 0, errors
    assert b"kernel 2" in output


def test_a_host_without_an_engine_has_no_board_process() -> None:
    script = f"""
import os, sys
sys.path[:0] = [{str(ROOT / "tests")!r}, {str(ROOT / "conformance")!r}]
from killing import board_processes
from opencl_api import Host, Loader
host = Host(Loader())
print(board_processes(os.getpid()))
"""
    result = fpgart("run", "--isolate", "--engine", "none", "--", sys.executable, "-c", script)
    assert (result.stdout, result.stderr) == ("[]\n", "")


LOOPS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void spin(global volatile int *a) { while (a[0] == 0) ; }").build()
def spin(value):
    data = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.full(1, value, np.int32))
    event = program.spin(queue, (1,), (1,), data)
    queue.flush()
    return event
if sys.argv[1] != "its first launch":
    spin(1)
    queue.finish()
last = spin(0)
if sys.argv[1] == "a launch of a worker":
    while last.command_execution_status > 1:
        time.sleep(0.001)
print("ready", flush=True)
try:
    try:
        queue.finish()
    finally:
        time.sleep(0)  # Python's handler comes before the next call
except KeyboardInterrupt:
    print("interrupted")
spin(1)
queue.finish()
print("right")
"""


@pytest.mark.parametrize(
    "launch",
    [
        "its second launch",
        pytest.param("its first launch", marks=pytest.mark.slow),
        pytest.param("a launch of a worker", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_ends_a_kernel_of_a_host_in_python_that_loops(launch: str, tmp_path: Path) -> None:
    program = tmp_path / "host.py"
    program.write_text(LOOPS)
    command = [Path(sys.executable).with_name("fpgart"), "run", "--isolate", "--", sys.executable, program, launch]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert host.stdout is not None
    try:
        assert host.stdout.readline() == b"ready\n"
        await_loop(host.pid)
        host.send_signal(signal.SIGINT)
        output, errors = host.communicate()
    finally:
        host.kill()  # which would run on where it was not interrupted
    assert output == b"interrupted\nright\n", errors
    assert (
        errors.count(b"kernel 'spin' was stopped by Ctrl-C; memory that it reaches through 'a' is now undefined") == 1
    )


def test_the_user_is_told_of_a_fault_once(tmp_path: Path) -> None:
    source = tmp_path / "bad.cl"
    source.write_text(MISBEHAVIOURS[0].text)
    done = finished(
        build("misbehaving", tmp_path, "-lpthread"), source, "alone", env=plain_environment(), FPGART_ISOLATE="1"
    )
    assert re.findall(r"^fpgart: kernel 'bad' .* a NULL pointer;.*$", done.stderr, re.MULTILINE) == [
        done.stderr.rstrip()
    ]


@pytest.mark.parametrize("holds", ["events", pytest.param("", marks=pytest.mark.slow)])
def test_one_launch_of_a_run_crashes_and_those_before_and_behind_it_run_once(holds: str, tmp_path: Path) -> None:
    """The host enqueues twenty launches, which are recorded, and number 7 accesses what it may not."""
    done = finished(
        build("run_that_crashes", tmp_path),
        "20",
        "7",
        *holds.split(),
        env=plain_environment(),
        FPGART_ISOLATE="1",
    )
    told, finish, *statuses, ran = done.stdout.splitlines()
    assert "68719476736 bytes past the start of what argument 0 ('ran') points to" in told
    assert (finish, ran) == ("finish 0", "ran" + 20 * " 1")
    assert statuses == (["status" + 7 * " 0" + " -5" + 12 * " 0"] if holds else [])
    assert done.stderr.count("SIGBUS") + done.stderr.count("SIGSEGV") == 1


HOSTS_OWN_MEMORY = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void add(global int *a, global const int *b, int n) { a[get_global_id(0)] = "
                              "b[get_global_id(0)] + n; }").build()
data, flags = np.arange(4096, dtype=np.int32), cl.mem_flags
whole = cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=data)
part = whole.get_sub_region(8192, 4096)
for _ in range(3):
    program.add(queue, (1024,), None, whole, part, np.int32(5))
    program.add(queue, (1024,), None, part, part, np.int32(1))
mapped, _ = cl.enqueue_map_buffer(queue, whole, cl.map_flags.READ, 0, data.shape, data.dtype)
expected = np.arange(4096)
for _ in range(3):
    expected[:1024] = expected[2048:3072] + 5
    expected[2048:3072] += 1
print("right" if (mapped == expected).all() and mapped.ctypes.data == data.ctypes.data else "wrong")
mapped.base.release(queue)
queue.finish()
"""


def test_a_board_with_the_hosts_memory_works_on_it_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "host.py"
    program.write_text(HOSTS_OWN_MEMORY)
    command = [Path(sys.executable).with_name("fpgart"), "run", "--isolate", "--board", "soc_a10", "--"]
    done = finished(*command, sys.executable, program)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr


CHANNELS = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queues = [cl.CommandQueue(context) for _ in range(2)]
program = cl.Program(context, '''
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int between __attribute__((depth(4)));
kernel void give(int n) { for (int i = 0; i < n; i++) write_channel_intel(between, i); }
kernel void take(global int *sum, int n) { for (int i = 0; i < n; i++) *sum += read_channel_intel(between); }
''').build()
sum = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(1, np.int32))
program.take(queues[0], (1,), (1,), sum, np.int32(1000))
program.give(queues[1], (1,), (1,), np.int32(1000))
found = np.zeros(1, np.int32)
cl.enqueue_copy(queues[0], found, sum)
print(found[0])
"""


def test_a_trace_has_the_channels_of_another_process(tmp_path: Path) -> None:
    program, trace = tmp_path / "host.py", tmp_path / "trace.json"
    program.write_text(CHANNELS)
    command = [Path(sys.executable).with_name("fpgart"), "run", "--isolate", "--trace", trace, "--"]
    environment = os.environ | {"CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "strict"}
    done = finished(*command, sys.executable, program, env=environment)
    assert (done.stdout, done.returncode) == ("499500\n", 0), done.stderr
    assert re.search(r'"channel between".*"packets": 4, "capacity": 4', trace.read_text())


@pytest.mark.slow
def test_a_host_whose_board_process_is_killed_all_the_time_is_told_no_wrong_byte(tmp_path: Path) -> None:
    status, said, killed = kill_all_the_time(lambda killed: killed >= 12, tmp_path)
    assert killed >= 12
    assert status == 0, said
    assert said.endswith(" wrong 0\n")
