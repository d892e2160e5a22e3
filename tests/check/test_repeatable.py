# SPDX-License-Identifier: Apache-2.0
"""Findings and `fpgart diff --gate` depend on the host's calls: not on pyopencl's cache, addresses, or threads.

Besides the hosts in this file, the examples of pyopencl run where its sources are: in the folder that PYOPENCL_SOURCES
names, or in the one in which `make clients` keeps them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from processes import ROOT, fpgart

from fpgart.watch import report
from fpgart.watch.report import Advice, Report, difference

HEAD = """
import sys, threading, warnings
import numpy as np, pyopencl as cl, pyopencl.array
warnings.simplefilter("ignore")
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
flags = cl.mem_flags
"""
TWICE = """
program = cl.Program(context, "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }").build()
"""
HOSTS = {
    "blocking": TWICE
    + """
a = np.arange(40000, dtype=np.int32)
buffer = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=a)
program.twice(queue, a.shape, None, buffer)
cl.enqueue_copy(queue, a, buffer)
assert a[7] == 14
""",
    "options": """
source = "kernel void add(global int *a) { a[get_global_id(0)] += N; }"
programs = [cl.Program(context, source).build(options=[f"-DN={n}"]) for n in (1, 2)]
a = cl.array.zeros(queue, 1000, np.int32)
for program in programs:
    program.add(queue, a.shape, None, a.data)
assert (a.get() == 3).all()
""",
    "again and again": """
names = "one", "two"
programs = [cl.Program(context, f"kernel void {n}(global int *a) {{ a[get_global_id(0)]++; }}").build() for n in names]
a = cl.array.zeros(queue, 1000, np.int32)
for _ in range(3):
    programs[0].one(queue, a.shape, None, a.data)
    programs[1].two(queue, a.shape, None, a.data)
assert (a.get() == 6).all()
""",
    "arrays": """
a, b = (cl.array.to_device(queue, np.arange(30000, dtype=np.float32)) for _ in range(2))
assert ((2 * a + b).get() == 3 * np.arange(30000)).all()
""",
    "copies on the board": """
a = cl.array.to_device(queue, np.arange(30000, dtype=np.int32))
b = a.copy()
b += 1
assert (b.get() == np.arange(1, 30001)).all()
""",
    "written twice": TWICE
    + """
a = np.ones(30000, np.int32)
buffer = cl.Buffer(context, flags.READ_WRITE, a.nbytes)
for _ in range(2):
    cl.enqueue_copy(queue, buffer, a)
program.twice(queue, a.shape, None, buffer)
queue.finish()
""",
    "without order": TWICE
    + """
a, other = np.arange(4096, dtype=np.int32), cl.CommandQueue(context)
buffer = cl.Buffer(context, flags.READ_WRITE, a.nbytes)
cl.enqueue_copy(queue, buffer, a)
program.twice(queue, a.shape, None, buffer)
queue.flush()
cl.enqueue_copy(other, a, buffer)
queue.finish()  # else the process may end before the launch
assert sys.argv[1] == "1"
""",
    "threads": TWICE
    + """
def work(number):
    queue, kernel = cl.CommandQueue(context), cl.Kernel(program, "twice")
    a = np.full(30000, number, np.int32)
    buffer = cl.Buffer(context, flags.READ_WRITE, a.nbytes)
    for _ in range(2):
        cl.enqueue_copy(queue, buffer, a)
    kernel(queue, a.shape, None, buffer)
    cl.enqueue_copy(queue, a, buffer)
    assert (a == 2 * number).all()

at_once = int(sys.argv[1])
for first in range(0, 8, at_once):
    threads = [threading.Thread(target=work, args=(first + each,)) for each in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
""",
}


PUBLIC = (
    "demo",
    "demo_array",
    "demo_elementwise",
    "demo_elementwise_complex",
    "demo-struct-reduce",
    "black-hole-accretion",
    "n-body",
    "narray",
    "pi-monte-carlo",
    "svm",
)
"""Examples of pyopencl that need no window, no images, no other package, and little time."""


def pyopencl_examples() -> Path:
    """The folder of pyopencl's examples."""
    pytest.importorskip("pyopencl")
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fpgart" / "clients"
    sources = os.environ.get("PYOPENCL_SOURCES") or str(kept / f"pyopencl-{metadata.version('pyopencl')}")
    return Path(sources) / "examples"


def traced(folder: Path, file: Path, name: str, *words: str) -> tuple[Path, str]:
    """The trace of a run whose findings end it with status 3, and what it said on stderr."""
    trace = folder / f"{name}.json"
    options = ["--board", "hetero", "--check", "--fail-on-finding", "--trace", str(trace)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder), "PYOPENCL_CTX": "0"}
    variables.pop("PYOPENCL_NO_CACHE", None)
    result = fpgart("run", *options, "--", sys.executable, file, *words, cwd=folder, env=variables)
    assert result.returncode == 3, result.stderr
    return trace, result.stderr


