# SPDX-License-Identifier: Apache-2.0
"""Hosts written in Python: locks of libraries between host and driver, and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from c_hosts import shared_library
from processes import ROOT, finished, fpgart, quiet_output

from fpgart.cli import running

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
    return shared_library(LOCKS, tmp_path_factory.mktemp("locks") / "liblocks.so", "-lpthread")


def run(program: str, *words: object, preload: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = running.environment(variables)
    if not preload:
        environment["LD_PRELOAD"] = os.environ.get("LD_PRELOAD", "")
    command = [sys.executable, "-c", HEAD + program, *map(str, words)]
    return finished(*command, env=environment)


def test_pointer_types_of_the_host_stay_what_they_were() -> None:
    result = run("before = ctypes.POINTER(ctypes.c_char)\nHost(loader)\nprint(ctypes.POINTER(ctypes.c_char) is before)")
    assert result.stdout.strip() == "True", result.stderr


@pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=["mutex", "writer waits", "reader waits", "condition"])
def test_under_fpgart_run_a_library_may_call_under_a_lock_that_the_host_waits_for(locks: Path, kind: int) -> None:
    result = run(HOST + "print([call(int(sys.argv[2]), 'clFinish', host.queue) for _ in range(20)])", locks, kind)
    assert result.stdout.strip() == str([0] * 20), result.stderr


def test_a_wait_for_an_ended_event_under_the_interpreters_lock_runs_no_python_of_the_driver() -> None:
    """Wrappers of OpenCL wait so when they destroy an event. Python would allocate an Event, 1,000 bytes."""
    program = """
import ctypes, tracemalloc
set_up()
wait = ctypes.PyDLL("libOpenCL.so.1").clWaitForEvents  # keeps the lock
def wait_for_ended():
    event = kernel(queue, (1,), None, buffer, np.uint32(1))
    queue.finish()
    handle = (ctypes.c_void_p * 1)(event.int_ptr)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    status = wait(1, handle)
    grown = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return status, grown
wait_for_ended()
print(*wait_for_ended())
"""
    status, grown = map(int, run_on_board(program)[0].split())
    assert status == 0
    assert grown < 500


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
while not gone:
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
while len(died) < 150:  # a collection may be under way in a thread of the driver
    gc.collect()
    time.sleep(0.01)
print(len(died))
"""


@pytest.mark.parametrize("traced", [False, True], ids=["", "traced"])
def test_the_collector_may_destroy_objects_of_the_host_anywhere_in_the_driver(tmp_path: Path, traced: bool) -> None:
    variables = {"FPGART_TRACE": str(tmp_path / "trace.json")} if traced else {}
    result = run(DESTRUCTORS, **variables)
    assert (result.stdout.strip(), result.stderr) == ("150", "")


def run_on_board(program: str, *words: object, preload: bool = True, **variables: str) -> list[str]:
    """Returns the lines of a pyopencl program on a board, which must succeed without messages on stderr."""
    pytest.importorskip("pyopencl")
    environment = running.environment(variables)
    if not preload:
        environment["LD_PRELOAD"] = os.environ.get("LD_PRELOAD", "")
    command = [sys.executable, "-W", "ignore", "-c", PYOPENCL + program, *map(str, words)]
    return quiet_output(finished(*command, env=environment)).splitlines()


PYOPENCL = """
import gc, os, signal, sys, threading, time
import numpy as np, pyopencl as cl
def set_up():
    global context, queue, buffer, kernel
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    source = '''kernel void k(global uint *x, uint rounds)
    { for (uint i = 0; i < rounds; i++) x[get_global_id(0)] = x[get_global_id(0)] * 3 + 1; }'''
    kernel = cl.Program(context, source).build(cache_dir=False).k
"""


@pytest.mark.parametrize("preload", [True, False], ids=["fpgart run", "alone"])
def test_the_first_calls_may_come_from_several_threads(preload: bool) -> None:
    """A loader looks for its drivers while it holds a lock for which other threads wait with the interpreter's."""
    program = """
barrier, found = threading.Barrier(3), []
def first():
    barrier.wait()
    found.append(len(cl.get_platforms()[0].get_devices()))
threads = [threading.Thread(target=first) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*found)
"""
    for _ in range(5):
        assert run_on_board(program, preload=preload) == ["1 1 1"]


