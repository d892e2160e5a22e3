# SPDX-License-Identifier: Apache-2.0
"""Kernels and their arguments (OpenCL 3.0, 5.9)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from struct import unpack
from typing import Any

from _fpgart_icd import lib

from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.api.device_extensions import REQUIRED_SUB_GROUPS, extensions
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidArgSize,
    InvalidArgValue,
    InvalidDevice,
    InvalidMemObject,
    InvalidOperation,
    InvalidSampler,
    InvalidValue,
    KernelArgInfoNotAvailable,
)
from fpgart.base.notices import NOTICES
from fpgart.board.global_memory import AllocationType
from fpgart.bridge import info
from fpgart.bridge.arguments import (
    accept_buffers,
    accept_local_sizes,
    accept_svm_pointers,
    accept_usm_pointers,
    accept_values,
    list_in_c,
    reach_in_c,
)
from fpgart.bridge.entry import Answer, bytes_at, entry, string_at
from fpgart.bridge.handles import HELD, find, publish, references
from fpgart.kernels.opencl_c import size_of_type
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.local_memory import local_memory_used
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.program import Program
from fpgart.runtime.programs.work_groups import largest_group

KERNEL_INFO: dict[int, info.Query[Kernel]] = {
    cl.CL_KERNEL_FUNCTION_NAME: lambda k: info.string(k.name),
    cl.CL_KERNEL_NUM_ARGS: lambda k: info.u32(len(k.kinds)),
    cl.CL_KERNEL_REFERENCE_COUNT: lambda k: info.u32(references(k)),
    cl.CL_KERNEL_CONTEXT: lambda k: info.handle(k.context),
    cl.CL_KERNEL_PROGRAM: lambda k: info.handle(k.program),
    cl.CL_KERNEL_ATTRIBUTES: lambda k: info.string(k.program.attributes_of(k.name)),
}


FIXED_KERNEL_INFO = KERNEL_INFO.keys() - {cl.CL_KERNEL_REFERENCE_COUNT}


def arg_text(text: str) -> bytes:
    if not text:
        raise KernelArgInfoNotAvailable("the program carries no information about its kernels' arguments")
    return info.string(text)


ARG_INFO: dict[int, Callable[[Any], bytes]] = {
    cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER: lambda a: info.u32(a.address_qualifier),
    cl.CL_KERNEL_ARG_ACCESS_QUALIFIER: lambda a: info.u32(a.access_qualifier),
    cl.CL_KERNEL_ARG_TYPE_NAME: lambda a: arg_text(a.type_name),
    cl.CL_KERNEL_ARG_TYPE_QUALIFIER: lambda a: info.bitfield(a.type_qualifier),
    cl.CL_KERNEL_ARG_NAME: lambda a: arg_text(a.name),
}


def from_engine(query: int, default: bytes) -> Callable[[Kernel, Device], bytes]:
    def ask(kernel: Kernel, device: Device) -> bytes:
        answer = kernel.engine_answer(query)
        return answer if len(answer) == len(default) else default

    return ask


def global_work_size(kernel: Kernel, device: Device) -> bytes:
    raise InvalidValue("CL_KERNEL_GLOBAL_WORK_SIZE is for custom devices and built-in kernels")


WORK_GROUP_INFO: dict[int, Callable[[Kernel, Device], bytes]] = {
    cl.CL_KERNEL_GLOBAL_WORK_SIZE: global_work_size,
    cl.CL_KERNEL_WORK_GROUP_SIZE: lambda k, d: info.size(largest_group(k, d)[0]),
    cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE: lambda k, d: info.sizes(k.interface.required_work_group_size),
    cl.CL_KERNEL_LOCAL_MEM_SIZE: lambda k, d: info.u64(local_memory_used(k)),
    cl.CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: from_engine(
        cl.CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, info.size(1)
    ),
    cl.CL_KERNEL_PRIVATE_MEM_SIZE: from_engine(cl.CL_KERNEL_PRIVATE_MEM_SIZE, bytes(8)),
    cl.CL_KERNEL_SPILL_MEM_SIZE_INTEL: from_engine(cl.CL_KERNEL_SPILL_MEM_SIZE_INTEL, bytes(8)),
}
FIXED_WORK_GROUP_INFO = WORK_GROUP_INFO.keys() - {cl.CL_KERNEL_LOCAL_MEM_SIZE}
"""The queries whose answers no argument changes. Without local arguments the size of local memory is fixed, too."""
SUB_GROUP_QUERIES = {
    cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
    cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE,
    cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT,
    cl.CL_KERNEL_MAX_NUM_SUB_GROUPS,
    cl.CL_KERNEL_COMPILE_NUM_SUB_GROUPS,
    cl.CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL,
}
INPUT_SIZES = {
    cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE: (8, 16, 24),
    cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: (8, 16, 24),
    cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: (8,),
}
"""The bytes of the input that queries for sub-groups may have; the other queries ignore theirs."""


INDIRECT = {
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL: Indirect.HOST,
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL: Indirect.DEVICE,
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL: Indirect.SHARED,
}


@entry("clCreateKernel")
def create_kernel(program: Program, kernel_name: int) -> Kernel:
    program.interfaces()  # fails for a program that is not built
    if not kernel_name:
        raise InvalidValue("no kernel name is given")
    return Kernel(program, string_at(kernel_name))


@entry("clCreateKernelsInProgram")
def create_kernels_in_program(program: Program, num_kernels: int, kernels: Any, num_kernels_ret: Any) -> None:
    names = [name for name in program.interfaces() if program.is_one_kernel(name)]
    if kernels and num_kernels < len(names):
        raise InvalidValue(f"the program has {len(names)} kernels, there is room for {num_kernels}")
    if kernels:
        made = [Kernel(program, name) for name in names]
        for index, kernel in enumerate(made):
            kernels[index] = publish(kernel)
        list_in_c(made)
    if num_kernels_ret:
        num_kernels_ret[0] = len(names)


@entry("clCloneKernel")
def clone_kernel(source_kernel: Kernel) -> Kernel:
    return source_kernel.clone()


@entry("clSetKernelArg")
def set_kernel_arg(kernel: Kernel, arg_index: int, arg_size: int, arg_value: int) -> None:
    kind = kernel.kind_of(arg_index)
    if kind == cl.CL_KERNEL_ARG_ADDRESS_PRIVATE:
        set_by_value(kernel, arg_index, arg_size, arg_value)
    elif kind == cl.CL_KERNEL_ARG_ADDRESS_LOCAL:
        if arg_value:
            raise InvalidArgValue(f"{kernel.describe(arg_index)} is local memory, its value must be NULL")
        kernel.set_local(arg_index, arg_size)
        accept_local_sizes(kernel, arg_index)
    else:
        buffer = None
        if arg_value and arg_size == 8:
            handle = lib.fpgart_load(arg_value, 8)
            if handle:
                buffer = HELD.get(handle)
                if buffer.__class__ is not Buffer:
                    if buffer.__class__ is Pipe:
                        set_pipe(kernel, arg_index, buffer)
                        return
                    if kernel.context.usm.find(handle) is not None:  # the SYCL runtime passes pointers so
                        kernel.set_pointer(arg_index, handle)
                        accept_usm_pointers(kernel, arg_index, pointee_alignment(kernel, arg_index))
                        return
                    buffer = find(handle, Buffer)
        if arg_size != 8:
            raise InvalidArgSize(f"{kernel.describe(arg_index)} takes a cl_mem, which has 8 bytes, not {arg_size}")
        if buffer is not None and buffer.context is not kernel.context:
            raise InvalidMemObject("the buffer belongs to another context")
        if kernel.interface.arguments[arg_index].pipe is not None:
            raise InvalidMemObject(f"{kernel.describe(arg_index)} needs a pipe")
        kernel.set_buffer(arg_index, buffer)
        if buffer is not None:
            accept_buffers(kernel, arg_index)


def set_pipe(kernel: Kernel, index: int, pipe: Pipe) -> None:
    if pipe.context is not kernel.context:
        raise InvalidMemObject("the pipe belongs to another context")
    declared = kernel.interface.arguments[index].pipe
    if declared is not None:
        pipe.check_packet(size_of_type(declared.type_name), kernel.describe(index))
    kernel.set_pipe(index, pipe)


def set_by_value(kernel: Kernel, index: int, size: int, value: int) -> None:
    type_name = kernel.interface.arguments[index].type_name
    if not value:
        if type_name == "sampler_t":
            raise InvalidSampler(f"{kernel.describe(index)} needs a sampler")
        raise InvalidArgValue(f"{kernel.describe(index)} is passed by value, its value must not be NULL")
    if type_name == "sampler_t":
        raise InvalidSampler("boards have no samplers")
    kernel.check_value_size(index, size)
    is_known = bool(size_of_type(type_name))
    data = bytes_at(value, size) if is_known else structure_at(kernel, index, value, size)
    kernel.set_checked_value(index, data)
    accept_values(kernel, index, size, is_structure=not is_known)


def structure_at(kernel: Kernel, index: int, address: int, size: int) -> bytes:
    """Returns a value whose size the engine may not know. Raises InvalidArgSize if it exceeds the host's memory."""
    data = native_ffi.new("char[]", size)
    if not native.copy_if_readable(int(native_ffi.cast("uintptr_t", data)), address, size):
        raise InvalidArgSize(f"{kernel.describe(index)} does not have {size} bytes: the host's memory ends before")
    return bytes(native_ffi.buffer(data))


