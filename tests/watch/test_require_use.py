"""`fpgart run --require-use`: a program that never ran a kernel on the board does not pass."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from processes import ROOT, fpgart

pytest.importorskip("pyopencl")
LAUNCH = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void one(global int *x) { *x = 1; }").build(cache_dir=False)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
program.one(queue, (1,), None, buffer)
queue.finish()
"""
LOOK = "import pyopencl as cl; cl.Context(cl.get_platforms()[0].get_devices())\n"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return fpgart("run", "--require-use", "--", *words)


def test_a_program_that_ran_a_kernel_passes_in_silence() -> None:
    result = run(sys.executable, "-c", LAUNCH + "print('right')")
    assert (result.returncode, result.stdout, result.stderr) == (0, "right\n", "")


@pytest.mark.parametrize("words", [("true",), (sys.executable, "-c", LOOK)], ids=["no OpenCL", "no kernel"])
def test_a_program_that_ran_no_kernel_ends_with_4(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.returncode == 4
    assert result.stderr == f"fpgart: {words[0]} ran no kernel on a board\n"


def test_a_kernel_that_a_child_ran_counts() -> None:
    body = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LAUNCH!r}], check=True)"
    assert run(sys.executable, "-c", body).returncode == 0


def test_a_failing_program_keeps_its_status() -> None:
    assert run(sys.executable, "-c", LAUNCH + "raise SystemExit(7)").returncode == 7
    assert run("sh", "-c", "exit 7").returncode == 7


def test_a_program_that_crashes_takes_its_signal_along() -> None:
    assert run("sh", "-c", "kill -ABRT $$").returncode == -signal.SIGABRT
    assert run("sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL


def test_signals_go_on_to_the_program() -> None:
    body = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    command = [sys.executable, "-m", "fpgart.cli", "run", "--require-use", "--", "sh", "-c", body]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 9


def test_a_program_that_is_not_there_is_said_so() -> None:
    result = run("no-such-program")
    assert (result.returncode, result.stderr) == (2, "fpgart: no-such-program: no such program\n")
