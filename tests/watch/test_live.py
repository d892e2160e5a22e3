# SPDX-License-Identifier: Apache-2.0
"""`fpgart top` and `fpgart report --follow`: running hosts tell what they do, to their user alone."""

from __future__ import annotations

import fcntl
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT, finished
from rich.console import Console

from fpgart.base.output_file import runtime_folder
from fpgart.cli import following, top
from fpgart.watch import asking
from fpgart.watch.live import Live

HOST = """
import sys
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
cl.enqueue_copy(queue, buffer, np.zeros(1 << 20, np.uint8))
never = cl.UserEvent(context)
event = cl.enqueue_marker(queue, wait_for=[never])
print("ready", flush=True)
sys.stdin.readline()
never.set_status(cl.command_execution_status.COMPLETE)
"""


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of XDG_RUNTIME_DIR for this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def answering(runtime: Path) -> Iterator[Live]:
    made = Live(lambda: {"process": os.getpid(), "text": "x" * 200_000})
    made.start()
    yield made
    made.stop()


def test_a_host_answers_also_with_more_than_a_pipe_holds(answering: Live) -> None:
    answers = [asking.ask(os.getpid()) for _ in range(3)]
    assert [len(answer["text"]) for answer in answers if answer] == [200_000] * 3


def test_nothing_is_left_behind(answering: Live, runtime: Path) -> None:
    asking.ask(os.getpid())
    assert os.listdir(runtime / "fpgart") == [f"host-{os.getpid()}"]
    answering.stop()
    assert os.listdir(runtime / "fpgart") == []


def test_folder_and_pipe_are_closed_to_others(answering: Live, runtime: Path) -> None:
    assert stat.S_IMODE(os.lstat(runtime / "fpgart").st_mode) == 0o700
    assert stat.S_IMODE(os.lstat(runtime / "fpgart" / f"host-{os.getpid()}").st_mode) == 0o600


def test_what_is_no_question_writes_no_file(answering: Live, runtime: Path) -> None:
    pipe = os.open(runtime / "fpgart" / f"host-{os.getpid()}", os.O_WRONLY)
    os.write(pipe, b"../../stolen0000\n0123\n" + "ü\n".encode())
    os.close(pipe)
    assert asking.ask(os.getpid()) is not None
    assert os.listdir(runtime / "fpgart") == [f"host-{os.getpid()}"]
    assert not (runtime.parent / "stolen0000").exists()


def test_an_answer_follows_no_link(answering: Live, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = runtime / "target"
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 16)
    (runtime / "fpgart" / f"{'0' * 16}.new").symlink_to(target)
    assert asking.ask(os.getpid(), patience_s=0.2) is None
    assert not target.exists()


def test_a_folder_above_is_not_made(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "missing"))
    assert runtime_folder() == f"/tmp/fpgart-live-{os.geteuid()}"
    assert not (runtime / "missing").exists()


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_that_is_open_to_others_is_not_used(runtime: Path, mode: int) -> None:
    (runtime / "fpgart").mkdir()
    (runtime / "fpgart").chmod(mode)
    assert runtime_folder() != str(runtime / "fpgart")


def test_a_link_is_not_used_as_the_folder(runtime: Path) -> None:
    (runtime / "elsewhere").mkdir(mode=0o700)
    (runtime / "fpgart").symlink_to(runtime / "elsewhere")
    assert runtime_folder() != str(runtime / "fpgart")


def test_pipes_of_hosts_that_were_killed_are_removed(runtime: Path) -> None:
    folder = Path(runtime_folder())
    process = subprocess.Popen(["true"])
    process.wait()
    os.mkfifo(folder / f"host-{process.pid}")
    assert asking.ask(process.pid) is None
    assert asking.hosts() == []
    assert os.listdir(folder) == []


def test_the_child_of_a_fork_leaves_the_pipe_to_its_parent(answering: Live) -> None:
    child = os.fork()
    if child == 0:
        answering.stop()
        os._exit(0)
    os.waitpid(child, 0)
    assert asking.ask(os.getpid()) is not None


def test_a_host_that_closes_the_pipe_is_left_alone(answering: Live, runtime: Path) -> None:
    """Its thread ends at the next question, and reads nothing of what the host opens under that number."""
    number = answering._pipe
    own = runtime / "own"
    own.write_text("x" * 100)
    file = os.open(own, os.O_RDWR)
    os.dup2(file, number)
    asking.ask(os.getpid(), patience_s=0.5)
    answering._thread.join()
    assert os.lseek(number, 0, os.SEEK_CUR) == 0
    os.close(file)


# The whole of it