def run(folder: Path, host: str, name: str, *words: str) -> tuple[Path, str]:
    """The same of a host in this file."""
    file = folder / "host.py"
    file.write_text(HEAD + host)
    return traced(folder, file, name, *words)


def gate(before: Path, after: Path) -> subprocess.CompletedProcess[str]:
    return fpgart("diff", "--gate", before, after)


def sources_and_binaries(trace: Path) -> tuple[int, int]:
    calls = report.read(trace).calls
    return calls["clCreateProgramWithSource"], calls["clCreateProgramWithBinary"]


@pytest.mark.parametrize("name", HOSTS)
def test_a_second_run_with_a_cache_finds_the_same(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    cold, said = run(tmp_path, HOSTS[name], "cold", "1")
    warm, said_again = run(tmp_path, HOSTS[name], "warm", "1")
    assert sources_and_binaries(cold)[1] == 0, "the first run has no cache"
    assert sources_and_binaries(warm)[1] > 0, "the second run has one"
    assert said_again == said
    assert ("[order]" in said) is (name == "without order")
    result = gate(cold, warm)
    assert (result.returncode, result.stdout) == (0, "the same bytes and launches\n")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_second_run_of_a_public_host_finds_the_same(name: str, tmp_path: Path) -> None:
    file = pyopencl_examples() / f"{name}.py"
    if not file.exists():
        pytest.skip("pyopencl's sources are not here")
    cold, said = traced(tmp_path, file, "cold")
    warm, said_again = traced(tmp_path, file, "warm")
    assert findings(said_again) == findings(said)
    result = gate(cold, warm)
    assert (result.returncode, result.stdout) == (0, "the same bytes and launches\n")


def findings(said: str) -> list[str]:
    """Returns the lines of fpgart, without the host's own messages."""
    return [line for line in said.splitlines() if line.startswith("fpgart:")]


def test_eight_threads_are_compared_with_one_as_two_runs_of_one(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    other, _ = run(tmp_path, HOSTS["blocking"], "other")
    traces = [run(tmp_path, HOSTS["threads"], f"{words}.{index}", words)[0] for words in "18" for index in (1, 2)]
    results = [gate(other, trace) for trace in traces]
    assert len({(result.returncode, result.stdout) for result in results}) == 1
    assert results[0].returncode == 1
    assert "a buffer is written again before anything used it" in results[0].stdout


def test_hints_and_times_are_outside_the_gate() -> None:
    hint = Advice("align it", 3, 4096, noun="staging copy", nanoseconds=5, hint=True)
    measured = Advice("idle", 1, noun="time", nanoseconds=10**8, measured=True)
    modelled = Advice("overlap", 1, noun="time", nanoseconds=10**8)
    before, after = Report(whole=True), Report(whole=True, advice=[hint, measured, modelled])
    found = difference.between(before, after, gate=True)
    assert found.new_advice == []
    assert not found.exceeds(0)
    assert difference.between(before, Report(whole=True, advice=[hint])).exceeds(0) is False


def test_queries_for_what_others_have_are_no_errors() -> None:
    def call(name: str, error: str) -> report.Args:
        return {"name": name, "cat": "api", "ts": 1.0, "dur": 1.0, "args": {"error": error}}

    probe = call("clGetDeviceInfo", "CL_INVALID_VALUE: 0x4000 is not a query for a device")
    short = call("clGetDeviceInfo", "CL_INVALID_VALUE: the value has 8 bytes, the room 4")
    found = report.of([probe, short])
    assert found.errors.total() == 1
    assert found.probes.total() == 1
    assert "0x4000" not in report.as_text(found)
