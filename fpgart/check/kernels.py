# SPDX-License-Identifier: Apache-2.0
"""FPGART_CHECK=kernels: mistakes of kernels, as the engine reports them, in terms of the host's objects."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fpgart.base import log
from fpgart.board.mmd import Around, Mmd
from fpgart.check.findings import Finding, Findings
from fpgart.engine.contents import Contents
from fpgart.engine.interface import Access, Fault, Misuse
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site
from fpgart.watch.names import LAUNCHES
from fpgart.watch.origins import Origins

CHECK = "kernels"
LOW = 1 << 16
MOST_RANGES = 3


class RememberingMmd(Around):
    """An `Mmd` that records which bytes were written."""

    def __init__(self, mmd: Mmd, contents: Contents) -> None:
        super().__init__(mmd)
        self._contents = contents
        self.open, self.read, self.program = mmd.open, mmd.read, mmd.program
        self.host_alloc, self.shared_alloc, self.free = mmd.host_alloc, mmd.shared_alloc, mmd.free

    def write(self, host: int, board: int, size: int) -> None:
        self._contents.wrote(self.aperture(board), size)  # before the write, so that no launch writes older bytes there
        self._mmd.write(host, board, size)

    def copy(self, source: int, destination: int, size: int) -> None:
        self._contents.copied(self.aperture(source), self.aperture(destination), size)
        self._mmd.copy(source, destination, size)


class KernelCheck:
    """Listens to NOTICES; records the written bytes of the boards' memories, and the launch that each thread runs."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.contents = Contents()
        self._current = threading.local()
        self._warned: set[str] = set()

    def block_reserved(self, block: Block) -> None:
        if not block.device.board.unified_memory:  # there hosts write without the MMD
            self.contents.reserved(block.pointer, block.range.size)

    def block_freed(self, block: Block) -> None:
        self.contents.wrote(block.pointer, block.range.size)

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        launch = running_kernel(operation)
        if launch is not None:
            self._warn_of_indirect(launch)
            self._current.launch = launch, LAUNCHES.get(event.command_type, "the launch")
            self._current.site = self._findings.origins.of(event)

    def _warn_of_indirect(self, launch: LaunchKernel) -> None:
        """Warns once that kernels may need memory that the engine cannot provide."""
        if launch.usm is not None and launch.usm.indirect:
            self._warn("", f"kernel '{launch.kernel.name}' may follow pointers in memory (clSetKernelExecInfo)")

    def _warn(self, key: str, what: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            log.warning(f"{what}; the engine that checks kernels has its own buffers and cannot follow them")

    def kernel_misused(self, misuse: Misuse) -> None:
        launch, call = self._current.launch
        if _is_elsewhere(misuse) and _allocation_at(launch, misuse.offset):
            name = misuse.kernel
            self._warn(name, f"kernel '{name}' follows a pointer that it found in memory or in a structure")
            return
        self._findings.report(MisuseInWords(launch, call, misuse, self._findings.origins, self._current.site).finding())


def _is_elsewhere(misuse: Misuse) -> bool:
    """True for an access through a pointer that is no argument."""
    outside = misuse.fault in (Fault.READ, Fault.WRITE) and misuse.space == "global"
    return outside and not misuse.arguments and misuse.offset >= LOW


def _allocation_at(launch: LaunchKernel, address: int) -> bool:
    """True if the address is in an allocation of the host, or in a block of a board."""
    context = launch.kernel.context
    places = [(block.pointer, block.range.size) for device in context.devices for block in device.blocks()]
    places += [(allocation.address, allocation.size) for allocation in context.usm.all()]
    places += [(shared.pointer, shared.size) for shared in context.svm.all()]
    return any(begin <= address < begin + size for begin, size in places)


class MisuseInWords:
    def __init__(
        self, launch: LaunchKernel, call: str, misuse: Misuse, origins: Origins, launched_at: Site | None
    ) -> None:
        self.launch = launch
        self.origins = origins
        self.launched_at = launched_at
        self.call = call
        self.misuse = misuse
        self.reaches = launch.reaches()

    def finding(self) -> Finding:
        words, fix = SENTENCES[self.misuse.fault](self)
        objects = [self.object_of(index) for index in self.misuse.arguments]
        if objects:
            names, made = " or ".join(_unique(o[0] for o in objects)), " or ".join(_unique(o[1] for o in objects))
        else:
            names, made = f"kernel '{self.misuse.kernel}'", "clCreateKernel"
        who = f"kernel '{self.misuse.kernel}' {words}{self.place()}"
        call = f"{self.call} of kernel '{self.misuse.kernel}'"
        rule = self.misuse.fault.name.lower()
        return Finding(CHECK, rule, names, made, call, who, fix, self.made_at(), self.launched_at)

    def made_at(self) -> Site | None:
        """Returns where the host made the first argument's object; without arguments, the kernel."""
        if not self.misuse.arguments:
            return self.origins.of(self.launch.kernel)
        index = self.misuse.arguments[0]
        thing = self.buffer_of(index) or self.allocation_of(index)
        return self.origins.of(thing) if thing is not None else None

    # Objects

    def object_of(self, index: int) -> tuple[str, str]:
        """Returns the object that an argument points into, and the call that made it."""
        buffer, allocation = self.buffer_of(index), self.allocation_of(index)
        if buffer is not None:
            return _buffer(buffer)
        if allocation is not None:
            kind = allocation.kind.name.title()
            name = f"{kind.lower()} allocation {allocation.number} ({allocation.size} bytes)"
            return name, f"cl{kind}MemAllocINTEL"
        reach = self.reaches[index]
        return f"SVM allocation at {reach.address:#x} ({reach.size} bytes)", "clSVMAlloc"

    def buffer_of(self, index: int) -> Buffer | None:
        return dict(self.launch.buffers).get(index) or dict(self.launch.on_host).get(index)

    def allocation_of(self, index: int) -> UsmAllocation | None:
        given = self.launch.usm.allocations if self.launch.usm is not None else ()
        return next((each for each in given if each.address == self.reaches[index].address), None)

    def arguments(self) -> str:
        return " or ".join(self.argument(index) for index in self.misuse.arguments)

    def argument(self, index: int) -> str:
        interface = self.launch.kernel.interface.arguments[index]
        return f"argument {index} ('{interface.type_name} {interface.name}')"

    def place(self) -> str:
        """Returns the work-item and the place in the source, with its line if there is one."""
        misuse = self.misuse
        told = ", against ".join(filter(None, map(_access, misuse.accesses)))
        more = f" (and {misuse.times - 1} more)" if misuse.times > 1 else ""
        lines = _unique(self.line(access.line) for access in misuse.accesses if access.line)
        return f"{', ' if told else ''}{told}{more}" + "".join(f"\n    {line}" for line in lines)

    def line(self, number: int) -> str:
        source = (self.launch.kernel.program.source or "").splitlines()
        text = source[number - 1].strip() if number <= len(source) else ""
        return f"line {number}: {text}" if text else f"line {number}"

    # Sentences: the mistake, and the remedy

    def outside(self) -> tuple[str, str]:
        misuse = self.misuse
        does = "reads" if misuse.fault is Fault.READ else "writes"
        if not misuse.arguments:
            return self.nowhere(does)
        reach, offset = self.reaches[misuse.arguments[0]], misuse.offset
        if offset < 0:
            where = f", {-offset} bytes before the start of"
        else:
            where = f" at byte {offset} of the {reach.size} bytes of"
        words = f"{does} {misuse.size} bytes{where} {self.arguments()}"
        return words, "give it a larger buffer, or have the kernel compare its index with the number of elements"

    def nowhere(self, does: str) -> tuple[str, str]:
        misuse = self.misuse
        if misuse.space in ("private", "local"):
            words = f"{does} {misuse.size} bytes outside its {misuse.space} memory"
            fix = "compare the index with the size of the array"
            if misuse.space == "local":
                fix += ", or set the argument with more bytes"
            return words, fix
        if misuse.offset < LOW:
            return f"{does} {misuse.size} bytes through a NULL pointer", "set the argument to a buffer, or test it"
        words = f"{does} {misuse.size} bytes at {misuse.offset:#x}, where there is no allocation"
        return words, "set the argument, or the pointer in memory, to an allocation that has not been freed"

    def unwritten(self) -> tuple[str, str]:
        misuse = self.misuse
        if not misuse.arguments:
            return "uses a private or local variable before it has a value", "give the variable a value first"
        words = f"uses uninitialized contents of {self.arguments()}{self.missing()}"
        return words, "write or fill them before the launch, or run the kernel that computes them over the whole range"

    def missing(self) -> str:
        ranges = self.misuse.unwritten
        told = ", ".join(f"{begin} to {end - 1}" for begin, end in ranges[:MOST_RANGES])
        more = f" and {len(ranges) - MOST_RANGES} more ranges" if len(ranges) > MOST_RANGES else ""
        return f": bytes {told}{more}" if told else ""

    def race(self) -> tuple[str, str]:
        misuse = self.misuse
        kind = "write the same bytes" if misuse.words.startswith("Write-write") else "read and write the same bytes"
        where = f"byte {misuse.offset} of {self.arguments()}" if misuse.arguments else f"{misuse.space} memory"
        words = f"has work-items that {kind} ({where}) without synchronization"
        fix = "use atomics, give each work-item its own location, or"
        if misuse.space == "local":
            return words, f"{fix} put barrier(CLK_LOCAL_MEM_FENCE) between the accesses"
        return words, f"{fix} put barrier(CLK_GLOBAL_MEM_FENCE) between those of one work-group"

    def forbidden(self) -> tuple[str, str]:
        reads = "read from" in self.misuse.words
        does, flag = ("reads", "CL_MEM_WRITE_ONLY") if reads else ("writes", "CL_MEM_READ_ONLY")
        words = f"{does} {self.arguments()}, which was created with {flag}"
        return words, "create the buffer with CL_MEM_READ_WRITE, or pass another one"

    def divergence(self) -> tuple[str, str]:
        words = "has a barrier that only some work-items of a group reach"
        return words, "move the barrier out of the condition: all work-items of a group have to reach it"

    def other(self) -> tuple[str, str]:
        return f"caused the message: {self.misuse.words}", "see the kernel's source"


SENTENCES: dict[Fault, Callable[[MisuseInWords], tuple[str, str]]] = {
    Fault.READ: MisuseInWords.outside,
    Fault.WRITE: MisuseInWords.outside,
    Fault.UNWRITTEN: MisuseInWords.unwritten,
    Fault.RACE: MisuseInWords.race,
    Fault.FORBIDDEN: MisuseInWords.forbidden,
    Fault.DIVERGENCE: MisuseInWords.divergence,
    Fault.OTHER: MisuseInWords.other,
}


def _buffer(buffer: Buffer) -> tuple[str, str]:
    if buffer.parent is not None:
        name = f"sub-buffer {buffer.number} of buffer {buffer.parent.number}"
        return f"{name} ({buffer.size} bytes from {buffer.origin})", "clCreateSubBuffer"
    call = "clCreateBufferWithProperties" if buffer.property_list else "clCreateBuffer"
    return f"buffer {buffer.number} ({buffer.size} bytes)", call


def _access(access: Access) -> str:
    return f"in work-item ({', '.join(map(str, access.item))})" if access.item else ""


def _unique(words: object) -> list[str]:
    return list(dict.fromkeys(words))  # type: ignore[call-overload]
