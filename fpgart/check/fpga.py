# SPDX-License-Identifier: Apache-2.0
"""Features that work here and would not work on the board (family fpga)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from weakref import WeakKeyDictionary

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.sizes import in_words
from fpgart.check.accesses import buffers_of
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import allocation_name, buffer_maker, buffer_name, command, launch_command
from fpgart.engine.interface import POINTER, SIZES
from fpgart.runtime.commands.access import AccessMode
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, operation_of
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.compiler_mode import CompilerMode
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site

ALIGNMENT = 1024
"""Bytes: the alignment that aoc writes into an .aocx for pointers to global memory."""
LARGEST_GLOBAL_SIZE = (1 << 32) - 1
NO_COMPILER_NEEDED = (CompilerMode.CREATE_LIBRARY, CompilerMode.USE_LIBRARY)


@dataclass(slots=True)
class _HostMemory:
    """The memory of a CL_MEM_USE_HOST_PTR buffer when a command last ended there, or the host mapped it."""

    name: str
    maker: str
    address: int
    size: int
    sum: int
    mapped: int = 0
    busy: int = 0
    """The number of commands that may be writing to it."""


class Fpga(CheckPart):
    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._compiled = False
        self._host_memory: WeakKeyDictionary[Buffer, _HostMemory] = WeakKeyDictionary()

    # Compiling

    def program_built(self, program: Program, devices: list[Device]) -> None:
        if not any(device.board.is_fpga for device in devices):
            return  # a DSP's runtime compiles, and its compiler has no such pragma
        self._check_promises(program)
        if program.is_container or program.modules or program.context.compiler_mode in NO_COMPILER_NEEDED:
            return  # for a board, the same SYCL program has an image that was compiled before
        if not self._compiled:  # also from a binary, as a host that caches programs has in its second run
            self._compiled = True
            self._report(
                "compiled while the host runs",
                "the first program that is no .aocx",
                "",
                "clBuildProgram",
                "clBuildProgram compiles it, or the host has a binary that was compiled in an earlier run, but the "
                "runtime of a board has no compiler; this is reported only once",
                "compile it with `fpgart aoc` (or aoc) and load the .aocx with clCreateProgramWithBinary",
                self._origins.of(program),
                self._origins.here(),
            )

    def _check_promises(self, program: Program) -> None:
        """Reports loops whose #pragma ivdep is wrong."""
        if program.listing is None or "ivdep" not in program.listing:
            return
        from fpgart.kernels.loops.dependences import broken_promises  # reading a kernel takes many modules

        options = program.devices[0].board.build_options(program.options)
        for found in broken_promises(program.listing, options):
            before = "the iteration before" if found.distance == 1 else f"the iteration {found.distance} before"
            self._report(
                "ivdep on a dependence",
                f"'{found.loop}' in '{found.kernel}'",
                "",
                "#pragma ivdep",
                f"#pragma ivdep says that no iteration needs what another wrote, but each reads {found.read}, which "
                f"{before} wrote as {found.written}; on a board iterations overlap, and it may read the old value",
                "remove the pragma, or pass the real distance to safelen()",
                self._origins.of(program),
                self._origins.here(),
            )

    # Placing

    def bank_ignored(self, buffer: Buffer, device: Device) -> None:
        self._report(
            "bank of an interleaved memory",
            buffer_name(buffer),
            buffer_maker(buffer),
            buffer_maker(buffer),
            f"asks for bank {buffer.bank} of device {device.id} ('{device.board.name}'), where consecutive addresses "
            "lie in different banks; on the board the flag only moves the start of its range",
            "compile with -no-interleaving=<memory>, or remove the flag",
            self._origins.of(buffer),
            self._origins.here(),
        )

    # Launching

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        operation = operation_of(event)
        launch = operation.launch if operation is not None else None
        if launch is None:
            return
        if launch.device.board.is_fpga:
            self._check_launch(launch, command(event), self._origins.of(event), 1)
        user = command(event)
        for access in launch.accesses():
            if access.buffer is not None:
                self._check_host_memory(access.buffer.owner, user, self._origins.of(event))

    def launches_carried(self, queue: CommandQueue, launch: LaunchKernel, site: Site, count: int) -> None:
        if launch.device.board.is_fpga:
            self._check_launch(launch, launch_command(site.call, launch, queue), site, count)

    def prepares(self, kernel: Kernel) -> bool:
        return any(buffer.owner in self._host_memory for _, buffer in buffers_of(kernel))

    def _check_launch(self, launch: LaunchKernel, user: str, site: Site | None, count: int) -> None:
        """Reports `count` equal launches that a kernel in an .aocx does not support."""
        kernel = f"kernel '{launch.kernel.name}'"
        found = [("work-group that the .aocx does not have", *problem) for problem in _range_problems(launch)]
        found += [("pointer below the board's alignment", *problem) for problem in _alignment_problems(launch)]
        found += [("pointer into another memory than the kernel's", *problem) for problem in _place_problems(launch)]
        sites = self._origins.of(launch.kernel), site
        for _ in range(count if found else 0):
            for rule, words, fix in found:
                self._report(rule, kernel, "clCreateKernel", user, words, fix, *sites)

    # CL_MEM_COPY_HOST_PTR and CL_MEM_USE_HOST_PTR

    def buffer_created(self, buffer: Buffer) -> None:
        context = buffer.context
        if buffer.flags & cl.CL_MEM_COPY_HOST_PTR and buffer.parent is None and len(context.devices) > 1:
            self._check_first(buffer, context.devices[0])
        if buffer.host_ptr and not buffer.svm and not context.malloced.holds(buffer.host_ptr):
            name, maker = buffer_name(buffer), buffer_maker(buffer)
            total = int(lib.checksum(0, buffer.host_ptr, buffer.size))
            self._host_memory[buffer] = _HostMemory(name, maker, buffer.host_ptr, buffer.size, total)

    def _check_first(self, buffer: Buffer, first: Device) -> None:
        """Reports a buffer that is filled at its creation, in a context of several devices."""
        if not first.board.is_fpga:
            return
        self._report(
            "copied at creation for the first device",
            buffer_name(buffer),
            buffer_maker(buffer),
            buffer_maker(buffer),
            f"has CL_MEM_COPY_HOST_PTR in a context of {len(buffer.context.devices)} devices: it is written to device "
            f"{first.id} ('{first.board.name}'), whichever device will use it; the runtime of a board fails then",
            "create it without the flag and write it through a queue of the device that uses it",
            self._origins.of(buffer),
            self._origins.of(buffer),
        )

    def region_mapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        memory = self._host_memory.get(buffer.owner)
        if memory is not None:
            memory.mapped += bool(flags & HOST_WRITES)

    def region_unmapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        memory = self._host_memory.get(buffer.owner)
        if memory is not None and flags & HOST_WRITES:
            memory.mapped -= 1
            memory.sum = int(lib.checksum(0, memory.address, memory.size))

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        for buffer, memory in list(self._host_memory.items()):  # few hosts have such buffers, and those have few
            if _touches(operation, buffer):
                with self._lock:
                    memory.busy += 1

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        for buffer, memory in list(self._host_memory.items()):
            if _touches(operation, buffer):
                total = int(lib.checksum(0, memory.address, memory.size))
                with self._lock:
                    memory.sum = total
                    memory.busy -= 1

    def _check_host_memory(self, buffer: Buffer, user: str, misused_at: Site | None) -> None:
        memory = self._host_memory.get(buffer)
        if memory is None:
            return
        with self._lock:
            left_alone = not memory.mapped and not memory.busy
            if not left_alone or int(lib.checksum(0, memory.address, memory.size)) == memory.sum:
                return
        self._report(
            "unified memory assumed",
            memory.name,
            memory.maker,
            user,
            f"the host wrote to its {in_words(memory.size)} at {memory.address:#x} (CL_MEM_USE_HOST_PTR) without "
            f"mapping the buffer, and then called {user}; a board that has a copy of it does not see the change",
            "write between clEnqueueMapBuffer and clEnqueueUnmapMemObject, or with clEnqueueWriteBuffer",
            self._origins.of(buffer),
            misused_at,
        )

    def _report(
        self,
        rule: str,
        thing: str,
        maker: str,
        user: str,
        words: str,
        fix: str,
        made_at: Site | None,
        misused_at: Site | None,
    ) -> None:
        self._findings.report(Finding("fpga", rule, thing, maker, user, words, fix, made_at, misused_at))


