# SPDX-License-Identifier: Apache-2.0
"""Hosts written in Python: locks of libraries between host and driver, and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fpgart.cli import running

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "fpgart" / "libfpgart.so"
PATIENCE_S = 60
HEAD = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Host, Loader, handles
loader = Loader()
"""
# A library as the SYCL runtime is one: another thread calls the driver while it holds a lock for which the
# host's thread waits. The host's thread has the interpreter's lock all the time (ctypes.PyDLL).
LOCKS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
typedef int (*call)(void *);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static call function;
static void *argument;
static int status;
static atomic_int kind, held;
static void *other(void *nothing)
{
    if (kind == 1 || kind == 2)
        kind == 1 ? pthread_rwlock_rdlock(&shared) : pthread_rwlock_wrlock(&shared);
    else if (kind == 0)
        pthread_mutex_lock(&mutex);
    held = 1;
    int result = function(argument);
    if (kind == 3) {
        pthread_mutex_lock(&mutex);
        held = 2;
        pthread_cond_signal(&done);
    }
    status = result;
    kind == 1 || kind == 2 ? pthread_rwlock_unlock(&shared) : pthread_mutex_unlock(&mutex);
    return nothing;
}
int call_under_a_lock(int which, call chosen, void *value)
{
    pthread_t thread;
    function = chosen, argument = value, kind = which, held = 0, status = 12345;
    if (which == 3)
        pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, other, 0);
    if (which == 3) {
        while (held != 2)
            pthread_cond_wait(&done, &mutex);
    } else {
        while (!held)
            ;
        if (which == 0)
            pthread_mutex_lock(&mutex);
        else
            which == 1 ? pthread_rwlock_wrlock(&shared) : pthread_rwlock_rdlock(&shared);
    }
    which == 1 || which == 2 ? pthread_rwlock_unlock(&shared) : pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return status;
}
"""
HOST = """
host = Host(loader)
locks = ctypes.PyDLL(sys.argv[1])
address = lambda name: ctypes.cast(getattr(loader.library, name), ctypes.c_void_p)
def call(kind, name, handle):
    return locks.call_under_a_lock(kind, address(name), ctypes.c_void_p(handle))
"""


@pytest.fixture(scope="module")
def locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locks")
    (folder / "locks.c").write_text(LOCKS)
    made = folder / "liblocks.so"
    command = ["gcc", "-shared", "-fPIC", "-o", str(made), str(folder / "locks.c"), "-lpthread"]
    subprocess.run(command, check=True)
    return made


def run(program: str, *words: object, preload: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = running.environment(variables)
    if not preload:
        environment["LD_PRELOAD"] = os.environ.get("LD_PRELOAD", "")
    command = [sys.executable, "-c", HEAD + program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)


@pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=["mutex", "writer waits", "reader waits", "condition"])
def test_under_fpgart_run_a_library_may_call_under_a_lock_that_the_host_waits_for(locks: Path, kind: int) -> None:
    result = run(HOST + "print([call(int(sys.argv[2]), 'clFinish', host.queue) for _ in range(20)])", locks, kind)
    assert result.stdout.strip() == str([0] * 20), result.stderr


@pytest.mark.parametrize("preload", [True, False], ids=["fpgart run", "alone"])
def test_a_library_may_release_under_a_lock_that_the_host_waits_for(locks: Path, preload: bool) -> None:
    program = (
        HOST
        + """
for _ in range(20):
    queue, kernel = host.new_queue(), host.kernel("kernel void k() {}", "k")
    assert call(0, "clReleaseCommandQueue", queue) == call(0, "clReleaseKernel", kernel) == 0
    assert loader.status("clFinish", queue) == cl.CL_INVALID_COMMAND_QUEUE
    assert loader.status("clRetainKernel", kernel) == cl.CL_INVALID_KERNEL
loader.check("clReleaseProgram", host.program("kernel void k() {}"))
print("done")
"""
    )
    result = run(program, locks, preload=preload)
    assert result.stdout.strip() == "done", result.stderr


def test_objects_that_are_released_without_a_further_call_go_all_the_same(locks: Path) -> None:
    """A program that does no more OpenCL must not keep what it gave back."""
    program = (
        HOST
        + """
