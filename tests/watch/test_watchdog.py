"""FPGART_WATCHDOG: a standstill is told once, with who waits for whom."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from c_hosts import host_of, line
from compilation import compiled
from machine import Machine
from processes import ROOT, finished, output

from fpgart.base import opencl as cl
from fpgart.base.notices import NOTICES
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, Event
from fpgart.watch.callers import Callers
from fpgart.watch.watchdog import LOOKS, Watchdog

CONFORMANCE = ROOT / "conformance"

pytestmark = pytest.mark.machine("a10_ref")

# Hosts that stand still until they are told to go on, through stdin.
C_HOST = """
#include "host.h"
static cl_event gate;
static void *open_gate(void *unused)
{
    getchar();
    clSetUserEventStatus(gate, CL_COMPLETE);
    return unused;
}
int main(void)
{
    struct host host;
    cl_int status, zero = 0;
    cl_event filled;
    pthread_t opener;
    start(&host, SPIN_SOURCE);
    cl_command_queue other = new_queue(&host); // QUEUE
    cl_mem buffer = new_buffer(&host, 4096);
    gate = clCreateUserEvent(host.context, &status); // GATE
    must(clEnqueueFillBuffer(other, buffer, &zero, 4, 0, 4096, 1, &gate, &filled), "fill"); // FILL
    must(clEnqueueMarkerWithWaitList(host.queue, 1, &filled, NULL), "marker"); // MARKER
    must_be(pthread_create(&opener, NULL, open_gate, NULL) == 0, "thread");
    must(clFinish(host.queue), "clFinish"); // FINISH
    return pthread_join(opener, NULL);
}
"""
PYTHON_HOST = """
import sys, threading
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void one(global int *x) { *x = 1; }").build(cache_dir=False)
kernel = cl.Kernel(program, "one")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
gate = cl.UserEvent(context) # GATE
def open_gate():
    sys.stdin.readline()
    gate.set_status(0)
threading.Thread(target=open_gate).start()
done = kernel(queue, (1,), None, buffer, wait_for=[gate]) # LAUNCH
done.wait() # WAIT
"""


def report(folder: Path, *command: str) -> str:
    """Returns the watchdog's report on a host, which continues after it."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "FPGART_WATCHDOG": "0.5"}
    words = [sys.executable, "-m", "fpgart.cli", "run", "--", *command]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stderr=pipe, text=True, cwd=folder, env=variables) as host:
        assert host.stdin is not None
        assert host.stderr is not None
        told = ""
        while "the main thread has spent" not in told:
            heard = host.stderr.readline()
            assert heard, f"the host ended: {told}"
            told += heard
        host.stdin.write("go on\n")
        host.stdin.flush()
        told += host.stderr.read()
    assert host.returncode == 0, told
    return told


def test_a_c_host_is_told_which_queue_waits_for_which_event(tmp_path: Path) -> None:
    host_of(C_HOST, tmp_path / "host", "-g")
    told = report(tmp_path, "./host")
    at = {name: f"host.c:{line(C_HOST, name)} in main" for name in ("GATE", "FILL", "MARKER", "QUEUE", "FINISH")}
    gate = f"a user event that nobody has set (clCreateUserEvent, {at['GATE']})"
    fill = f"FILL_BUFFER (clEnqueueFillBuffer, {at['FILL']})"
    assert f"fpgart:   {fill} waits for\nfpgart:     {gate}\n" in told
    assert (
        f"fpgart:   MARKER (clEnqueueMarkerWithWaitList, {at['MARKER']}) waits for\nfpgart:     {fill} of queue 2"
        in told
    )
    assert f"fpgart: {gate}: 1 command waits for it\n" in told
    assert f"in clFinish, {at['FINISH']}\n" in told
    assert f"{at['QUEUE']}) on device 0 'usm_s10', in order: 1 command\n" in told


