# SPDX-License-Identifier: Apache-2.0
"""The answers of clGetDeviceInfo (OpenCL 3.0, 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from fpgart.api.device_extensions import extensions, il_version, ils, of_extension, opencl_c_features, opencl_c_versions
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue
from fpgart.base.personality import PROFILE
from fpgart.board.global_memory import GlobalMemory
from fpgart.board.mmd import Capability, Info, OfflineInfo
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, entry
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.local_memory import local_memory
from fpgart.version import __version__

MIB = 1 << 20
NO_CONFORMANCE = "v0000-01-01-00"
"""No version of the conformance tests was passed officially; hosts read the query as vYYYY-MM-DD-XX."""
LARGEST_CONSTANT = 1 << 30  # bytes of __constant buffers; hosts store the number in an int
CACHE_SIZE = 32768  # of __constant memory, the compiler's default
CACHE_LINE = 64
FP_SINGLE = cl.CL_FP_ROUND_TO_NEAREST | cl.CL_FP_INF_NAN
DEVICE_ATOMIC_ORDER = cl.CL_DEVICE_ATOMIC_ORDER_RELAXED | cl.CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
QUEUE = cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl.CL_QUEUE_PROFILING_ENABLE

NONE32: info.Query[Device] = lambda d: info.u32(0)  # noqa: E731 - a table entry
NONE64: info.Query[Device] = lambda d: info.u64(0)  # noqa: E731 - a table entry
U64 = Struct("Q")


def engine_bytes(query: int, length: int, default: bytes) -> info.Query[Device]:
    """Returns a query for the engine's answer, or `default` if it has none of that length."""

    def ask(device: Device) -> bytes:
        answer = device.platform.engine.device_info(query)
        return answer if len(answer) == length else default

    return ask


def engine_u32(query: int, default: int) -> info.Query[Device]:
    return engine_bytes(query, 4, info.u32(default))


def engine_u64(query: int, default: int) -> info.Query[Device]:
    return engine_bytes(query, 8, info.u64(default))


def uuid(device: Device) -> bytes:
    """Returns the same bytes for the same board in the same place, on every machine and in every run."""
    return uuid_of(f"fpgart {device.board.name} {device.id}")


def uuid_of(words: str) -> bytes:
    """Returns sixteen bytes of a digest of the words."""
    from hashlib import sha256  # it loads a library of cryptography

    return sha256(words.encode()).digest()[:16]


def driver_version(device: Device) -> str:
    """Returns the version with the requested engine, so that hosts that cache binaries by driver do not mix engines."""
    from fpgart.engine.choice import wanted_engine  # not needed at the start

    engine = wanted_engine().rpartition("/")[2]
    version = device.platform.personality.driver or __version__
    return version if engine == "auto" else f"{version} ({engine})"


def device_name(device: Device) -> str:
    return device.platform.personality.name_of_device(device.board.name, device.id)


def vendor_of(device: Device) -> str:
    return str(device.mmd.get_offline_info(OfflineInfo.VENDOR_NAME))


SYSTEM_CAPABILITIES = (
    cl.CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL
    | cl.CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL
    | cl.CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL
    | cl.CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL
)


def usm(query: Info) -> info.Query[Device]:
    """Returns a query for the board's capabilities for one kind of allocations."""

    def ask(device: Device) -> bytes:
        able, bits = device.capabilities(query), 0
        if Capability.SUPPORTED in able:
            bits |= cl.CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL
        if Capability.ATOMIC in able:
            bits |= cl.CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL
        if Capability.CONCURRENT in able:
            bits |= cl.CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL
        if Capability.ATOMIC | Capability.CONCURRENT in able:
            bits |= cl.CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL
        return info.bitfield(bits)

    return ask


def of_board(field: str, otherwise: info.Query[Device], encode: Callable[[int], bytes]) -> info.Query[Device]:
    """Returns a query for a field of the board's description, or `otherwise` if it is 0."""

    def ask(device: Device) -> bytes:
        value = int(getattr(device.board, field))
        return encode(value) if value else otherwise(device)

    return ask


def heap_size(name: str) -> info.Query[Device]:
    """Returns a query for the bytes of a 66AK2x's heap; 0 if the partition does not have it."""
    return lambda device: info.u64(sum(memory.size for memory in heaps_named(device, name)))


def heap_room(name: str) -> info.Query[Device]:
    """Returns a query for the bytes of the largest buffer that a heap has room for now."""

    def ask(device: Device) -> bytes:
        heaps = heaps_named(device, name)
        return info.u64(
            max((device.memories.largest_allocation(device.board.memories.index(heap)) for heap in heaps), default=0)
        )

    return ask