def _touches(operation: DeviceOperation, buffer: Buffer) -> bool:
    """True if a command may have written to the host's memory of a buffer."""
    begin, end = buffer.host_ptr, buffer.host_ptr + buffer.size
    for access in operation.accesses():
        if not access.mode & (AccessMode.WRITE | AccessMode.MOVE):
            continue
        if access.buffer is not None:
            if access.buffer.owner is buffer and (access.argument < 0 or buffer.stays_on_host):
                return True
        elif access.on_host and any(first < end and begin < last for first, last in access.ranges):
            return True
    return False


def _range_problems(launch: LaunchKernel) -> Iterator[tuple[str, str]]:
    """Yields the violations of the kernel's attributes by an ND-range, and their remedies."""
    attributes = launch.kernel.program.hardware().get(launch.kernel.name, {})
    sizes = SIZES.unpack(launch.sizes)
    offset, whole, local = sizes[0:3], sizes[3:6], sizes[6:9]
    if max(whole) > LARGEST_GLOBAL_SIZE:
        yield (
            f"its global size {whole} does not fit into the 32 bits that a board has",
            "split it into several launches",
        )
    if launch.has_local and any(w % part for w, part in zip(whole, local, strict=True)):
        yield f"its global size {whole} is not a multiple of the local size {local}", "round the global size up"
    if any(offset) and attributes.get("uses_global_work_offset") == (0,):
        yield (
            f"its global offset is {offset}, and it was compiled with uses_global_work_offset(0)",
            "remove the attribute, or pass the offset as an argument",
        )
    largest = attributes.get("max_global_work_dim", ())
    if largest and (max(whole[largest[0] :], default=1) > 1 or (largest == (0,) and any(offset))):
        yield (
            f"its ND-range {whole} exceeds max_global_work_dim({largest[0]})",
            "launch it with clEnqueueTask or a size of 1 in the other dimensions",
        )
    most = attributes.get("max_work_group_size", ())
    given = (prod(local),) if len(most) == 1 else local
    if launch.has_local and any(part > limit for part, limit in zip(given, most, strict=False)):
        yield f"its local size {local} exceeds max_work_group_size{most}", "launch it with smaller groups"
    lanes = attributes.get("num_simd_work_items", ())
    if lanes and launch.has_local and local[0] % lanes[0]:
        yield (
            f"its local size {local[0]} is not a multiple of num_simd_work_items({lanes[0]})",
            "choose a multiple of that number",
        )


