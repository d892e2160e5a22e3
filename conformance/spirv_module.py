# SPDX-License-Identifier: Apache-2.0
"""SPIR-V modules written word by word, so that tests of intermediate language need no compiler.

Numbers are those of the SPIR-V specification 1.0 and of SPV_INTEL_fpga_buffer_location.
"""

from __future__ import annotations

import enum
import struct


class Storage(enum.IntEnum):
    """Storage classes."""

    CONSTANT = 0
    INPUT = 1
    LOCAL = 4
    GLOBAL = 5
    FUNCTION = 7


class Section(enum.IntEnum):
    """The order that a module's instructions have to keep."""

    ENTRY_POINTS = 0
    MODES = 1
    DEBUG = 2
    DECORATIONS = 3
    TYPES = 4
    FUNCTIONS = 5


def literal(text: str) -> list[int]:
    """A string as words, with its zero byte."""
    data = text.encode() + b"\0"
    data += bytes(-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


class Module:
    """A module in the making; methods that declare something return its id."""

    def __init__(self) -> None:
        self._sections: dict[Section, list[int]] = {section: [] for section in Section}
        self._known: dict[tuple[int, ...], int] = {}
        self._last = 0

    def new(self) -> int:
        self._last += 1
        return self._last

    def put(self, section: Section, opcode: int, *operands: int) -> None:
        self._sections[section] += [len(operands) + 1 << 16 | opcode, *operands]

    def bytes(self, order: str = "<") -> bytes:
        """The module; `order` is struct's for the byte order."""
        words = [0x07230203, 0x00010000, 0, self._last + 1, 0]
        for capability in (4, 5, 6, 11):  # Addresses, Linkage, Kernel, Int64
            words += [2 << 16 | 17, capability]
        words += [3 << 16 | 14, 2, 2]  # 64-bit pointers, OpenCL
        for section in Section:
            words += self._sections[section]
        return struct.pack(f"{order}{len(words)}I", *words)

    # Types and constants, each declared once

    def _type(self, opcode: int, *operands: int) -> int:
        key = (opcode, *operands)
        if key not in self._known:
            self._known[key] = self.new()
            self.put(Section.TYPES, opcode, self._known[key], *operands)
        return self._known[key]

    def void(self) -> int:
        return self._type(19)

    def integer(self, bits: int = 32) -> int:
        return self._type(21, bits, 0)

    def vector(self, component: int, count: int) -> int:
        return self._type(23, component, count)

    def structure(self, *members: int) -> int:
        return self._type(30, *members)

    def pointer(self, storage: int, pointee: int) -> int:
        return self._type(32, storage, pointee)

    def sampler(self) -> int:
        return self._type(26)

    def specialization_constant(self, number: int, value: int) -> int:
        """A 32-bit constant that the host may replace."""
        made = self.new()
        self.decorate(made, 1, number)
        self.put(Section.TYPES, 50, self.integer(), made, value)
        return made

    def global_id(self) -> int:
        """The variable that holds the work-item's place."""
        kind = self.pointer(Storage.INPUT, self.vector(self.integer(64), 3))
        made = self.new()
        self.decorate(made, 11, 28)
        self.decorate(made, 22)
        self.decorate(made, 41, *literal("__spirv_BuiltInGlobalInvocationId"), 1)
        self.put(Section.TYPES, 59, kind, made, Storage.INPUT)
        return made

    def decorate(self, target: int, *words: int) -> None:
        self.put(Section.DECORATIONS, 71, target, *words)

    # Functions

    def begin_kernel(self, name: str, *types: int) -> tuple[int, list[int]]:
        """A kernel with parameters of these types, open for its body; its id and theirs."""
        signature = self._type(33, self.void(), *types)
        function = self.new()
        self._sections[Section.FUNCTIONS] += [5 << 16 | 54, self.void(), function, 0, signature]
        parameters = [self.new() for _ in types]
        for kind, parameter in zip(types, parameters, strict=True):
            self.put(Section.FUNCTIONS, 55, kind, parameter)
        self.put(Section.FUNCTIONS, 248, self.new())
        self._name = name
        self._function = function
        return function, parameters

    def do(self, opcode: int, kind: int, *operands: int) -> int:
        """An instruction with a result in the open kernel."""
        made = self.new()
        self.put(Section.FUNCTIONS, opcode, kind, made, *operands)
        return made

    def end_kernel(self, *interface: int) -> None:
        """`interface`: the variables that it uses."""
        self.put(Section.FUNCTIONS, 253)
        self.put(Section.FUNCTIONS, 56)
        self.put(Section.ENTRY_POINTS, 15, 6, self._function, *literal(self._name), *interface)


def scale_and_add() -> bytes:
    """kernel scale(global uint *x, uint n): x[i] = x[i] * c + n, where c is specialisation constant 7, by default 3."""
    module = Module()
    uint = module.integer()
    pointer = module.pointer(Storage.GLOBAL, uint)
    factor = module.specialization_constant(7, 3)
    place = module.global_id()
    _, (data, number) = module.begin_kernel("scale", pointer, uint)
    ids = module.do(61, module.vector(module.integer(64), 3), place)
    index = module.do(81, module.integer(64), ids, 0)
    element = module.do(70, pointer, data, index)
    value = module.do(61, uint, element, 2, 4)
    product = module.do(132, uint, value, factor)
    total = module.do(128, uint, product, number)
    module.put(Section.FUNCTIONS, 62, element, total, 2, 4)
    module.end_kernel(place)
    return module.bytes()
