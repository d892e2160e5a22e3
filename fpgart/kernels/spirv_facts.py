# SPDX-License-Identifier: Apache-2.0
"""Facts of SPIR-V for reports: sizes of arguments, pipes, local memories, attributes of loops."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from fpgart.kernels.fpga_spirv import PipeFacts, pipes
from fpgart.kernels.spirv import Decoration, Module, Op, Storage, text_of

ATTRIBUTE = re.compile(r"\{([^{}]*)\}")
SCALARS = {8: "char", 16: "short", 32: "int", 64: "long"}
DEEPEST = 64
"""Types within each other."""
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


def read_facts(module: Module) -> SpirvFacts:
    semantics = {id: text_of(text) for id, text in module.decorated(Decoration.USER_SEMANTIC)}
    parameters: dict[int, list[int]] = {}
    callers: dict[int, set[int]] = {}
    owners: dict[int, int] = {}
    loops: dict[tuple[int, str], None] = {}
    for function, code, operands in module.in_functions(range(1 << 16)):
        match code, operands:
            case Op.FUNCTION, _:
                pass
            case Op.PARAMETER, [kind, *_]:
                parameters.setdefault(function, []).append(kind)
            case Op.CALL, [_, _, callee, *_]:
                callers.setdefault(callee, set()).add(function)
            case Op.LOOP_MERGE, [_, _, control, *numbers]:
                if told := _controls(control, numbers):
                    loops[function, told] = None
            case _, [_, id, *_] if id in semantics:
                owners[id] = function
    kernels = {kernel.function: name for name, kernel in module.kernels.items()}
    arguments = {name: parameters.get(function, []) for function, name in kernels.items()}

    def name_of(function: int) -> str:
        """Returns a function's name; for the one that a kernel's entry point only calls, the kernel's."""
        calling = callers.get(function, set())
        entry = next((kernels[caller] for caller in calling if caller in kernels), "")
        return kernels.get(function) or (entry if len(calling) == 1 else "") or module.name(function)

    return SpirvFacts(
        {name: tuple(_type(module, kind) for kind in kinds) for name, kinds in arguments.items()},
        {name: tuple(_size(module, kind) for kind in kinds) for name, kinds in arguments.items()},
        tuple(pipes(module)),
        tuple(
            LocalMemoryFacts(name_of(owners[id]), _variable(module, id), _attributes(text))
            for id, text in semantics.items()
            if id in owners
        ),
        tuple(LoopFacts(name_of(function), words) for function, words in loops),
    )


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


def _variable(module: Module, id: int) -> str:
    """Returns a variable's name in the source, without what the compiler appends."""
    return re.sub(r"(\.ascast)?(\.i)?(\.ascast)?\d*$", "", module.name(id))


def _attributes(semantic: str) -> str:
    """Returns `{memory:DEFAULT}{numbanks:2}` as words."""
    found = [each for each in ATTRIBUTE.findall(semantic) if not each.startswith(("memory", "sizeinfo"))]
    return ", ".join(each.replace(":", " ") for each in found) or semantic


def _size(module: Module, kind: int) -> int:
    """Returns the size of an argument in bytes; for a structure by value, whose type is a pointer, the structure's."""
    return module.layout(module.pointee(kind) if module.storage(kind) == Storage.PRIVATE else kind)[0]


def _type(module: Module, kind: int) -> str:
    """Returns a type in the words of OpenCL C; "" for a damaged one, which consists of itself."""
    behind = ""
    for _ in range(DEEPEST):
        match module.types.get(kind, (0, ())):
            case Op.TYPE_INT, (bits, *_):
                return SCALARS.get(bits, f"int{bits}") + behind
            case Op.TYPE_FLOAT, (bits, *_):
                return FLOATS.get(bits, f"float{bits}") + behind
            case Op.TYPE_VECTOR, (kind, count):
                behind = f"{count}{behind}"
            case Op.TYPE_ARRAY, (kind, count):
                behind = f"[{module.constants.get(count, 0)}]{behind}"
            case Op.TYPE_POINTER, (storage, kind):
                behind = behind if storage == Storage.PRIVATE else f"*{behind}"
            case _:
                return module.name(kind).removeprefix("struct.").removeprefix("class.") + behind
    return ""
