# SPDX-License-Identifier: Apache-2.0
"""The memory objects of a program: buffers, images and host accessors."""

from __future__ import annotations

import atexit
import math
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np

from fpgart.sycl.commands import HOST, Array, Part
from fpgart.sycl.graph import Graph
from fpgart.sycl.images import ImageLayout
from fpgart.sycl.modes import Mode, SyclError

DEFAULT_GRAPH = Graph()
_OPEN: weakref.WeakSet[Buffer] = weakref.WeakSet()


@cache
def close_at_exit() -> None:
    """Closes the buffers that are still open when the program ends; called once the drivers have started."""
    atexit.register(_close_all)


def _close_all() -> None:
    for buffer in list(_OPEN):
        buffer.close()


class Buffer:
    """An array that moves to the device that accesses it. Its creation allocates no memory.

        Buffer((64, 64), np.float32)    # contents undefined
        Buffer(array)                   # over the host's memory, which the buffer may use until it is closed

    Closing waits for the commands that use the buffer and, if the array is writable and a command wrote to the
    buffer, copies the contents to the array. The end of a `with` and of the last reference close, too.
    """

    def __init__(self, data: Array | int | tuple[int, ...], dtype: Any = None, *, graph: Graph | None = None) -> None:
        self._closed = True
        self.graph = graph or DEFAULT_GRAPH
        if isinstance(data, np.ndarray):
            if dtype is not None and np.dtype(dtype) != data.dtype:
                raise SyclError(f"the array's type is {data.dtype}, not {np.dtype(dtype)}")
            host, shape, dtype = data, data.shape, data.dtype
        else:
            host, shape = None, (data,) if isinstance(data, int) else tuple(data)
        if not math.prod(shape) or np.dtype(dtype).hasobject:
            raise SyclError(f"no buffer can be made of shape {shape} and type {np.dtype(dtype)}")
        self.shape: tuple[int, ...] = shape
        self.dtype = np.dtype(dtype)
        self.final: Array | None = host if host is not None and host.flags.writeable else None
        self.record = self.graph.record(shape, self.dtype, host)
        self.hosts: list[Mode] = []
        """The modes of open host accessors."""
        self._closed = False
        _OPEN.add(self)

    @property
    def number(self) -> int:
        """Its number in the graph."""
        return self.record.number

    @property
    def nbytes(self) -> int:
        return self.record.size

    def set_final_data(self, array: Array | None) -> None:
        """Sets the destination of the contents when the buffer is closed; None: none."""
        if array is not None and array.shape != self.shape:
            raise SyclError(f"the array has shape {array.shape}, the buffer {self.shape}")
        self.final = array

    @contextmanager
    def host(self, mode: Mode | str = Mode.READ_WRITE) -> Iterator[Array]:
        """Yields the contents as an array: a host accessor, open within the `with` statement. Raises SyclError."""
        with self._on_host(Mode.of(mode), ()) as view:
            yield view

    @contextmanager
    def _on_host(self, mode: Mode, parts: tuple[Part, ...]) -> Iterator[Array]:
        with self.graph.lock:
            self.check(mode, HOST)
            allocation, after = self.graph.prepare(self.record, HOST, None, mode, parts)
            for command in after:
                command.wait()
            self.record.modified |= mode.writes
            assert allocation.array is not None
            view = allocation.array.view()
            view.flags.writeable = mode.writes
            self.hosts.append(mode)
        try:
            yield view
        finally:
            self.hosts.remove(mode)

    def check(self, mode: Mode, where: object) -> None:
        """Raises SyclError for an access that has to wait for a host accessor, or to a closed buffer."""
        if self._closed:
            raise SyclError(f"buffer {self.number} is closed")
        if self.hosts and (where is not HOST or mode.writes or any(host.writes for host in self.hosts)):
            raise SyclError(f"a host accessor of buffer {self.number} is open: this access would wait for its end")

    def close(self) -> None:
        """Writes the contents to their destination, and frees the memory. Raises SyclError."""
        with self.graph.lock:
            if self._closed:
                return
            if self.hosts:
                raise SyclError(f"a host accessor of buffer {self.number} is open")
            self._closed = True
            _OPEN.discard(self)
            try:
                if self.final is not None and (self.record.modified or self.final is not self.record.host):
                    self._write_back(self.final)
            finally:
                self.graph.release(self.record)

    def _write_back(self, final: Array) -> None:
        if not self.record.allocations and self.record.host is None:
            return
        allocation, after = self.graph.prepare(self.record, HOST, None, Mode.READ)
        for command in after:
            command.wait()
        assert allocation.array is not None
        if allocation.array.ctypes.data != final.ctypes.data or not final.flags.c_contiguous:
            np.copyto(final, allocation.array)

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing() and not getattr(self, "_closed", True):
            self.close()


class SubBuffer:
    """`size` elements of a buffer from `begin` on, along its first axis. Accessors take it instead of the buffer.

    The whole buffer moves to where a sub-buffer is accessed. Modes that discard keep the contents beside it. A device
    needs a certain alignment of the first byte (CL_DEVICE_MEM_BASE_ADDR_ALIGN). Raises SyclError.
    """

    def __init__(self, whole: Buffer, begin: int, size: int) -> None:
        length = whole.shape[0] if whole.shape else 0
        if isinstance(whole, Image) or begin < 0 or size < 1 or begin + size > length:
            raise SyclError(f"elements {begin} to {begin + size - 1} are no part of a buffer of shape {whole.shape}")
        self.whole = whole
        self.range = slice(begin, begin + size)
        row = whole.nbytes // length
        self.part: Part = begin * row, size * row

    @contextmanager
    def host(self, mode: Mode | str = Mode.READ_WRITE) -> Iterator[Array]:
        """Yields the contents as Buffer.host() does."""
        with self.whole._on_host(Mode.of(mode).keeping, (self.part,)) as view:
            yield view[self.range]


class Image(Buffer):
    """A Buffer of pixels, which kernels take as an image of two or three dimensions.

        Image((64, 128, 4), np.uint8)               # 128 pixels wide, 64 high, four channels; contents undefined
        Image(array)                                # of shape (height, width) or (height, width, channels)
        Image(array, dimensions=3)                  # (depth, height, width[, channels])

    Raises SyclError for arrays that are no image; a device without images raises it at the first access there.
    """

    def __init__(
        self, data: Array | tuple[int, ...], dtype: Any = None, *, dimensions: int = 2, graph: Graph | None = None
    ) -> None:
        shape = data.shape if isinstance(data, np.ndarray) else tuple(data)
        kind = data.dtype if isinstance(data, np.ndarray) else np.dtype(dtype)
        self._closed = True
        layout = ImageLayout.of(shape, kind, dimensions)
        super().__init__(data, dtype, graph=graph)
        self.record.image = layout