# Threads of the driver begin late, as on a busy machine: when the host ends, or after half a second.
LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct thread { void *(*begin)(void *); void *argument; };
static atomic_int is_ending;
static void *begin_late(void *given)
{
    struct thread thread = *(struct thread *)given;
    free(given);
    for (int i = 0; i < 50 && !is_ending; i++)
        usleep(10000);
    return thread.begin(thread.argument);
}
int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*begin)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    Dl_info info;
    if (dladdr(begin, &info) == 0 || info.dli_fname == NULL || strstr(info.dli_fname, "/libfpgart.3") == NULL)
        return real(made, attributes, begin, argument);
    struct thread *thread = malloc(sizeof *thread);
    *thread = (struct thread){begin, argument};
    return real(made, attributes, begin_late, thread);
}
__attribute__((destructor)) static void end(void)
{
    is_ending = 1;
    usleep(200000);
}
"""


def test_a_host_may_end_as_soon_as_the_driver_has_started(tmp_path: Path) -> None:
    late = shared_library(LATE, tmp_path / "late.so", "-lpthread", "-ldl")
    environment = running.environment({})
    environment["LD_PRELOAD"] = f"{late}:{environment['LD_PRELOAD']}"
    result = finished(sys.executable, "-c", HEAD + "print(len(Host(loader).devices))", env=environment)
    assert (result.returncode, result.stdout.strip()) == (0, "1"), result.stderr


def test_a_python_host_that_lists_platforms_starts_nothing_until_it_wants_a_device() -> None:
    program = """
platform = cl.get_platforms()[0]
library = next(line.split()[-1] for line in open("/proc/self/maps") if "libfpgart.so" in line)
import ctypes
runs = ctypes.CDLL(library).fpgart_control_runs
count = ctypes.c_uint()
status = ctypes.CDLL(library).clGetDeviceIDs(
    ctypes.c_void_p(platform.int_ptr), ctypes.c_ulong(0xFFFFFFFF), 0, None, ctypes.byref(count))
print(runs(), status)
devices = platform.get_devices()
print(runs(), len(devices) == count.value)
"""
    assert run_on_board(program) == ["0 0", "1 True"]


SIGNALS = """
set_up()
class Timeout(Exception): pass
def handler(*_): raise Timeout
signal.signal(signal.SIGALRM, handler)
user = cl.UserEvent(context)
rounds = np.uint32(1)
kernel(queue, (1,), None, buffer, rounds); queue.finish()
main, copies = threading.get_native_id(), 0
def waits():
    with open(f"/proc/self/task/{main}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"
def interrupt():
    "Once the main thread is in its call, as far as that can be seen."
    while not (all(waits() for _ in range(20)) if sys.argv[1] == "event" else
               waited.command_execution_status <= 1 if sys.argv[1] == "kernel" else copies >= 20):
        time.sleep(0.001)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
    user.set_status(0)
helper = threading.Thread(target=interrupt)
data = np.zeros(64, np.uint8)
if sys.argv[1] == "event":
    waited = cl.enqueue_marker(queue, [user])
elif sys.argv[1] == "kernel":
    waited = kernel(queue, (1,), None, buffer, np.uint32(40_000_000))
    queue.flush()
else:
    waited = None
def transfer():
    "A function: what is raised at the jump back of a loop passes by an `except` around the loop itself in Python 3.13."
    global copies
    while True:
        cl.enqueue_copy(queue, data, buffer)
        copies += 1
try:
    helper.start()
    if waited is None:
        transfer()
    waited.wait()
    helper.join()  # the handler's exception comes at the latest here
    print("no exception")
except Timeout:
    helper.join()
    if waited is not None:
        waited.wait()
    print("timeout", waited is None or waited.command_execution_status == 0)
kernel(queue, (1,), None, buffer, rounds); queue.finish()
print("still works")
"""


@pytest.mark.parametrize("mode", ["event", "kernel", "transfers"])
def test_what_a_signal_handler_raises_arrives_in_the_hosts_code_and_the_command_completes(mode: str) -> None:
    assert run_on_board(SIGNALS, mode) == ["timeout True", "still works"]


PROGRAMS = [
    # rule, a program, what it prints
    # Signals of a kind that are pending at once are one; the last one is always handled.
    ("a storm of signals loses none and hurts nothing", """
set_up()
handled, last = [0], []
def count(*_): handled[0] += 1
signal.signal(signal.SIGUSR1, count)
signal.signal(signal.SIGUSR2, lambda *_: last.append(1))
SENDER = '''
import os, signal, sys
for _ in range(100_000):
    os.kill(int(sys.argv[1]), signal.SIGUSR1)
'''
import subprocess
sender = subprocess.Popen([sys.executable, "-c", SENDER, str(os.getpid())])
rounds = 0
while sender.poll() is None or rounds < 20:
    data = np.arange(16, dtype=np.uint32) + rounds
    mine = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    kernel(queue, (16,), None, mine, np.uint32(1))
    result = np.empty_like(data)
    cl.enqueue_copy(queue, result, mine, is_blocking=False)
    queue.finish()
    assert (result == data * 3 + 1).all(), (rounds, data, result)
    rounds += 1
os.kill(os.getpid(), signal.SIGUSR2)
print(0 < handled[0] <= 100_000, last)
""", ["True [1]"]),
    ("the host's collector is the host's", """
set_up()
big, target = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20), np.zeros(1 << 20, np.uint8)
ended, copies = [], 0
def copy():
    global copies
    while not ended:
        cl.enqueue_copy(queue, target, big)
        copies += 1
