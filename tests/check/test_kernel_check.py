# SPDX-License-Identifier: Apache-2.0
"""FPGART_CHECK=kernels: programs with a mistake in a kernel, each beside its repaired twin."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import fpgart

from fpgart.engine.choice import oclgrind_libraries

NOTHING = r"(fpgart: no findings in \d+ commands; looked at: memory accesses of kernels\n)?"
needs_oclgrind = pytest.mark.skipif(
    not any(path.exists() for path in oclgrind_libraries()), reason="Oclgrind is not installed: apt install oclgrind"
)
HOST = """
import numpy as np, pyopencl as cl
from pyopencl import mem_flags as mf
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
numbers = np.arange(64, dtype=np.int32)

def empty(size, flags=mf.READ_WRITE):
    return cl.Buffer(context, flags, size)

def full(array, flags=mf.READ_WRITE):
    return cl.Buffer(context, flags | mf.COPY_HOST_PTR, hostbuf=array)

def contents(buffer, count=64):
    found = np.empty(count, np.int32)
    cl.enqueue_copy(queue, found, buffer)
    return found.tolist()

def run(source, size, *arguments, local=None):
    kernel = cl.Program(context, source).build(cache_dir=False).all_kernels()[0]
    kernel.set_args(*arguments)
    cl.enqueue_nd_range_kernel(queue, kernel, (size,), local).wait()
"""


@dataclass(frozen=True)
class Pair:
    """A program with a mistake, the words that replace it in the repaired one, and what the finding says."""

    body: str
    mistake: str
    repair: str
    said: tuple[str, ...]

    @property
    def repaired(self) -> str:
        assert self.mistake in self.body
        return self.body.replace(self.mistake, self.repair)


PAIRS = {
    "out-of-bounds read": Pair(
        """
a, b = full(numbers), empty(256)
run("kernel void next(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i + 1]; }", 64, a, b)
assert contents(b)[:63] == list(range(1, 64))
""",
        "a[i + 1]",
        "a[min(i + 1, 63)]",
        (
            "kernel 'next' reads 4 bytes at byte 256 of the 256 bytes of argument 0 ('int* a')",
            "in work-item (63, 0, 0)",
            "line 1: kernel void next",
            "(256 bytes), created by clCreateBuffer, misused by clEnqueueNDRangeKernel of kernel 'next'",
        ),
    ),
    "read before a buffer": Pair(
        """
a, b = full(numbers), empty(256)
run("kernel void previous(global int *a, global int *b) { int i = get_global_id(0); b[i] = a[i - 1]; }", 64, a, b)
""",
        "a[i - 1]",
        "a[max(i - 1, 0)]",
        ("reads 4 bytes, 4 bytes before the start of argument 0 ('int* a'), in work-item (0, 0, 0)",),
    ),
    "out-of-bounds write": Pair(
        """
a = empty(200)
run("kernel void count(global int *a, int n) { int i = get_global_id(0); a[i] = i; }", 64, a, np.int32(50), local=(16,))
assert contents(a, 50) == list(range(50))
""",
        "a[i] = i;",
        "if (i < n) a[i] = i;",
        ("writes 4 bytes at byte 200 of the 200 bytes of argument 0", "work-item (50, 0, 0) (and 13 more)"),
    ),
    "write behind a sub-buffer": Pair(
        """
parent = full(np.zeros(1024, np.int32))
window = parent.get_sub_region(1024, 128)
run("kernel void fill(global int *a) { a[get_global_id(0)] = 1; }", 64, window)
assert sum(contents(parent, 1024)) == 32
""",
        "64, window",
        "32, window",
        (
            "writes 4 bytes at byte 128 of the 128 bytes",
            "sub-buffer",
            "(128 bytes from 1024)",
            "created by clCreateSubBuffer",
        ),
    ),
    "read behind a USM allocation": Pair(
        """
from fpgart import usm
data = usm.device_empty(context, 64, np.int32)
usm.memcpy(queue, data, numbers)
queue.finish()
out = empty(256)
kernel = cl.Kernel(cl.Program(context, '''
kernel void next(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i + 1]; }
''').build(cache_dir=False), "next")
usm.set_arg(kernel, 0, data)
kernel.set_arg(1, out)
cl.enqueue_nd_range_kernel(queue, kernel, (64,), None).wait()
del kernel, data
""",
        "(64,), None",
        "(63,), None",
        ("reads 4 bytes at byte 256 of the 256 bytes", "device allocation", "created by clDeviceMemAllocINTEL"),
    ),
    "half of a buffer is written by the host": Pair(
        """
