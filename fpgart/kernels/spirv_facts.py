# SPDX-License-Identifier: Apache-2.0
"""Facts of SPIR-V for reports: sizes of arguments, pipes, local memories, attributes of loops.

Numbers are those of the SPIR-V specification 1.6 and of Intel's extensions for FPGAs in its registry.
"""

from __future__ import annotations

import enum
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from fpgart.kernels.fpga_spirv import FpgaModule, read_fpga_module
from fpgart.kernels.fpga_spirv import Op as Declaration
from fpgart.kernels.spirv import Op, heads, text_of, words_of

USER_SEMANTIC = 5635
PRIVATE = 7
"""The storage class of functions' own variables."""
FUNCTION_CALL = 57
LOOP_MERGE = 246
NAMED = frozenset((Op.NAME, Op.ENTRY_POINT, Op.FUNCTION, Op.FUNCTION_PARAMETER, Op.DECORATE, FUNCTION_CALL, LOOP_MERGE))
PIPE_TYPE = "struct.ConstantPipeStorage"
ATTRIBUTE = re.compile(r"\{([^{}]*)\}")
SCALARS = {8: "char", 16: "short", 32: "int", 64: "long"}
FLOATS = {16: "half", 32: "float", 64: "double"}


class LoopControl(enum.IntFlag):
    """The attributes of a loop; those of FPGAs by their names in SYCL. Most have one number."""

    unroll = 0x1
    no_unroll = 0x2
    ivdep = 0x4
    ivdep_of_length = 0x8
    min_iterations = 0x10
    max_iterations = 0x20
    iteration_multiple = 0x40
    peel_count = 0x80
    unroll_by = 0x100
    initiation_interval = 0x10000
    max_concurrency = 0x20000
    ivdep_of_arrays = 0x40000
    pipelining = 0x80000
    loop_coalesce = 0x100000
    max_interleaving = 0x200000
    speculated_iterations = 0x400000
    nofusion = 0x800000
    loop_count = 0x1000000
    max_reinvocation_delay = 0x2000000


WITHOUT_NUMBER = LoopControl.unroll | LoopControl.no_unroll | LoopControl.ivdep | LoopControl.nofusion
LOOP_COUNT_WORDS = 6


@dataclass(frozen=True, slots=True)
class PipeFacts:
    """A pipe between kernels: the bytes of a packet, the packets that it holds, and the kernels that use it."""

    name: str
    packet: int
    capacity: int
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LocalMemoryFacts:
    """A variable within a kernel whose memory has attributes."""

    function: str
    name: str
    attributes: str


@dataclass(frozen=True, slots=True)
class LoopFacts:
    function: str
    attributes: str


@dataclass(frozen=True, slots=True)
class SpirvFacts:
    """The facts; `types` and `sizes` are those of the arguments, by kernel."""

    types: dict[str, tuple[str, ...]]
    sizes: dict[str, tuple[int, ...]]
    pipes: tuple[PipeFacts, ...]
    memories: tuple[LocalMemoryFacts, ...]
    loops: tuple[LoopFacts, ...]


@dataclass(slots=True)
class _Reading:
    """The result of a pass over the instructions, by id."""

    names: dict[int, str] = field(default_factory=dict)
    kernels: dict[int, str] = field(default_factory=dict)
    interfaces: dict[str, list[int]] = field(default_factory=dict)
    """The variables that each kernel uses."""
    parameters: dict[int, list[int]] = field(default_factory=dict)
    """The types of each function's parameters."""
    callers: dict[int, set[int]] = field(default_factory=dict)
    semantics: dict[int, str] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)
    """The functions of the values that have a semantic."""
    loops: dict[tuple[int, str], None] = field(default_factory=dict)


def read_facts(il: bytes) -> SpirvFacts:
    """Returns the facts of a module; none for bytes that are no SPIR-V."""
    module, found = read_fpga_module(il), _read(il)
    return SpirvFacts(
        {name: tuple(_type(module, found, kind) for kind in found.parameters.get(function, ()))
         for function, name in found.kernels.items()},
        {name: tuple(_size(module, kind) for kind in found.parameters.get(function, ()))
         for function, name in found.kernels.items()},
        tuple(_pipes(module, found)),
        tuple(
            LocalMemoryFacts(_function(found, found.owners[id]), _variable(found, id), _attributes(text))
            for id, text in found.semantics.items()
            if id in found.owners
        ),
        tuple(LoopFacts(_function(found, function), words) for function, words in found.loops),
    )  # fmt: skip