thread = threading.Thread(target=copy)
thread.start()
def let_two_copies_end():
    until = copies + 2
    while copies < until: time.sleep(0)
seen_off = seen_on = 0
for _ in range(100):
    seen_off += not gc.isenabled()
    gc.disable(); let_two_copies_end()
    seen_on += gc.isenabled()
    gc.enable(); let_two_copies_end()
ended.append(1)
thread.join()
print(seen_off, seen_on)
""", ["0 0"]),
    ("the host's modules and paths stay as they were", """
paths = list(sys.path)
set_up()
kernel(queue, (1,), None, buffer, np.uint32(1)); queue.finish()
print(sys.path == paths, [name for name in sys.modules if name.partition(".")[0] in ("fpgart", "_fpgart_icd")])
""", ["True []"]),
    # Their destructors wait for events, unmap and release.
    ("reference cycles of pyopencl are destroyed while the driver works", """
set_up()
gc.set_threshold(5)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
for turn in range(60):
    data = np.full(256, turn, np.uint32)
    mine = cl.Buffer(context, flags, hostbuf=data)
    event = cl.enqueue_copy(queue, np.empty_like(data), mine, is_blocking=False)  # waits when it is destroyed
    mapped, mapping = cl.enqueue_map_buffer(queue, mine, cl.map_flags.READ, 0, (256,), np.uint32)
    assert (mapped == turn).all()
    cycle = [mine, event, mapped, mapping]
    cycle.append(cycle)
    del mine, event, mapped, mapping, cycle
    kernel(queue, (16,), None, buffer, np.uint32(1)); queue.finish()
gc.collect()
queue.finish()
print("done")
""", ["done"]),
    # All interpreters of a process share one lock; the host's does not notice by itself that the driver waits.
    ("a host that computes does not keep the driver from its work", """
set_up()
told = []
for _ in range(5):
    kernel(queue, (16,), None, buffer, np.uint32(1000))
event = kernel(queue, (16,), None, buffer, np.uint32(1000))
event.set_callback(cl.command_execution_status.COMPLETE, lambda status: told.append(status))
queue.flush()
while not told:
    pass  # no call of OpenCL
print(told)
""", ["[0]"]),
    # Also if the thread has Python's lock meanwhile. The driver's Python has no part in such a callback before.
    ("callbacks in python may call from the thread that sets a user event", """
