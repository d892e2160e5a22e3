# SPDX-License-Identifier: Apache-2.0
"""The kernels of a SPIR-V module: their arguments, their attributes, and what they need of other modules.

Drivers do not describe the arguments of kernels that do not come from OpenCL C, and a runtime has to know
which of them are pointers.
"""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.kernels.interface import ArgumentInterface, KernelInterface
from fpgart.kernels.spirv import OF_SYCL, POINTERS, Decoration, Module, Op, Storage, text_of

IMPORT = 1
"""The kind of linkage of a name that another module defines."""
LOCAL_SIZE = 17
BY_VALUE = 2  # a function parameter attribute
NO_WRITE = 6
HARDWARE_MODES = {
    5893: "max_work_group_size", 5894: "max_global_work_dim", 5896: "num_simd_work_items",
    5903: "scheduler_target_fmax_mhz",
}  # fmt: skip
"""The execution modes of SPV_INTEL_kernel_attributes, by the names of the attributes in OpenCL C."""
NO_GLOBAL_OFFSET = 5895
TYPE_NAMES = "kernel_arg_type."
ADDRESS = {
    Storage.CONSTANT: cl.CL_KERNEL_ARG_ADDRESS_CONSTANT,
    Storage.LOCAL: cl.CL_KERNEL_ARG_ADDRESS_LOCAL,
    Storage.PRIVATE: cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
}
"""By storage class; others are of global memory."""
OPAQUE = (Op.TYPE_IMAGE, Op.TYPE_PIPE)
QUALIFIERS = {
    Decoration.RESTRICT: cl.CL_KERNEL_ARG_TYPE_RESTRICT,
    Decoration.VOLATILE: cl.CL_KERNEL_ARG_TYPE_VOLATILE,
    Decoration.CONSTANT: cl.CL_KERNEL_ARG_TYPE_CONST,
}


def interfaces(module: Module) -> dict[str, KernelInterface]:
    """Returns the kernels of a module by name, as far as it can be read."""
    parameters: dict[int, list[tuple[int, int]]] = {kernel.function: [] for kernel in module.kernels.values()}
    for function, _, operands in module.in_functions((Op.PARAMETER,)):
        if function in parameters and len(operands) > 1:
            parameters[function].append((operands[0], operands[1]))
    decorations: dict[int, list[tuple[int, list[int]]]] = {}
    for _, (id, kind, *values) in module.declared(Op.DECORATE, least=2):
        decorations.setdefault(id, []).append((kind, values))
    sizes = {
        function: (numbers[0], numbers[1], numbers[2])
        for _, (function, mode, *numbers) in module.declared(Op.EXECUTION_MODE, least=5)
        if mode == LOCAL_SIZE
    }
    names = _type_names(module)
    found = {}
    for name, (function, _) in module.kernels.items():
        types = names.get(name, [])
        arguments = tuple(
            _argument(module, kind, id, decorations.get(id, []), types[index] if index < len(types) else "")
            for index, (kind, id) in enumerate(parameters[function])
        )
        found[name] = KernelInterface(name, arguments, required_work_group_size=sizes.get(function, (0, 0, 0)))
    return found


def hardware(module: Module) -> dict[str, dict[str, tuple[int, ...]]]:
    """Returns, by kernel, the numbers of its attributes for hardware."""
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    for _, (function, mode, *numbers) in module.declared(Op.EXECUTION_MODE, least=2):
        if mode in HARDWARE_MODES:
            found.setdefault(function, {})[HARDWARE_MODES[mode]] = tuple(numbers)
        elif mode == NO_GLOBAL_OFFSET:
            found.setdefault(function, {})["uses_global_work_offset"] = (0,)
    return {name: found[function] for name, (function, _) in module.kernels.items() if function in found}


def imports(module: Module) -> list[str]:
    """Returns the functions and variables that a module names, but does not define."""
    return [text_of(words[:-1]) for _, words in module.decorated(Decoration.LINKAGE) if words[-1] == IMPORT]


def _type_names(module: Module) -> dict[str, list[str]]:
    """Returns the names of the arguments' types, by kernel; only compilers from OpenCL C write them."""
    found = {}
    for _, (_, *words) in module.declared(Op.STRING):
        text = text_of(words)
        if text.startswith(TYPE_NAMES):
            name, _, types = text.removeprefix(TYPE_NAMES).rpartition(".")
            found[name] = types.removesuffix(",").split(",")
    return found


def _argument(
    module: Module, kind: int, id: int, decorations: list[tuple[int, list[int]]], type_name: str
) -> ArgumentInterface:
    attributes = {value for kind, values in decorations if kind == Decoration.PARAMETER_ATTRIBUTE for value in values}
    qualifier = cl.CL_KERNEL_ARG_TYPE_NONE
    address = cl.CL_KERNEL_ARG_ADDRESS_PRIVATE
    declared, _ = module.types.get(kind, (0, ()))
    if declared in POINTERS:
        for decoration, _ in decorations:
            qualifier |= QUALIFIERS.get(decoration, 0)
        if NO_WRITE in attributes:
            qualifier |= cl.CL_KERNEL_ARG_TYPE_CONST
        if BY_VALUE not in attributes:
            address = ADDRESS.get(module.storage(kind), cl.CL_KERNEL_ARG_ADDRESS_GLOBAL)
    elif declared in OPAQUE:
        address = cl.CL_KERNEL_ARG_ADDRESS_GLOBAL
    location = next((values[0] for kind, values in decorations if kind == Decoration.BUFFER_LOCATION and values), None)
    return ArgumentInterface(
        module.name(id).removeprefix(OF_SYCL),
        "sampler_t" if declared == Op.TYPE_SAMPLER else type_name,
        address,
        cl.CL_KERNEL_ARG_ACCESS_NONE,
        qualifier,
        "" if location is None else str(location),
    )
