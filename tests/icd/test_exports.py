"""The symbols of libfpgart.so for the dynamic linker, and its dispatch table."""

from __future__ import annotations

import subprocess
import sys

import pytest
from processes import ROOT, finished

LIBRARY = ROOT / "fpgart" / "libfpgart.so"

sys.path.insert(0, str(ROOT / "icd" / "entry"))


CONTROL = {"fpgart_control", "fpgart_control_read", "fpgart_control_runs"}
"""By which the host's Python asks the driver (fpgart/control/requests.py)."""


@pytest.fixture(scope="module")
def api() -> object:
    from prototypes import read_api

    return read_api(ROOT / "include")


def test_every_function_of_the_headers_is_exported_and_nothing_else(api: object) -> None:
    output = subprocess.run(
        ["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[-1] for line in output.splitlines()}
    assert exported == set(api.functions) | CONTROL  # type: ignore[attr-defined]


IN_ANOTHER_PROCESS = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
assert lib.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert lib.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
{body}
"""


def in_another_process(body: str, *arguments: object) -> str:
    program = IN_ANOTHER_PROCESS.format(body=body)
    result = finished(sys.executable, "-c", program, str(LIBRARY), *map(str, arguments), cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_no_slot_of_the_dispatch_table_is_null(api: object) -> None:
    count = len(api.dispatch_members)  # type: ignore[attr-defined]
    assert count > 130
    body = """
for handle in (platform, device):
    table = ctypes.cast(handle, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    empty = [index for index in range(int(sys.argv[2])) if not table[index]]
    assert not empty, empty
"""
    in_another_process(body, count)


def test_extension_functions_are_found_by_name(api: object) -> None:
    body = """
lib.clGetExtensionFunctionAddressForPlatform.restype = ctypes.c_void_p
lib.clGetExtensionFunctionAddress.restype = ctypes.c_void_p
for name in ("clIcdGetPlatformIDsKHR", "clCreateBufferWithPropertiesINTEL"):
    assert lib.clGetExtensionFunctionAddressForPlatform(platform, name.encode())
    assert lib.clGetExtensionFunctionAddress(name.encode())
assert not lib.clGetExtensionFunctionAddressForPlatform(platform, b"clNoSuchThing")
assert not lib.clGetExtensionFunctionAddressForPlatform(None, b"clIcdGetPlatformIDsKHR")
"""
    in_another_process(body)


NOT_ON_THIS_BOARD = [
    # call, status
    ("clCreateSubDevices(device, (ctypes.c_size_t * 3)(0x1086, 1, 0), 0, None, None)", -30),
    ("clEnqueueNativeKernel(queue, 1, None, 0, 0, None, None, 0, None, None)", -59),
    ("clUnloadPlatformCompiler(platform)", 0),
    ("clRetainDevice(device)", 0),
    ("clReleaseDevice(device)", 0),
    ("clUnloadCompiler()", 0),
]


@pytest.mark.parametrize(("call", "status"), NOT_ON_THIS_BOARD, ids=[c.split("(")[0] for c, _ in NOT_ON_THIS_BOARD])
def test_what_boards_do_not_have_answers_as_the_specification_says(call: str, status: int) -> None:
    body = f"""
lib.clCreateContext.restype = lib.clCreateCommandQueue.restype = ctypes.c_void_p
context = ctypes.c_void_p(lib.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
queue = ctypes.c_void_p(lib.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
print(lib.{call})
"""
    assert in_another_process(body).split() == [str(status)]


def test_it_is_never_said_that_the_library_can_be_unloaded() -> None:
    body = """
text = ctypes.create_string_buffer(4096)
assert lib.clGetPlatformInfo(platform, 0x0904, ctypes.c_size_t(4096), text, None) == 0
print(text.value.decode())
"""
    words = in_another_process(body).split()
    assert "cl_khr_icd" in words
    assert "cl_khr_icd_unloadable" not in words
