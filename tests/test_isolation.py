"""The engine in a process of its own: what goes wrong there stays there, and hosts see nothing else of it."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from c_hosts import build, plain_environment
from misbehaviours import HOSTS, MISBEHAVIOURS, Misbehaviour, run

from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import Engine, NoEngine

IN_CI = {
    ("a write through NULL", "c"),
    ("a read of the host's own memory", "two threads"),
    ("an endless loop", "python"),
    ("exit()", "c"),
}
"""The others are for the night: each starts a host, an engine, and the engine again."""


@pytest.fixture(scope="module", autouse=True)
def pocl() -> Engine:
    """The table is of PoCL, which says where a kernel runs and compiles for this machine."""
    engine = choose_engine()
    if isinstance(engine, NoEngine):
        pytest.skip(engine.reason)
    return engine


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


def started(tmp_path: Path, name: str, *arguments: str, **options: str) -> subprocess.Popen[bytes]:
    """A host in C whose kernels run in a process of their own."""
    program = build(name, tmp_path, "-lpthread")
    environment = plain_environment() | {"FPGART_ISOLATE": "1"} | options
    return subprocess.Popen(
        [program, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def board_processes(host: int) -> list[int]:
    """Keepers and board processes of a host."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"/fpgart-board") and words[1] == b"%d" % host:
            found.append(int(folder.name))
    return found


def runs(process: int) -> bool:
    """Whether it is there, and not only its number until somebody asks how it ended."""
    try:
        return b"\nState:\tZ" not in Path(f"/proc/{process}/status").read_bytes()
    except OSError:
        return False


def await_end(processes: list[int]) -> None:
    """Until none of them is there; the test fails if that takes long."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not any(map(runs, processes)):
            return
        time.sleep(0.02)
    pytest.fail(f"some of {processes} are still there")


def test_a_host_that_is_killed_takes_its_board_process_along(tmp_path: Path) -> None:
    host = started(tmp_path, "isolated")
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    processes = board_processes(host.pid)
    assert len(processes) == 2
    host.kill()
    host.communicate(timeout=30)
    await_end(processes)


def test_a_host_sees_no_child_no_signal_and_no_engine_of_the_board_process(tmp_path: Path) -> None:
    host = started(tmp_path, "isolated")
    output, errors = host.communicate(b"\n", timeout=60)
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
    host = started(tmp_path, "isolated")
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    processes = board_processes(host.pid)
    for process in processes:
        os.kill(process, signal.SIGKILL)
    await_end(processes)
    output, errors = host.communicate(b"\n", timeout=60)
    assert host.returncode == 0, errors
    assert b"kernel 2" in output
