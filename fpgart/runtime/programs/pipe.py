# SPDX-License-Identifier: Apache-2.0
"""Pipes between kernels, and host pipes between a kernel and the host.

As in the FPGA runtime, packets move whole or not at all. A host pipe belongs to the first kernel whose argument it is,
and is open once that kernel has been enqueued.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidArgSize,
    InvalidArgValue,
    InvalidKernel,
    InvalidMemObject,
    InvalidValue,
    OutOfResources,
    PipeEmpty,
    PipeFull,
)
from fpgart.channels.network import Fifo
from fpgart.kernels.interface import PipeArgument
from fpgart.runtime.scheduling.reaper import Destructible

if TYPE_CHECKING:
    from fpgart.runtime.programs.context import ProgramContext

FAST_BYTES = 65536
FAST_LEAST = 16
HOST_ENDS = cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_WRITE_ONLY


class PipeEnd(Protocol):
    """The kernel at the other end of a host pipe."""

    @property
    def name(self) -> str: ...


class Pipe(Destructible):
    """A pipe object (OpenCL 3.0, 5.4) of `max_packets` packets with `packet_size` bytes.

    With a CL_MEM_HOST_* flag it is a host pipe. Raises OutOfHostMemory.
    """

    def __init__(self, context: ProgramContext, flags: int, packet_size: int, max_packets: int) -> None:
        self.handle = 0
        self.context = context
        self.flags = flags
        self.packet_size = packet_size
        self.max_packets = max_packets
        self.is_host_pipe = bool(flags & HOST_ENDS)
        memory = context.platform.engine.memory
        self.fifo = Fifo("pipe", packet_size, self._depth(), hosted=self.is_host_pipe, memory=memory)
        self._kernel: ref[PipeEnd] | None = None
        self._opened = False
        self._maps: deque[tuple[int, int]] = deque()
        self._using = threading.Lock()

    def _depth(self) -> int:
        """Returns the depth in packets: as declared for host pipes; otherwise one that is fast, unless an option
        forbids it.
        """
        if self.is_host_pipe or config.CHANNEL_DEPTH.value != "ignoredepth":
            return max(self.max_packets, 1)
        return max(self.max_packets, FAST_LEAST, FAST_BYTES // self.packet_size)

    def bind(self, kernel: PipeEnd, declared: PipeArgument, words: str) -> None:
        """Makes the pipe an argument of `kernel`; a host pipe has one. Raises InvalidArgValue, InvalidArgSize."""
        if self.is_host_pipe:
            bound = self._kernel() if self._kernel is not None else None
            if bound is not None and bound is not kernel:
                raise InvalidArgValue(f"the host pipe for {words} already belongs to kernel '{bound.name}'")
            if declared.writes != bool(self.flags & cl.CL_MEM_HOST_READ_ONLY):
                kernel_does = "writes" if declared.writes else "reads"
                raise InvalidArgValue(f"{words}: the kernel {kernel_does}, and so does the host")
            if declared.depth and self.max_packets > declared.depth:
                raise InvalidArgValue(f"{words} holds {declared.depth} packets, the pipe {self.max_packets}")
            self._kernel = ref(kernel)

    def check_packet(self, size: int, words: str) -> None:
        """Raises InvalidArgSize if the kernel's packets have another size."""
        if size and size != self.packet_size:
            raise InvalidArgSize(f"{words} has packets of {size} bytes, the pipe of {self.packet_size}")

    def open(self) -> None:
        """Opens the pipe, as its kernel has been enqueued."""
        self._opened = True

    def _check_host_end(self, wanted: int, does: str) -> None:
        if not self.is_host_pipe:
            raise InvalidMemObject(
                "the pipe is between kernels: it was created without CL_MEM_HOST_READ_ONLY or _WRITE_ONLY"
            )
        if not self.flags & wanted:
            raise InvalidMemObject(f"the host does not {does} this pipe")
        if self._kernel is None:
            raise InvalidKernel("the pipe has not been given to a kernel (clSetKernelArg)")

    def read(self, address: int) -> None:
        """Copies one packet to the host's memory. Raises PipeEmpty."""
        self._check_host_end(cl.CL_MEM_HOST_READ_ONLY, "read")
        if not address:
            raise InvalidValue("the destination pointer is NULL")
        with self._using:
            if not self._opened or self._maps or not self.fifo.read(address):
                raise PipeEmpty("no packet is in the pipe")

    def write(self, address: int) -> None:
        """Copies one packet from the host's memory, also before the kernel runs. Raises PipeFull."""
        self._check_host_end(cl.CL_MEM_HOST_WRITE_ONLY, "write")
        if not address:
            raise InvalidValue("the source pointer is NULL")
        with self._using:
            if self._maps or not self.fifo.write(address):
                raise PipeFull("the pipe has no room for a packet")

    @property
    def _writing(self) -> bool:
        return bool(self.flags & cl.CL_MEM_HOST_WRITE_ONLY)

    def map(self, requested: int) -> tuple[int, int]:
        """Returns the address and the size of packets to read, or of room to write, behind those mapped before.

        `requested` is in bytes; 0 means all. Raises OutOfResources if there is nothing to map.
        """
        self._check_host_end(HOST_ENDS, "use")
        with self._using:
            address, size = self.fifo.window(writing=self._writing, skip=sum(s for _, s in self._maps))
            size = min(size, requested or size) // self.packet_size * self.packet_size
            if not size:
                raise OutOfResources("the pipe is full" if self._writing else "no packet is in the pipe")
            self._maps.append((address, size))
            return address, size

    def unmap(self, address: int, size: int) -> int:
        """Completes the first `size` bytes of the oldest mapping. Returns `size`.

        Raises InvalidValue for another address, for more bytes than are mapped, and for a part of a packet.
        """
        self._check_host_end(HOST_ENDS, "use")
        if size % self.packet_size:
            raise InvalidValue(f"{size} bytes are not a number of packets, which have {self.packet_size}")
        with self._using:
            begin, mapped = self._maps[0] if self._maps else (0, 0)
            if not self._maps or address != begin or size > mapped:
                raise InvalidValue(f"{size} bytes at {address:#x} are not what was mapped first")
            self.fifo.commit(size, writing=self._writing)
            if size == mapped:
                self._maps.popleft()
            else:
                self._maps[0] = (begin + size, mapped - size)
            return size

    def __del__(self) -> None:
        self.context.reaper.extend(self.destructors)
