# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory for pyopencl programs, on any platform with cl_intel_unified_shared_memory.

    data = usm.shared_empty(context, 1000, numpy.float32)   # an ordinary numpy array
    data[:] = 1
    usm.set_arg(kernel, 0, data)
    pyopencl.enqueue_nd_range_kernel(queue, kernel, data.shape, None)
    queue.finish()
    print(data)

Host and shared arrays are numpy arrays whose memory is an allocation, which is freed with its last view.
Device arrays have a shape and a type, but the host cannot access their contents; memcpy() copies them.
This module knows nothing of fpgart's driver. It finds the functions of the extension through pyopencl's loader.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyopencl as cl

HOST_MEM_CAPABILITIES = 0x4190
DEVICE_MEM_CAPABILITIES = 0x4191
SINGLE_DEVICE_SHARED_MEM_CAPABILITIES = 0x4192
FREE = "clMemBlockingFreeINTEL"

Shape = int | tuple[int, ...]


class UsmError(Exception):
    """A call of the extension failed, or the platform lacks the extension; the message says which."""


LOOK_UP = "clGetExtensionFunctionAddressForPlatform"


class _Loader:
    """The OpenCL loader that pyopencl uses, and the extension's functions of each platform."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._library: Any = None
        self._functions: dict[tuple[int, str], Any] = {}

    def _open(self) -> Any:
        if self._library is None:
            with open("/proc/self/maps", errors="surrogateescape") as maps:
                files = {line.split(maxsplit=5)[-1].strip() for line in maps}
            paths = sorted(file for file in files if file.rpartition("/")[2].startswith("libOpenCL"))
            found = (library for library in map(ctypes.CDLL, paths) if hasattr(library, LOOK_UP))
            self._library = next(found, None)  # an engine's file may have such a name, too
            if self._library is None:
                raise UsmError("pyopencl's OpenCL loader is not in this process")
            self._library.clGetExtensionFunctionAddressForPlatform.restype = ctypes.c_void_p
        return self._library

    def function(self, platform: cl.Platform, name: str, result: Any, *parameters: Any) -> Any:
        """Returns an extension function of a platform. Raises UsmError if there is none."""
        key = platform.int_ptr, name
        with self._lock:
            if key not in self._functions:
                look_up = self._open().clGetExtensionFunctionAddressForPlatform
                address = look_up(ctypes.c_void_p(platform.int_ptr), name.encode())
                if not address:
                    raise UsmError(f"platform '{platform.name}' has no cl_intel_unified_shared_memory ({name})")
                self._functions[key] = ctypes.CFUNCTYPE(result, *parameters)(address)
            return self._functions[key]


_LOADER = _Loader()
_POINTER, _SIZE, _UINT, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_int32


def _check(name: str, status: int) -> None:
    if status:
        words = cl.status_code.to_string(status)  # type: ignore[operator]
        raise UsmError(f"{name} failed: {words}")


def _platform(context: cl.Context) -> cl.Platform:
    return context.devices[0].platform


class _Memory:
    """An allocation, freed with the last array on it."""

    def __init__(self, name: str, context: cl.Context, device: cl.Device | None, size: int) -> None:
        status = _INT(0)
        places = [] if name == "clHostMemAllocINTEL" else [_POINTER]
        allocate = _LOADER.function(
            _platform(context), name, _POINTER, _POINTER, *places, _POINTER, _SIZE, _UINT, _POINTER
        )
        owner = [] if not places else [device.int_ptr if device is not None else None]
        # Found now, because at the end of the process a context answers no queries.
        self._free = _LOADER.function(_platform(context), FREE, _INT, _POINTER, _POINTER)
        self.context = context
        self.size = size
        self.pointer = allocate(context.int_ptr, *owner, None, max(size, 1), 0, ctypes.addressof(status)) or 0
        if status.value or not self.pointer:
            self.pointer = 0
            _check(name, status.value or -6)

    def array(self, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Returns a numpy array on it, which keeps it alive."""
        made: Any = (ctypes.c_char * max(self.size, 1)).from_address(self.pointer)
        made._memory = self
        return np.frombuffer(made, np.dtype(dtype), count=int(np.prod(shape, dtype=np.int64))).reshape(shape)

    def free(self) -> None:
        """Frees it after the commands that may use it."""
        pointer, self.pointer = self.pointer, 0
        if pointer:
            _check(FREE, self._free(self.context.int_ptr, pointer))

    def __del__(self) -> None:
        if getattr(self, "pointer", 0):
            self.free()


