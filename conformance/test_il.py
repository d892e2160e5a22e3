# SPDX-License-Identifier: Apache-2.0
"""Programs from SPIR-V and queries about sub-groups (OpenCL 3.0, 5.8 and 5.9), as the SYCL runtime needs them.

Skipped on drivers that take no intermediate language, or have no sub-groups.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import opencl_api as cl
import pytest
from opencl_api import Failed, Host, Usm, fails, handles, strings
from spirv_module import Module, Storage, scale_and_add

SUB_GROUPS = """
kernel void count(global int *x) { x[get_global_id(0)] = get_sub_group_size(); }
"""
ONE = struct.pack("I", 1)
FIXED = "__attribute__((intel_reqd_sub_group_size(8))) " + SUB_GROUPS.strip()


def from_il(host: Host, il: bytes) -> int:
    if not host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_IL_VERSION):
        pytest.skip("the device does not accept intermediate language")
    return host.cl.make("clCreateProgramWithIL", host.context, il, len(il))


def built(host: Host, il: bytes) -> int:
    program = from_il(host, il)
    host.cl.check("clBuildProgram", program, 0, None, None, None, None)
    return program


def scaled(host: Host, program: int, values: list[int], add: int) -> list[int]:
    """What kernel `scale` makes of some values."""
    kernel = host.cl.make("clCreateKernel", program, b"scale")
    buffer = host.written(struct.pack(f"{len(values)}I", *values))
    host.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
    host.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("I", add))
    host.launch(kernel, len(values))
    found = host.ints(buffer, len(values))
    host.cl.check("clReleaseKernel", kernel)
    host.cl.check("clReleaseMemObject", buffer)
    return found


class TestIntermediateLanguage:
    def test_a_program_from_il_runs(self, host: Host) -> None:
        program = built(host, scale_and_add())
        assert scaled(host, program, [1, 2, 3], 10) == [13, 16, 19]
        host.cl.check("clReleaseProgram", program)

    def test_a_program_tells_its_il_and_has_no_source(self, host: Host) -> None:
        il = scale_and_add()
        program = from_il(host, il)
        assert host.cl.info("clGetProgramInfo", program, cl.CL_PROGRAM_IL) == il
        assert host.cl.info("clGetProgramInfo", program, cl.CL_PROGRAM_SOURCE) in (b"", b"\0")

    def test_kernels_are_known_by_name_and_number_of_arguments(self, host: Host) -> None:
        program = built(host, scale_and_add())
        assert host.cl.text("clGetProgramInfo", program, cl.CL_PROGRAM_KERNEL_NAMES) == "scale"
        kernel = host.cl.make("clCreateKernel", program, b"scale")
        assert host.cl.number("clGetKernelInfo", kernel, cl.CL_KERNEL_NUM_ARGS) == 2
        fails(host, cl.CL_INVALID_ARG_INDEX, "clSetKernelArg", kernel, 2, 4, bytes(4))

    def test_values_and_pointers_are_not_taken_for_each_other(self, host: Host) -> None:
        kernel = host.cl.make("clCreateKernel", built(host, scale_and_add()), b"scale")
        fails(host, cl.CL_INVALID_ARG_SIZE, "clSetKernelArg", kernel, 1, 16, bytes(16))
        fails(host, cl.CL_INVALID_ARG_VALUE, "clSetKernelArg", kernel, 1, 4, None)
        with pytest.raises(Failed):
            host.cl.check("clSetKernelArg", kernel, 0, 4, bytes(4))

    def test_a_local_pointer_takes_a_size(self, host: Host) -> None:
        module = Module()
        _, _ = module.begin_kernel("k", module.pointer(Storage.LOCAL, module.integer()))
        module.end_kernel()
        kernel = host.cl.make("clCreateKernel", built(host, module.bytes()), b"k")
        host.cl.check("clSetKernelArg", kernel, 0, 256, None)
        host.launch(kernel, 4)
        host.finish()

    def test_a_structure_is_passed_by_value(self, host: Host) -> None:
        module = Module()
        structure = module.structure(module.integer(), module.integer())
        _, (parameter,) = module.begin_kernel("k", module.pointer(Storage.FUNCTION, structure))
        module.decorate(parameter, 38, 2)
        module.end_kernel()
        kernel = host.cl.make("clCreateKernel", built(host, module.bytes()), b"k")
        host.cl.check("clSetKernelArg", kernel, 0, 8, bytes(8))
        host.launch(kernel, 4)
        host.finish()

    @pytest.mark.parametrize("kind", ["Host", "Device", "Shared"])
    def test_a_pointer_argument_takes_unified_shared_memory(self, host: Host, kind: str) -> None:
        if "cl_intel_unified_shared_memory" not in host.cl.text(
            "clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS
        ):
            pytest.skip("the device has no unified shared memory")
        kernel = host.cl.make("clCreateKernel", built(host, scale_and_add()), b"scale")
        usm = Usm(host)
        owner = () if kind == "Host" else (host.device,)
        pointer = usm.make(f"cl{kind}MemAllocINTEL", host.context, *owner, None, 8, 0)
        given, got = (ctypes.c_uint32 * 2)(5, 6), (ctypes.c_uint32 * 2)()
        usm.check("clEnqueueMemcpyINTEL", host.queue, 1, pointer, given, 8, 0, None, None)
        usm.check("clSetKernelArgMemPointerINTEL", kernel, 0, pointer)
        host.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("I", 1))
        host.launch(kernel, 2)
        usm.check("clEnqueueMemcpyINTEL", host.queue, 1, got, pointer, 8, 0, None, None)
        assert list(got) == [16, 19]
        usm.check("clMemBlockingFreeINTEL", host.context, pointer)

    def test_specialisation_constants_hold_from_the_next_build_on(self, host: Host) -> None:
        program = from_il(host, scale_and_add())
        host.cl.check("clSetProgramSpecializationConstant", program, 7, 4, struct.pack("I", 100))
        for _ in range(2):
            host.cl.check("clBuildProgram", program, 0, None, None, None, None)
            assert scaled(host, program, [1, 2], 5) == [105, 205]

    def test_specialisation_constants_of_wrong_number_size_or_program_are_refused(self, host: Host) -> None:
        program, call = from_il(host, scale_and_add()), "clSetProgramSpecializationConstant"
        fails(host, cl.CL_INVALID_SPEC_ID, call, program, 8, 4, bytes(4))
        fails(host, cl.CL_INVALID_VALUE, call, program, 7, 8, bytes(8))
        fails(host, cl.CL_INVALID_VALUE, call, program, 7, 4, None)
        source = host.cl.make("clCreateProgramWithSource", host.context, 1, strings("kernel void k() {}"), None)
        fails(host, cl.CL_INVALID_PROGRAM, call, source, 7, 4, bytes(4))

    def test_compiled_il_is_linked_and_keeps_its_arguments(self, host: Host) -> None:
        program = from_il(host, scale_and_add())
        host.cl.check("clCompileProgram", program, 0, None, None, 0, None, None, None, None)
        linked = host.cl.make("clLinkProgram", host.context, 0, None, None, 1, handles(program), None, None)
        assert scaled(host, linked, [1, 2], 1) == [4, 7]

    def test_the_binary_of_a_program_from_il_is_a_program(self, host: Host) -> None:
        program = built(host, scale_and_add())
        size = host.cl.number("clGetProgramInfo", program, cl.CL_PROGRAM_BINARY_SIZES)
        data = ctypes.create_string_buffer(size)
        pointers = handles(ctypes.addressof(data))
        host.cl.check("clGetProgramInfo", program, cl.CL_PROGRAM_BINARIES, 8, pointers, None)
        loaded = host.cl.make(
            "clCreateProgramWithBinary", host.context, 1, handles(host.device), handles(size), pointers, None
        )
        host.cl.check("clBuildProgram", loaded, 0, None, None, None, None)
        assert scaled(host, loaded, [3], 0) == [9]

    def test_bytes_that_are_no_il_do_not_build(self, host: Host) -> None:
        with pytest.raises(Failed):
            built(host, bytes(64))

    def test_no_bytes_are_refused(self, host: Host) -> None:
        from_il(host, scale_and_add())
        with pytest.raises(Failed) as failure:
            host.cl.make("clCreateProgramWithIL", host.context, None, 20)
        assert failure.value.status == cl.CL_INVALID_VALUE


class TestSubGroups:
    def sizes(self, host: Host) -> tuple[int, ...]:
        """The sizes that the device has; skips where kernels cannot ask for one."""
        names = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS).split()
        if "cl_intel_required_subgroup_size" not in names:
            fails(
                host, cl.CL_INVALID_VALUE, "clGetDeviceInfo", host.device, cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL,
                0, None, ctypes.byref(ctypes.c_size_t()),
            )  # fmt: skip
            pytest.skip("the device has no cl_intel_required_subgroup_size")
        data = host.cl.info("clGetDeviceInfo", host.device, cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL)
        return struct.unpack(f"{len(data) // 8}Q", data)

    def test_the_device_tells_its_sizes(self, host: Host) -> None:
        sizes = self.sizes(host)
        assert sizes
        assert all(size > 0 and size & size - 1 == 0 for size in sizes)

    def query(self, host: Host, kernel: int, what: int, *sizes: int) -> int:
        given = handles(*sizes) if sizes else None
        value = ctypes.c_size_t(99)
        host.cl.check(
            "clGetKernelSubGroupInfo", kernel, host.device, what, 8 * len(sizes), given, 8, ctypes.byref(value), None
        )
        return value.value

    def test_a_kernel_tells_the_size_that_it_requires(self, host: Host) -> None:
        if 8 not in self.sizes(host):
            pytest.skip("the device has no sub-groups of 8")
        plain, fixed = host.kernel(SUB_GROUPS, "count"), host.kernel(FIXED, "count")
        assert self.query(host, plain, cl.CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL) == 0
        assert self.query(host, fixed, cl.CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL) == 8
        assert self.query(host, fixed, cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 64) == 8
        assert self.query(host, fixed, cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 64) == 8

    def test_a_kernel_runs_in_sub_groups_of_that_size(self, host: Host) -> None:
        if 8 not in self.sizes(host):
            pytest.skip("the device has no sub-groups of 8")
        buffer = host.buffer(4 * 64)
        host.launch(host.kernel(FIXED, "count", buffer), 64)
        assert host.ints(buffer, 64) == [8] * 64

    @pytest.mark.parametrize(
        ("query", "given", "status"),
        [
            ("MAX_SUB_GROUP_SIZE_FOR_NDRANGE", 0, -30),
            ("MAX_SUB_GROUP_SIZE_FOR_NDRANGE", 24, 0),
            ("MAX_SUB_GROUP_SIZE_FOR_NDRANGE", 32, -30),
            ("SUB_GROUP_COUNT_FOR_NDRANGE", 0, -30),
            ("SUB_GROUP_COUNT_FOR_NDRANGE", 4, -30),
            ("LOCAL_SIZE_FOR_SUB_GROUP_COUNT", 0, -30),
            ("LOCAL_SIZE_FOR_SUB_GROUP_COUNT", 8, 0),
            ("LOCAL_SIZE_FOR_SUB_GROUP_COUNT", 16, -30),
            ("MAX_NUM_SUB_GROUPS", 4, 0),
            ("COMPILE_NUM_SUB_GROUPS", 32, 0),
        ],
    )
    def test_the_input_of_a_query_has_its_size_or_is_ignored(
        self, host: Host, query: str, given: int, status: int
    ) -> None:
        self.sizes(host)
        kernel, name, value = host.kernel(SUB_GROUPS, "count"), getattr(cl, f"CL_KERNEL_{query}"), ctypes.c_size_t()
        told = ("clGetKernelSubGroupInfo", kernel, host.device, name, given)
        assert host.cl.status(*told, handles(4, 1, 1, 1), 8, ctypes.byref(value), None) == status
        if query.endswith(("NDRANGE", "COUNT")):
            fails(host, cl.CL_INVALID_VALUE, *told, None, 8, ctypes.byref(value), None)

    def test_a_local_size_needs_room_for_a_size(self, host: Host) -> None:
        self.sizes(host)
        query, local = cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, handles(99, 99, 99)
        asked = ("clGetKernelSubGroupInfo", host.kernel(SUB_GROUPS, "count"), host.device, query, 8, handles(4))
        fails(host, cl.CL_INVALID_VALUE, *asked, 4, local, None)
        host.cl.check(*asked, 16, local, None)
        first, second, third = local
        assert 99 not in (first, second)
        assert third == 99, "there is room for two"

    def test_other_queries_are_refused(self, host: Host) -> None:
        self.sizes(host)
        kernel = host.kernel(SUB_GROUPS, "count")
        fails(
            host, cl.CL_INVALID_VALUE, "clGetKernelSubGroupInfo", kernel, host.device, cl.CL_KERNEL_FUNCTION_NAME,
            0, None, 8, ctypes.byref(ctypes.c_size_t()), None,
        )  # fmt: skip


class TestSuggestedLocalSizes:
    """cl_khr_suggested_local_work_size."""

    SIZES = "kernel void sizes(global int *x, int n) { x[get_global_id(0)] = n * get_local_size(0); }"
    FOURS = f"__attribute__((reqd_work_group_size(4, 1, 1))) {SIZES}"
    CALL = "clGetKernelSuggestedLocalWorkSizeKHR"

    def function(self, host: Host) -> Callable[..., int]:
        """The extension's function: its status; skips where the device does not offer it."""
        look_up = host.cl.library.clGetExtensionFunctionAddressForPlatform
        look_up.restype = ctypes.c_void_p
        address = look_up(ctypes.c_void_p(host.platform), self.CALL.encode())
        pointer = ctypes.c_void_p
        function = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 2, ctypes.c_uint, *[pointer] * 3)(address or 0)
        names = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS).split()
        if "cl_khr_suggested_local_work_size" not in names:
            kernel = host.kernel(self.SIZES, "sizes", host.buffer(256), ONE)
            given = (host.queue, kernel, 1, None, handles(64), handles(0))
            assert not address or function(*given) == cl.CL_INVALID_OPERATION
            pytest.skip("the device has no cl_khr_suggested_local_work_size")
        return function

    @pytest.mark.parametrize("size", [64, 96, 1000])
    def test_the_suggestion_is_what_a_launch_without_a_local_size_gets(self, host: Host, size: int) -> None:
        suggest = self.function(host)
        buffer, found = host.buffer(4 * size), handles(0)
        kernel = host.kernel(self.SIZES, "sizes", buffer, ONE)
        assert suggest(host.queue, kernel, 1, None, handles(size), found) == cl.CL_SUCCESS
        host.launch(kernel, size)
        assert host.ints(buffer, 1) == [found[0]]

    def test_a_kernel_with_a_required_size_gets_that(self, host: Host) -> None:
        suggest = self.function(host)
        kernel, found = host.kernel(self.FOURS, "sizes", host.buffer(256), ONE), handles(0)
        assert suggest(host.queue, kernel, 1, None, handles(64), found) == cl.CL_SUCCESS
        assert found[0] == 4

    def test_each_wrong_argument_has_its_error(self, host: Host) -> None:
        suggest = self.function(host)
        kernel, found, sizes = host.kernel(self.SIZES, "sizes", host.buffer(256), ONE), handles(0), handles(64)
        unset = host.kernel(self.SIZES, "sizes")
        assert suggest(None, kernel, 1, None, sizes, found) == cl.CL_INVALID_COMMAND_QUEUE
        assert suggest(host.queue, None, 1, None, sizes, found) == cl.CL_INVALID_KERNEL
        assert suggest(host.queue, unset, 1, None, sizes, found) == cl.CL_INVALID_KERNEL_ARGS
        assert suggest(host.queue, kernel, 0, None, sizes, found) == cl.CL_INVALID_WORK_DIMENSION
        assert suggest(host.queue, kernel, 4, None, sizes, found) == cl.CL_INVALID_WORK_DIMENSION
        assert suggest(host.queue, kernel, 1, None, None, found) == cl.CL_INVALID_GLOBAL_WORK_SIZE
        assert suggest(host.queue, kernel, 1, None, handles(0), found) == cl.CL_INVALID_GLOBAL_WORK_SIZE
        assert suggest(host.queue, kernel, 1, handles(2**64 - 8), sizes, found) == cl.CL_INVALID_GLOBAL_OFFSET
        assert suggest(host.queue, kernel, 1, None, sizes, None) == cl.CL_INVALID_VALUE


@pytest.mark.parametrize(
    ("extension", "function"),
    [
        ("cl_khr_command_buffer", "clCreateCommandBufferKHR"),
        ("cl_khr_command_buffer_mutable_dispatch", "clUpdateMutableCommandsKHR"),
        ("cl_intel_function_pointers", "clGetDeviceFunctionPointerINTEL"),
        ("cl_intel_unified_shared_memory", "clHostMemAllocINTEL"),
    ],
)
def test_functions_of_extensions_are_found_if_the_device_has_them_and_else_not(
    host: Host, extension: str, function: str
) -> None:
    names = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS).split()
    look_up = host.cl.library.clGetExtensionFunctionAddressForPlatform
    look_up.restype = ctypes.c_void_p
    assert extension in names or not look_up(ctypes.c_void_p(host.platform), function.encode())
    if extension in names:
        assert look_up(ctypes.c_void_p(host.platform), function.encode())