def test_top_shows_a_running_host_once_and_as_json(runtime: Path) -> None:
    pytest.importorskip("pyopencl")
    command = [sys.executable, "-m", "fpgart.cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [*command, "run", "--board", "a10_ref", "--", sys.executable, "-c", HOST]
    host = subprocess.Popen(run, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert host.stdin is not None
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    told = finished(*command, "top", "--once", env=environment)
    again = [*command, "top", str(host.pid), "--once", "--json"]
    answer = finished(*again, env=environment)
    host.communicate("\n")
    assert host.returncode == 0
    assert "\x1b" not in told.stdout
    assert f"{host.pid} " in told.stdout
    assert "1 MiB of 2 GiB" in told.stdout
    facts = json.loads(answer.stdout)
    (device,) = facts["devices"]
    (queue,) = facts["queues"]
    assert device["memories"][0]["banks"] == [1 << 20, 0]
    assert device["traffic"]["write"] == [1, 1 << 20]
    assert (queue["waiting"], queue["running"], queue["in_order"]) == (1, [], True)
    last = finished(*command, "top", "--once", env=environment)
    assert last.returncode == 1
    assert "no running host found" in last.stdout


WORKING_HOST = """
import sys, threading
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 10)
add = cl.Program(context, "kernel void add(global int *x) { x[get_global_id(0)] += 1; }").build().add
data, over = np.zeros(1 << 10, np.uint8), threading.Event()
cl.enqueue_copy(queue, buffer, data)
threading.Thread(target=lambda: (sys.stdin.readline(), over.set())).start()
print("ready", flush=True)
while not over.wait(0.001):
    cl.enqueue_copy(queue, buffer, data)
    add(queue, (64,), None, buffer)
"""


def test_a_single_answer_of_top_has_the_rates_between_two_looks(runtime: Path) -> None:
    pytest.importorskip("pyopencl")
    command = [sys.executable, "-m", "fpgart.cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [*command, "run", "--", sys.executable, "-c", WORKING_HOST]
    with subprocess.Popen(run, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "ready\n"
        once = [*command, "top", str(host.pid), "--once", "--json", "--interval", "0.5"]
        written = busy = 0
        while not written or not busy:  # on a busy machine the host may do nothing between two looks
            answer = finished(*once, env=environment)
            (line,) = answer.stdout.splitlines()
            (device,) = json.loads(line)["devices"]
            written, busy = device["per_second"]["written"], device["per_second"]["busy"]
        host.communicate("\n")
    assert written > 0
    assert 0 < busy <= 1


# The screen


def snapshot(now_ns: int, written: int, launches: int, kernel_ns: int) -> dict[str, Any]:
    memory = {"name": "HBM", "size": 4 << 20, "banks": [0, 1 << 20, 1 << 10, 0], "blocks": 2}
    device = {"device": 0, "board": "b", "memories": [memory], "traffic": {"write": [1, written]}}
    device |= {"kernels_run": launches, "kernel_ns": kernel_ns}
    running = [{"command": "NDRANGE_KERNEL 'k[1]'", "for_ns": 1_500_000_000}]
    queue = {"queue": 3, "device": 0, "in_order": False, "waiting": 2, "running": running}
    return {"process": os.getpid(), "now_ns": now_ns, "started_ns": 0, "devices": [device], "queues": [queue]}


def test_rates_are_per_second_between_two_looks() -> None:
    before, now = snapshot(10**9, 0, 5, 0), snapshot(3 * 10**9, 8_000_000, 25, 10**9)
    assert top.rates(before, now, 0) == top.Rates(written=4_000_000, read=0, launches=10, busy=0.5)
    assert top.rates(None, now, 0) == top.Rates()
    assert top.rates(before, snapshot(2 * 10**9, 0, 5, 3 * 10**9), 0).busy == 1, "kernels ran beside each other"


def test_the_screen_has_boards_banks_that_are_used_and_what_is_under_way() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(top.screen([(snapshot(10**9, 0, 5, 0), snapshot(3 * 10**9, 8_000_000, 25, 10**9))]))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert any(
        line.startswith("device 0 b: to it 4.0 MB/s, from it 0.0 MB/s, 10 launches/s, kernels") for line in lines
    )
    assert [line.split()[:2] for line in lines if line.startswith("bank")] == [["bank", "2"], ["bank", "3"]]
    assert "3 0 out of order 2 NDRANGE_KERNEL 'k[1]' 1.5 s" in lines


# Following a trace


def event(name: str, at: float) -> str:
    return json.dumps({"name": name, "cat": "fpgart" if name == "end" else "api", "ts": at, "dur": 1, "args": {}})


def test_a_trace_is_followed_until_its_end(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(f"[\n{event('clFinish', 1)},\n")
    more = iter([f"{event('clFinish', 2)},\n", f"{event('end', 3)}\n]\n"])
    calls: list[int] = []

    def sleep(seconds: float) -> None:
        with file.open("a") as out:
            out.write(next(more))

    with file.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        found = following.follow(file, lambda report: calls.append(report.calls["clFinish"]), sleep)
    assert calls == [1, 2, 2]
    assert len(found) == 3


def test_a_trace_that_nobody_writes_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(f"[\n{event('clFinish', 1)},\n")
    drawn: list[bool] = []
    following.follow(file, lambda report: drawn.append(report.whole), pytest.fail)
    assert drawn == [False]


def test_a_process_that_does_not_stop_the_answers_ends_nevertheless() -> None:
    host = "from fpgart.watch.live import Live; Live(dict).start(); print('ends')"
    assert finished(sys.executable, "-c", host).stdout == "ends\n"
