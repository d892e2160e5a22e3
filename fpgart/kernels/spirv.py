# SPDX-License-Identifier: Apache-2.0
"""Properties that are read from SPIR-V without the compiler: the kernels of a module and their arguments.

Drivers do not describe the arguments of kernels that do not come from OpenCL C, and a runtime has to know
which of them are pointers. Numbers are those of the SPIR-V specification 1.6 and, for buffer locations, of
SPV_INTEL_fpga_buffer_location.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from fpgart.base import opencl as cl
from fpgart.kernels.interface import ArgumentInterface, KernelInterface

MAGIC = 0x07230203
HEADER = 5  # words in front of the first instruction


class Op(enum.IntEnum):
    """The instructions that describe kernels and their arguments."""

    NAME = 5
    STRING = 7
    ENTRY_POINT = 15
    EXECUTION_MODE = 16
    TYPE_IMAGE = 25
    TYPE_SAMPLER = 26
    TYPE_POINTER = 32
    TYPE_PIPE = 38
    FUNCTION = 54
    FUNCTION_PARAMETER = 55
    DECORATE = 71
    TYPE_UNTYPED_POINTER = 4417


IMPORT = 1
"""The kind of linkage of a name that another module defines."""


class Decoration(enum.IntEnum):
    """The decorations that are read."""

    RESTRICT = 19
    VOLATILE = 21
    CONSTANT = 22
    PARAMETER_ATTRIBUTE = 38
    LINKAGE = 41
    BUFFER_LOCATION = 5921


KERNEL_MODEL = 6
LOCAL_SIZE = 17
BY_VALUE = 2  # a function parameter attribute
NO_WRITE = 6
HARDWARE_MODES = {
    5893: "max_work_group_size", 5894: "max_global_work_dim", 5896: "num_simd_work_items",
    5903: "scheduler_target_fmax_mhz",
}  # fmt: skip
"""The execution modes of SPV_INTEL_kernel_attributes, by the names of the attributes in OpenCL C."""
NO_GLOBAL_OFFSET = 5895
OF_SYCL = "_arg_"
"""SYCL's compilers put it in front of the names of arguments."""
TYPE_NAMES = "kernel_arg_type."

# Storage classes; a structure that is passed by value points to class Function.
ADDRESS = {
    0: cl.CL_KERNEL_ARG_ADDRESS_CONSTANT,
    4: cl.CL_KERNEL_ARG_ADDRESS_LOCAL,
    5: cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
    7: cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
    5936: cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,  # DeviceOnlyINTEL
    5937: cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,  # HostOnlyINTEL
}
OPAQUE = frozenset((Op.TYPE_IMAGE, Op.TYPE_PIPE))
QUALIFIERS = {
    Decoration.RESTRICT: cl.CL_KERNEL_ARG_TYPE_RESTRICT,
    Decoration.VOLATILE: cl.CL_KERNEL_ARG_TYPE_VOLATILE,
    Decoration.CONSTANT: cl.CL_KERNEL_ARG_TYPE_CONST,
}


@dataclass(slots=True)
class Parameter:
    """A function's parameter, by the ids of its type and itself."""

    type: int
    id: int


