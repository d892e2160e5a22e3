# SPDX-License-Identifier: Apache-2.0
"""Runs work-groups above the engine's limit as smaller ones, for the kernels that allow it.

Boards have no such limit. If a kernel's work-items do not use their group and do not wait for each other, the engine
gets the same ND-range in smaller groups.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from struct import Struct

from fpgart.base import opencl as cl
from fpgart.base.patterns import pattern
from fpgart.engine.interface import SIZES, Engine
from fpgart.kernels.call_graph import CallGraph
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program

COUNT, SIZES3 = Struct("Q"), Struct("3Q")
NO_LIMIT = (1 << 31) - 1
"""The work-items of a group that aoc writes into an .aocx for kernels without max_work_group_size."""
DEFAULT = 4096
"""The work-items of a group if there is no engine to ask."""

GROUP_BOUND = pattern(
    r"barrier|(__)?local|get_(enqueued_)?local_\w+|get_group_id|get_num_groups|(intel_)?(sub|work)_group_\w+"
    r"|get_(max_|enqueued_num_|num_)?sub_groups?_\w+|async_work_group_\w+|wait_group_events|read_pipe\w*|write_pipe\w*"
)
"""Matches the names of functions and types that depend on a work-item's group."""


def largest_group(kernel: Kernel, device: Device) -> tuple[int, str]:
    """Returns the work-items of a kernel's largest group on a device, and the reason for that limit in words."""
    most, reason = engine_limit(kernel), f"engine '{device.platform.engine.name}' accepts no more"
    compiled, _ = compiled_limits(kernel)
    if compiled <= most:
        return compiled, "the kernel was compiled with max_work_group_size"
    board = compiled if kernel.program.is_container else device.board.largest_group
    if most >= board:
        return most, reason if board else f"{reason}, and the program is no .aocx"
    if any(kernel.interface.required_work_group_size):
        return most, f"{reason}, and the kernel has reqd_work_group_size"
    program = kernel.program.on(device)
    bound = bound_to_groups(program.listing or "", kernel.name, program.builds[device].options)
    return (
        (most, f"{reason}, and the kernel's groups cannot be split: {bound}") if bound else (board, "so has the board")
    )


def compiled_limits(kernel: Kernel) -> tuple[int, tuple[int, ...]]:
    """Returns the largest group in work-items, and by dimension, for which the kernel of an .aocx was compiled.

    They are the numbers of max_work_group_size. Kernels of other programs have no limit here; `--check fpga` reports
    launches that exceed the attribute.
    """
    program = kernel.program
    sizes = program.hardware().get(kernel.name, {}).get("max_work_group_size", ()) if program.is_container else ()
    return min(prod(sizes), NO_LIMIT) if sizes else NO_LIMIT, sizes if len(sizes) == 3 else (NO_LIMIT,) * 3


def takes_uneven_groups(program: Program, device: Device) -> bool:
    """True if work-groups may differ in size, which needs OpenCL C 2.0 or newer, or SPIR-V."""
    options = program.builds[device].options.split()
    if "-cl-uniform-work-group-size" in options:
        return False
    return bool(program.il) or any(option in ("-cl-std=CL2.0", "-cl-std=CL3.0") for option in options)


def engine_limit(kernel: Kernel) -> int:
    """Returns the work-items of a kernel's largest group that the engine can run."""
    answer = kernel.engine_kernel.work_group_info(cl.CL_KERNEL_WORK_GROUP_SIZE)
    return int(COUNT.unpack(answer)[0]) if len(answer) == COUNT.size else NO_LIMIT


def engine_limits(engine: Engine) -> tuple[int, tuple[int, ...]]:
    """Returns the largest group of the engine's device in work-items, and its largest local size by dimension."""
    most = engine.device_info(cl.CL_DEVICE_MAX_WORK_GROUP_SIZE)
    items = engine.device_info(cl.CL_DEVICE_MAX_WORK_ITEM_SIZES)
    return (
        int(COUNT.unpack(most)[0]) if len(most) == COUNT.size else DEFAULT,
        SIZES3.unpack(items) if len(items) == SIZES3.size else (DEFAULT,) * 3,
    )


def fits_engine(device: Device, local: tuple[int, ...]) -> bool:
    """True if the engine accepts groups of this local size."""
    most, limits = device.platform.group_limits
    return prod(local) <= most and all(map(int.__le__, local, limits))


def for_engine(kernel: Kernel, device: Device, sizes: bytes) -> bytes:
    """Returns the offset, global and local size of a launch with groups that the engine accepts."""
    numbers = SIZES.unpack(sizes)
    local = numbers[6:]
    if fits_engine(device, local):
        return sizes
    most = engine_limit(kernel)
    if most == NO_LIMIT:  # a Python model
        return sizes
    return SIZES.pack(*numbers[:6], *smaller_group(local, most, device.platform.group_limits[1]))


@lru_cache(maxsize=256)
def bound_to_groups(source: str, kernel: str, options: str) -> str:
    """Returns the reason why a kernel's groups cannot be split, in words, or ""."""
    used = CallGraph(source, options).names_used(kernel)
    if used is None:
        return "its source does not show that it can do without them"
    bound = sorted(name for name in used if GROUP_BOUND.fullmatch(name))
    return f"it uses {', '.join(bound)}" if bound else ""


def smaller_group(local: tuple[int, ...], most: int, per_dimension: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the largest local size that divides `local`, has `most` work-items at most, and keeps `per_dimension`."""
    found = [_largest_divisor(size, min(limit, most)) for size, limit in zip(local, per_dimension, strict=False)]
    for index in reversed(range(len(found))):
        others = prod(found[:index] + found[index + 1 :])
        if others * found[index] > most:
            found[index] = _largest_divisor(found[index], max(1, most // others))
    return tuple(found)


def _largest_divisor(number: int, limit: int) -> int:
    return next(divisor for divisor in range(min(number, limit), 0, -1) if number % divisor == 0)
