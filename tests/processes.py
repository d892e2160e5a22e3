"""Programs that tests run to their end; what they print is kept as text.

`fpgart` runs in a fork of one process that has imported it, because Python's start costs more than most commands.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OF_PYTHON = ("PYTHON", "LC_", "LANG")
"""Variables that Python reads when it starts."""
OF_COMMANDS = (
    "fpgart.board.fault_rules",
    "fpgart.cli.information",
    "fpgart.cli.run_command",
    "fpgart.cli.serving",
    "fpgart.cli.trace_commands",
    "fpgart.engine.opencl_engine.engine",
    "fpgart.sdk.aoc",
    "fpgart.startup.checking",
    "tempfile",
)
"""Modules that commands import when they run."""


def finished(
    *words: object, cwd: Path | str | None = None, env: Mapping[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program; `variables` are added to its environment: `env`, or that of the tests."""
    environment = {**(os.environ if env is None else env), **variables}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=cwd, env=environment)


def fpgart(
    *words: object, cwd: Path | str | None = ROOT, env: Mapping[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs `fpgart` with these words, which is `python -m fpgart.cli`."""
    environment = {**(os.environ if env is None else env), **variables}
    for name, value in environment.items():
        if name.startswith(OF_PYTHON) and value not in (os.environ.get(name), str(ROOT)):
            return finished(sys.executable, "-m", "fpgart.cli", *words, cwd=cwd, env=environment)
    return command_server().run([str(word) for word in words], str(cwd or Path.cwd()), environment)


def output(done: subprocess.CompletedProcess[str]) -> str:
    """What a program printed, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def quiet_output(done: subprocess.CompletedProcess[str]) -> str:
    """The same for a program that must have written nothing to standard error."""
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


class CommandServer:
    """The process that has imported `fpgart`, and forks for each command. It ends when its socket is closed."""

    def __init__(self) -> None:
        self._socket, its_end = socket.socketpair()
        with its_end:
            command = [sys.executable, __file__, str(its_end.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[its_end.fileno()], cwd=ROOT)
        atexit.register(self.close)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(self, words: list[str], cwd: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Runs `fpgart` there; it is killed if the test is interrupted."""
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        asked = json.dumps([words, cwd, env]).encode()
        socket.send_fds(self._socket, [len(asked).to_bytes(8, "little")], [its_out, its_err])
        self._socket.sendall(asked)
        os.close(its_out)
        os.close(its_err)
        process = self._number()
        try:
            printed = texts(out, err)
            return subprocess.CompletedProcess(["fpgart", *words], self._number(), *printed)
        except BaseException:
            os.kill(process, signal.SIGKILL)
            command_server.cache_clear()  # because this one still has to answer
            raise

    def _number(self) -> int:
        answer = self._socket.recv(8, socket.MSG_WAITALL)
        assert len(answer) == 8, "the process that forks for commands has ended"
        return int.from_bytes(answer, "little", signed=True)


@cache
def command_server() -> CommandServer:
    return CommandServer()


def texts(*descriptors: int) -> list[str]:
    """Reads pipes until nobody can write into them any more, and closes them."""
    read = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, 1 << 16)
                read[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [text.decode() for text in read.values()]


def serve(connection: socket.socket) -> None:
    """Runs commands until the other end is closed; a fork returns when its command has ended without an exception."""
    for module in ("fpgart.cli.main", *OF_COMMANDS):  # for the forks
        importlib.import_module(module)
    gc.freeze()
    while True:
        length, descriptors, _, _ = socket.recv_fds(connection, 8, 2)
        if not length:
            return
        asked = connection.recv(int.from_bytes(length, "little"), socket.MSG_WAITALL)
        process = os.fork()
        if process == 0:
            connection.close()
            become(*descriptors, *json.loads(asked))
            return
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(process.to_bytes(8, "little"))
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(status.to_bytes(8, "little", signed=True))


def become(out: int, err: int, words: list[str], cwd: str, env: dict[str, str]) -> None:
    """Runs the command in this process."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = words
    runpy.run_module("fpgart.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    serve(socket.socket(fileno=int(sys.argv[1])))
