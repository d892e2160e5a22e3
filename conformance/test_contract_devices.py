# SPDX-License-Identifier: Apache-2.0
"""Every query of platforms and devices (OpenCL 3.0, 4.1 to 4.3): types, least values, and what must agree."""

from __future__ import annotations

import ctypes
import re

import opencl_api as cl
import pytest
from opencl_api import Failed, Host, fails, handles, name_versions

CL_DEVICE_SPIR_VERSIONS = 0x40E0


def words(text: str) -> list[str]:
    return text.split()


UINTS = words("""VENDOR_ID MAX_COMPUTE_UNITS MAX_WORK_ITEM_DIMENSIONS
PREFERRED_VECTOR_WIDTH_CHAR PREFERRED_VECTOR_WIDTH_SHORT PREFERRED_VECTOR_WIDTH_INT PREFERRED_VECTOR_WIDTH_LONG
PREFERRED_VECTOR_WIDTH_FLOAT PREFERRED_VECTOR_WIDTH_DOUBLE PREFERRED_VECTOR_WIDTH_HALF
NATIVE_VECTOR_WIDTH_CHAR NATIVE_VECTOR_WIDTH_SHORT NATIVE_VECTOR_WIDTH_INT NATIVE_VECTOR_WIDTH_LONG
NATIVE_VECTOR_WIDTH_FLOAT NATIVE_VECTOR_WIDTH_DOUBLE NATIVE_VECTOR_WIDTH_HALF
MAX_CLOCK_FREQUENCY ADDRESS_BITS MAX_READ_IMAGE_ARGS MAX_WRITE_IMAGE_ARGS MAX_READ_WRITE_IMAGE_ARGS IMAGE_SUPPORT
MAX_SAMPLERS IMAGE_PITCH_ALIGNMENT IMAGE_BASE_ADDRESS_ALIGNMENT MAX_PIPE_ARGS PIPE_MAX_ACTIVE_RESERVATIONS
PIPE_MAX_PACKET_SIZE MEM_BASE_ADDR_ALIGN MIN_DATA_TYPE_ALIGN_SIZE GLOBAL_MEM_CACHE_TYPE GLOBAL_MEM_CACHELINE_SIZE
MAX_CONSTANT_ARGS LOCAL_MEM_TYPE ERROR_CORRECTION_SUPPORT HOST_UNIFIED_MEMORY ENDIAN_LITTLE AVAILABLE
COMPILER_AVAILABLE LINKER_AVAILABLE QUEUE_ON_DEVICE_PREFERRED_SIZE QUEUE_ON_DEVICE_MAX_SIZE MAX_ON_DEVICE_QUEUES
MAX_ON_DEVICE_EVENTS NUMERIC_VERSION PREFERRED_INTEROP_USER_SYNC PARTITION_MAX_SUB_DEVICES REFERENCE_COUNT
PREFERRED_PLATFORM_ATOMIC_ALIGNMENT PREFERRED_GLOBAL_ATOMIC_ALIGNMENT PREFERRED_LOCAL_ATOMIC_ALIGNMENT
MAX_NUM_SUB_GROUPS SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS NON_UNIFORM_WORK_GROUP_SUPPORT
WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT GENERIC_ADDRESS_SPACE_SUPPORT PIPE_SUPPORT""")
ULONGS = words("""TYPE MAX_WORK_GROUP_SIZE MAX_MEM_ALLOC_SIZE IMAGE2D_MAX_WIDTH IMAGE2D_MAX_HEIGHT IMAGE3D_MAX_WIDTH
IMAGE3D_MAX_HEIGHT IMAGE3D_MAX_DEPTH IMAGE_MAX_BUFFER_SIZE IMAGE_MAX_ARRAY_SIZE MAX_PARAMETER_SIZE SINGLE_FP_CONFIG
DOUBLE_FP_CONFIG GLOBAL_MEM_CACHE_SIZE GLOBAL_MEM_SIZE MAX_CONSTANT_BUFFER_SIZE MAX_GLOBAL_VARIABLE_SIZE
GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE LOCAL_MEM_SIZE PROFILING_TIMER_RESOLUTION EXECUTION_CAPABILITIES
QUEUE_ON_HOST_PROPERTIES QUEUE_ON_DEVICE_PROPERTIES PLATFORM PRINTF_BUFFER_SIZE PARENT_DEVICE
PARTITION_AFFINITY_DOMAIN SVM_CAPABILITIES ATOMIC_MEMORY_CAPABILITIES ATOMIC_FENCE_CAPABILITIES
PREFERRED_WORK_GROUP_SIZE_MULTIPLE DEVICE_ENQUEUE_CAPABILITIES""")
STRINGS = words("""IL_VERSION BUILT_IN_KERNELS NAME VENDOR PROFILE VERSION OPENCL_C_VERSION EXTENSIONS
LATEST_CONFORMANCE_VERSION_PASSED""")
SIZE_LISTS = ["MAX_WORK_ITEM_SIZES", "PARTITION_PROPERTIES", "PARTITION_TYPE"]
NAME_VERSIONS = words("""ILS_WITH_VERSION BUILT_IN_KERNELS_WITH_VERSION EXTENSIONS_WITH_VERSION OPENCL_C_ALL_VERSIONS
OPENCL_C_FEATURES""")
# An older name of QUEUE_ON_HOST_PROPERTIES; of an extension.
NOT_CORE = {"QUEUE_PROPERTIES", "HALF_FP_CONFIG"}
FIRST, LAST = 0x1000, 0x1072  # of the queries in cl.h

