"""Kills the board process of a host again and again, whenever it runs: python tests/killing.py SECONDS

The host (tests/programs/survivor.c) must not hang, and nothing may be wrong that it was promised.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from c_hosts import build, plain_environment

MOST_LINES = 8
"""Of RUNS, between one killing and the next."""
RUNS = "runs\n"
"""The host prints it whenever some launches succeeded."""


def board_processes(host: int) -> list[int]:
    """Keepers and board processes of a host."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/fpgart-board") and words[1] == b"%d" % host:
                found.append(int(folder.name))
    return found


def kill_all_the_time(enough: Callable[[int], bool], folder: Path) -> tuple[int, str, int]:
    """Kills processes of a host until `enough` accepts their number; returns its status, output and that number."""
    program = build("survivor", folder, "-lpthread")
    environment = plain_environment() | {"FPGART_ISOLATE": "1"}
    killed, said, left = 0, "", 1
    pipe = subprocess.PIPE
    with subprocess.Popen([program], env=environment, stdin=pipe, stdout=pipe, text=True) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        for line in host.stdout:
            said = line
            left -= line == RUNS
            if enough(killed):
                host.stdin.close()
            elif not left:
                killed += kill_some(host.pid)
                left = random.randint(1, MOST_LINES)
    return host.returncode, said, killed


def kill_some(host: int) -> int:
    """The board process, its keeper, or both; how many."""
    processes = board_processes(host)
    chosen = random.sample(processes, random.randint(1, len(processes))) if processes else []
    for process in chosen:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(chosen)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        end = time.monotonic() + float(sys.argv[1])
        status, said, killed = kill_all_the_time(lambda _: time.monotonic() >= end, Path(folder))
    print(f"{said.strip()}; {killed} processes killed; exit status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