class DeviceArray:
    """An array in the memory of a device. The host cannot access it; memcpy() copies it."""

    def __init__(self, memory: _Memory, shape: tuple[int, ...], dtype: Any) -> None:
        self.memory = memory
        self.shape = shape
        self.dtype = np.dtype(dtype)

    @property
    def pointer(self) -> int:
        return int(self.memory.pointer)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)

    def free(self) -> None:
        """Frees the memory after the commands that may use it."""
        self.memory.free()

    def get(self, queue: cl.CommandQueue) -> np.ndarray[Any, Any]:
        """Returns a copy of the contents in host memory."""
        host = np.empty(self.shape, self.dtype)
        memcpy(queue, host, self)
        return host

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError(
            "this array is in device memory, which the host cannot reach: copy it with usm.memcpy(queue, array, this) "
            "or this.get(queue), or allocate it with usm.shared_empty"
        )

    __array__ = __getitem__ = __setitem__ = __iter__ = __float__ = __int__ = _refuse

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape} {self.dtype} at {self.pointer:#x}>"


def _bytes_of(shape: Shape, dtype: Any) -> int:
    return int(np.prod(shape, dtype=np.int64)) * int(np.dtype(dtype).itemsize)


def host_empty(context: cl.Context, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
    """Returns an array in host memory that every device of the context can access. Raises UsmError."""
    return _Memory("clHostMemAllocINTEL", context, None, _bytes_of(shape, dtype)).array(shape, dtype)


def shared_empty(
    context: cl.Context, shape: Shape, dtype: Any, device: cl.Device | None = None
) -> np.ndarray[Any, Any]:
    """Returns an array that the host shares with a device (None: the first one of the context). Raises UsmError."""
    owner = device or context.devices[0]
    return _Memory("clSharedMemAllocINTEL", context, owner, _bytes_of(shape, dtype)).array(shape, dtype)


def device_empty(context: cl.Context, shape: Shape, dtype: Any, device: cl.Device | None = None) -> DeviceArray:
    """Returns an array in the memory of a device (None: the first one of the context). Raises UsmError."""
    owner = device or context.devices[0]
    memory = _Memory("clDeviceMemAllocINTEL", context, owner, _bytes_of(shape, dtype))
    return DeviceArray(memory, (shape,) if isinstance(shape, int) else tuple(shape), dtype)


def pointer_of(array: np.ndarray[Any, Any] | DeviceArray) -> int:
    """Returns the address of an array. Raises ValueError if it is not contiguous."""
    if isinstance(array, DeviceArray):
        return array.pointer
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous")
    return int(array.ctypes.data)


def _enqueue(
    queue: cl.CommandQueue,
    name: str,
    parameters: tuple[Any, ...],
    arguments: tuple[Any, ...],
    wait_for: Iterable[cl.Event] | None,
) -> cl.Event:
    """Calls a function with the queue, its own arguments, and the events. Raises UsmError."""
    function = _LOADER.function(queue.device.platform, name, _INT, _POINTER, *parameters, _UINT, _POINTER, _POINTER)
    handles = [event.int_ptr for event in wait_for or ()]
    events = (_POINTER * len(handles))(*handles) if handles else None
    made = _POINTER()
    _check(name, function(queue.int_ptr, *arguments, len(handles), events, ctypes.addressof(made)))
    return cl.Event.from_int_ptr(made.value or 0, retain=False)


def memcpy(
    queue: cl.CommandQueue,
    target: np.ndarray[Any, Any] | DeviceArray,
    source: np.ndarray[Any, Any] | DeviceArray,
    *,
    wait_for: Iterable[cl.Event] | None = None,
    blocking: bool = True,
) -> cl.Event:
    """Copies a whole array to another of the same size in bytes; either may be a plain numpy array."""
    if target.nbytes != source.nbytes:
        raise ValueError(f"the source has {source.nbytes} bytes, but the target {target.nbytes}")
    arguments = blocking, pointer_of(target), pointer_of(source), target.nbytes
    return _enqueue(queue, "clEnqueueMemcpyINTEL", (_UINT, _POINTER, _POINTER, _SIZE), arguments, wait_for)


def fill(
    queue: cl.CommandQueue,
    target: np.ndarray[Any, Any] | DeviceArray,
    value: Any,
    *,
    wait_for: Iterable[cl.Event] | None = None,
) -> cl.Event:
    """Sets every element to `value`. Raises UsmError."""
    pattern = np.asarray(value, target.dtype).tobytes()
    arguments = pointer_of(target), pattern, len(pattern), target.nbytes
    parameters = _POINTER, ctypes.c_char_p, _SIZE, _SIZE
    return _enqueue(queue, "clEnqueueMemFillINTEL", parameters, arguments, wait_for)


def set_arg(kernel: cl.Kernel, index: int, array: np.ndarray[Any, Any] | DeviceArray | None) -> None:
    """Sets an argument to a pointer to the memory of an array, or NULL. The array has to outlive the kernel's runs."""
    name = "clSetKernelArgMemPointerINTEL"
    platform = _platform(kernel.context)
    function = _LOADER.function(platform, name, _INT, _POINTER, _UINT, _POINTER)
    _check(name, function(kernel.int_ptr, index, pointer_of(array) if array is not None else None))
