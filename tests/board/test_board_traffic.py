# SPDX-License-Identifier: Apache-2.0
"""The hosts of conformance/c/board_traffic.c ask of the board what the table of docs/mmd.md says.

The table's other column, the original runtime's calls, is made where that runtime is (conformance/original.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import original
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \| (.*) \|$", re.MULTILINE)
TABLE = {name: (int(original), int(ours), words) for name, original, ours, words in
         ROW.findall((ROOT / "docs/mmd.md").read_text())}  # fmt: skip


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("pyopencl")  # brings the engine
    return original.Comparison(tmp_path_factory.mktemp("traffic"))


def test_the_table_has_each_host() -> None:
    assert list(TABLE) == original.HOSTS


@pytest.mark.parametrize("host", original.HOSTS)
def test_a_host_makes_as_many_calls_as_the_table_says(comparison: Any, host: str) -> None:
    run = comparison.ours(host)
    assert run.status == 0, run.output
    of_original, ours, words = TABLE[host]
    assert len(run.calls) == ours
    assert words == original.DIFFERENCES.get(host, "the same")
    assert (of_original == ours) == (words == "the same")


def test_calls_of_the_library_are_read_as_those_of_a_trace() -> None:
    text = """open name=acl0 = 0
write handle=0 blocking=yes size=4 interface=0 offset=0x20 = 0
write handle=0 blocking=no size=64 interface=1 offset=0x400 = 0
status handle=0 status=0
copy handle=1 blocking=no size=64 interface=1 source=0x400 destination=0x800 = 0
host_alloc handles=0 size=4096 alignment=0 = 0
free = 0
"""
    assert original.calls_of_mmd(text) == [
        "write 64 bytes, board 0, at 0x400",
        "copy 64 bytes, board 1, 0x400 to 0x800",
        "host_alloc 4096 bytes",
        "free",
    ]
