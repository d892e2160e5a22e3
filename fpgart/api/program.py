# SPDX-License-Identifier: Apache-2.0
"""Programs (OpenCL 3.0, 5.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from _fpgart_icd import ffi, lib

from fpgart.api.device import device_list
from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    CLError,
    CompilerNotAvailable,
    InvalidBinary,
    InvalidBuildOptions,
    InvalidCompilerOptions,
    InvalidContext,
    InvalidDevice,
    InvalidLinkerOptions,
    InvalidOperation,
    InvalidProgram,
    InvalidValue,
    OutOfHostMemory,
)
from fpgart.base.input_file import LARGEST_CONTAINER, LARGEST_SOURCE, LONGEST_OPTIONS
from fpgart.base.option_values import ENGINES
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, Attempt, bytes_at, cast, entry, string_at
from fpgart.bridge.handles import find, references
from fpgart.engine.choice import is_sycl_host
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.programming import program_device
from fpgart.runtime.programs.compiler_mode import CompilerMode
from fpgart.runtime.programs.linking import link
from fpgart.runtime.programs.program import Program

if TYPE_CHECKING:
    from fpgart.runtime.programs.context import ProgramContext


PROGRAM_INFO: dict[int, info.Query[Program]] = {
    cl.CL_PROGRAM_REFERENCE_COUNT: lambda p: info.u32(references(p)),
    cl.CL_PROGRAM_CONTEXT: lambda p: info.handle(p.context),
    cl.CL_PROGRAM_NUM_DEVICES: lambda p: info.u32(len(p.devices)),
    cl.CL_PROGRAM_DEVICES: lambda p: info.handles(p.devices),
    cl.CL_PROGRAM_SOURCE: lambda p: info.string(p.source or ""),
    cl.CL_PROGRAM_IL: lambda p: p.il,
    cl.CL_PROGRAM_BINARY_SIZES: lambda p: info.sizes([len(p.binary(device)) for device in p.devices]),
    cl.CL_PROGRAM_NUM_KERNELS: lambda p: info.size(len(p.interfaces())),
    cl.CL_PROGRAM_KERNEL_NAMES: lambda p: info.string(";".join(p.interfaces())),
    cl.CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT: lambda p: info.boolean(False),
    cl.CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: lambda p: info.boolean(False),
}
FIXED_PROGRAM_INFO = frozenset(
    (cl.CL_PROGRAM_CONTEXT, cl.CL_PROGRAM_NUM_DEVICES, cl.CL_PROGRAM_DEVICES, cl.CL_PROGRAM_SOURCE)
)
OF_BUILD = (
    cl.CL_PROGRAM_NUM_KERNELS,
    cl.CL_PROGRAM_KERNEL_NAMES,
    cl.CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT,
    cl.CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
)
"""Answers that are the same until the next build."""
LINKABLE = (cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, cl.CL_PROGRAM_BINARY_TYPE_LIBRARY)
BUILD_INFO: dict[int, Callable[[Program, Device], bytes]] = {
    cl.CL_PROGRAM_BUILD_STATUS: lambda p, d: info.i32(p.builds[d].status),
    cl.CL_PROGRAM_BUILD_OPTIONS: lambda p, d: info.string(p.builds[d].options),
    cl.CL_PROGRAM_BUILD_LOG: lambda p, d: info.string(p.builds[d].log),
    cl.CL_PROGRAM_BINARY_TYPE: lambda p, d: info.u32(p.builds[d].kind),
    cl.CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: lambda p, d: info.size(0),
}


@entry("clCreateProgramWithSource")
def create_program_with_source(context: Context, count: int, strings: Any, lengths: Any) -> Program:
    if not count or not strings:
        raise InvalidValue("no source is given")
    parts = []
    for index in range(count):
        text = int(strings[index])
        if not text:
            raise InvalidValue(f"source string {index} is NULL")
        length = int(lengths[index]) if lengths else 0
        parts.append(string_at(text, length or -1))
    source = "".join(parts)
    if len(source) > LARGEST_SOURCE:
        raise OutOfHostMemory(f"the source has {len(source)} characters; {LARGEST_SOURCE} are the most")
    return Program(context, context.devices, source=source)


def check_compiler(program: Program) -> None:
    """Raises CompilerNotAvailable for source in a context that accepts compiled programs only."""
    mode = program.context.compiler_mode
    if (
        mode in (CompilerMode.OFFLINE, CompilerMode.PRELOADED)
        and not program.is_container
        and (program.source is not None or program.il)
    ):
        raise CompilerNotAvailable(
            f"the context is in compiler mode {mode}: it takes what `aoc` compiled (clCreateProgramWithBinary)"
        )


def check_takes_il(context: ProgramContext) -> None:
    """Raises InvalidOperation if no device of the context accepts an intermediate language."""
    engine = context.platform.engine
    if not engine.device_info(cl.CL_DEVICE_IL_VERSION).rstrip(b"\0"):
        what = f"engine '{engine.name}' does not accept intermediate language"
        if is_sycl_host():  # which ends the program without this sentence
            log.warning(f"{what}, which SYCL programs are; unset FPGART_ENGINE; {ENGINES['emulator']}")
        raise InvalidOperation(what)


@entry("clCreateProgramWithIL", "clCreateProgramWithILKHR")
def create_program_with_il(context: Context, il: int, length: int) -> Program:
    check_takes_il(context)
    if not il or not length:
        raise InvalidValue("no intermediate language is given")
    if length > LARGEST_SOURCE:
        raise InvalidValue(f"{length} bytes of intermediate language are given; {LARGEST_SOURCE} are the most")
    data = bytes_at(il, length)
    return Program(context, context.devices, il=data, made=context.platform.engine.from_il(data))


@entry("clCreateProgramWithBinary")
def create_program_with_binary(
    context: Context, num_devices: int, device_ids: Any, lengths: Any, binaries: Any, binary_status: Any
) -> Program:
    from fpgart.runtime.programs.binaries import check_binary  # what reads binaries takes long to import
    from fpgart.runtime.programs.loading import from_binaries

    device_list(num_devices, device_ids, context.devices, "context")
    if not num_devices:
        raise InvalidValue("no devices are given")
    devices = [find(int(device_ids[index]), Device) for index in range(num_devices)]
    if not lengths or not binaries:
        raise InvalidValue("no binaries are given")
    failure: CLError | None = None
    pairs: list[tuple[Device, bytes]] = []
    for index in range(num_devices):
        state: CLError | None = None
        if not lengths[index] or not binaries[index]:
            state = InvalidValue(f"binary {index} is empty")
        elif lengths[index] > LARGEST_CONTAINER:
            state = InvalidBinary(f"binary {index} has {lengths[index]} bytes; {LARGEST_CONTAINER} are the most")
        else:
            pairs.append((devices[index], bytes_at(int(binaries[index]), int(lengths[index]))))
            try:
                check_binary(*pairs[-1])
            except InvalidBinary as error:
                state = error
        if binary_status:
            binary_status[index] = state.status if state else cl.CL_SUCCESS
        failure = failure or state
    if failure is not None:
        raise failure
    made = from_binaries(context, pairs)
    if made.is_container and config.EAGER.value and context.compiler_mode != CompilerMode.SPLIT_KERNEL:
        for device in devices:
            if not device.loaded:
                program_device(context, device, made.on(device))
    return made


@entry("clCreateProgramWithBinaryAndProgramDeviceIntelFPGA")
def create_program_with_binary_and_program_device(
    context: Context, num_devices: int, device_ids: Any, lengths: Any, binaries: Any, binary_status: Any
) -> Program:
    made = create_program_with_binary(context, num_devices, device_ids, lengths, binaries, binary_status)
    for device in made.devices:
        if made.on(device).identity not in device.loaded:
            program_device(context, device, made.on(device))
    return made


@entry("clCreateProgramWithBuiltInKernels")
def create_program_with_built_in_kernels(
    context: Context, num_devices: int, device_list_: Any, kernel_names_: int
) -> Program:
    device_list(num_devices, device_list_, context.devices, "context")
    if not num_devices or not kernel_names_:
        raise InvalidValue("devices and kernel names are expected")
    raise InvalidValue(f"boards have no built-in kernels, so none named '{string_at(kernel_names_)}'")


@entry("clSetProgramReleaseCallback")
def set_program_release_callback(program: Program, pfn_notify: int, user_data: int) -> None:
    if not pfn_notify:
        raise InvalidValue("no callback is given")
    raise InvalidOperation("the device has no program-scope constructors or destructors")


SCALARS = (1, 2, 4, 8)
"""The possible sizes of a specialisation constant in bytes."""


@entry("clSetProgramSpecializationConstant")
def set_program_specialization_constant(program: Program, spec_id: int, spec_size: int, spec_value: int) -> None:
    check_takes_il(program.context)
    if not program.il:
        raise InvalidProgram("only programs from intermediate language have specialisation constants")
    if not spec_value or spec_size not in SCALARS:
        raise InvalidValue(f"a specialisation constant is a scalar, which {spec_size} bytes are not, or it is NULL")
    program.specialize(spec_id, bytes_at(spec_value, spec_size))


def checked_options(options: int, refusal: type[CLError]) -> str:
    """Returns the options of a call. Raises `refusal` if they are too long, or if the last one lacks its name."""
    text = string_at(options) if options else ""
    if len(text) > LONGEST_OPTIONS:
        raise refusal(f"the options have {len(text)} characters; {LONGEST_OPTIONS} are the most")
    if text.split()[-1:] == ["-D"]:
        raise refusal("a name has to follow -D")
    return text


def run_build(program: Program, pfn_notify: int, user_data: int, work: Callable[[], None]) -> None:
    """Runs a build, and then makes the host's callback, also if the build has failed.

    The build has ended when the call returns, because hosts use the program without waiting for the callback.
    """
    try:
        work()
    finally:
        if pfn_notify:
            lib.fpgart_call_about_object(pfn_notify, program.handle, user_data)


@entry("clBuildProgram")
def build_program(
    program: Program, num_devices: int, devices: Any, options: int, pfn_notify: int, user_data: int
) -> None:
    chosen = device_list(num_devices, devices, program.devices, "program", optional=True)
    if user_data and not pfn_notify:
        raise InvalidValue("user_data is given without pfn_notify")
    text = checked_options(options, InvalidBuildOptions)
    check_compiler(program)
    if program.linked:
        raise InvalidOperation("the program was made by clLinkProgram; there is nothing to build it from")
    program.claim(chosen)
    run_build(program, pfn_notify, user_data, lambda: program.build(chosen, text))


@entry("clCompileProgram")
def compile_program(
    program: Program,
    num_devices: int,
    devices: Any,
    options: int,
    num_input_headers: int,
    input_headers: Any,
    header_include_names: Any,
    pfn_notify: int,
    user_data: int,
) -> None:
    chosen = device_list(num_devices, devices, program.devices, "program", optional=True)
    if bool(num_input_headers) != bool(input_headers) or bool(num_input_headers) != bool(header_include_names):
        raise InvalidValue("headers, their names and their number contradict each other")
    if user_data and not pfn_notify:
        raise InvalidValue("user_data is given without pfn_notify")
    headers: dict[str, Program] = {}
    for index in range(num_input_headers):
        header = program_of(program.context, int(input_headers[index]))
        name = string_at(int(header_include_names[index])) if header_include_names[index] else ""
        headers.setdefault(name, header)
    text = checked_options(options, InvalidCompilerOptions)
    check_compiler(program)
    if program.source is None and not program.il:
        raise InvalidOperation("the program has no source to compile")
    program.claim(chosen)
    run_build(program, pfn_notify, user_data, lambda: program.compile(chosen, text, headers))


def program_of(context: ProgramContext, handle: int) -> Program:
    """Returns a program of the context. Raises InvalidProgram, InvalidContext."""
    program = find(handle, Program)
    if program.context is not context:
        raise InvalidContext("a program of another context is given")
    return program


def may_link(programs: list[Program], device: Device) -> bool:
    """True if all programs have a compiled binary for a device, False if none has.

    Raises InvalidOperation if some have, and while one is being compiled.
    """
    builds = [program.builds.get(device) for program in programs]
    if any(build is not None and build.status == cl.CL_BUILD_IN_PROGRESS for build in builds):
        raise InvalidOperation(f"a program is still being compiled for device {device.id}")
    compiled = [build is not None and build.kind in LINKABLE for build in builds]
    if any(compiled) and not all(compiled):
        raise InvalidOperation(f"some of the programs have no compiled binary for device {device.id}")
    return all(compiled)


@entry("clLinkProgram")
def link_program(
    context: Context,
    num_devices: int,
    devices: Any,
    options: int,
    num_input_programs: int,
    input_programs: Any,
    pfn_notify: int,
    user_data: int,
) -> Attempt:
    chosen = device_list(num_devices, devices, context.devices, "context", optional=True)
    if not num_input_programs or not input_programs:
        raise InvalidValue("no programs to link are given")
    if user_data and not pfn_notify:
        raise InvalidValue("user_data is given without pfn_notify")
    programs = [program_of(context, int(input_programs[index])) for index in range(num_input_programs)]
    text = checked_options(options, InvalidLinkerOptions)
    linked = [device for device in chosen if may_link(programs, device)]
    if not linked:
        raise InvalidOperation("a program that is to be linked has not been compiled")
    made, error = link(context, linked, text, programs)
    if len(linked) < len(chosen):
        made.add(Program(context, [device for device in chosen if device not in linked]))
    if pfn_notify:
        from fpgart.bridge.handles import publish

        lib.fpgart_call_about_object(pfn_notify, publish(made), user_data)
    return made, error


@entry("clGetProgramInfo")
def get_program_info(
    program: Program, param_name: int, param_value_size: int, param_value: int, param_value_size_ret: Any
) -> None:
    if param_name == cl.CL_PROGRAM_BINARIES:
        write_binaries(program, param_value_size, param_value, param_value_size_ret)
        return
    if param_name in OF_BUILD:
        program.interfaces()  # fails for a program that is not built
        kernel = program.a_kernel()
        data = PROGRAM_INFO[param_name](program)
        if kernel is not None:
            info.remember_build(program, param_name, data)
    else:
        data = info.answer_of(PROGRAM_INFO, program, param_name, FIXED_PROGRAM_INFO)
    info.write(data, param_value_size, param_value, param_value_size_ret)


def write_binaries(program: Program, room: int, value: int, length_ret: Any) -> None:
    """Writes each binary to the address in the host's array; NULL entries are skipped."""
    length = 8 * len(program.devices)
    if value:
        if room < length:
            raise InvalidValue(f"{len(program.devices)} pointers need {length} bytes, there is room for {room}")
        pointers = cast("uintptr_t *", value)
        for index, device in enumerate(program.devices):
            if pointers[index]:
                data = program.binary(device)
                ffi.memmove(cast("char *", int(pointers[index])), data, len(data))
    if length_ret:
        length_ret[0] = length


@entry("clGetProgramBuildInfo")
def get_program_build_info(program: Program, device: Device, param_name: int) -> Answer:
    if device not in program.builds:
        raise InvalidDevice(f"device {device.id} is not of this program")
    found = BUILD_INFO.get(param_name)
    if found is None:
        raise InvalidValue(f"{param_name:#x} is not a query for a build")
    kernel = program.a_kernel()
    data = found(program, device)
    if kernel is not None:
        info.remember_build(program, param_name, data, info.on_device(device.handle))
    return data