def _read(il: bytes) -> _Reading:
    found, function = _Reading(), 0
    for code, operands in _instructions(words_of(il)):
        match code, operands:
            case Op.NAME, [id, *text]:
                found.names[id] = text_of(text)
            case Op.ENTRY_POINT, [_, id, *words]:
                name = text_of(words)
                found.kernels[id] = name
                found.interfaces[name] = words[len(name.encode()) // 4 + 1 :]
            case Op.DECORATE, [id, decoration, *text] if decoration == USER_SEMANTIC:
                found.semantics[id] = text_of(text)
            case Op.FUNCTION, [_, id, *_]:
                function = id
            case Op.FUNCTION_PARAMETER, [kind, *_]:
                found.parameters.setdefault(function, []).append(kind)
            case (_, [_, id, callee, *_]) if code == FUNCTION_CALL:
                found.callers.setdefault(callee, set()).add(function)
            case (_, [_, _, control, *numbers]) if code == LOOP_MERGE:
                if told := _controls(control, numbers):
                    found.loops[function, told] = None
            case _, [_, id, *_] if id in found.semantics:
                found.owners[id] = function
    return found


def _instructions(words: array[int]) -> Iterator[tuple[int, list[int]]]:
    """Yields the instructions that say something, and those that make a value which may have a semantic."""
    marked = set[int]()
    for code, at, length in heads(words):
        if code in NAMED or (length > 2 and words[at + 2] in marked):
            operands = words[at + 1 : at + length].tolist()
            if code == Op.DECORATE and operands[1] == USER_SEMANTIC:
                marked.add(operands[0])
            yield code, operands


def numbers_of(control: int, *numbers: int) -> dict[LoopControl, tuple[int, ...]]:
    """Returns the attributes of a loop with their numbers."""
    found = {}
    rest = numbers
    for bit in LoopControl:
        if not control & bit:
            continue
        count = 0 if bit & WITHOUT_NUMBER else LOOP_COUNT_WORDS if bit is LoopControl.loop_count else 1
        found[bit], rest = rest[:count], rest[count:]
        if bit is LoopControl.ivdep_of_arrays:
            rest = rest[2 * sum(found[bit]) :]
    return found


def _controls(control: int, numbers: list[int]) -> str:
    """Returns the attributes of a loop in words, those without an effect on hardware left out."""
    without_effect = (LoopControl.ivdep_of_arrays, LoopControl.no_unroll, LoopControl.loop_count)
    found = numbers_of(control, *numbers).items()
    return ", ".join(" ".join((str(bit.name), *map(str, given))) for bit, given in found if bit not in without_effect)


def _function(found: _Reading, id: int) -> str:
    """Returns a function's name; for the one that a kernel's entry point only calls, the kernel's."""
    callers = found.callers.get(id, set())
    entry = next((found.kernels[caller] for caller in callers if caller in found.kernels), "")
    return found.kernels.get(id) or (entry if len(callers) == 1 else "") or found.names.get(id, "")


def _variable(found: _Reading, id: int) -> str:
    """Returns a variable's name in the source, without what the compiler appends."""
    return re.sub(r"(\.ascast)?(\.i)?(\.ascast)?\d*$", "", found.names.get(id, ""))


def _attributes(semantic: str) -> str:
    """Returns `{memory:DEFAULT}{numbanks:2}` as words."""
    found = [each for each in ATTRIBUTE.findall(semantic) if not each.startswith(("memory", "sizeinfo"))]
    return ", ".join(each.replace(":", " ") for each in found) or semantic


def _pipes(module: FpgaModule, found: _Reading) -> Iterator[PipeFacts]:
    for id, (kind, initial) in module.variables.items():
        if not found.names.get(module.pointee(kind), "").startswith(PIPE_TYPE) or not initial:
            continue
        packet, _, capacity = (module.constants.get(part, 0) for part in module.composites.get(initial[0], (0, 0, 0)))
        users = tuple(kernel for kernel, variables in found.interfaces.items() if id in variables)
        yield PipeFacts(found.names.get(id, ""), packet, capacity, users)


def _size(module: FpgaModule, kind: int) -> int:
    """Returns the bytes of an argument; of a structure that is passed by value, through a pointer, its own."""
    match module.types.get(kind, (0, ())):
        case Declaration.TYPE_POINTER, (storage, pointee) if storage == PRIVATE:
            return module.layout(pointee)[0]
    return module.layout(kind)[0]


def _type(module: FpgaModule, found: _Reading, kind: int) -> str:
    match module.types.get(kind, (0, ())):
        case Declaration.TYPE_INT, (bits, *_):
            return SCALARS.get(bits, f"int{bits}")
        case Declaration.TYPE_FLOAT, (bits, *_):
            return FLOATS.get(bits, f"float{bits}")
        case Declaration.TYPE_VECTOR, (part, count):
            return f"{_type(module, found, part)}{count}"
        case Declaration.TYPE_ARRAY, (part, count):
            return f"{_type(module, found, part)}[{module.constants.get(count, 0)}]"
        case Declaration.TYPE_POINTER, (storage, pointee):
            return _type(module, found, pointee) + ("" if storage == PRIVATE else "*")
    return found.names.get(kind, "").removeprefix("struct.").removeprefix("class.")
