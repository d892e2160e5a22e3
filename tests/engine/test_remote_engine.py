# SPDX-License-Identifier: Apache-2.0
"""PoCL's remote driver as the engine, on loopback: POCLD names the folder of a PoCL with client and server.

`make check-remote POCLD=folder` runs these; without POCLD they are skipped.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import fpgart
from test_resident import HOST

from fpgart.engine.interface import Engine

POCLD = os.environ.get("POCLD", "")
PORTS = 3
"""The server listens on so many, from the given one on."""
pytestmark = pytest.mark.skipif(not POCLD, reason="POCLD names no folder with PoCL's remote client and server")


def one_of(*names: str) -> Path:
    """The first of these files in POCLD."""
    found = next((path for name in names if (path := Path(POCLD) / name).exists()), None)
    if found is None:
        pytest.fail(f"POCLD={POCLD} has none of {', '.join(names)}")
    return found.resolve()


def free_ports() -> int:
    """The first of PORTS ports that are free."""
    for _ in range(50):
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                for number in range(1, PORTS):
                    with socket.socket() as other:
                        other.bind(("127.0.0.1", port + number))
            except (OSError, OverflowError):
                continue
            return port
    pytest.fail("there are no three free ports in a row")


@dataclass
class Server:
    """A running `pocld`, and the environment of hosts that use it."""

    process: subprocess.Popen[bytes]
    environment: dict[str, str]

    def host(self, code: str, *arguments: str, board: str = "usm_s10") -> subprocess.CompletedProcess[str]:
        words = ("run", "--board", board, "--", sys.executable, "-c", code, *arguments)
        return fpgart(*words, env=self.environment)


@pytest.fixture
def server(tmp_path: Path, engine: Engine) -> Iterator[Server]:
    pytest.importorskip("pyopencl")
    (tmp_path / "only.icd").write_text(f"{engine.path}\n")
    port = free_ports()
    process = subprocess.Popen(
        [one_of("bin/pocld", "pocld/pocld"), "-a", "127.0.0.1", "-p", str(port)],
        env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path)},
    )
    try:
        await_port(process, port)
        remote = {"POCL_DEVICES": "remote", "POCL_REMOTE0_PARAMETERS": f"127.0.0.1:{port}/0"}
        client = one_of("lib/libpocl.so.2", "lib/CL/libpocl.so.2", "lib/x86_64-linux-gnu/libpocl.so.2")
        yield Server(process, {**os.environ, **remote, "FPGART_ENGINE": str(client)})
    finally:
        process.kill()
        process.wait()


def await_port(process: subprocess.Popen[bytes], port: int) -> None:
    while True:
        assert process.poll() is None, "pocld has ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_hosts_see_the_same_as_with_an_engine_of_this_machine(server: Server) -> None:
    result = server.host(HOST, board="usm_s10,usm_s10")
    assert (result.returncode, result.stdout) == (0, "all equal\n"), result.stderr


MEETING = """
import os, signal, sys
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void add(global int *a) { a[get_global_id(0)] += 1; }
kernel void endless(global volatile int *a) { while (a[0] == 0) ; }''').build(cache_dir=False)
numbers = np.zeros(1024, np.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
other = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)

def status(act):
    try:
        event = act()
        event.wait()
        return event.command_execution_status
    except cl.Error as error:
        return error.code
"""
KILLED = """
program.add(queue, (1024,), None, buffer).wait()
os.kill(int(sys.argv[1]), signal.SIGKILL)
print(status(lambda: program.add(queue, (1024,), None, buffer)) < 0)
print(status(lambda: cl.enqueue_copy(queue, numbers, buffer)) < 0)
print(status(lambda: cl.enqueue_copy(queue, numbers, other)) == 0)
"""
KILLED_MEANWHILE = """
import threading
threading.Timer(2, os.kill, (int(sys.argv[1]), signal.SIGKILL)).start()
print(status(lambda: program.endless(queue, (1,), None, buffer)) < 0)
"""


def test_a_server_that_has_died_fails_commands_with_words(server: Server) -> None:
    server.environment["FPGART_LOG"] = "stderr"
    result = server.host(MEETING + KILLED, str(server.process.pid))
    assert (result.returncode, result.stdout) == (0, "True\nTrue\nTrue\n"), result.stderr
    assert "CL_DEVICE_NOT_AVAILABLE" in result.stderr
    assert "does not answer, and what kernels had written there is lost" in result.stderr


def test_a_server_that_dies_while_a_kernel_runs_ends_the_command(server: Server) -> None:
    result = server.host(MEETING + KILLED_MEANWHILE, str(server.process.pid))
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


def test_no_server_is_told(server: Server) -> None:
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    result = server.host(MEETING)
    assert result.returncode != 0
    assert "POCL" in result.stderr or "pocl" in result.stderr
