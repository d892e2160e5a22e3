# SPDX-License-Identifier: Apache-2.0
"""Pipes (OpenCL 3.0, 5.4), host pipes, and a program's named variables and pipes (include/CL/cl_ext_intelfpga.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fpgart.api.mem_flags import ACCESS, HOST_ACCESS, check_flags
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidArgValue, InvalidContext, InvalidOperation, InvalidPipeSize, InvalidValue
from fpgart.bridge import info
from fpgart.bridge.entry import Address, Answer, Command, WaitList, entry, string_at
from fpgart.bridge.handles import references
from fpgart.runtime.commands.packets import MovePacket, MoveVariable
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.programming import program_device
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.program import Program

if TYPE_CHECKING:
    from fpgart.channels.interface import KernelNetwork

LARGEST_PACKET = 1024

PIPE_INFO: dict[int, info.Query[Pipe]] = {
    cl.CL_PIPE_PACKET_SIZE: lambda p: info.u32(p.packet_size),
    cl.CL_PIPE_MAX_PACKETS: lambda p: info.u32(p.max_packets),
    cl.CL_PIPE_PROPERTIES: lambda p: b"",
}
MEM_INFO: dict[int, info.Query[Pipe]] = {
    cl.CL_MEM_TYPE: lambda p: info.u32(cl.CL_MEM_OBJECT_PIPE),
    cl.CL_MEM_FLAGS: lambda p: info.bitfield(p.flags),
    cl.CL_MEM_SIZE: lambda p: info.size(0),
    cl.CL_MEM_HOST_PTR: lambda p: info.u64(0),
    cl.CL_MEM_MAP_COUNT: lambda p: info.u32(0),
    cl.CL_MEM_REFERENCE_COUNT: lambda p: info.u32(references(p)),
    cl.CL_MEM_CONTEXT: lambda p: info.handle(p.context),
    cl.CL_MEM_ASSOCIATED_MEMOBJECT: lambda p: info.u64(0),
    cl.CL_MEM_OFFSET: lambda p: info.size(0),
    cl.CL_MEM_USES_SVM_POINTER: lambda p: info.boolean(False),
    cl.CL_MEM_PROPERTIES: lambda p: b"",
}


@entry("clCreatePipe")
def create_pipe(context: Context, flags: int, packet_size: int, max_packets: int, properties: Any) -> Pipe:
    check_flags(flags, ACCESS | HOST_ACCESS, "pipe")
    if flags & cl.CL_MEM_HOST_NO_ACCESS:
        raise InvalidOperation(
            "the standard's pipes, with CL_MEM_HOST_NO_ACCESS, are not supported (CL_DEVICE_PIPE_SUPPORT); "
            "the FPGA runtime's have CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY or neither"
        )
    if not 0 < packet_size <= LARGEST_PACKET or not max_packets:
        raise InvalidPipeSize(f"{max_packets} packets of {packet_size} bytes; packets have 1 to {LARGEST_PACKET}")
    if properties:
        raise InvalidValue("pipes have no properties")
    return Pipe(context, flags or cl.CL_MEM_READ_WRITE, packet_size, max_packets)


@entry("clGetPipeInfo")
def get_pipe_info(pipe: Pipe, param_name: int) -> Answer:
    return info.answer_of(PIPE_INFO, pipe, param_name)


@entry("clReadPipeIntelFPGA")
def read_pipe(pipe: Pipe, ptr: int) -> None:
    pipe.read(ptr)


@entry("clWritePipeIntelFPGA")
def write_pipe(pipe: Pipe, ptr: int) -> None:
    pipe.write(ptr)


@entry("clMapHostPipeIntelFPGA")
def map_host_pipe(pipe: Pipe, map_flags: int, requested_size: int, mapped_size: Any) -> Address:
    if not mapped_size:
        raise InvalidValue("mapped_size is NULL")
    if map_flags:
        raise InvalidValue("host pipes are mapped without flags")
    address, mapped_size[0] = pipe.map(requested_size)
    return address


@entry("clUnmapHostPipeIntelFPGA")
def unmap_host_pipe(pipe: Pipe, mapped_ptr: int, size_to_unmap: int, unmapped_size: Any) -> None:
    taken = pipe.unmap(mapped_ptr, size_to_unmap)
    if unmapped_size:
        unmapped_size[0] = taken


# By name


def check_program(queue: CommandQueue, program: Program) -> None:
    if program.context is not queue.context:
        raise InvalidContext("queue and program belong to different contexts")


def load(queue: CommandQueue, program: Program) -> tuple[Program, KernelNetwork | None]:
    """Programs the board with the program whose names the host uses.

    Returns what is built for the board, and its channels and variables, or None if it has none. Raises
    InvalidProgramExecutable.
    """
    device = queue.device
    program.check_built(device)
    loaded = program.on(device)

    def found() -> tuple[bool, KernelNetwork | None]:
        network = device.networks.get(loaded.identity)
        whole = loaded.identity in device.loaded and not device.occupancy.programming
        return network is not None or whole, network

    while True:  # a launch of another program may come between
        is_there, network = device.scheduler.while_none_begins(found)
        if is_there:
            return loaded, network
        program_device(queue.context, device, loaded)


def symbol(name: int, ptr: int) -> str:
    if not name:
        raise InvalidValue("no name is given")
    if not ptr:
        raise InvalidValue("the host's pointer is NULL")
    return string_at(name)


def host_pipe_command(name: str, kind: int, *, writing: bool) -> None:
    """Registers the call that moves a packet between the host's memory and a pipe that a program names."""

    @entry(name)
    def move(
        command_queue: CommandQueue, program: Program, pipe_symbol: int, blocking: int, ptr: int, size: int,
        wait_list: WaitList,
    ) -> Command:  # fmt: skip
        named = symbol(pipe_symbol, ptr)
        check_program(command_queue, program)
        loaded, network = load(command_queue, program)
        if network is None or network.channel(named) is None:
            raise InvalidValue(f"the program has no channel '{named}' with __attribute__((intel_host_accessible))")
        device, waits = command_queue.device, bool(blocking)
        operation = MovePacket(device, loaded.identity, named, ptr, size, writing=writing, blocking=waits)
        return command_queue.run(kind, operation, waits, wait_list)


