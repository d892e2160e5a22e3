# SPDX-License-Identifier: Apache-2.0
"""Plans the runs of kernels from their source or SPIR-V: cycles, channels, access patterns (docs/time.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from weakref import WeakKeyDictionary

from fpgart.board.timing import Access, Jump
from fpgart.engine.interface import BYTES, POINTER, SIZES
from fpgart.kernels.loops.access_patterns import Pattern, patterns
from fpgart.kernels.loops.kernel_loops import KernelLoops, kernel_loops
from fpgart.kernels.loops.kernel_streams import NOTHING, Streams, kernel_streams
from fpgart.kernels.loops.spirv_streams import spirv_streams
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.model.steps import Run
from fpgart.runtime.model.streaming import Talking
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Operation

LOOPS_OR_HEADERS = re.compile(r"\b(?:for|while|do)\b|^[ \t]*#[ \t]*include\b", re.MULTILINE)
MOST_REMEMBERED = 256
"""The number of launches of a program, with different arguments, whose patterns are kept."""
INTEGER = re.compile(r"u?(?:char|short|int|long)|unsigned(?: (?:char|short|int|long))?|size_t|bool")


class KernelPlans:
    """The facts about each program's kernels. Each source is read once."""

    def __init__(self) -> None:
        self._widths: WeakKeyDictionary[Program, dict[str, int]] = WeakKeyDictionary()
        self._loops: WeakKeyDictionary[Program, Mapping[str, KernelLoops]] = WeakKeyDictionary()
        self._streams: WeakKeyDictionary[Program, Streams] = WeakKeyDictionary()
        self._patterns: WeakKeyDictionary[Program, dict[object, list[Pattern]]] = WeakKeyDictionary()

    def run(self, launch: LaunchKernel, accesses: tuple[Access, ...]) -> Run:
        """Returns the run of a launch. `accesses`: those to its buffers, then to its allocations, in their order."""
        device, kernel, program = launch.device, launch.kernel, launch.program
        sizes = SIZES.unpack(launch.sizes)
        work_items = sizes[3] * sizes[4] * sizes[5]
        width = self._widths_of(program).get(kernel.name, 1)
        cycles = self._cycles_of(launch)
        run = Run(
            device, program.identity, kernel.name, work_items, width, accesses, cycles, launch.uses, cores=launch.cores
        )
        known = self._loops_of(program).get(kernel.name)
        if known is not None:
            run = replace(self._with_patterns(run, known, launch), depth=known.depth)
        return self._with_channels(run, launch)

    def _cycles_of(self, launch: LaunchKernel) -> int | None:
        """Returns the cycles of a work-item's loops with the launch's arguments; None if they cannot be counted."""
        found = self._loops_of(launch.program).get(launch.kernel.name)
        if found is not None:
            return found.cycles(scalars(launch, found))
        listing = launch.program.listing
        return 1 if listing is not None and LOOPS_OR_HEADERS.search(listing) is None else None

    def _loops_of(self, program: Program) -> Mapping[str, KernelLoops]:
        if program not in self._loops:
            found = self._streams_of(program)
            self._loops[program] = loops(program) if found is NOTHING else found.kernels
        return self._loops[program]

    def _streams_of(self, program: Program) -> Streams:
        if program not in self._streams:
            self._streams[program] = streams(program)
        return self._streams[program]

    def _with_patterns(self, run: Run, known: KernelLoops, launch: LaunchKernel) -> Run:
        found = self._patterns_of(run, known, launch) if known.touches else []
        if not found:
            return run
        arguments = launch.kernel.interface.arguments
        by_array: dict[str, list[Pattern]] = {}
        for pattern in found:
            by_array.setdefault(pattern.array, []).append(pattern)
        accesses, told = list(run.accesses), []
        for index, at in _accesses_of(launch):
            mine = by_array.get(arguments[index].name)
            if mine:
                accesses[at] = accesses[at]._replace(jumps=tuple(map(jump_of, mine)))
                told += [(accesses[at].memory, pattern) for pattern in mine]
        return replace(run, accesses=tuple(accesses), patterns=tuple(told))

    def _patterns_of(self, run: Run, known: KernelLoops, launch: LaunchKernel) -> list[Pattern]:
        """Returns the patterns; they are kept for launches with the same numbers."""
        earlier = self._patterns.setdefault(launch.program, {})
        numbers = scalars(launch, known)
        key = run.kernel, tuple(numbers.items()), run.work_items
        if key not in earlier:
            if len(earlier) >= MOST_REMEMBERED:
                earlier.clear()
            earlier[key] = patterns(known, numbers, run.work_items)
        return earlier[key]

    def _with_channels(self, run: Run, launch: LaunchKernel) -> Run:
        """Returns the run with the facts about its channels."""
        found = self._streams_of(launch.program)
        if run.kernel not in found.groups:
            return run
        if cabled_launch(launch) is not None:
            return replace(run, untold="the board has cables")
        if run.kernel in found.untold:
            return replace(run, untold=found.untold[run.kernel])
        if run.width > 1:
            return replace(run, untold=f"{run.width} work-items at once")
        return replace(run, talking=Talking(found, scalars(launch, found.kernels[run.kernel])))

    def _widths_of(self, program: Program) -> dict[str, int]:
        if program not in self._widths:
            self._widths[program] = widths(program)
        return self._widths[program]