a, b = empty(256), empty(256)
cl.enqueue_copy(queue, a, numbers[:32])
run("kernel void copy(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i]; }", 64, a, b)
assert contents(b)[:32] == list(range(32))
""",
        "numbers[:32]",
        "numbers",
        (
            "uses uninitialized contents of argument 0 ('int* a'): bytes 128 to 255",
            "in work-item (32, 0, 0) (and 31 more)",
        ),
    ),
    "half of a buffer is written by another kernel": Pair(
        """
a, b = empty(256), empty(256)
run("kernel void zero(global int *a) { a[get_global_id(0)] = 0; }", 32, a)
run("kernel void copy(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i]; }", 64, a, b)
""",
        "32, a)",
        "64, a)",
        ("kernel 'copy' uses uninitialized contents of argument 0 ('int* a'): bytes 128 to 255",),
    ),
    "a copy of uninitialized contents": Pair(
        """
a, b, c = empty(256), empty(256), full(numbers)
cl.enqueue_copy(queue, b, a)
run("kernel void choose(global int *a, global int *b) { if (a[0] > 3) b[0] = 1; else b[1] = 1; }", 1, b, c)
""",
        "queue, b, a",
        "queue, b, c",
        ("kernel 'choose' uses uninitialized contents of argument 0 ('int* a'): bytes 0 to 255",),
    ),
    "private variable without a value": Pair(
        """
a = empty(256)
run("kernel void sum(global int *a) { int t[2]; t[1] = 3; a[get_global_id(0)] = t[get_global_id(0) & 1]; }", 64, a)
""",
        "t[1] = 3;",
        "t[0] = t[1] = 3;",
        ("kernel 'sum' uses a private or local variable before it has a value",),
    ),
    "race in global memory": Pair(
        """
a, b = full(numbers), full(np.zeros(4, np.int32))
run("kernel void bins(global const int *a, global int *b) { b[a[get_global_id(0)] & 3]++; }", 64, a, b, local=(8,))
""",
        "b[a[get_global_id(0)] & 3]++;",
        "atomic_inc(b + (a[get_global_id(0)] & 3));",
        (
            "work-items that read and write the same bytes (byte 0 of argument 1 ('int* b')) without synchronization",
            "against",
        ),
    ),
    "race in local memory": Pair(
        """
source = '''
kernel void turn(global int *a, local int *l)
{
    int i = get_local_id(0), n = get_local_size(0);
    l[i] = a[i];
    /**/
    a[i] = l[n - 1 - i];
}
'''
a = full(numbers)
run(source, 64, a, cl.LocalMemory(256), local=(64,))
""",
        "/**/",
        "barrier(CLK_LOCAL_MEM_FENCE);",
        ("without synchronization", "(local memory)", "line 7: a[i] = l[n - 1 - i];", "barrier(CLK_LOCAL_MEM_FENCE)"),
    ),
    "write to a read-only buffer": Pair(
        """
a = full(numbers, mf.READ_ONLY)
run("kernel void one(global int *a) { a[get_global_id(0)] = 1; }", 64, a)
""",
        "mf.READ_ONLY",
        "mf.READ_WRITE",
        ("kernel 'one' writes argument 0 ('int* a'), which was created with CL_MEM_READ_ONLY",),
    ),
    "NULL pointer": Pair(
        """
run("kernel void one(global int *a) { a[get_global_id(0)] = 1; }", 4, None)
""",
        "a[get_global_id(0)] = 1;",
        "if (a) a[get_global_id(0)] = 1;",
        ("kernel 'one' writes 4 bytes through a NULL pointer",),
    ),
    "barrier that some pass by": Pair(
        """
a = full(numbers)
run("kernel void meet(global int *a) { int i = get_local_id(0); if (i < 3) barrier(1); a[i] = i; }", 8, a, local=(8,))
""",
        "if (i < 3) barrier(1);",
        "barrier(1);",
        ("kernel 'meet' has a barrier that only some work-items of a group reach",),
    ),
}


ALL = """
import sys, traceback
for name, body in {programs!r}.items():
    sys.stderr.write(f"=== {{name}}\\n")
    try:
        exec(body, dict(globals()))
    except Exception:
        traceback.print_exc()