def global_variable_command(name: str, kind: int, *, writing: bool) -> None:
    """Registers the call that moves bytes between the host's memory and a program-scope variable."""

    @entry(name)
    def move(
        command_queue: CommandQueue, program: Program, variable: int, blocking: int, size: int, offset: int, ptr: int,
        wait_list: WaitList,
    ) -> Command:  # fmt: skip
        named = symbol(variable, ptr)
        check_program(command_queue, program)
        loaded, network = load(command_queue, program)
        found = network.variable(named) if network is not None else None
        if found is None:
            raise InvalidArgValue(f"the program has no program-scope variable '{named}'")
        if offset + size > found.size:
            raise InvalidValue(f"'{named}' has {found.size} bytes, {size} at {offset} are beyond its end")
        operation = MoveVariable(command_queue.device, loaded, named, ptr, size, offset, writing=writing)
        return command_queue.run(kind, operation, bool(blocking), wait_list)


host_pipe_command("clEnqueueReadHostPipeINTEL", cl.CL_COMMAND_READ_HOST_PIPE_INTEL, writing=False)
host_pipe_command("clEnqueueWriteHostPipeINTEL", cl.CL_COMMAND_WRITE_HOST_PIPE_INTEL, writing=True)
global_variable_command("clEnqueueReadGlobalVariableINTEL", cl.CL_COMMAND_READ_GLOBAL_VARIABLE_INTEL, writing=False)
global_variable_command("clEnqueueWriteGlobalVariableINTEL", cl.CL_COMMAND_WRITE_GLOBAL_VARIABLE_INTEL, writing=True)
