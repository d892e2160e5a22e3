# SPDX-License-Identifier: Apache-2.0
"""A host does the same on the board whoever decides its commands: C, Python, or Python with watchers.

Each host runs three times with a trace: as it is (C carries launches), with checks, and with the watchdog (Python
decides each command). What the traces show may differ in times, threads and host addresses only.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from c_hosts import ROOT, plain_environment

WAYS = {
    "as it is": {},
    "checked": {"FPGART_CHECK": "order,fpga"},  # those of buffers and USM move these to pages of their own
    "decided by Python": {"FPGART_WATCHDOG": "3600"},
}
HOSTS = [
    ("made_again", "arguments"),
    ("made_again", "program goes first"),
    ("made_again", "mapped regions"),
    ("made_again", "queues"),
    ("buffer_life",),
]
UNSHOWN = ("fpgart", "site", "finding")
"""Lines about the run, about places in the host's code, and of checks."""
HOST_ADDRESS = re.compile(r"0x[57][0-9a-f]{11}\b")


def facts(event: dict[str, Any]) -> str:
    """Describes a line without times, threads and how the host's memory is aligned.

    A line with the number of a command needs no number of an operation: launches that C carries get one at their end,
    others when they begin.
    """
    args = dict(event["args"])
    args.pop("unaligned", None)
    if "enqueued" in args:
        args.pop("operation", None)
    return HOST_ADDRESS.sub("(host)", json.dumps([event["name"], event["pid"], args], sort_keys=True))


def shown(trace: Path) -> dict[str, list[str]]:
    """Returns the lines of each kind, in their order: calls, buffers, blocks, the board's operations, MMD calls."""
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for event in json.loads(trace.read_text()):
        kind = event.get("cat", UNSHOWN[0])
        if kind not in UNSHOWN:
            lines[event["name"] if kind == "device" else kind].append(facts(event))
    return lines


@pytest.mark.parametrize("host", HOSTS, ids=" ".join)
def test_a_host_has_the_same_mmd_calls_addresses_and_trace_in_all_ways(host: tuple[str, ...], tmp_path: Path) -> None:
    source, program = ROOT / "conformance" / "c" / f"{host[0]}.c", tmp_path / host[0]
    library = ROOT / "fpgart" / "libfpgart.so"
    subprocess.run(
        ["gcc", f"-I{ROOT / 'include'}", source, "-o", program, library, f"-Wl,-rpath,{library.parent}"], check=True
    )
    traces = {}
    for way, variables in WAYS.items():
        file = tmp_path / f"{way}.json"
        environment = {**plain_environment(), "FPGART_BOARD": "usm_s10", "FPGART_TRACE": str(file), **variables}
        subprocess.run([program, *host[1:]], check=True, env=environment, stdout=subprocess.DEVNULL)
        traces[way] = shown(file)
    usual = traces.pop("as it is")
    assert usual["mmd"]
    assert usual["kernel"]
    for way, lines in traces.items():
        for kind in usual.keys() | lines.keys():
            assert lines[kind] == usual[kind], f"{kind}, {way}"
