"""Kills the board process of a host every second or so, whenever it runs: python tests/killing.py SECONDS

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
from contextlib import suppress
from pathlib import Path

from c_hosts import build, plain_environment

EVERY_S = 1.0
RUNS = "runs\n"
"""What the host says whenever some launches went well."""


def board_processes(host: int) -> list[int]:
    """Keepers and board processes of a host."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/fpgart-board") and words[1] == b"%d" % host:
                found.append(int(folder.name))
    return found


def kill_all_the_time(seconds: float, folder: Path) -> tuple[int, str, int]:
    """How a host ended and what it said, and how many processes were killed."""
    program = build("survivor", folder, "-lpthread")
    environment = plain_environment() | {"FPGART_ISOLATE": "1"}
    host = subprocess.Popen([program, str(int(seconds))], env=environment, stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    killed, said, next_time = 0, "", 0.0
    for line in host.stdout:
        said = line
        if line == RUNS and time.monotonic() >= next_time:
            killed += kill_some(host.pid)
            next_time = time.monotonic() + EVERY_S * random.uniform(0.5, 1.5)
    return host.wait(), said, killed


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
        status, said, killed = kill_all_the_time(float(sys.argv[1]), Path(folder))
    print(f"{said.strip()}; {killed} processes killed; exit status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
