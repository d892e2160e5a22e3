"""Makes the first calls of functions of all chapters from several threads at once, and prints what they gave."""

from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Loader

CALLS = (
    ("clFinish", None),
    ("clFlush", None),
    ("clGetSamplerInfo", None, 0x1150, 0, None, None),
    ("clGetKernelInfo", None, 0x1190, 0, None, None),
    ("clGetProgramInfo", None, 0x1160, 0, None, None),
    ("clGetMemObjectInfo", None, 0x1100, 0, None, None),
    ("clGetPipeInfo", None, 0x1120, 0, None, None),
    ("clSetKernelArgSVMPointer", None, 0, None),
    ("clEnqueueSVMUnmap", None, None, 0, None, None),
    ("clEnqueueBarrierWithWaitList", None, 0, None, None),
    ("clSetUserEventStatus", None, 0),
    ("clEnqueueReadImage", None, None, 1, None, None, 0, 0, None, 0, None, None),
    ("clEnqueueNDRangeKernel", None, None, 1, None, None, None, 0, None, None),
    ("clSetProgramReleaseCallback", None, None, None),
)
cl = Loader()
count = ctypes.c_uint32()
cl.check("clGetPlatformIDs", 0, None, ctypes.byref(count))
gave: dict[str, int] = {}
together = threading.Barrier(len(CALLS))


def first(name: str, *arguments: object) -> None:
    together.wait()
    gave[name] = cl.status(name, *arguments)


threads = [threading.Thread(target=first, args=call) for call in CALLS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
cl.library.clSVMFree(None, None)
for name, *_ in CALLS:
    print(name, gave[name])
