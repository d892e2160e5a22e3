# SPDX-License-Identifier: Apache-2.0
"""Buffers that the host reads before anything was written to them (family buffers).

A buffer counts as written as a whole once an operation begins that may write to it.
"""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.check.accesses import buffers_of
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import buffer_maker, buffer_name, command
from fpgart.runtime.commands.access import AccessMode
from fpgart.runtime.commands.operation import DeviceOperation
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event

READS = (cl.CL_COMMAND_READ_BUFFER, cl.CL_COMMAND_READ_BUFFER_RECT)
STARTS_WRITTEN = cl.CL_MEM_COPY_HOST_PTR | cl.CL_MEM_USE_HOST_PTR


class Unwritten(CheckPart):
    """Listens to NOTICES. Buffers are identified by the number of the buffer that owns the contents."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._unwritten: set[int] = set()

    def buffer_created(self, buffer: Buffer) -> None:
        if buffer.parent is None and not buffer.flags & STARTS_WRITTEN:
            self._unwritten.add(buffer.number)

    def prepares(self, kernel: Kernel) -> bool:
        return any(buffer.owner.number in self._unwritten for _, buffer in buffers_of(kernel))

    def buffer_destroyed(self, number: int) -> None:
        self._unwritten.discard(number)

    def region_mapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        if flags & HOST_WRITES:
            self._unwritten.discard(buffer.owner.number)

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        if not self._unwritten:
            return
        for access in operation.accesses():
            buffer = access.buffer
            if buffer is None or buffer.owner.number not in self._unwritten:
                continue
            if access.mode & AccessMode.WRITE:
                self._unwritten.discard(buffer.owner.number)
            elif access.mode & AccessMode.READ and event.command_type in READS:
                self._report(buffer, event, operation)

    def _report(self, buffer: Buffer, event: Event, operation: DeviceOperation) -> None:
        user, origins = command(event, operation), self._findings.origins
        self._findings.report(
            Finding(
                "buffers",
                "read before anything was written",
                buffer_name(buffer),
                buffer_maker(buffer),
                user,
                f"{user} reads {buffer_name(buffer)}, to which no command has written; its contents are undefined",
                "write to the buffer first: a transfer, clEnqueueFillBuffer, a kernel, or CL_MEM_COPY_HOST_PTR",
                origins.of(buffer),
                origins.of(event),
            )
        )
