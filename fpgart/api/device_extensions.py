# SPDX-License-Identifier: Apache-2.0
"""The extensions and languages of a device, which depend on its engine and its board."""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue
from fpgart.board.global_memory import AllocationType
from fpgart.bridge import info
from fpgart.kernels.features import FEATURES_NOT_OFFERED
from fpgart.runtime.memory.device import Device

# Extensions for kernels come from the engine's compiler, those for hosts from the driver itself.
OF_THE_DRIVER = {
    "cl_khr_icd": info.version(1, 0),
    "cl_khr_extended_versioning": info.version(1, 0),
    "cl_khr_device_uuid": info.version(1, 0),
}
OF_THE_BOARD = ("cl_intel_unified_shared_memory", "cl_intel_mem_alloc_buffer_location")
OF_THE_ENGINE = {
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_spir",
    "cl_khr_il_program",
    "cl_khr_subgroups",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_extended_bit_ops",
    "cl_khr_integer_dot_product",
    "cl_khr_suggested_local_work_size",
    "cl_khr_spirv_linkonce_odr",
    "cl_khr_spirv_no_integer_wrap_decoration",
    "cl_ext_float_atomics",
    "cl_intel_devicelib_assert",
    "cl_intel_required_subgroup_size",
    "cl_intel_spirv_subgroups",
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_long",
    "cl_intel_subgroups_short",
}


REQUIRED_SUB_GROUPS = "cl_intel_required_subgroup_size"
# Queries that an extension adds; the engine answers them.
OF_EXTENSIONS = {
    cl.CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR: "cl_khr_integer_dot_product",
    cl.CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR: "cl_khr_integer_dot_product",
    cl.CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR: "cl_khr_integer_dot_product",
    cl.CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT: "cl_ext_float_atomics",
    cl.CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT: "cl_ext_float_atomics",
    cl.CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT: "cl_ext_float_atomics",
    cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL: REQUIRED_SUB_GROUPS,
    cl.CL_DEVICE_SPIR_VERSIONS: "cl_khr_spir",
}


def engine_text(device: Device, query: int) -> str:
    answer = device.platform.engine.device_info(query)
    return answer.rstrip(b"\0").decode(errors="replace")


def extensions(device: Device) -> dict[str, int]:
    """Returns the names and versions of the extensions."""
    of_board = {name: info.version(1, 0) for name in OF_THE_BOARD if device.board.can_hold(AllocationType.DEVICE)}
    of_engine = engine_text(device, cl.CL_DEVICE_EXTENSIONS).split()
    found = {name: info.version(1, 0) for name in of_engine if name in OF_THE_ENGINE}
    if device.platform.engine.device_info(cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL):
        found[REQUIRED_SUB_GROUPS] = info.version(1, 0)  # Intel's emulator has it without listing it
    if not il_version(device):
        found.pop("cl_khr_il_program", None)
    of_personality = {name: info.version(1, 0) for name in device.platform.personality.extensions}
    return OF_THE_DRIVER | of_board | of_personality | found


def il_version(device: Device) -> str:
    return engine_text(device, cl.CL_DEVICE_IL_VERSION)


def ils(device: Device) -> bytes:
    """Returns the intermediate languages, as an array of cl_name_version."""
    found = []
    for word in il_version(device).split():
        name, _, number = word.rpartition("_")
        major, _, minor = number.partition(".")
        if name and major.isdigit() and minor.isdigit():
            found.append(info.name_version(name, info.version(int(major), int(minor))))
    return b"".join(found)


def opencl_c_versions(device: Device) -> bytes:
    answer = _named_versions(device, cl.CL_DEVICE_OPENCL_C_ALL_VERSIONS)
    return answer or b"".join(info.name_version("OpenCL C", info.version(1, minor)) for minor in (0, 1, 2))


def opencl_c_features(device: Device) -> bytes:
    return _named_versions(device, cl.CL_DEVICE_OPENCL_C_FEATURES)


def _named_versions(device: Device, query: int) -> bytes:
    """Returns the engine's cl_name_version entries without the features that are not offered."""
    answer = info.name_versions(device.platform.engine.device_info(query))
    return b"".join(info.name_version(name, number) for name, number in answer if name not in FEATURES_NOT_OFFERED)


def of_extension(device: Device, query: int) -> bytes:
    """Returns the engine's answer. Raises InvalidValue for a query of no extension that the device has."""
    extension = OF_EXTENSIONS.get(query)
    answer = device.platform.engine.device_info(query) if extension in extensions(device) else b""
    if not answer:
        raise InvalidValue(f"{query:#x} is not a query for a device")
    return answer
