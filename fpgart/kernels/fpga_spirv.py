# SPDX-License-Identifier: Apache-2.0
"""SPIR-V for FPGAs: its capabilities, and the variables and pipes that the host names.

Numbers are those of the SPIR-V specification 1.6 and of Intel's extensions for FPGAs in its registry.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from fpgart.kernels.spirv import heads, text_of, words_of

FUNCTION = 54
"""The first instruction behind the declarations."""
NAMED_BY_HOST = (6147, 6188)
"""The decoration HostAccessINTEL, in two releases of its extension: the access to a variable, and its name."""


class Capability(enum.IntEnum):
    """The capabilities of modules whose kernels may wait for each other."""

    PIPES = 17
    BLOCKING_PIPES = 5945


class Op(enum.IntEnum):
    """The instructions that are read."""

    CAPABILITY = 17
    TYPE_INT = 21
    TYPE_FLOAT = 22
    TYPE_VECTOR = 23
    TYPE_ARRAY = 28
    TYPE_STRUCT = 30
    TYPE_POINTER = 32
    CONSTANT = 43
    CONSTANT_COMPOSITE = 44
    VARIABLE = 59
    DECORATE = 71


@dataclass(slots=True)
class FpgaModule:
    """The declarations of a module."""

    capabilities: set[int] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)
    """The variables that the host knows by name, by their ids."""
    types: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    constant_types: dict[int, int] = field(default_factory=dict)
    composites: dict[int, tuple[int, ...]] = field(default_factory=dict)
    variables: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """The type of each variable, and its initial value."""

    @property
    def has_pipes(self) -> bool:
        """True if its kernels may wait for each other."""
        return not self.capabilities.isdisjoint(Capability)

    def size_of(self, name: str) -> int:
        """Returns the bytes of a variable that the host finds by name; 0 if the module does not say."""
        kind, _ = self.variables.get(self.names.get(name, 0), (0, ()))
        return self.layout(self.pointee(kind))[0]

    def packet_of(self, name: str) -> int:
        """Returns the bytes of a packet of a pipe that the host finds by name; 0 if the module does not say.

        The variable of a pipe is a structure that begins with this number.
        """
        _, initial = self.variables.get(self.names.get(name, 0), (0, ()))
        parts = self.composites.get(initial[0], ()) if initial else ()
        return self.constants.get(parts[0], 0) if parts else 0

    def pointee(self, kind: int) -> int:
        """Returns the type that a pointer type points to; 0 if the module does not say."""
        return self.types.get(kind, (0, (0, 0)))[1][-1]

    def layout(self, id: int) -> tuple[int, int]:
        """Returns size and alignment of a type."""
        match self.types.get(id, (0, ())):
            case ((Op.TYPE_INT | Op.TYPE_FLOAT), (bits, *_)):
                size = 1 << max(0, (bits - 1).bit_length() - 3)
                return size, min(size, 8)
            case Op.TYPE_VECTOR, (part, count):
                size = self.layout(part)[0] * (4 if count == 3 else count)
                return size, size
            case Op.TYPE_ARRAY, (part, count):
                size, alignment = self.layout(part)
                return size * self.constants.get(count, 0), alignment
            case Op.TYPE_STRUCT, parts:
                return self._of_struct(parts)
            case Op.TYPE_POINTER, _:
                return 8, 8
        return 0, 1

    def offset(self, parts: tuple[int, ...], index: int) -> int:
        """Returns the distance of a member of a structure of these types from its begin."""
        end, alignment = self._of_struct(parts[:index])[0], self.layout(parts[index])[1]
        return -(-end // alignment) * alignment

    def _of_struct(self, parts: tuple[int, ...]) -> tuple[int, int]:
        end, most = 0, 1
        for part in parts:
            size, alignment = self.layout(part)
            end = -(-end // alignment) * alignment + size
            most = max(most, alignment)
        return -(-end // most) * most, most


def read_fpga_module(il: bytes) -> FpgaModule:
    """Returns the declarations of a module; none for bytes that are no SPIR-V."""
    made = FpgaModule()
    for code, operands in _declarations(words_of(il)):
        _note(made, code, operands.tolist())
    return made


def _declarations(words: array[int]) -> Iterator[tuple[int, array[int]]]:
    """Yields the instructions in front of the functions that Op names."""
    wanted = frozenset(map(int, Op))
    for code, at, length in heads(words):
        if code == FUNCTION:
            return
        if code in wanted:
            yield code, words[at + 1 : at + length]


def _note(made: FpgaModule, code: int, operands: list[int]) -> None:
    match code, operands:
        case Op.CAPABILITY, [capability]:
            made.capabilities.add(capability)
        case Op.DECORATE, [id, decoration, _, *name] if decoration in NAMED_BY_HOST:
            made.names[text_of(name)] = id
        case Op.CONSTANT_COMPOSITE, [_, id, *parts]:
            made.composites[id] = tuple(parts)
        case Op.CONSTANT, [kind, id, value, *high]:
            made.constants[id] = value | (high[0] << 32 if high else 0)
            made.constant_types[id] = kind
        case Op.VARIABLE, [kind, id, _, *initial]:
            made.variables[id] = kind, tuple(initial)
        case ((Op.TYPE_INT | Op.TYPE_FLOAT | Op.TYPE_VECTOR | Op.TYPE_ARRAY | Op.TYPE_STRUCT
               | Op.TYPE_POINTER), [id, *more]):  # fmt: skip
            made.types[id] = code, tuple(more)
