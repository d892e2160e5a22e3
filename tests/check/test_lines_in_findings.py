# SPDX-License-Identifier: Apache-2.0
"""Findings name the lines of the host: of the call that misuses something, and of the one that made it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from c_hosts import host_of, line
from processes import ROOT, fpgart

from fpgart.watch.callers import Site
from fpgart.watch.code_location import CodeLocation
from fpgart.watch.places import Places

INCLUDES = ["-I", str(ROOT / "include"), "-I", str(ROOT / "conformance" / "c")]
C_HOST = """
#include "usm.h"
#include <string.h>
static cl_int move(cl_command_queue queue, cl_mem buffer, void *to)
{
    return clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 4096, to, 0, NULL, NULL); // WRAPPED
}
int main(void)
{
    static char out[4096], in[4096];
    struct host host;
    cl_int status;
    start(&host, SPIN_SOURCE);
    find_usm(&host);
    cl_command_queue other = clCreateCommandQueueWithProperties(host.context, host.device, NULL, &status);
    cl_mem buffer = clCreateBuffer(host.context, CL_MEM_READ_WRITE, 4096, NULL, &status); // MADE
    clEnqueueWriteBuffer(other, buffer, CL_FALSE, 0, 4096, in, 0, NULL, NULL); // AGAINST
    move(host.queue, buffer, out); // CALLER
    clFinish(other);
    clFinish(host.queue);
    int *memory = device_alloc(host.context, host.device, NULL, 8192, 0, &status); // LOST
    memcpy(out, memory, 64); // TOUCHED
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(other);
    stop(&host);
    return 0;
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_of(C_HOST, tmp_path_factory.mktemp("places") / "host", "-g", "-fno-builtin")


def run(folder: Path, *words: object) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """The run, and its findings."""
    file = folder / "findings"
    file.unlink(missing_ok=True)
    result = fpgart("run", *words, cwd=folder, PYTHONPATH=str(ROOT), FPGART_FINDINGS=str(file))
    found = [json.loads(each) for each in file.read_text().splitlines()] if file.exists() else []
    return result, found


@pytest.fixture(scope="module")
def checked(host: Path) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    return run(host.parent, "--check", "usm,order", "--fail-on-finding", "--", host)


def of_rule(checked: tuple[object, list[dict[str, Any]]], rule: str) -> dict[str, Any]:
    (found,) = [finding for finding in checked[1] if finding["rule"] == rule]
    return found


def test_two_commands_without_order_are_told_with_the_lines_of_both_and_of_their_buffer(checked: Any) -> None:
    words = checked[0].stderr
    assert f"  created at host.c:{line(C_HOST, 'MADE')} in main\n" in words
    wrapped, caller = line(C_HOST, "WRAPPED"), line(C_HOST, "CALLER")
    assert f"  misused at host.c:{wrapped} in move, from host.c:{caller} in main\n" in words
    assert f"  against clEnqueueWriteBuffer in queue 2 at host.c:{line(C_HOST, 'AGAINST')} in main\n" in words


def test_programs_get_the_whole_stack_of_a_finding(checked: Any) -> None:
    misused = of_rule(checked, "read without order after a write")["misused_at"]
    assert misused["call"] == "clEnqueueReadBuffer"
    assert misused["place"] == f"host.c:{line(C_HOST, 'WRAPPED')} in move"
    stack = [(frame["function"], frame["line"]) for frame in misused["stack"]]
    assert stack == [("move", line(C_HOST, "WRAPPED")), ("main", line(C_HOST, "CALLER"))]


def test_a_copy_by_the_c_library_is_told_at_the_line_that_calls_it(checked: Any) -> None:
    finding = of_rule(checked, "device memory accessed by the host")
    assert finding["misused_at"]["place"] == f"host.c:{line(C_HOST, 'TOUCHED')} in main"
    assert finding["made_at"]["place"] == f"host.c:{line(C_HOST, 'LOST')} in main"


def test_an_allocation_that_went_with_its_context_leaks(checked: Any) -> None:
    result, _ = checked
    assert result.returncode == 3
    finding = of_rule(checked, "leak")
    assert finding["misused_by"] == "the release of its context"
    assert finding["made_at"]["place"] == f"host.c:{line(C_HOST, 'LOST')} in main"


def test_the_caller_of_a_wrapper_that_the_user_names_is_told(host: Path) -> None:
    result, found = run(host.parent, "--check", "order", "--wrappers", "mov?,*.hpp", "--", host)
    assert f"  misused at host.c:{line(C_HOST, 'CALLER')} in main\n" in result.stderr
    assert [len(finding["misused_at"]["stack"]) for finding in found] == [2]


@pytest.mark.parametrize("folder", ["/", ".."])
def test_annotations_name_the_file_of_a_host_that_runs_in_another_folder(host: Path, folder: str) -> None:
    words = ("sh", "-c", f"cd {folder} && exec {host}")
    result, (found,) = run(host.parent, "--check", "order", "--github", "--", *words)
    assert f",file=host.c,line={line(C_HOST, 'WRAPPED')}::" in result.stdout
    below = f"{host.parent.name}/host.c" if folder == ".." else f"{host}.c"
    assert found["misused_at"]["place"] == f"{below}:{line(C_HOST, 'WRAPPED')} in move"


def test_what_leaks_tells_counts_as_findings(host: Path) -> None:
    result, found = run(host.parent, "--leaks", "--fail-on-finding", "--", host)
    assert result.returncode == 3
    (finding,) = found
    assert (finding["check"], finding["count"], finding["bytes"]) == ("leaks", 1, 8192)
    assert finding["made_at"]["place"] == f"host.c:{line(C_HOST, 'LOST')} in main"


PYTHON_HOST = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue, other = cl.CommandQueue(context), cl.CommandQueue(context)
data = np.zeros(1024, np.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
def fill():
    return cl.enqueue_copy(other, buffer, data, is_blocking=False)
kept = fill()  # its destructor would wait
cl.enqueue_copy(queue, np.empty_like(data), buffer)
queue.finish(), other.finish()
"""


def test_python_hosts_are_told_their_own_lines_not_those_of_pyopencl(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    (tmp_path / "host.py").write_text(PYTHON_HOST)
    result, found = run(tmp_path, "--check", "order", "--", sys.executable, "host.py")
    assert "  misused at host.py:10 in <module>\n" in result.stderr
    assert "at host.py:8 in fill, from host.py:9 in <module>\n" in result.stderr
    assert found[0]["made_at"]["place"] == "host.py:6 in <module>"


THREAD_OF_C = """
#include <CL/cl.h>
#include <pthread.h>
static void *leak(void *context)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
}
void leak_in_a_thread(void *context)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leak, context);
    pthread_join(thread, NULL);
}
"""
HOST_WITH_A_LIBRARY = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import Host, Loader
ctypes.CDLL("./library.so").leak_in_a_thread(ctypes.c_void_p(Host(Loader()).context))
"""


def test_calls_of_threads_that_run_no_python_are_told_at_their_lines_in_c(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(THREAD_OF_C)
    command = ["cc", "-g", "-shared", "-fPIC", *INCLUDES, "library.c", "-o", "library.so", "-lOpenCL"]
    subprocess.run(command, check=True, cwd=tmp_path)
    _, found = run(tmp_path, "--leaks", "--", sys.executable, "-c", HOST_WITH_A_LIBRARY)
    assert "library.c:6 in leak" in [finding["made_at"]["place"] for finding in found]


def test_where_all_is_wrapped_the_wrappers_are_told() -> None:
    frames = CodeLocation("/x/cl.c", 1, "check"), CodeLocation("/x/main.c", 2, "main")
    site = Site("clFinish", frames)
    assert Places(["check"]).describe(site) == "clFinish, /x/main.c:2 in main"
    assert Places(["*.c"]).describe(site) == "clFinish, /x/cl.c:1 in check, from /x/main.c:2 in main"
    assert Places(["/x/*"]).facts(site)["place"] == "/x/cl.c:1 in check"