@dataclass(slots=True)
class Module:
    """The result of a pass over the instructions; by id unless stated otherwise."""

    names: dict[int, str] = field(default_factory=dict)
    kernels: dict[int, list[str]] = field(default_factory=dict)
    """Names of the entry points that are kernels, by function."""
    local_sizes: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    hardware: dict[int, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    """By function, the numbers of its attributes for hardware."""
    pointers: dict[int, int] = field(default_factory=dict)
    """Storage classes of pointer types."""
    types: dict[int, int] = field(default_factory=dict)
    """The instruction that declares an image, a sampler or a pipe."""
    decorations: dict[int, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)
    parameters: dict[int, list[Parameter]] = field(default_factory=dict)
    type_names: dict[str, list[str]] = field(default_factory=dict)
    """The types' names of the arguments, by kernel; only compilers from OpenCL C write them."""


def words_of(il: bytes) -> array[int]:
    """Returns the words of a module in this machine's order; none for bytes that are no SPIR-V."""
    words = array("I", il[: len(il) // 4 * 4])
    if len(words) > HEADER and words[0] != MAGIC:
        words.byteswap()
    return words if len(words) > HEADER and words[0] == MAGIC else array("I")


def heads(words: array[int]) -> Iterator[tuple[int, int, int]]:
    """Yields each instruction's number, the position of its first word, and its length in words.

    It ends before an instruction that is empty or longer than the rest, because no SPIR-V follows it.
    """
    at, end = HEADER, len(words)
    while at < end:
        head = words[at]
        length = head >> 16
        if not length or at + length > end:
            return
        yield head & 0xFFFF, at, length
        at += length


def interfaces(il: bytes) -> dict[str, KernelInterface]:
    """Returns the kernels of a module by name, as far as it can be read; none for bytes that are no SPIR-V."""
    module = _read(words_of(il))
    found = {}
    for function, names in module.kernels.items():
        for name in names:
            types = module.type_names.get(name, [])
            arguments = tuple(
                _argument(module, parameter, types[index] if index < len(types) else "")
                for index, parameter in enumerate(module.parameters.get(function, []))
            )
            found[name] = KernelInterface(
                name, arguments, required_work_group_size=module.local_sizes.get(function, (0, 0, 0))
            )
    return found


def hardware(il: bytes) -> dict[str, dict[str, tuple[int, ...]]]:
    """Returns, by kernel, the numbers of its attributes for hardware."""
    module = _read(words_of(il))
    return {
        name: module.hardware[function]
        for function, names in module.kernels.items()
        for name in names
        if function in module.hardware
    }


def imports(il: bytes) -> list[str]:
    """Returns the functions and variables that a module names, but does not define."""
    words = words_of(il)
    return [
        text_of(words[at + 3 : at + length - 1].tolist())
        for code, at, length in heads(words)
        if code == Op.DECORATE
        and length > 4
        and words[at + 2] == Decoration.LINKAGE
        and words[at + length - 1] == IMPORT
    ]


def _read(words: array[int]) -> Module:
    """Reads the instructions in one pass. Modules have millions of words: others cost a look into a set."""
    module = Module()
    wanted = frozenset(map(int, Op))
    function = 0
    for code, at, length in heads(words):
        if code not in wanted:
            continue
        if code == Op.FUNCTION and length > 2:
            function = words[at + 2]
        elif code == Op.FUNCTION_PARAMETER:
            if function in module.kernels and length > 2:
                module.parameters.setdefault(function, []).append(Parameter(words[at + 1], words[at + 2]))
        else:
            _note(module, code, words[at + 1 : at + length])
    return module


def _note(module: Module, code: int, operands: array[int]) -> None:
    """Records an instruction in front of the functions."""
    match code, operands.tolist():
        case Op.NAME, [id, *text]:
            module.names[id] = text_of(text)
        case Op.STRING, [_, *text]:
            words = text_of(text)
            if words.startswith(TYPE_NAMES):
                name, _, types = words.removeprefix(TYPE_NAMES).rpartition(".")
                module.type_names[name] = types.removesuffix(",").split(",")
        case Op.ENTRY_POINT, [model, function, *text] if model == KERNEL_MODEL:
            module.kernels.setdefault(function, []).append(text_of(text))
        case Op.EXECUTION_MODE, [function, mode, x, y, z] if mode == LOCAL_SIZE:
            module.local_sizes[function] = (x, y, z)
        case Op.EXECUTION_MODE, [function, mode, *numbers] if mode in HARDWARE_MODES:
            module.hardware.setdefault(function, {})[HARDWARE_MODES[mode]] = tuple(numbers)
        case Op.EXECUTION_MODE, [function, mode] if mode == NO_GLOBAL_OFFSET:
            module.hardware.setdefault(function, {})["uses_global_work_offset"] = (0,)
        case ((Op.TYPE_POINTER | Op.TYPE_UNTYPED_POINTER), [id, storage, *_]):
            module.pointers[id] = storage
        case ((Op.TYPE_IMAGE | Op.TYPE_SAMPLER | Op.TYPE_PIPE), [id, *_]):
            module.types[id] = code
        case Op.DECORATE, [id, decoration, *more]:
            module.decorations.setdefault(id, []).append((decoration, tuple(more)))


def text_of(words: list[int]) -> str:
    """Returns a literal string, which ends with a zero byte."""
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data.partition(b"\0")[0].decode(errors="replace")


def _argument(module: Module, parameter: Parameter, type_name: str) -> ArgumentInterface:
    decorations = module.decorations.get(parameter.id, [])
    attributes = {value for kind, values in decorations if kind == Decoration.PARAMETER_ATTRIBUTE for value in values}
    qualifier = cl.CL_KERNEL_ARG_TYPE_NONE
    storage = module.pointers.get(parameter.type)
    if storage is not None:
        for kind, _ in decorations:
            qualifier |= QUALIFIERS.get(Decoration(kind), 0) if kind in QUALIFIERS else 0
        if NO_WRITE in attributes:
            qualifier |= cl.CL_KERNEL_ARG_TYPE_CONST
    declared = module.types.get(parameter.type)
    address = cl.CL_KERNEL_ARG_ADDRESS_PRIVATE
    if declared in OPAQUE:
        address = cl.CL_KERNEL_ARG_ADDRESS_GLOBAL
    elif storage is not None and BY_VALUE not in attributes:
        address = ADDRESS.get(storage, cl.CL_KERNEL_ARG_ADDRESS_GLOBAL)
    location = next((values[0] for kind, values in decorations if kind == Decoration.BUFFER_LOCATION and values), None)
    return ArgumentInterface(
        module.names.get(parameter.id, "").removeprefix(OF_SYCL),
        "sampler_t" if declared == Op.TYPE_SAMPLER else type_name,
        address,
        cl.CL_KERNEL_ARG_ACCESS_NONE,
        qualifier,
        "" if location is None else str(location),
    )