"""


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("pyopencl")
    variables = {"FPGART_CHECK": "kernels", **environment}
    return fpgart("run", "--", sys.executable, "-c", HOST + body, **variables)


def told_by(programs: dict[str, str]) -> dict[str, str]:
    """Returns the messages on stderr for each of the programs, run one after another by one host."""
    result = run(ALL.format(programs=programs))
    assert result.returncode == 0, result.stderr
    parts = [tuple(part.split("\n", 1)) for part in result.stderr.split("=== ")[1:]]
    return dict(parts)


@pytest.fixture(scope="module")
def mistaken() -> dict[str, str]:
    return told_by({name: pair.body for name, pair in PAIRS.items()})


@pytest.fixture(scope="module")
def repaired() -> dict[str, str]:
    return told_by({name: pair.repaired for name, pair in PAIRS.items()})


@needs_oclgrind
@pytest.mark.parametrize("name", PAIRS)
def test_a_mistake_is_found(name: str, mistaken: dict[str, str]) -> None:
    told = mistaken[name]
    for words in PAIRS[name].said:
        assert words in told
    assert "fix: " in told
    assert "Traceback" not in told


@needs_oclgrind
@pytest.mark.parametrize("name", PAIRS)
def test_the_repaired_program_is_silent(name: str, repaired: dict[str, str]) -> None:
    assert re.fullmatch(NOTHING, repaired[name])


@needs_oclgrind
def test_the_engine_checks_without_being_asked_twice() -> None:
    assert "[kernels] kernel 'one'" in run(PAIRS["NULL pointer"].body, FPGART_CHECK="", FPGART_ENGINE="oclgrind").stderr


@needs_oclgrind
def test_launches_without_unwritten_memory_do_not_hide_it_later() -> None:
    written = """
large = [full(np.zeros(1 << 16, np.int32)) for _ in range(6)]
pointers = ", ".join(f"global int *a{i}" for i in range(6))
run(f"kernel void all({pointers}) {{ a0[0] = a1[0] + a2[0] + a3[0] + a4[0] + a5[0]; }}", 1, *large)
"""
    pair = PAIRS["half of a buffer is written by the host"]
    assert "uninitialized contents of argument 0 ('int* a'): bytes 128 to 255" in run(written + pair.body).stderr


@needs_oclgrind
def test_a_mistake_that_is_made_again_is_told_once_and_counted() -> None:
    body = PAIRS["NULL pointer"].body.replace("run(", "for _ in range(3): run(")
    told = run(body).stderr
    assert told.count("through a NULL pointer") == 1
    last = "3 findings, 1 of them different in 3 commands; looked at: memory accesses of kernels"
    assert told.splitlines()[-1].endswith(last)


@needs_oclgrind
def test_a_launch_that_reaches_more_than_oclgrind_takes_says_so() -> None:
    body = """
kernel = cl.Program(context, "kernel void one(global int *a) { a[0] = 1; }").build(cache_dir=False).all_kernels()[0]
large = empty(256 << 20)
kernel.set_args(large)
event = cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
queue.finish()
print(event.command_execution_status == cl.status_code.OUT_OF_RESOURCES)
"""
    result = run(body, FPGART_LOG="stderr")
    assert "a kernel reaches 268435456 bytes through an argument" in result.stderr
    assert result.stdout == "True\n"


@needs_oclgrind
def test_pointers_in_memory_are_no_finding_but_a_warning() -> None:
    body = """
follow = "kernel void follow(global ulong *a) { *(global int *)a[0] = 1; *(global int *)0x1000000 = 1; }"
memory = cl.SVMAllocation(context, 64, 64, cl.svm_mem_flags.READ_WRITE)
run(follow, 1, full(np.array([memory.svm_ptr], np.uint64)))
"""
    told = run(body).stderr.splitlines()
    assert "kernel 'follow' follows a pointer that it found in memory" in told[0]
    assert "[kernels] kernel 'follow' writes 4 bytes at 0x1000000, where there is no allocation" in told[1]
    assert re.search(r": 1 finding in \d+ commands?; looked at: ", told[-1])


@needs_oclgrind
def test_programs_that_pyopencl_kept_from_another_engine_are_built_anew(tmp_path: Path) -> None:
    body = """
program = cl.Program(context, "kernel void one(global int *a) { a[get_global_id(0)] = 1; }").build()
a = empty(256)
program.one(queue, (64,), None, a)
assert sum(contents(a)) == 64
"""
    for check in ("", "kernels"):
        result = run(body, FPGART_CHECK=check, XDG_CACHE_HOME=str(tmp_path))
        assert result.returncode == 0
        assert re.fullmatch(NOTHING, result.stderr)


def test_an_engine_that_cannot_check_is_refused() -> None:
    told = run("", FPGART_ENGINE="pocl").stderr
    assert "FPGART_CHECK=kernels needs the engine oclgrind, but FPGART_ENGINE=pocl" in told


def test_without_oclgrind_programs_say_what_to_install() -> None:
    body = "cl.Program(context, 'kernel void k() {}').build(cache_dir=False)"
    result = run(body, FPGART_ENGINE="/nowhere/liboclgrind-rt-icd.so")
    assert result.returncode != 0
    assert "apt install oclgrind" in result.stderr
