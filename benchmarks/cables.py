# SPDX-License-Identifier: Apache-2.0
"""How fast packets pass between 2 to 64 boards on one machine, and what a board costs (docs/clusters.md).

    python benchmarks/cables.py [--packets 100000] [--boards 2,4,8] [--ways one,many,zeromq]

Boards are in a ring; each sends packets of 32 bytes onwards and receives as many, by two kernels. Either one process
has all boards, or each board has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKET_BYTES = 32
WAYS = {"one": "one process", "many": "a process each", "zeromq": "a process each, ZeroMQ"}


@dataclass(frozen=True)
class Cost:
    """Of one run; the memory is that of all processes, without what several share counted twice."""

    boards: int
    packets: int
    seconds: float
    processor: float
    memory_kib: int

    @property
    def row(self) -> str:
        """A row of the table."""
        each = self.packets / self.seconds
        return (
            f"{each:,.0f} | {each * PACKET_BYTES / 1e6:.1f} | {each * self.boards:,.0f} | "
            f"{self.processor / (self.packets * self.boards) * 1e6:.2f} | {self.memory_kib / 1024 / self.boards:.0f} |"
        )


def command(host: Path, topology: str, packets: int) -> list[str]:
    fpgart = [sys.executable, "-m", "fpgart.cli", "run", "--board", "s10_520n", "--topology", topology]
    return [*fpgart, "--", str(host), str(packets)]


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FPGART_")}
    return {**kept, "PYTHONPATH": str(ROOT), **variables}


def cost(boards: int, packets: int, said: list[str]) -> Cost:
    """Returns the cost, from the output of each process."""
    found = [json.loads(line) for line in said]
    return Cost(
        boards,
        packets,
        max(each["seconds"] for each in found),
        sum(each["processor"] for each in found),
        sum(each["memory"] for each in found),
    )


def in_one_process(host: Path, boards: int, packets: int) -> Cost:
    ran = subprocess.run(
        command(host, f"ring:{boards}", packets), env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    return cost(boards, packets, [ran.stdout])


def in_many_processes(host: Path, boards: int, packets: int, way: str, folder: str) -> Cost:
    variables = {"FPGART_JOB": f"cables-{os.getpid()}-{boards}", "FPGART_CABLE_SECONDS": "600"}
    if way == "zeromq":
        variables |= {"FPGART_CABLES": "zeromq", "FPGART_MEETING": folder}
    started = [
        subprocess.Popen(
            command(host, "ring", packets),
            env=environment(FPGART_RANK=f"{rank}/{boards}", **variables),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(boards)
    ]
    said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{boards} processes: a host failed")
    return cost(boards, packets, said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--boards", default="2,4,8,16,32,64")
    parser.add_argument("--ways", default="one,many")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = Path(folder) / "cables"
        subprocess.run(["cc", "-O2", f"-I{ROOT / 'include'}", HERE / "cables.c", "-lOpenCL", "-o", host], check=True)
        columns = (
            "boards",
            "processes",
            "packets/s, each cable",
            "MB/s",
            "packets/s, all",
            "CPU us/packet",
            "MiB/board",
        )
        print(f"| {' | '.join(columns)} |")
        print("|---|---|---|---|---|---|---|")
        for way in asked.ways.split(","):
            for boards in map(int, asked.boards.split(",")):
                if way == "one":
                    found = in_one_process(host, boards, asked.packets)
                else:
                    found = in_many_processes(host, boards, asked.packets, way, folder)
                print(f"| {boards} | {WAYS[way]} | {found.row}", flush=True)


if __name__ == "__main__":
    main()
