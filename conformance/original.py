# SPDX-License-Identifier: Apache-2.0
"""What hosts ask of a board: on the original runtime of Intel's FPGA boards and on fpgart (make original RUNTIME=file).

The original runtime, libalteracl.so, is public; docs/mmd.md says how it is built. Here it drives our boards through
libfpgart_mmd.so. Each host of conformance/c/board_traffic.c is run on both, and the calls that move bytes, program the
board or allocate are compared: their order, sizes and addresses. Prints a table for docs/mmd.md, and below it the
calls of hosts that differ; the exit status is 1 if a host fails or differs in a way that DIFFERENCES does not say.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fpgart.base.registration import board_folder
from fpgart.board.device_address import DeviceAddress
from fpgart.cli import running
from fpgart.watch import report

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "conformance" / "c" / "board_traffic.c"
FPGART = [sys.executable, "-m", "fpgart.cli"]
HOSTS = re.findall(r"NAMED\((\w+)\),", SOURCE.read_text())
TWO_BOARDS = "usm_s10,usm_s10"
BOARDS = {"on_two_devices": TWO_BOARDS, "copied_between_devices": TWO_BOARDS, "places_of_arguments": "hetero"}
PLACES = {"places_of_arguments": ("", "HBM"), "host_and_shared_allocations": ("host", "host")}
"""By host: the memories of the kernel's arguments."""
KERNEL = """
__kernel void add(__global %s const int *restrict in, __global %s int *restrict out, int number)
{
    out[get_global_id(0)] = in[get_global_id(0)] + number;
}
"""
MOVES = ("read", "write")
ALLOCATIONS = ("host_alloc", "shared_alloc")
DIFFERENCES = {
    "copied_host_memory_read_first": "[read from the board](fidelity.md), not from a copy",
    "parts_of_a_buffer": "[sub-buffers](fidelity.md) alias",
    "migrated_to_the_host": "[migrations to the host](fidelity.md) move",
    "rows_that_touch": "[rows that touch](fidelity.md#bytes-one-at-a-time) are one call",
}
"""By host: why the calls differ, as docs/fidelity.md has it."""


@dataclass(frozen=True)
class Run:
    """One host on one runtime."""

    status: int
    output: str
    calls: list[str]


def calls_of_mmd(text: str) -> list[str]:
    """The calls in a file of FPGART_MMD_CALLS that are compared."""
    found = []
    for line in text.splitlines():
        call, *words = line.split()
        facts = dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("="))
        if call not in MOVES or facts["interface"] == "1":
            places = facts.get("source"), facts.get("destination") or facts.get("offset")
            found += _compared(call, facts.get("size"), facts.get("handle"), *places)
    return found


def calls_of_trace(file: Path) -> list[str]:
    """The same of a trace of fpgart's."""
    found = []
    for event in report.ordered(file):
        if event.get("cat") != "mmd":
            continue
        call, facts = str(event["name"]).removeprefix("aocl_mmd_"), event["args"]
        places = (_on_board(facts[name]) if name in facts else None for name in ("source_address", "address"))
        found += _compared(call, facts.get("size"), facts.get("device"), *places)
    return found


def _compared(call: str, size: object, board: object, source: str | None, to: str | None) -> list[str]:
    """The call in words; nothing for one that is not compared."""
    if call in MOVES:
        return [f"{call} {size} bytes, board {board}, at {to}"]
    if call == "copy":
        return [f"copy {size} bytes, board {board}, {source} to {to}"]
    if call == "program":
        return [f"program board {board}"]
    return [f"{call} {size} bytes"] if call in ALLOCATIONS else [call] if call == "free" else []


def _on_board(address: str) -> str:
    """A device address without the device."""
    return hex(DeviceAddress(int(address, 16)).board_address)


class Comparison:
    """Both builds of the hosts, in a folder with what they load; without a runtime there is only ours."""

    def __init__(self, folder: Path, runtime: Path | None = None) -> None:
        self._folder = folder
        compile_host = ["cc", "-O1", f"-I{ROOT / 'include'}", SOURCE]
        self._call(*compile_host, "-o", "ours", "-lOpenCL")
        if runtime is not None:
            self._call(*compile_host, "-o", "original", runtime, f"-Wl,-rpath,{runtime.parent}")

    def _load(self, host: str) -> list[str]:
        """The two .aocx files of a host, which differ in an option."""
        board = BOARDS.get(host, "usm_s10").split(",")[0]
        places = [f'__attribute__((buffer_location("{name}")))' if name else "" for name in PLACES.get(host, ("", ""))]
        source = self._folder / f"{board}{''.join(PLACES.get(host, ()))}.cl"
        source.write_text(KERNEL % tuple(places))
        files = [f"{source.stem}-{index}.aocx" for index in range(2)]
        for index, file in enumerate(files):
            if not (self._folder / file).exists():
                self._call(*FPGART, "aoc", source, "-o", file, f"-board={board}", f"-DNUMBER={index}")
        return files

    def _call(self, *words: object) -> None:
        subprocess.run(list(map(str, words)), cwd=self._folder, check=True, stdout=subprocess.DEVNULL)

    def _run(self, host: str, words: list[object], **variables: object) -> tuple[int, str]:
        board = BOARDS.get(host, "usm_s10")
        environment = os.environ | {name: str(value) for name, value in variables.items()} | {"FPGART_BOARD": board}
        command = [*map(str, words), host, *self._load(host)]
        try:
            result = subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=120
            )
        except subprocess.TimeoutExpired:
            return -1, "no end within 120 s"
        return result.returncode, result.stdout + result.stderr

    def original(self, host: str) -> Run:
        """The host on the original runtime."""
        calls = self._folder / "calls"
        calls.write_text("")
        variables = {"FPGART_MMD_CALLS": calls, "ACL_BOARD_VENDOR_PATH": board_folder()}
        status, output = self._run(host, [self._folder / "original"], **variables)
        return Run(status, output, calls_of_mmd(calls.read_text()))

    def ours(self, host: str) -> Run:
        """The host on fpgart."""
        trace = self._folder / "trace.json"
        trace.write_text(json.dumps([]))
        status, output = self._run(host, [self._folder / "ours"], **running.environment({"FPGART_TRACE": str(trace)}))
        return Run(status, output, calls_of_trace(trace))


def verdict(host: str, original: Run, ours: Run) -> str:
    for name, run in (("original", original), ("fpgart", ours)):
        if run.status:
            return f"fails on {name}: {run.output.strip()}"
    if original.calls == ours.calls:
        return "the same"
    return DIFFERENCES.get(host, "differ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", type=Path, help="libalteracl.so")
    parser.add_argument("hosts", nargs="*", default=HOSTS, help="names of hosts (default: all)")
    options = parser.parse_args()
    different: list[str] = []
    failures = 0
    print("| host | calls of the original | calls of fpgart | order, sizes, addresses |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="fpgart-original-") as folder:
        comparison = Comparison(Path(folder), options.runtime.resolve())
        for host in options.hosts:
            original, ours = comparison.original(host), comparison.ours(host)
            words = verdict(host, original, ours)
            print(f"| {host} | {len(original.calls)} | {len(ours.calls)} | {words} |", flush=True)
            failures += words != "the same" and words != DIFFERENCES.get(host)
            if original.calls != ours.calls:
                different += [
                    "",
                    f"{host}:",
                    *difflib.unified_diff(original.calls, ours.calls, "original", "fpgart", n=9),
                ]
    print(*different, sep="\n")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