import ctypes
set_up()
for _ in range(4):
    kernel(queue, (1,), None, buffer, np.uint32(1))
    cl.enqueue_copy(queue, np.empty(1, np.uint32), buffer)
found = np.zeros(1, np.uint32)
@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
def reads(event, status, data):
    cl.enqueue_copy(queue, found, buffer)
    print(status, found[0], threading.current_thread() is threading.main_thread())
def opens(library):
    user = cl.UserEvent(context)
    assert library.clSetEventCallback(ctypes.c_void_p(user.int_ptr), 0, reads, None) == 0
    assert library.clSetUserEventStatus(ctypes.c_void_p(user.int_ptr), 0) == 0
for opener in ctypes.CDLL, ctypes.PyDLL:
    cl.enqueue_fill_buffer(queue, buffer, np.uint32(7), 0, 4)
    library = opener("libOpenCL.so.1")
    opens(library)
    thread = threading.Thread(target=opens, args=(library,))
    thread.start()
    thread.join()
""", ["0 7 True", "0 7 False"] * 2),
    ("a host ends in silence when destructors wait for what has ended", """
set_up()
data = np.zeros(64, np.uint8)
event = cl.enqueue_copy(queue, data, buffer, is_blocking=False)
queue.finish()
print("end")
""", ["end"]),
    ("threads that end leave no state behind", """
set_up()
import resource
def grown(threads):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(threads):
        thread = threading.Thread(target=lambda: kernel(queue, (1,), None, buffer, np.uint32(1)).wait())
        thread.start()
        thread.join()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
grown(1000)
# What the system keeps for threads that meet others comes once; a state of each thread, in each of the three.
print(min(grown(1500) for _ in range(3)) < 512)  # KiB
""", ["True"]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "printed"), [each[1:] for each in PROGRAMS], ids=[each[0] for each in PROGRAMS])
def test_a_program_works_as_without_the_driver(program: str, printed: list[str]) -> None:
    assert run_on_board(program) == printed


def test_the_driver_starts_where_a_capsule_was_asked_for_an_attribute() -> None:
    """Python gives the type of capsules a version for that, which cffi takes for a lock that somebody holds."""
    words = (
        HEAD
        + """
import datetime
print(hasattr(datetime.datetime_CAPI, "version"))
print(bool(Host(loader).device))
"""
    )
    assert run(words).stdout.split() == ["False", "True"]


def test_callbacks_in_python_may_call_back_from_the_drivers_threads() -> None:
    program = """
set_up()
told, done = [], threading.Semaphore(0)
def second(status):
    told.append((status, platform().name, threading.current_thread() is threading.main_thread()))
    done.release()
def first(status):
    event = cl.enqueue_marker(queue)
    event.set_callback(cl.command_execution_status.COMPLETE, second)
    told.append(queue.context.devices == context.devices)
    queue.flush()
    done.release()
platform = lambda: cl.get_platforms()[0]
user = cl.UserEvent(context)
event = cl.enqueue_marker(queue, [user])
event.set_callback(cl.command_execution_status.COMPLETE, first)
threading.Thread(target=lambda: user.set_status(0)).start()
for _ in range(2): done.acquire()
print(*sorted(map(str, told)), flush=True)
os._exit(0)  # pyopencl's own threads may still be on their way out of the callbacks
"""
    said = run_on_board(program, FPGART_PLATFORM="fpgart")
    assert said == ["(0, 'fpgart', False) True"]


def test_arrays_in_unified_shared_memory_that_live_to_the_end_are_freed_in_silence(tmp_path: Path) -> None:
    host = tmp_path / "host.py"
    host.write_text("""
import numpy as np, pyopencl as cl
from fpgart import usm
context = cl.Context(cl.get_platforms()[0].get_devices())
shared = usm.shared_empty(context, 16, np.int32)
device = usm.device_empty(context, 16, np.int32)
""")
    said = fpgart("run", "--leaks", "--trace", tmp_path / "t.json", "--", sys.executable, host, PYTHONPATH=str(ROOT))
    assert (said.returncode, said.stderr) == (0, "fpgart: nothing is alive at the end\n")