def test_a_python_host_is_told_its_own_lines(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    (tmp_path / "host.py").write_text(PYTHON_HOST)
    told = report(tmp_path, sys.executable, "host.py")
    gate, launch, wait = (f"host.py:{line(PYTHON_HOST, name)} in <module>" for name in ("GATE", "LAUNCH", "WAIT"))
    assert f"NDRANGE_KERNEL 'one' (clEnqueueNDRangeKernel, {launch}) waits for\n" in told
    assert f"a user event that nobody has set (clCreateUserEvent, {gate})\n" in told
    assert f"in clWaitForEvents, {wait}\n" in told


@pytest.mark.parametrize("kind", ["default", "own"])
def test_a_c_host_keeps_its_signal_handlers(kind: str) -> None:
    words = [
        sys.executable,
        "-m",
        "fpgart.cli",
        "run",
        "--watchdog",
        "60",
        "--leaks",
        "--",
        str(compiled([CONFORMANCE / "c" / "signal_handlers_stay.c"])),
        kind,
    ]
    output(finished(*words, cwd=ROOT))


class Ear:
    """A watchdog on a machine, and what it said."""

    def __init__(self, seconds: float) -> None:
        self.said: list[str] = []
        self.spoke = threading.Event()
        self.dog = Watchdog(Callers(lambda: ()), seconds, self.hear)
        self._looks = threading.Semaphore(0)
        wait = self.dog._end.wait

        def looked(seconds: float | None = None) -> bool:
            self._looks.release()
            return wait(seconds)

        self.dog._end.wait = looked  # type: ignore[method-assign]

    def hear(self, words: str) -> None:
        self.said.append(words)
        self.spoke.set()

    def let_look(self, times: int) -> None:
        """Returns when it has looked so many times more."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(times + 1):
            self._looks.acquire()

    def __enter__(self) -> Ear:
        NOTICES.listen(self.dog)
        self.dog.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.dog.stop()
        NOTICES.silence(self.dog)


def marker(queue: CommandQueue, *events: Event) -> Event:
    return queue.enqueue(cl.CL_COMMAND_MARKER, None, events)


def test_each_standstill_is_told_once(machine: Machine) -> None:
    with Ear(0.02) as ear:
        for count in (1, 2):
            gate = machine.user_event()
            marker(machine.queue, gate)
            ear.spoke.wait()
            ear.let_look(5 * LOOKS)  # five times as often as it takes to speak again
            assert len(ear.said) == count
            ear.spoke.clear()
            gate.set_status(COMPLETE)


def test_user_events_that_nobody_waits_for_are_no_standstill(machine: Machine) -> None:
    with Ear(60) as ear:
        gate = machine.user_event()
        assert ear.dog.report() == ""
        last = marker(machine.queue, gate)
        assert "1 command waits for it" in ear.dog.report()
        gate.set_status(COMPLETE)
        assert last.status == COMPLETE
        assert ear.dog.report() == ""


def test_a_kernel_without_an_end_is_told_as_running(machine: Machine) -> None:
    end = threading.Event()

    def forever(pointer: int) -> None:
        end.wait()

    with Ear(0.02) as ear:
        kernel = machine.kernel(forever, "")
        buffer = machine.buffer(64)
        kernel.set_buffer(0, buffer)
        machine.enqueue(kernel)
        machine.queue.flush()
        ear.spoke.wait()
        end.set()
        machine.queue.finish()
    assert "NDRANGE_KERNEL 'k' has been running for" in ear.said[-1]


def test_what_stands_behind_in_a_queue_is_counted(machine: Machine) -> None:
    with Ear(60) as ear:
        gate = machine.user_event()
        marker(machine.queue, gate)
        for _ in range(3):
            marker(machine.queue)
        told = ear.dog.report()
        gate.set_status(COMPLETE)
        machine.queue.finish()
    assert "in order: 4 commands\n" in told
    assert "  and 3 behind" in told
    assert told.count("MARKER") == 1


def test_events_that_ended_are_forgotten(machine: Machine) -> None:
    with Ear(60) as ear:
        for _ in range(100):
            marker(machine.queue)
        machine.queue.finish()
        assert not ear.dog._events
