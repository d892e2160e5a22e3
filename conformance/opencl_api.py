# SPDX-License-Identifier: Apache-2.0
"""OpenCL through the system's loader by ctypes: constants of include/CL, calls, and a host's usual objects.

Integers are passed in 64 bits, which serves every integer parameter of the API on 64-bit machines.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import struct
from pathlib import Path
from typing import Any

INCLUDE = Path(__file__).resolve().parent.parent / "include" / "CL"
_DEFINE = re.compile(r"^#define (CL_\w+) \(?(?:\(cl_\w+\))?\s*(-?(?:0[xX][0-9a-fA-F]+|\d+)|1 << \d+)\)?$", re.MULTILINE)


def _constants() -> dict[str, int]:
    found = {}
    for header in ("cl.h", "cl_ext.h"):
        for name, text in _DEFINE.findall((INCLUDE / header).read_text()):
            one, shift, count = text.partition(" << ")
            found[name] = int(one) << int(count) if shift else int(text, 0)
    return found


CONSTANTS = _constants()
globals().update(CONSTANTS)
NAMES = {value: name for name, value in CONSTANTS.items() if value < 0}


def __getattr__(name: str) -> int:  # for those who read this: the constants are put here above
    raise AttributeError(name)


class Failed(Exception):
    """A call gave another status than CL_SUCCESS."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call}: {NAMES.get(status, status)}")
        self.status = status