@entry("clSetKernelArgSVMPointer")
def set_kernel_arg_svm_pointer(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    check_svm(kernel)
    kernel.set_pointer(arg_index, arg_value)
    accept_svm_pointers(kernel, arg_index)


def check_svm(kernel: Kernel) -> None:
    """Raises InvalidOperation if no device of the context has SVM."""
    if not any(device.has_svm for device in kernel.context.devices):
        raise InvalidOperation("no device of the context has shared virtual memory")


@entry("clSetKernelExecInfo")
def set_kernel_exec_info(kernel: Kernel, param_name: int, param_value_size: int, param_value: int) -> None:
    if param_name == cl.CL_KERNEL_EXEC_INFO_SVM_PTRS:  # kernels may use all SVM of the context without a list
        check_svm(kernel)
        if param_value_size % 8 or bool(param_value_size) != bool(param_value):
            raise InvalidValue(f"{param_value_size} bytes at {param_value:#x} are not a list of pointers")
    elif not param_value:
        raise InvalidValue("no value is given")
    elif param_name == cl.CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
        if param_value_size != 4:
            raise InvalidValue(f"a cl_bool has 4 bytes, not {param_value_size}")
        if lib.fpgart_load(param_value, 4):
            raise InvalidOperation("the device has no fine-grain system memory")
    elif param_name == cl.CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
        pointers = usm_pointers(kernel, param_value_size, param_value)
        if kernel.usm_pointers != pointers:
            kernel.usm_pointers = pointers
            reach_in_c(kernel)
    elif param_name in INDIRECT:
        if param_value_size != 4:
            raise InvalidValue(f"a cl_bool has 4 bytes, not {param_value_size}")
        kind = INDIRECT[param_name]
        kernel.indirect = kernel.indirect | kind if lib.fpgart_load(param_value, 4) else kernel.indirect & ~kind
        reach_in_c(kernel)
    else:
        raise InvalidValue(f"{param_name:#x} is not a kernel execution property")


def usm_pointers(kernel: Kernel, size: int, value: int) -> list[int]:
    """Returns a list of pointers into allocations. Raises InvalidValue for others."""
    if not size or size % 8:
        raise InvalidValue(f"{size} bytes are not a list of pointers")
    pointers = []
    for place in range(value, value + size, 8):  # nothing is read behind the first wrong one
        pointer = int(lib.fpgart_load(place, 8))
        if kernel.context.usm.find(pointer) is None:
            raise InvalidValue(f"{pointer:#x} is in no USM allocation of the kernel's context")
        pointers.append(pointer)
    return pointers


@entry("clSetKernelArgMemPointerINTEL")
def set_kernel_arg_mem_pointer(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    if not kernel.is_pointer(arg_index):
        raise InvalidArgValue(f"{kernel.describe(arg_index)} is not a pointer to global or constant memory")
    if arg_value:
        check_usm_pointer(kernel, arg_index, arg_value)
    kernel.set_pointer(arg_index, arg_value)
    accept_usm_pointers(kernel, arg_index, pointee_alignment(kernel, arg_index))


def pointee_alignment(kernel: Kernel, index: int) -> int:
    """Returns the alignment in bytes of a pointer argument's type; 0 if the type is unknown."""
    return size_of_type(kernel.interface.arguments[index].type_name.rstrip("*"))


def check_usm_pointer(kernel: Kernel, index: int, pointer: int) -> None:
    """Raises InvalidArgValue for no USM pointer, one with a wrong alignment, or one into a wrong memory."""
    allocation = kernel.context.usm.find(pointer)
    if allocation is None and not any(device.reaches_system_memory for device in kernel.context.devices):
        for listener in NOTICES.argument_refused:
            listener(kernel, index, pointer)
        raise InvalidArgValue(f"{pointer:#x} for {kernel.describe(index)} is in no USM allocation of the context")
    argument = kernel.interface.arguments[index]
    alignment = pointee_alignment(kernel, index)
    if alignment and pointer % alignment:
        raise InvalidArgValue(f"{pointer:#x} for {kernel.describe(index)} is not aligned to {alignment} bytes")
    if not argument.buffer_location or allocation is None:
        return
    if kernel.context.platform.personality.ignores_wrong_locations:
        return
    kind = AllocationType[allocation.kind.name]
    for device in kernel.program.devices:
        numbered = enumerate(device.board.memories)
        memory = next((m for i, m in numbered if argument.buffer_location in (m.name, str(i))), None)
        if memory is not None and memory.allocation_types and kind not in memory.allocation_types:
            raise InvalidArgValue(
                f"{kernel.describe(index)} has to be in memory '{memory.name}' of board '{device.board.name}', "
                f"which takes no {allocation.kind.name.lower()} allocations"
            )


@entry("clGetKernelInfo")
def get_kernel_info(kernel: Kernel, param_name: int) -> Answer:
    return info.answer_of(KERNEL_INFO, kernel, param_name, FIXED_KERNEL_INFO)


@entry("clGetKernelArgInfo")
def get_kernel_arg_info(kernel: Kernel, arg_indx: int, param_name: int) -> Answer:
    kernel.kind_of(arg_indx)  # fails for an argument that is not there
    argument = kernel.interface.arguments[arg_indx]
    return info.answer_of(ARG_INFO, argument, param_name, ARG_INFO, kernel, info.of_argument(arg_indx))


def device_of(kernel: Kernel, handle: int) -> Device:
    """Returns the device of a query; NULL stands for the only one. Raises InvalidDevice."""
    devices = kernel.program.devices
    if not handle:
        if len(devices) > 1:
            raise InvalidDevice("the kernel is for several devices: pass one of them")
        return devices[0]
    device = find(handle, Device)
    if device not in devices:
        raise InvalidDevice(f"device {device.id} is not one of the kernel's")
    return device


@entry("clGetKernelWorkGroupInfo")
def get_kernel_work_group_info(kernel: Kernel, device: int, param_name: int) -> Answer:
    chosen = device_of(kernel, device)
    found = WORK_GROUP_INFO.get(param_name)
    if found is None:
        raise InvalidValue(f"{param_name:#x} is not a query for a kernel on a device")
    data = found(kernel, chosen)
    has_local = cl.CL_KERNEL_ARG_ADDRESS_LOCAL in kernel.kinds
    if param_name in (FIXED_WORK_GROUP_INFO if has_local else WORK_GROUP_INFO):
        info.remember(kernel, param_name, data, info.on_device(device))
    return data


def of_required_sub_groups(kernel: Kernel, device: Device, query: int, sizes: tuple[int, ...]) -> int | None:
    """Returns the answer that follows from the source's required size of sub-groups, or None.

    PoCL does not know one of the queries, and answers the others as if no kernel required a size.
    """
    program = kernel.program.on(device)
    if program.il or REQUIRED_SUB_GROUPS not in extensions(device):
        return None
    numbers = program.hardware().get(kernel.name, {}).get("intel_reqd_sub_group_size", ())
    required = numbers[0] if numbers else 0
    if query == cl.CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL:
        return required
    if not required or not sizes:
        return None
    if query == cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
        return required
    return -(-prod(sizes) // required) if query == cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE else None


def has_sub_groups(device: Device) -> bool:
    """True if the engine has sub-groups; Intel's emulator is older than the query for their number."""
    most = device.platform.engine.device_info(cl.CL_DEVICE_MAX_NUM_SUB_GROUPS)
    return any(most) or REQUIRED_SUB_GROUPS in extensions(device)


def given_sizes(query: int, size: int, value: int) -> tuple[int, ...]:
    """Returns the input of a query for sub-groups: a local size, or a number of sub-groups. Raises InvalidValue."""
    allowed = INPUT_SIZES.get(query)
    if allowed is None:
        return ()
    if size not in allowed or not value:
        raise InvalidValue(f"{size} bytes at {value:#x} are no input for query {query:#x}")
    return unpack(f"{size // 8}Q", bytes_at(value, size))


@entry("clGetKernelSubGroupInfo", "clGetKernelSubGroupInfoKHR")
def get_kernel_sub_group_info(
    kernel: Kernel,
    device: int,
    param_name: int,
    input_value_size: int,
    input_value: int,
    param_value_size: int,
    param_value: int,
    param_value_size_ret: Any,
) -> None:
    chosen = device_of(kernel, device)
    if param_name not in SUB_GROUP_QUERIES:
        raise InvalidValue(f"{param_name:#x} is not a query for sub-groups")
    if not has_sub_groups(chosen):
        raise InvalidOperation("the device has no sub-groups")
    sizes = given_sizes(param_name, input_value_size, input_value)
    known = of_required_sub_groups(kernel, chosen, param_name, sizes)
    if known is not None:
        info.write(info.size(known), param_value_size, param_value, param_value_size_ret)
        return
    listed = param_value and param_name == cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT
    length = min(max(param_value_size - param_value_size % 8, 8), 24) if listed else 8
    data = kernel.engine_kernel.sub_group_info(param_name, sizes, length)
    info.write(data, param_value_size, param_value, param_value_size_ret)