def _alignment_problems(launch: LaunchKernel) -> Iterator[tuple[str, str]]:
    for index, (kind, _, value) in enumerate(launch.arguments):
        if kind != POINTER or not isinstance(value, int) or not value % ALIGNMENT:
            continue
        if launch.given_allocation(value) is not None:
            yield (
                f"{launch.kernel.describe(index)} is {value:#x}, which is not aligned to the {ALIGNMENT} bytes "
                "that an .aocx asks of pointers to global memory",
                "pass the start of the allocation, and the offset as another argument",
            )


def _place_problems(launch: LaunchKernel) -> Iterator[tuple[str, str]]:
    """Yields the pointers into device allocations that are not in the memory of their argument's buffer_location."""
    memories = launch.device.memories
    for index, (kind, _, value) in enumerate(launch.arguments):
        location = launch.kernel.interface.arguments[index].buffer_location
        if kind != POINTER or not location:
            continue
        try:
            memory = memories.memory_for(location) or 0
        except KeyError:  # no memory of the board is wanted
            continue
        used = launch.given_allocation(value) if isinstance(value, int) else None
        if used is None or used.block is None or used.block.memory == memory:
            continue
        wanted, found = memories.name_of(memory), memories.name_of(used.block.memory)
        yield (
            f"{launch.kernel.describe(index)} has the buffer_location of {wanted}, and is a pointer into "
            f"{allocation_name(used)}, which is in {found}; the circuit of a board accesses {wanted} alone through it",
            f"allocate it with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL {memory} (in SYCL, buffer_location({memory})), or "
            f"name {found} in the kernel",
        )
