# SPDX-License-Identifier: Apache-2.0
"""The hosts of examples/synopses, each on the board that it is about, with what its report says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT, finished, output

from fpgart.watch import report

FOLDER = ROOT / "examples" / "synopses"
MIB = 1 << 20


class Shown:
    """The output of run.py for a host, and its trace."""

    def __init__(self, name: str, folder: Path) -> None:
        pytest.importorskip("pyopencl")  # brings the engine
        trace = folder / "trace.json"
        command = [sys.executable, str(FOLDER / "run.py"), name, "--trace", str(trace)]
        printed = output(finished(*command, cwd=ROOT))
        assert "\nright\n" in printed
        self.text = printed
        self.events = report.ordered(trace)

    def kernels(self) -> list[dict[str, Any]]:
        return [e["args"] | e for e in self.events if e.get("cat") == "device" and e["name"] == "kernel"]

    def moved(self) -> list[tuple[int, str, int]]:
        """Device, call and bytes of each line on reads, writes and copies in the report's traffic."""
        line = re.compile(r"device (\d): aocl_mmd_(write|read|copy): 1 call, (\d+) (KiB|MiB|bytes),")
        units = {"bytes": 1, "KiB": 1 << 10, "MiB": MIB}
        return [(int(d), call, int(size) * units[unit]) for d, call, size, unit in line.findall(self.text)]


def test_a_host_that_loads_a_container_writes_once(tmp_path: Path) -> None:
    shown = Shown("container", tmp_path)
    assert shown.moved() == [(0, "read", 32 << 10), (0, "write", 32 << 10)]
    (kernel,) = shown.kernels()
    assert (kernel["global"], kernel["local"]) == ([64, 16], [8, 4])
    assert "saved" not in shown.text  # what could overlap depends on how busy this machine is


def test_the_order_of_the_sycl_runtime_costs_a_copy(tmp_path: Path) -> None:
    shown = Shown("sycl-order", tmp_path)
    assert shown.moved() == [(0, "copy", MIB), (0, "read", MIB), (0, "write", MIB)]
    assert "buffer 1 before writing the buffer: 1 copy of 1 MiB saved" in shown.text


def test_the_preferred_order_costs_none(tmp_path: Path) -> None:
    shown = Shown("preferred-order", tmp_path)
    assert shown.moved() == [(0, "read", MIB), (0, "write", MIB)]
    assert "saved" not in shown.text  # what could overlap depends on how busy this machine is


def test_four_copies_form_a_pipeline(tmp_path: Path) -> None:
    shown = Shown("four-copies", tmp_path)
    mmd = [event for event in shown.events if event.get("cat") == "mmd"]
    calls = [(e["args"]["device"], e["name"].removeprefix("aocl_mmd_")) for e in mmd]
    yields = [call for call in calls if call[1] == "yield"]
    assert [call for call in calls if call not in yields] == [
        (0, "write"), (0, "copy"), (0, "read"), (1, "write"), (1, "read")
    ]  # fmt: skip
    assert yields == [(0, "yield"), (1, "yield")], "while the first board reads, and while the second one writes"
    assert "WRITE_BUFFER in the host's memory" in shown.text


def test_vectors_of_a_66ak2x_are_added_in_four_parts(tmp_path: Path) -> None:
    shown = Shown("vecadd-mpax", tmp_path)
    kernels = shown.kernels()
    assert [[part["size"] for part in kernel["shown"]] for kernel in kernels] == [[8 * MIB] * 3] * 4
    assert "device 0: add: 4 runs" in shown.text


def test_eight_tasks_run_at_once_on_buffers_of_their_own(tmp_path: Path) -> None:
    """One launch first, alone; each of the eight has begun before any of them ends, because they wait for it."""
    shown = Shown("eight-tasks", tmp_path)
    _, *tasks = shown.kernels()
    assert len(tasks) == 8
    assert max(task["ts"] for task in tasks) < min(task["ts"] + task["dur"] for task in tasks)
    assert len({tuple(task["buffers"][:3]) for task in tasks}) == 8


def test_a_kernel_follows_a_list_in_shared_memory(tmp_path: Path) -> None:
    shown = Shown("linked-list", tmp_path)
    assert shown.moved() == [(0, "read", 8)]
    (kernel,) = shown.kernels()
    assert kernel["indirect"] == ["shared"]


def test_every_host_of_the_folder_is_shown() -> None:
    listed = (FOLDER / "run.py").read_text()
    assert {source.name for source in FOLDER.glob("*.c")} == set(re.findall(r'"(\w+\.c)"', listed))