class Loader:
    """The OpenCL loader of the system."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(ctypes.util.find_library("OpenCL") or "libOpenCL.so.1")

    @staticmethod
    def _passed(value: Any) -> Any:
        if value is None:
            return ctypes.c_void_p(None)
        if isinstance(value, int):
            return ctypes.c_uint64(value & (1 << 64) - 1)
        return value

    def status(self, name: str, *arguments: Any) -> int:
        """Call a function that returns a status; returns it."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_int32
        return int(function(*map(self._passed, arguments)))

    def check(self, name: str, *arguments: Any) -> None:
        """As status(), but raises Failed for anything but success."""
        status = self.status(name, *arguments)
        if status:
            raise Failed(name, status)

    def attempt(self, name: str, *arguments: Any) -> tuple[int, int]:
        """Call a function that ends with errcode_ret; returns what it made and the status."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        status = ctypes.c_int32(12345)
        made = function(*map(self._passed, arguments), ctypes.byref(status))
        return int(made or 0), status.value

    def make(self, name: str, *arguments: Any) -> int:
        """As attempt(), without the status. Raises Failed."""
        made, status = self.attempt(name, *arguments)
        if status:
            assert not made, f"{name} returned something with status {status}"
            raise Failed(name, status)
        return made

    def info(self, name: str, *arguments: Any) -> bytes:
        """The answer of a query: its size asked first, then its value."""
        size = ctypes.c_size_t(0)
        self.check(name, *arguments, 0, None, ctypes.byref(size))
        value = ctypes.create_string_buffer(max(size.value, 1))
        self.check(name, *arguments, size.value, value, None)
        return value.raw[: size.value]

    def number(self, name: str, *arguments: Any) -> int:
        return int.from_bytes(self.info(name, *arguments), "little")

    def text(self, name: str, *arguments: Any) -> str:
        answer = self.info(name, *arguments)
        assert answer.endswith(b"\0"), f"{name}: a string without its end"
        return answer[:-1].decode()


def handles(*items: int) -> Any:
    """An array of handles or sizes."""
    return (ctypes.c_uint64 * max(len(items), 1))(*items)


def strings(*texts: str) -> Any:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def callback(function: Any, *types: Any) -> Any:
    """A C function pointer that returns nothing; must be kept as long as it may be called."""
    return ctypes.CFUNCTYPE(None, *types)(function)


def event_slot() -> Any:
    """Where a call puts an event."""
    return handles(0)


def fails(host: Host, status: int, name: str, *arguments: object) -> None:
    """The call gives just this status."""
    given = host.cl.status(name, *arguments)
    assert given == status, f"{name}: {NAMES.get(given, given)}, not {NAMES.get(status, status)}"


def wait(host: Host, *events: int) -> None:
    host.cl.check("clWaitForEvents", len(events), handles(*events))


def status_of(host: Host, event: int) -> int:
    answer = host.cl.info("clGetEventInfo", event, globals()["CL_EVENT_COMMAND_EXECUTION_STATUS"])
    return int.from_bytes(answer, "little", signed=True)


def name_versions(table: bytes, *, versions: bool = False) -> list[Any]:
    """The names, or the version numbers, of an array of cl_name_version."""
    entries = [table[at : at + 68] for at in range(0, len(table), 68)]
    if versions:
        return [int.from_bytes(entry[:4], "little") for entry in entries]
    return [entry[4:].split(b"\0")[0].decode() for entry in entries]


class Host:
    """A context of the first devices of the first platform, and two queues with profiling of the first device.

    One of the queues is in order, the other out of order.
    """

    def __init__(self, loader: Loader, most_devices: int = 1) -> None:
        import opencl_api as cl

        self.cl = loader
        found = handles(0)
        loader.check("clGetPlatformIDs", 1, found, None)
        self.platform = int(found[0])
        found, count = handles(*range(most_devices)), ctypes.c_uint32()
        every = cl.CL_DEVICE_TYPE_ALL & 0xFFFFFFFF
        loader.check("clGetDeviceIDs", self.platform, every, most_devices, found, ctypes.byref(count))
        self.devices = [int(each) for each in found[: count.value]]
        self.device = self.devices[0]
        self.context = loader.make("clCreateContext", None, len(self.devices), handles(*self.devices), None, None)
        self.queue = self.new_queue(cl.CL_QUEUE_PROFILING_ENABLE)
        self.out_of_order = self.new_queue(cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        self._programs: dict[str, int] = {}

    def new_queue(self, properties: int = 0, device: int = 0) -> int:
        import opencl_api as cl

        listed = handles(cl.CL_QUEUE_PROPERTIES, properties, 0)
        return self.cl.make("clCreateCommandQueueWithProperties", self.context, device or self.device, listed)

    def buffer(self, size: int, flags: int = 1, data: Any = None) -> int:
        return self.cl.make("clCreateBuffer", self.context, flags, size, data)

    def written(self, data: bytes) -> int:
        """A buffer that these bytes were written to."""
        made = self.buffer(len(data))
        self.write(made, data)
        return made

    def program(self, source: str, options: str = "") -> int:
        """A program that is built; the same one for the same text."""
        if source + options not in self._programs:
            made = self.cl.make("clCreateProgramWithSource", self.context, 1, strings(source), None)
            self.cl.check("clBuildProgram", made, 0, None, options.encode(), None, None)
            self._programs[source + options] = made
        return self._programs[source + options]

    def kernel(self, source: str, name: str, *arguments: Any) -> int:
        """A kernel with arguments: an int is a buffer, bytes are a value, None stays unset."""
        made = self.cl.make("clCreateKernel", self.program(source), name.encode())
        for index, argument in enumerate(arguments):
            if isinstance(argument, int):
                self.cl.check("clSetKernelArg", made, index, 8, handles(argument))
            elif argument is not None:
                self.cl.check("clSetKernelArg", made, index, len(argument), argument)
        return made

    def launch(self, kernel: int, *sizes: int, queue: int = 0, wait: tuple[int, ...] = (), event: Any = None) -> None:
        self.cl.check(
            "clEnqueueNDRangeKernel", queue or self.queue, kernel, len(sizes), None, handles(*sizes), None,
            len(wait), handles(*wait) if wait else None, event,
        )  # fmt: skip

    def write(self, buffer: int, data: bytes, offset: int = 0) -> None:
        self.cl.check("clEnqueueWriteBuffer", self.queue, buffer, 1, offset, len(data), data, 0, None, None)

    def read(self, buffer: int, size: int, offset: int = 0) -> bytes:
        data = ctypes.create_string_buffer(size)
        self.cl.check("clEnqueueReadBuffer", self.queue, buffer, 1, offset, size, data, 0, None, None)
        return data.raw

    def ints(self, buffer: int, count: int) -> list[int]:
        return list(struct.unpack(f"{count}i", self.read(buffer, 4 * count)))

    def result_of(self, program: int) -> int:
        """The number that the kernel k of a program leaves in a buffer, its only argument."""
        kernel, buffer = self.cl.make("clCreateKernel", program, b"k"), self.buffer(4)
        self.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
        self.launch(kernel, 1)
        (number,) = self.ints(buffer, 1)
        self.cl.check("clReleaseKernel", kernel)
        return number

    def finish(self, queue: int = 0) -> None:
        self.cl.check("clFinish", queue or self.queue)

    def close(self) -> None:
        for program in self._programs.values():
            self.cl.check("clReleaseProgram", program)
        for queue in (self.queue, self.out_of_order):
            self.cl.check("clReleaseCommandQueue", queue)
        self.cl.check("clReleaseContext", self.context)


class Usm:
    """Calls of cl_intel_unified_shared_memory, looked up as hosts do."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.look_up = host.cl.library.clGetExtensionFunctionAddressForPlatform
        self.look_up.restype = ctypes.c_void_p

    def _function(self, name: str, returned: type, *arguments: object) -> tuple[object, list[object]]:
        address = self.look_up(ctypes.c_void_p(self.host.platform), name.encode())
        assert address, f"there is no {name}"
        passed = [self.host.cl._passed(argument) for argument in arguments]
        return ctypes.CFUNCTYPE(returned)(address), passed

    def status(self, name: str, *arguments: object) -> int:
        function, passed = self._function(name, ctypes.c_int32, *arguments)
        return int(function(*passed))  # type: ignore[operator]

    def check(self, name: str, *arguments: object) -> None:
        if status := self.status(name, *arguments):
            raise Failed(name, status)

    def make(self, name: str, *arguments: object) -> int:
        status = ctypes.c_int32(12345)
        function, passed = self._function(name, ctypes.c_void_p, *arguments)
        made = function(*passed, ctypes.byref(status))  # type: ignore[operator]
        if status.value:
            assert not made, f"{name} returned something with status {status.value}"
            raise Failed(name, status.value)
        return int(made)
