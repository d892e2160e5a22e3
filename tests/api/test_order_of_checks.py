"""Calls with two mistakes return the status that the specification's list of errors has first."""

from __future__ import annotations

import json
import sys

from processes import ROOT, fpgart, output

from fpgart.base import opencl as cl

HOST = f"""
import json, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import Host, Loader, handles, strings
host = Host(Loader())
other = Host(Loader())
source = "kernel void k(global int *x) {{ *x = 1; }}"
kernel = host.kernel(source, "k", host.buffer(64))
foreign = other.buffer(64)
uncompiled = host.cl.make("clCreateProgramWithSource", host.context, 1, strings(source), None)
compiled = host.cl.make("clCreateProgramWithSource", host.context, 1, strings(source), None)
host.cl.check("clCompileProgram", compiled, 0, None, b"", 0, None, None, None, None)
linked = host.cl.make("clLinkProgram", host.context, 0, None, b"", 1, handles(compiled), None, None)
"""
BAD = 1 << 40
"""A bit that is no flag."""
HUGE = (1 << 64) - 1
CASES: dict[str, tuple[str, int]] = {
    "global size before local size": (
        f'host.cl.status("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles({HUGE}), handles(2), '
        "0, None, None)",
        cl.CL_INVALID_GLOBAL_WORK_SIZE,
    ),
    "offset before global size": (
        f'host.cl.status("clEnqueueNDRangeKernel", host.queue, kernel, 1, handles(1), handles({HUGE}), handles(2), '
        "0, None, None)",
        cl.CL_INVALID_GLOBAL_OFFSET,
    ),
    "build: options before where the program is from": (
        'host.cl.status("clBuildProgram", linked, 0, None, b"-D", None, None)',
        cl.CL_INVALID_BUILD_OPTIONS,
    ),
    "compile: options before where the program is from": (
        'host.cl.status("clCompileProgram", linked, 0, None, b"-D", 0, None, None, None, None)',
        cl.CL_INVALID_COMPILER_OPTIONS,
    ),
    "link: options before programs that are not compiled": (
        'host.cl.attempt("clLinkProgram", host.context, 0, None, b"-D", 1, handles(uncompiled), None, None)[1]',
        cl.CL_INVALID_LINKER_OPTIONS,
    ),
    "migrate: context before flags": (
        f'host.cl.status("clEnqueueMigrateMemObjects", host.queue, 1, handles(foreign), {BAD}, 0, None, None)',
        cl.CL_INVALID_CONTEXT,
    ),
    "migrate: object before flags": (
        f'host.cl.status("clEnqueueMigrateMemObjects", host.queue, 1, handles(kernel), {BAD}, 0, None, None)',
        cl.CL_INVALID_MEM_OBJECT,
    ),
    "buffer: property before flags": (
        f'host.cl.attempt("clCreateBufferWithProperties", host.context, handles(1, 1, 0), {BAD}, 64, None)[1]',
        cl.CL_INVALID_PROPERTY,
    ),
}


def test_the_first_error_of_the_specification_is_returned() -> None:
    body = HOST + f"print(json.dumps([{', '.join(call for call, _ in CASES.values())}]))"
    statuses = json.loads(output(fpgart("run", "--board", "a10_ref", "--", sys.executable, "-c", body)))
    assert dict(zip(CASES, statuses, strict=True)) == {name: status for name, (_, status) in CASES.items()}