LEAST = [
    # query, least value of the full profile (table 5)
    ("MAX_COMPUTE_UNITS", 1),
    ("MAX_WORK_ITEM_DIMENSIONS", 3),
    ("MAX_WORK_GROUP_SIZE", 1),
    ("MAX_MEM_ALLOC_SIZE", 32 << 20),
    ("MAX_PARAMETER_SIZE", 1024),
    ("MEM_BASE_ADDR_ALIGN", 1024),
    ("MIN_DATA_TYPE_ALIGN_SIZE", 128),
    ("MAX_CONSTANT_BUFFER_SIZE", 64 << 10),
    ("MAX_CONSTANT_ARGS", 8),
    ("LOCAL_MEM_SIZE", 32 << 10),
    ("PRINTF_BUFFER_SIZE", 1 << 20),
    ("PREFERRED_WORK_GROUP_SIZE_MULTIPLE", 1),
]
BITS = [
    # query, bits that every device of the full profile has
    ("EXECUTION_CAPABILITIES", cl.CL_EXEC_KERNEL),
    ("QUEUE_ON_HOST_PROPERTIES", cl.CL_QUEUE_PROFILING_ENABLE),
    ("SINGLE_FP_CONFIG", cl.CL_FP_ROUND_TO_NEAREST | cl.CL_FP_INF_NAN),
    ("ATOMIC_MEMORY_CAPABILITIES", cl.CL_DEVICE_ATOMIC_ORDER_RELAXED | cl.CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP),
    (
        "ATOMIC_FENCE_CAPABILITIES",
        cl.CL_DEVICE_ATOMIC_ORDER_RELAXED | cl.CL_DEVICE_ATOMIC_ORDER_ACQ_REL | cl.CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP,
    ),
]
AMONG = [
    # query, values that the specification knows
    ("ADDRESS_BITS", (32, 64)),
    ("IMAGE_SUPPORT", (0, 1)),
    ("ERROR_CORRECTION_SUPPORT", (0, 1)),
    ("HOST_UNIFIED_MEMORY", (0, 1)),
    ("ENDIAN_LITTLE", (0, 1)),
    ("AVAILABLE", (1,)),
    ("COMPILER_AVAILABLE", (1,)),
    ("LINKER_AVAILABLE", (1,)),
    ("PREFERRED_INTEROP_USER_SYNC", (0, 1)),
    ("NON_UNIFORM_WORK_GROUP_SUPPORT", (0, 1)),
    ("WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT", (0, 1)),
    ("GENERIC_ADDRESS_SPACE_SUPPORT", (0, 1)),
    ("PIPE_SUPPORT", (0, 1)),
    ("GLOBAL_MEM_CACHE_TYPE", (cl.CL_NONE, cl.CL_READ_ONLY_CACHE, cl.CL_READ_WRITE_CACHE)),
    ("LOCAL_MEM_TYPE", (cl.CL_LOCAL, cl.CL_GLOBAL)),
    ("PARENT_DEVICE", (0,)),
    ("REFERENCE_COUNT", (1,)),
]
WITHOUT = [
    # what a device without (query is 0) reports as 0
    ("IMAGE_SUPPORT", ["MAX_READ_IMAGE_ARGS", "MAX_WRITE_IMAGE_ARGS", "MAX_READ_WRITE_IMAGE_ARGS", "MAX_SAMPLERS",
                       "IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT", "IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT",
                       "IMAGE3D_MAX_DEPTH", "IMAGE_MAX_BUFFER_SIZE", "IMAGE_MAX_ARRAY_SIZE"]),
    ("PIPE_SUPPORT", ["MAX_PIPE_ARGS", "PIPE_MAX_ACTIVE_RESERVATIONS", "PIPE_MAX_PACKET_SIZE"]),
    ("DEVICE_ENQUEUE_CAPABILITIES", ["QUEUE_ON_DEVICE_PROPERTIES", "QUEUE_ON_DEVICE_PREFERRED_SIZE",
                                     "QUEUE_ON_DEVICE_MAX_SIZE", "MAX_ON_DEVICE_QUEUES", "MAX_ON_DEVICE_EVENTS"]),
    ("MAX_NUM_SUB_GROUPS", ["SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS"]),
    ("DOUBLE_FP_CONFIG", ["PREFERRED_VECTOR_WIDTH_DOUBLE", "NATIVE_VECTOR_WIDTH_DOUBLE"]),
    ("PARTITION_MAX_SUB_DEVICES", ["PARTITION_PROPERTIES", "PARTITION_AFFINITY_DOMAIN"]),
]  # fmt: skip
FEATURES = [
    # feature of OpenCL C 3.0, and the query that is not 0 just where a device has it
    ("__opencl_c_fp64", "DOUBLE_FP_CONFIG"),
    ("__opencl_c_images", "IMAGE_SUPPORT"),
    ("__opencl_c_pipes", "PIPE_SUPPORT"),
    ("__opencl_c_device_enqueue", "DEVICE_ENQUEUE_CAPABILITIES"),
    ("__opencl_c_generic_address_space", "GENERIC_ADDRESS_SPACE_SUPPORT"),
    ("__opencl_c_work_group_collective_functions", "WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT"),
    ("__opencl_c_subgroups", "MAX_NUM_SUB_GROUPS"),
]
IN_EVERY_DEVICE = [
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
]