import time
gone = []
context = loader.make("clCreateContext", None, 1, handles(host.device), None, None)
queue = loader.make("clCreateCommandQueueWithProperties", context, host.device, None)
told = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: gone.append(1))
loader.check("clSetContextDestructorCallback", context, told, None)
loader.check("clReleaseContext", context)  # the queue needs it still
assert not gone
assert call(0, "clReleaseCommandQueue", queue) == 0
deadline = time.monotonic() + 30
while not gone and time.monotonic() < deadline:
    time.sleep(0.01)
print(gone)
"""
    )
    result = run(program, locks, preload=False)
    assert result.stdout.strip() == "[1]", result.stderr


def test_exit_handlers_that_were_there_before_the_driver_still_reach_it() -> None:
    """Handlers run last in, first out: libraries that were imported first clean up after the driver has."""
    program = """
import atexit
@atexit.register
def last():
    host.write(buffer, b"late")
    print(host.read(buffer, 4), loader.status("clFinish", host.queue), loader.status("clReleaseMemObject", buffer))
host = Host(loader)
buffer = host.buffer(64)
"""
    result = run(program)
    assert (result.stdout.strip(), result.stderr) == ("b'late' 0 0", "")


def test_when_the_interpreter_ends_calls_are_refused_and_memory_counts_as_freed() -> None:
    program = """
host = Host(loader)
look_up = loader.library.clGetExtensionFunctionAddressForPlatform
look_up.restype = ctypes.c_void_p
free = ctypes.CFUNCTYPE(ctypes.c_int)(look_up(ctypes.c_void_p(host.platform), b"clMemFreeINTEL"))
class Last:
    def __init__(self):
        self.kept = free, loader.library.clFinish, ctypes.c_void_p(host.context), ctypes.c_void_p(host.queue), print
    def __del__(self):
        free, finish, context, queue, tell = self.kept
        tell(free(context, ctypes.c_void_p(4096)), finish(queue), flush=True)
last = Last()
"""
    result = run(program)
    assert (result.stdout.strip(), result.stderr) == ("0 -5", "")


DESTRUCTORS = """
import faulthandler, gc, time
faulthandler.dump_traceback_later(40, exit=True)  # where it hangs
from opencl_api import Usm
host = Host(loader)
usm = Usm(host)
KERNEL = "kernel void k(global int *x) { x[get_global_id(0)] += 1; }"
host.program(KERNEL)
died = []
class Owner:
    "An object that is part of a cycle, so that the collector destroys it, wherever that happens to run."
    def __init__(self):
        self.me = self
        self.memory = usm.make("clDeviceMemAllocINTEL", host.context, host.device, None, 4096, 0)
        self.buffer, self.queue = host.buffer(4096), host.new_queue()
    def __del__(self):
        usm.check("clMemBlockingFreeINTEL", host.context, self.memory)
        host.write(self.buffer, b"end")
        assert not loader.status("clReleaseMemObject", self.buffer)
        assert not loader.status("clFinish", self.queue)
        assert not loader.status("clReleaseCommandQueue", self.queue)
        died.append(self.memory)
gc.set_threshold(1)
for _ in range(150):
    Owner()
    buffer, queue = host.buffer(4096), host.new_queue()
    memory = usm.make("clDeviceMemAllocINTEL", host.context, host.device, None, 64, 0)
    host.write(buffer, bytes(8))
    kernel = host.kernel(KERNEL, "k", buffer)
    host.launch(kernel, 2)
    assert host.ints(buffer, 2) == [1, 1]
    usm.check("clMemBlockingFreeINTEL", host.context, memory)
    for name, item in (("Kernel", kernel), ("MemObject", buffer), ("CommandQueue", queue)):
        loader.check("clRelease" + name, item)
deadline = time.monotonic() + 20
while len(died) < 150 and time.monotonic() < deadline:  # a collection may be under way in a thread of the driver
    gc.collect()
    time.sleep(0.01)
print(len(died))
"""


@pytest.mark.parametrize("traced", [False, True], ids=["", "traced"])
def test_the_collector_may_destroy_objects_of_the_host_anywhere_in_the_driver(tmp_path: Path, traced: bool) -> None:
    variables = {"FPGART_TRACE": str(tmp_path / "trace.json")} if traced else {}
    result = run(DESTRUCTORS, **variables)
    assert (result.stdout.strip(), result.stderr) == ("150", "")