def _accesses_of(launch: LaunchKernel) -> Iterator[tuple[int, int]]:
    """Yields each argument that is a buffer or a pointer into an allocation, and the number of its access."""
    for number, (index, _) in enumerate(launch.buffers):
        yield index, number
    number = first = len(launch.buffers)
    allocations = launch.usm.allocations if launch.usm is not None else []
    for index, (kind, _, value) in enumerate(launch.arguments):
        if kind == POINTER and isinstance(value, int) and number - first < len(allocations):
            allocation = allocations[number - first]
            if 0 <= value - allocation.address < allocation.size:  # else it is SVM
                yield index, number
                number += 1


def jump_of(pattern: Pattern) -> Jump:
    """Returns the pattern as the memory's timing takes it."""
    return Jump(pattern.run, pattern.stride, pattern.count)


def cabled_launch(operation: Operation | None) -> LaunchKernel | None:
    """Returns the launch that an operation belongs to if it may use cables: its packets are known at its end only."""
    launch = getattr(operation, "launch", None)
    is_cabled = isinstance(launch, LaunchKernel) and launch.device.has_cables and launch.needs_thread
    return launch if is_cabled else None


def widths(program: Program) -> dict[str, int]:
    """Returns, by kernel, the work-items that enter its hardware in each cycle.

    That is num_simd_work_items times num_compute_units. A container without source knows the first of them.
    """
    if program.is_container and program.source is None:
        from fpgart.aocx import container
        from fpgart.aocx.autodiscovery import parse

        text = container.Container.decode(program.binary(program.devices[0])).text(container.AUTODISCOVERY)
        return {kernel.name: max(1, kernel.vector_lanes) for kernel in parse(text).kernels}
    return {
        name: max(1, prod(numbers.get("num_simd_work_items", ()))) * max(1, prod(numbers.get("num_compute_units", ())))
        for name, numbers in program.hardware().items()
    }


def loops(program: Program) -> dict[str, KernelLoops]:
    """Returns, by kernel, the loops in the program's OpenCL C; empty if that is unknown."""
    if program.listing is None:
        return {}
    return kernel_loops(program.listing, program.devices[0].board.build_options(program.options))


def streams(program: Program) -> Streams:
    """Returns the uses of channels in the program's OpenCL C, or those of pipes in its SPIR-V."""
    if program.modules:
        return spirv_streams(program.modules, program.specialized)
    if program.listing is None:
        return NOTHING
    return kernel_streams(program.listing, program.devices[0].board.build_options(program.options))


def scalars(launch: LaunchKernel, loops: KernelLoops) -> dict[str, int]:
    """Returns the integers among the launch's arguments, or in them, by name."""
    found = {}
    for name, (index, offset, size) in loops.captured.items():
        kind, _, value = launch.arguments[index]
        if kind == BYTES and isinstance(value, bytes) and offset + size <= len(value):
            found[name] = int.from_bytes(value[offset : offset + size], "little", signed=True)
    for argument, (kind, size, value) in zip(launch.kernel.interface.arguments, launch.arguments, strict=True):
        if kind == BYTES and isinstance(value, bytes) and INTEGER.fullmatch(argument.type_name):
            signed = not argument.type_name.startswith(("u", "size_t", "bool"))
            found[argument.name] = int.from_bytes(value[:size], "little", signed=signed)
    return found