def ask(host: Host, query: str) -> bytes:
    return host.cl.info("clGetDeviceInfo", host.device, getattr(cl, f"CL_DEVICE_{query}"))


def number(host: Host, query: str) -> int:
    return int.from_bytes(ask(host, query), "little")


def test_every_query_of_the_header_is_in_one_table() -> None:
    tables = [UINTS, ULONGS, STRINGS, SIZE_LISTS, NAME_VERSIONS]
    listed = [name for table in tables for name in table]
    in_header = {
        name.removeprefix("CL_DEVICE_")
        for name, value in cl.CONSTANTS.items()
        if name.startswith("CL_DEVICE_") and not name.endswith("_KHR") and FIRST <= value <= LAST
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == in_header - NOT_CORE


class TestPlatformQueries:
    """4.1"""

    def test_extensions_and_their_versions_are_the_same_names(self, host: Host) -> None:
        words = host.cl.text("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_EXTENSIONS).split()
        table = host.cl.info("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        assert sorted(name_versions(table)) == sorted(words)

    def test_a_platform_behind_a_loader_has_the_icd_extension(self, host: Host) -> None:
        words = host.cl.text("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_EXTENSIONS).split()
        assert "cl_khr_icd" in words
        assert host.cl.text("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_ICD_SUFFIX_KHR)

    def test_times_of_the_host_go_forward_in_multiples_of_the_timer_resolution(self, host: Host) -> None:
        answer = host.cl.info("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_HOST_TIMER_RESOLUTION)
        slots = [handles(0) for _ in range(50)]
        for slot in slots:
            host.cl.check("clGetHostTimer", host.device, slot)
        times = [slot[0] for slot in slots]
        assert len(answer) == 8
        assert times == sorted(times)
        assert {time % int.from_bytes(answer, "little") for time in times} == {0}

    def test_the_profile_is_one_of_two(self, host: Host) -> None:
        profile = host.cl.text("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_PROFILE)
        assert profile in ("FULL_PROFILE", "EMBEDDED_PROFILE")

    def test_room_for_more_platforms_than_there_are_stays_untouched(self, host: Host) -> None:
        found, count = handles(7, 7, 7, 7), handles(0)
        host.cl.check("clGetPlatformIDs", 4, found, count)
        assert count[0] == 1
        assert list(found) == [host.platform, 7, 7, 7]


class TestDeviceQueries:
    """4.2, table 5"""

    @pytest.mark.parametrize("query", UINTS)
    def test_uints_bools_and_enums_have_four_bytes(self, host: Host, query: str) -> None:
        assert len(ask(host, query)) == 4

    @pytest.mark.parametrize("query", ULONGS)
    def test_ulongs_sizes_bitfields_and_handles_have_eight_bytes(self, host: Host, query: str) -> None:
        assert len(ask(host, query)) == 8

    @pytest.mark.parametrize("query", STRINGS)
    def test_strings_end_with_their_only_zero(self, host: Host, query: str) -> None:
        answer = ask(host, query)
        assert answer.index(b"\0") == len(answer) - 1

    @pytest.mark.parametrize("query", SIZE_LISTS)
    def test_lists_have_whole_entries(self, host: Host, query: str) -> None:
        assert len(ask(host, query)) % 8 == 0

    @pytest.mark.parametrize("query", NAME_VERSIONS)
    def test_name_versions_have_68_bytes_and_a_name_each(self, host: Host, query: str) -> None:
        table = ask(host, query)
        assert len(table) % 68 == 0
        assert all(name_versions(table))

    @pytest.mark.parametrize("query", UINTS + ULONGS + STRINGS)
    def test_room_for_one_byte_less_is_refused(self, host: Host, query: str) -> None:
        wanted = getattr(cl, f"CL_DEVICE_{query}")
        size = len(ask(host, query))
        value = ctypes.create_string_buffer(b"\xee" * size, size)
        fails(host, cl.CL_INVALID_VALUE, "clGetDeviceInfo", host.device, wanted, size - 1, value, None)
        assert value.raw == b"\xee" * size

    @pytest.mark.parametrize(("query", "least"), LEAST)
    def test_least_values(self, host: Host, query: str, least: int) -> None:
        assert number(host, query) >= least

    @pytest.mark.parametrize(("query", "bits"), BITS)
    def test_bits_that_no_device_lacks(self, host: Host, query: str, bits: int) -> None:
        assert number(host, query) & bits == bits

    @pytest.mark.parametrize(("query", "values"), AMONG)
    def test_values_are_those_of_the_specification(self, host: Host, query: str, values: tuple[int, ...]) -> None:
        assert number(host, query) in values

    @pytest.mark.parametrize(("feature", "queries"), WITHOUT)
    def test_without_a_feature_its_numbers_are_0(self, host: Host, feature: str, queries: list[str]) -> None:
        if number(host, feature):
            pytest.skip(f"the device has {feature}")
        assert {query: number(host, query) for query in queries} == dict.fromkeys(queries, 0)

    @pytest.mark.parametrize(("feature", "query"), FEATURES)
    def test_features_of_the_language_are_those_of_the_device(self, host: Host, feature: str, query: str) -> None:
        features = name_versions(ask(host, "OPENCL_C_FEATURES"))
        assert (feature in features) == bool(number(host, query))

    @pytest.mark.parametrize(("macro", "query"), [("__IMAGE_SUPPORT__", "IMAGE_SUPPORT"), *FEATURES])
    def test_the_compiler_knows_the_features_of_the_device(self, host: Host, macro: str, query: str) -> None:
        source = f"""kernel void k(global int *x) {{
        #ifdef {macro}
            x[0] = 1;
        #else
            x[0] = 0;
        #endif
        }}"""
        assert host.result_of(host.program(source, "-cl-std=CL3.0")) == (number(host, query) > 0)

    def test_the_largest_allocation_is_a_quarter_of_memory_or_1_gib(self, host: Host) -> None:
        assert number(host, "MAX_MEM_ALLOC_SIZE") >= min(1 << 30, number(host, "GLOBAL_MEM_SIZE") // 4)

    def test_pointers_to_global_memory_have_the_address_bits(self, host: Host) -> None:
        program = host.program("kernel void k(global int *x) { x[0] = sizeof(x) * 8; }")
        assert host.result_of(program) == number(host, "ADDRESS_BITS")

    def test_no_work_item_size_is_0(self, host: Host) -> None:
        answer = ask(host, "MAX_WORK_ITEM_SIZES")
        sizes = [int.from_bytes(answer[at : at + 8], "little") for at in range(0, len(answer), 8)]
        assert len(sizes) == number(host, "MAX_WORK_ITEM_DIMENSIONS")
        assert min(sizes) >= 1

    def test_strings_and_numbers_of_the_version_agree(self, host: Host) -> None:
        major, _, minor = ask(host, "VERSION").decode().split()[1].partition(".")
        assert number(host, "NUMERIC_VERSION") >> 12 == int(major) << 10 | int(minor)

    def test_the_language_of_the_device_is_version_3_and_those_before(self, host: Host) -> None:
        versions = {version >> 12 for version in name_versions(ask(host, "OPENCL_C_ALL_VERSIONS"), versions=True)}
        assert {3 << 10, 1 << 10 | 2, 1 << 10 | 1, 1 << 10} <= versions
        assert set(name_versions(ask(host, "OPENCL_C_ALL_VERSIONS"))) == {"OpenCL C"}

    def test_the_language_string_begins_as_specified(self, host: Host) -> None:
        assert ask(host, "OPENCL_C_VERSION").startswith(b"OpenCL C ")

    def test_the_conformance_version_is_a_date_and_a_number(self, host: Host) -> None:
        version = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED)
        assert re.fullmatch(r"v\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])-\d{2}", version)

    @pytest.mark.parametrize("name", IN_EVERY_DEVICE)
    def test_extensions_that_became_core_are_still_named(self, host: Host, name: str) -> None:
        assert name in ask(host, "EXTENSIONS")[:-1].decode().split()

    def test_doubles_come_with_their_extension(self, host: Host) -> None:
        words = ask(host, "EXTENSIONS")[:-1].decode().split()
        assert ("cl_khr_fp64" in words) == bool(number(host, "DOUBLE_FP_CONFIG"))

    def test_unified_shared_memory_comes_with_its_extension(self, host: Host) -> None:
        """A device that has the extension can access device allocations; the query fails where no device has it."""
        words = ask(host, "EXTENSIONS")[:-1].decode().split()
        try:
            able = number(host, "DEVICE_MEM_CAPABILITIES_INTEL")
        except Failed:
            able = 0
        assert ("cl_intel_unified_shared_memory" in words) == bool(able)

    def test_built_in_kernels_and_their_versions_are_the_same_names(self, host: Host) -> None:
        names = [name for name in ask(host, "BUILT_IN_KERNELS")[:-1].decode().split(";") if name]
        assert sorted(name_versions(ask(host, "BUILT_IN_KERNELS_WITH_VERSION"))) == sorted(names)

    def test_the_device_belongs_to_the_platform(self, host: Host) -> None:
        assert number(host, "PLATFORM") == host.platform

    def test_the_driver_has_a_version(self, host: Host) -> None:
        assert host.cl.text("clGetDeviceInfo", host.device, cl.CL_DRIVER_VERSION)


class TestDeviceLists:
    """4.2, 4.3"""

    def test_a_device_is_found_by_its_own_type(self, host: Host) -> None:
        kind = number(host, "TYPE") & ~cl.CL_DEVICE_TYPE_DEFAULT
        found, count = handles(0), handles(0)
        host.cl.check("clGetDeviceIDs", host.platform, kind, 1, found, count)
        assert found[0] == host.device

    def test_one_device_is_the_default(self, host: Host) -> None:
        count = handles(0)
        host.cl.check("clGetDeviceIDs", host.platform, cl.CL_DEVICE_TYPE_DEFAULT, 0, None, count)
        assert count[0] == 1

    def test_a_device_that_cannot_be_partitioned_refuses(self, host: Host) -> None:
        if number(host, "PARTITION_MAX_SUB_DEVICES") > 1:
            pytest.skip("this device can be partitioned")
        properties = handles(cl.CL_DEVICE_PARTITION_EQUALLY, 1, 0)
        count = handles(0)
        fails(host, cl.CL_INVALID_VALUE, "clCreateSubDevices", host.device, properties, 0, None, count)

    def test_a_device_with_spir_tells_its_versions(self, host: Host) -> None:
        if "cl_khr_spir" not in host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS).split():
            pytest.skip("this device has no SPIR")
        host.cl.text("clGetDeviceInfo", host.device, CL_DEVICE_SPIR_VERSIONS)

    @pytest.mark.parametrize("given", ["a queue of the host", "NULL"])
    def test_a_device_without_queues_of_its_own_has_no_default_one(self, host: Host, given: str) -> None:
        if number(host, "DEVICE_ENQUEUE_CAPABILITIES"):
            pytest.skip("this device has queues of its own")
        queue = None if given == "NULL" else host.queue
        fails(host, cl.CL_INVALID_OPERATION, "clSetDefaultDeviceCommandQueue", host.context, host.device, queue)

    def test_pipes_that_the_device_lacks_cannot_be_made(self, host: Host) -> None:
        if number(host, "PIPE_SUPPORT"):
            pytest.skip("this device has pipes")
        made = host.cl.attempt("clCreatePipe", host.context, cl.CL_MEM_HOST_NO_ACCESS, 16, 8, None)
        assert made == (0, cl.CL_INVALID_OPERATION)

    def test_a_buffer_of_the_largest_constant_size_can_be_made(self, host: Host) -> None:
        largest = number(host, "MAX_CONSTANT_BUFFER_SIZE")
        assert host.buffer(largest, cl.CL_MEM_READ_ONLY)
        assert largest < 1 << 31  # hosts keep it in an int

    def test_images_that_the_device_lacks_cannot_be_made(self, host: Host) -> None:
        if number(host, "IMAGE_SUPPORT"):
            pytest.skip("this device has images")
        image_format = (ctypes.c_uint32 * 2)(cl.CL_RGBA, cl.CL_UNSIGNED_INT8)
        shape = handles(cl.CL_MEM_OBJECT_IMAGE2D, 4, 4, 0, 0, 0, 0, 0, 0)
        made = host.cl.attempt("clCreateImage", host.context, 1, image_format, shape, None)
        assert made == (0, cl.CL_INVALID_OPERATION)
