# SPDX-License-Identifier: Apache-2.0
"""The report that `icpx -fsycl-link=early` writes, from the SPIR-V of the device's code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fpgart.aocx.compiler import SPACE_OF, memories_of
from fpgart.aocx.report import Section, page_of
from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, Category, DescribedKernel
from fpgart.base.config import OptionError
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import describe, shipped
from fpgart.board.description import BoardDescription
from fpgart.icpx.command_line import CommandLine
from fpgart.icpx.errors import IcpxError, UsageError
from fpgart.kernels.cpp_names import INLINE_NAMESPACE, kernel_name
from fpgart.kernels.interface import ArgumentInterface, KernelInterface
from fpgart.kernels.spirv import Module
from fpgart.kernels.spirv_facts import SpirvFacts, read_facts
from fpgart.kernels.spirv_kernels import interfaces
from fpgart.sdk.board_packages import default_board

REPLACED = (".a", ".o", ".aocr")
"""Endings of early images; others, such as .report, stay in the folder's name."""


def board_for(hardware: Sequence[str]) -> BoardDescription:
    """Returns the board that -Xstarget= or -Xsboard= names, if it is included; else the default one.

    Other names are those of Intel's families and boards, which no file describes here. Raises UsageError.
    """
    named = [word.partition("=")[2] for word in hardware if word.startswith(("-Xstarget=", "-Xsboard="))]
    try:
        return describe(next((name for name in named if name in shipped()), default_board(None)))
    except (BoardSpecError, OptionError) as error:
        raise UsageError(str(error)) from None


def write_report(modules: Sequence[bytes], board: BoardDescription, asked: CommandLine) -> Path:
    """Writes the page of some modules; returns its path. Raises IcpxError, and leaves no incomplete page."""
    output = asked.output or Path("a.a")
    name = output.stem if output.suffix in REPLACED else output.name
    page = output.with_name(f"{name}.prj") / "reports" / "report.html"
    read = [Module(module) for module in modules]
    facts = [read_facts(module) for module in read]
    kernels = [
        _kernel(kernel, each, board)
        for module, each in zip(read, facts, strict=True)
        for kernel in interfaces(module).values()
    ]
    system = Autodiscovery("", board.name, memories_of(board), tuple(kernels))
    text = page_of(_sections(facts), " ".join(asked.hardware), system, output.name)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        with suppress(OSError):  # there is none
            page.unlink()
        raise IcpxError(f"{page}: {error.strerror}") from None
    return page


def _kernel(kernel: KernelInterface, facts: SpirvFacts, board: BoardDescription) -> DescribedKernel:
    kinds = zip(kernel.arguments, facts.types[kernel.name], facts.sizes[kernel.name], strict=True)
    return DescribedKernel(
        kernel_name(kernel.name),
        tuple(_argument(argument, kind, size, board) for argument, kind, size in kinds),
        required_work_group_size=kernel.required_work_group_size,
    )


def _argument(argument: ArgumentInterface, kind: str, size: int, board: BoardDescription) -> Argument:
    space = SPACE_OF.get(argument.address_qualifier, AddressSpace.NONE)
    location = argument.buffer_location
    if location.isdecimal():
        memories = [memory.name for memory in board.memories]
        location = memories[int(location)] if int(location) < len(memories) else f"{location}, which the board lacks"
    return Argument(
        space,
        Category.VALUE if space is AddressSpace.NONE else Category.MEMORY,
        size,
        size,
        (location,) if location else (),
        name=argument.name,
        type_name=kind.replace(INLINE_NAMESPACE, ""),
    )


def _sections(facts: Sequence[SpirvFacts]) -> list[Section]:
    return [
        Section("Pipes", ("pipe", "packet", "capacity", "kernels"), [
            (kernel_name(pipe.name), f"{pipe.packet} bytes", pipe.capacity, ", ".join(map(kernel_name, pipe.kernels)))
            for each in facts for pipe in each.pipes
        ]),
        Section("Local memories with attributes", ("function", "variable", "attributes"), [
            (kernel_name(memory.function), memory.name, memory.attributes) for each in facts for memory in each.memories
        ]),
        Section("Loops with attributes", ("function", "attributes"), [
            (kernel_name(loop.function), loop.attributes) for each in facts for loop in each.loops
        ]),
    ]  # fmt: skip
