# SPDX-License-Identifier: Apache-2.0
"""fpgart.usm, unified shared memory for pyopencl hosts, on any driver that has the extension."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import numpy as np, pyopencl as cl
from fpgart import usm
device = cl.get_platforms()[0].get_devices()[0]
if "cl_intel_unified_shared_memory" not in device.extensions:
    print("no USM")
    raise SystemExit
context = cl.Context([device])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void scale(global float *x, float a) { x[get_global_id(0)] *= a; }
kernel void sum(global const float *x, int n, global float *out) {
    float s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    *out = s;
}
''').build(cache_dir=False)
scale, total = cl.Kernel(program, "scale"), cl.Kernel(program, "sum")
"""
CASES = {
    "a shared array is seen by host and kernel": """
data = usm.shared_empty(context, (10, 100), np.float32)
data[:] = np.arange(1000, dtype=np.float32).reshape(10, 100)
usm.set_arg(scale, 0, data)
scale.set_arg(1, np.float32(2))
cl.enqueue_nd_range_kernel(queue, scale, (1000,), None)
queue.finish()
assert (data == 2 * np.arange(1000).reshape(10, 100)).all()
""",
    "a host array is read in place": """
data, result = usm.host_empty(context, 1000, np.float32), usm.device_empty(context, 1, np.float32)
data[:] = 1
usm.set_arg(total, 0, data)
total.set_arg(1, np.int32(1000))
usm.set_arg(total, 2, result)
cl.enqueue_nd_range_kernel(queue, total, (1,), None)
assert result.get(queue)[0] == 1000
""",
    "a device array is copied, not looked into": """
data = usm.device_empty(context, 1000, np.int32)
event = usm.memcpy(queue, data, np.arange(1000, dtype=np.int32), blocking=True)
assert isinstance(event, cl.Event)
assert (data.get(queue) == np.arange(1000)).all()
for wrong in (lambda: data[0], lambda: np.asarray(data), lambda: list(data)):
    try:
        wrong()
    except TypeError as error:
        assert "usm.memcpy" in str(error)
    else:
        raise AssertionError("the host looked into device memory")
""",
    "fill sets every element, behind events": """
data = usm.device_empty(context, 1000, np.float64)
first = usm.fill(queue, data, 1.5)
host = np.zeros(1000)
usm.memcpy(queue, host, data, wait_for=[first])
assert (host == 1.5).all()
assert first.command_execution_status == cl.command_execution_status.COMPLETE
""",
    "views keep the memory, and the last one frees it": """
view = usm.shared_empty(context, 1000, np.int32)[100:200].reshape(10, 10)
view[:] = 7
import gc; gc.collect()
assert (view == 7).all()
del view
gc.collect()
for _ in range(200):
    usm.shared_empty(context, 1 << 20, np.uint8)[0] = 1
""",
    "sizes that differ are refused": """
try:
    usm.memcpy(queue, usm.host_empty(context, 10, np.int32), np.zeros(11, np.int32))
except ValueError as error:
    assert "44 bytes" in str(error)
else:
    raise AssertionError("no error")
""",
    "what is no USM pointer is refused": """
if device.type & cl.device_type.CPU:
    raise SystemExit  # it may reach all of the host's memory
try:
    usm.set_arg(scale, 0, np.zeros(10, np.float32))
except usm.UsmError as error:
    assert "INVALID_ARG_VALUE" in str(error)
else:
    raise AssertionError("no error")
""",
}


@pytest.mark.parametrize("case", CASES)
def test_usm_from_python(driver_environment: dict[str, str], is_fpgart: bool, case: str) -> None:
    pytest.importorskip("pyopencl")
    environment = {**driver_environment, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    alone = [sys.executable, "-m", "fpgart.cli", "run", "--"] if is_fpgart else []
    result = subprocess.run(
        [*alone, sys.executable, "-W", "ignore", "-c", HEAD + CASES[case]],
        env={**environment, "PATH": os.environ.get("PATH", os.defpath)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    if "no USM" in result.stdout:
        pytest.skip("the driver has no cl_intel_unified_shared_memory")