def heaps_named(device: Device, name: str) -> list[GlobalMemory]:
    """Returns the memories of the heap with that name. Raises InvalidValue for a board without a 66AK2x."""
    if not device.board.has_msmc:
        raise InvalidValue("this query is for boards with a 66AK2x")
    names = {"mapped1": ("mapped", "mapped1")}.get(name, (name,))
    return [memory for memory in device.board.memories if memory.name in names]


def has_doubles(device: Device) -> bool:
    return bool(U64.unpack(DEVICE_INFO[cl.CL_DEVICE_DOUBLE_FP_CONFIG](device))[0])


DEVICE_INFO: dict[int, info.Query[Device]] = {
    cl.CL_DEVICE_TYPE: lambda d: info.bitfield(cl.CL_DEVICE_TYPE_ACCELERATOR),
    cl.CL_DEVICE_VENDOR_ID: lambda d: info.u32(int(d.mmd.get_offline_info(OfflineInfo.VENDOR_ID))),
    cl.CL_DEVICE_MAX_COMPUTE_UNITS: of_board("cores", engine_u32(cl.CL_DEVICE_MAX_COMPUTE_UNITS, 1), info.u32),
    cl.CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: lambda d: info.u32(3),
    cl.CL_DEVICE_MAX_WORK_ITEM_SIZES: of_board(
        "largest_group",
        engine_bytes(cl.CL_DEVICE_MAX_WORK_ITEM_SIZES, 24, info.sizes((4096,) * 3)),
        lambda most: info.sizes((most,) * 3),
    ),
    cl.CL_DEVICE_MAX_WORK_GROUP_SIZE: of_board(
        "largest_group", engine_u64(cl.CL_DEVICE_MAX_WORK_GROUP_SIZE, 4096), info.u64
    ),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR: lambda d: info.u32(4),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT: lambda d: info.u32(2),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT: lambda d: info.u32(1),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG: lambda d: info.u32(1),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT: lambda d: info.u32(1),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE: lambda d: info.u32(1 if has_doubles(d) else 0),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF: NONE32,
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR: lambda d: info.u32(4),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT: lambda d: info.u32(2),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_INT: lambda d: info.u32(1),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG: lambda d: info.u32(1),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: lambda d: info.u32(1),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: lambda d: info.u32(1 if has_doubles(d) else 0),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: NONE32,
    cl.CL_DEVICE_MAX_CLOCK_FREQUENCY: of_board("clock_mhz", lambda d: info.u32(1000), info.u32),
    cl.CL_DEVICE_ADDRESS_BITS: lambda d: info.u32(64),
    cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE: lambda d: info.u64(d.board.told_allocation or d.max_mem_alloc_size),
    cl.CL_DEVICE_IMAGE_SUPPORT: lambda d: info.boolean(False),
    cl.CL_DEVICE_MAX_READ_IMAGE_ARGS: NONE32,
    cl.CL_DEVICE_MAX_WRITE_IMAGE_ARGS: NONE32,
    cl.CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS: NONE32,
    cl.CL_DEVICE_IL_VERSION: lambda d: info.string(il_version(d)),
    cl.CL_DEVICE_ILS_WITH_VERSION: ils,
    cl.CL_DEVICE_IMAGE2D_MAX_WIDTH: NONE64,
    cl.CL_DEVICE_IMAGE2D_MAX_HEIGHT: NONE64,
    cl.CL_DEVICE_IMAGE3D_MAX_WIDTH: NONE64,
    cl.CL_DEVICE_IMAGE3D_MAX_HEIGHT: NONE64,
    cl.CL_DEVICE_IMAGE3D_MAX_DEPTH: NONE64,
    cl.CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: NONE64,
    cl.CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: NONE64,
    cl.CL_DEVICE_MAX_SAMPLERS: NONE32,
    cl.CL_DEVICE_IMAGE_PITCH_ALIGNMENT: NONE32,
    cl.CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: NONE32,
    cl.CL_DEVICE_MAX_PIPE_ARGS: NONE32,
    cl.CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS: NONE32,
    cl.CL_DEVICE_PIPE_MAX_PACKET_SIZE: NONE32,
    cl.CL_DEVICE_MAX_PARAMETER_SIZE: engine_u64(cl.CL_DEVICE_MAX_PARAMETER_SIZE, 1024),
    cl.CL_DEVICE_MEM_BASE_ADDR_ALIGN: lambda d: info.u32(8192),
    cl.CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: lambda d: info.u32(128),
    cl.CL_DEVICE_SINGLE_FP_CONFIG: engine_u64(cl.CL_DEVICE_SINGLE_FP_CONFIG, FP_SINGLE),
    cl.CL_DEVICE_DOUBLE_FP_CONFIG: engine_u64(cl.CL_DEVICE_DOUBLE_FP_CONFIG, 0),
    cl.CL_DEVICE_HALF_FP_CONFIG: engine_u64(cl.CL_DEVICE_HALF_FP_CONFIG, 0),
    cl.CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: lambda d: info.u32(cl.CL_READ_ONLY_CACHE),
    cl.CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: lambda d: info.u32(CACHE_LINE),
    cl.CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: lambda d: info.u64(CACHE_SIZE),
    cl.CL_DEVICE_GLOBAL_MEM_SIZE: lambda d: info.u64(d.board.global_size),
    cl.CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: lambda d: info.u64(min(d.max_mem_alloc_size, LARGEST_CONSTANT)),
    cl.CL_DEVICE_MAX_CONSTANT_ARGS: lambda d: info.u32(8),
    cl.CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE: engine_u64(cl.CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, 0),
    cl.CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE: engine_u64(cl.CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, 0),
    cl.CL_DEVICE_LOCAL_MEM_TYPE: lambda d: info.u32(cl.CL_LOCAL),
    cl.CL_DEVICE_LOCAL_MEM_SIZE: lambda d: info.u64(local_memory(d)),
    cl.CL_DEVICE_MSMC_MEM_SIZE_TI: heap_size("msmc"),
    cl.CL_DEVICE_GLOBAL_EXT1_MEM_SIZE_TI: heap_size("mapped1"),
    cl.CL_DEVICE_GLOBAL_EXT2_MEM_SIZE_TI: heap_size("mapped2"),
    cl.CL_DEVICE_GLOBAL_MEM_MAX_ALLOC_TI: heap_room("fixed"),
    cl.CL_DEVICE_GLOBAL_EXT1_MEM_MAX_ALLOC_TI: heap_room("mapped1"),
    cl.CL_DEVICE_GLOBAL_EXT2_MEM_MAX_ALLOC_TI: heap_room("mapped2"),
    cl.CL_DEVICE_MSMC_MEM_MAX_ALLOC_TI: heap_room("msmc"),
    cl.CL_DEVICE_LOCAL_MEM_MAX_ALLOC_TI: lambda d: info.u64(d.board.local_memory),
    cl.CL_DEVICE_ERROR_CORRECTION_SUPPORT: lambda d: info.boolean(False),
    cl.CL_DEVICE_HOST_UNIFIED_MEMORY: lambda d: info.boolean(d.board.unified_memory),
    cl.CL_DEVICE_PROFILING_TIMER_RESOLUTION: lambda d: info.u64(1),
    cl.CL_DEVICE_ENDIAN_LITTLE: lambda d: info.boolean(True),
    cl.CL_DEVICE_AVAILABLE: lambda d: info.boolean(d.is_available()),
    cl.CL_DEVICE_COMPILER_AVAILABLE: lambda d: info.boolean(True),
    cl.CL_DEVICE_LINKER_AVAILABLE: lambda d: info.boolean(True),
    cl.CL_DEVICE_EXECUTION_CAPABILITIES: lambda d: info.bitfield(cl.CL_EXEC_KERNEL),
    cl.CL_DEVICE_QUEUE_ON_HOST_PROPERTIES: lambda d: info.bitfield(QUEUE),
    cl.CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES: NONE64,
    cl.CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE: NONE32,
    cl.CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE: NONE32,
    cl.CL_DEVICE_MAX_ON_DEVICE_QUEUES: NONE32,
    cl.CL_DEVICE_MAX_ON_DEVICE_EVENTS: NONE32,
    cl.CL_DEVICE_BUILT_IN_KERNELS: lambda d: info.string(""),
    cl.CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: lambda d: b"",
    cl.CL_DEVICE_PLATFORM: lambda d: info.handle(d.platform),
    cl.CL_DEVICE_NAME: lambda d: info.string(device_name(d)),
    cl.CL_DEVICE_VENDOR: lambda d: info.string(d.platform.personality.device_vendor or vendor_of(d)),
    cl.CL_DRIVER_VERSION: lambda d: info.string(driver_version(d)),
    cl.CL_DEVICE_PROFILE: lambda d: info.string(PROFILE),
    cl.CL_DEVICE_VERSION: lambda d: info.string(d.platform.personality.version),
    cl.CL_DEVICE_NUMERIC_VERSION: lambda d: info.u32(info.version(3, 0)),
    cl.CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: lambda d: info.u32(info.version(1, 2)),
    # At most 1.2, as OpenCL 3.0 says for devices without all of 2.0.
    cl.CL_DEVICE_OPENCL_C_VERSION: lambda d: info.string("OpenCL C 1.2 fpgart"),
    cl.CL_DEVICE_OPENCL_C_ALL_VERSIONS: opencl_c_versions,
    cl.CL_DEVICE_OPENCL_C_FEATURES: opencl_c_features,
    cl.CL_DEVICE_EXTENSIONS: lambda d: info.string(" ".join(extensions(d))),
    cl.CL_DEVICE_EXTENSIONS_WITH_VERSION: lambda d: b"".join(
        info.name_version(name, number) for name, number in extensions(d).items()
    ),
    cl.CL_DEVICE_PRINTF_BUFFER_SIZE: lambda d: info.u64(MIB),
    cl.CL_DEVICE_PREFERRED_INTEROP_USER_SYNC: lambda d: info.boolean(True),
    cl.CL_DEVICE_PARENT_DEVICE: NONE64,
    cl.CL_DEVICE_PARTITION_MAX_SUB_DEVICES: NONE32,
    cl.CL_DEVICE_PARTITION_PROPERTIES: NONE64,
    cl.CL_DEVICE_PARTITION_AFFINITY_DOMAIN: NONE64,
    cl.CL_DEVICE_PARTITION_TYPE: NONE64,
    cl.CL_DEVICE_REFERENCE_COUNT: lambda d: info.u32(1),
    cl.CL_DEVICE_SVM_CAPABILITIES: lambda d: info.bitfield(cl.CL_DEVICE_SVM_COARSE_GRAIN_BUFFER if d.has_svm else 0),
    cl.CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT: NONE32,
    cl.CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT: NONE32,
    cl.CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT: NONE32,
    cl.CL_DEVICE_MAX_NUM_SUB_GROUPS: engine_u32(cl.CL_DEVICE_MAX_NUM_SUB_GROUPS, 0),
    cl.CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS: engine_u32(
        cl.CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, 0
    ),
    cl.CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: engine_u64(cl.CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, DEVICE_ATOMIC_ORDER),
    cl.CL_DEVICE_ATOMIC_FENCE_CAPABILITIES: engine_u64(
        cl.CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, DEVICE_ATOMIC_ORDER | cl.CL_DEVICE_ATOMIC_ORDER_ACQ_REL
    ),
    cl.CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT: engine_u32(cl.CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, 0),
    cl.CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT: engine_u32(
        cl.CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, 0
    ),
    cl.CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT: engine_u32(cl.CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, 0),
    cl.CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES: NONE64,
    cl.CL_DEVICE_PIPE_SUPPORT: lambda d: info.boolean(False),
    cl.CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: lambda d: info.u64(1),
    cl.CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED: lambda d: info.string(NO_CONFORMANCE),
    cl.CL_DEVICE_UUID_KHR: uuid,
    cl.CL_DRIVER_UUID_KHR: lambda d: uuid_of(f"fpgart {__version__}"),
    cl.CL_DEVICE_LUID_VALID_KHR: lambda d: info.boolean(False),
    cl.CL_DEVICE_LUID_KHR: lambda d: bytes(8),
    cl.CL_DEVICE_NODE_MASK_KHR: NONE32,
    cl.CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL: usm(Info.HOST_MEM_CAPABILITIES),
    cl.CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL: usm(Info.DEVICE_MEM_CAPABILITIES),
    cl.CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: usm(Info.SHARED_MEM_CAPABILITIES),
    cl.CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: usm(Info.SHARED_MEM_CAPABILITIES),
    cl.CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL: lambda d: info.bitfield(
        SYSTEM_CAPABILITIES if d.reaches_system_memory else 0
    ),
}
MOMENTARY = {
    cl.CL_DEVICE_AVAILABLE,
    cl.CL_DEVICE_GLOBAL_MEM_MAX_ALLOC_TI,
    cl.CL_DEVICE_GLOBAL_EXT1_MEM_MAX_ALLOC_TI,
    cl.CL_DEVICE_GLOBAL_EXT2_MEM_MAX_ALLOC_TI,
    cl.CL_DEVICE_MSMC_MEM_MAX_ALLOC_TI,
}
"""The queries whose answers change while the host runs."""


@entry("clGetDeviceInfo")
def get_device_info(device: Device, param_name: int) -> Answer:
    query = DEVICE_INFO.get(param_name)
    data = query(device) if query is not None else of_extension(device, param_name)
    return data if param_name in MOMENTARY else info.remember(device, param_name, data)
