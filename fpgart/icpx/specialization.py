# SPDX-License-Identifier: Apache-2.0
"""Specialization constants of device images.

Kernels read them by functions that the device compiler leaves undefined: `T get(name, default, buffer)`, or
`void get(result, name, default, buffer)` for structures and arrays. Here a specialization constant of SPIR-V takes the
place of each call, and the image gets the properties by which the SYCL runtime sets the constants.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fpgart.icpx.errors import IcpxError
from fpgart.icpx.images import DeviceImage, Property
from fpgart.kernels.spirv import Decoration, Module, Op, text_of

READS_NUMBER = "__sycl_getScalar2020SpecConstantValue"
READS_STRUCTURE = "__sycl_getComposite2020SpecConstantValue"
"""Parts of the functions' names."""
CONSTANTS = "SYCL/specialization constants"
DEFAULTS = "SYCL/specialization constants default values"
BOUND = 3
"""The place of the word that all ids are less than."""
ADDRESSES = (Op.BITCAST, Op.TO_GENERIC, Op.FROM_GENERIC)
"""The instructions that pass an address on."""
PADDING = 0xFFFFFFFF
"""The number of the bytes behind the last member of a structure."""
NUMBERING = struct.Struct("<3I")
"""The number of a constant in SPIR-V, its offset in a structure, and its size; bytes."""


@dataclass
class Constant:
    """A constant of the program: one in SPIR-V for each number in it, and the bytes of its default value."""

    default: bytearray
    id: int = 0
    numbering: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def described(self) -> bytes:
        """Its numbers, with their offsets and sizes."""
        _, offset, size = self.numbering[-1]
        end = offset + size
        behind = [(PADDING, end, len(self.default) - end)] if end < len(self.default) else []
        return b"".join(NUMBERING.pack(*each) for each in (*self.numbering, *behind))


class Constants:
    """The constants that a module's calls read, and the instructions that declare them."""

    def __init__(self, module: Module, bound: int) -> None:
        self.module = module
        self.bound = bound
        self.by_name: dict[str, Constant] = {}
        self.decorations = array("I")
        self.declarations = array("I")
        self.addresses: dict[int, int] = {}
        """The operand of each instruction that passes an address on."""
        self._count = 0

    def read(self, type: int, name: int, default: int) -> int:
        """Returns the id of the constant of this type whose name and default value are at addresses.

        Raises IcpxError.
        """
        text = b"".join(self._numbers.get(id, b"") for id in self.module.composites.get(self._initial(name), ()))
        symbol = text.partition(b"\0")[0].decode(errors="replace")
        size = self._size(type)
        if not symbol or not size:
            raise IcpxError("a kernel reads a specialization constant whose name is not known when it is compiled")
        if symbol not in self.by_name:
            made = self.by_name[symbol] = Constant(bytearray(size))
            value = self.module.composites.get(self._initial(default), (0,))[0]  # the member of a specialization_id
            made.id = self._declare(made, type, value, 0)
        return self.by_name[symbol].id

    def _initial(self, address: int) -> int:
        """Returns the id of the initial value of the variable at an address."""
        while address in self.addresses:
            address = self.addresses[address]
        _, initial = self.module.variables.get(address, (0, []))
        return initial[0] if initial else 0

    @cached_property
    def _bools(self) -> set[int]:
        return {id for _, (id, *_) in self.module.declared(Op.TYPE_BOOL)}

    @cached_property
    def _numbers(self) -> dict[int, bytes]:
        """The bytes of constants that are numbers."""
        return {
            id: struct.pack(f"<{len(value)}I", *value)[: self._size(type)]
            for _, (type, id, *value) in self.module.declared(Op.CONSTANT, least=3)
        }

    def _size(self, type: int) -> int:
        return 1 if type in self._bools else self.module.layout(type)[0]

    def _declare(self, constant: Constant, type: int, value: int, offset: int) -> int:
        """Declares a part of a constant, whose default value is a constant with the id `value`; returns its id."""
        members = self._members(type)
        if members:
            values = self.module.composites.get(value, ())
            ids = [
                self._declare(constant, kind, values[index] if index < len(values) else 0, offset + distance)
                for index, (kind, distance) in enumerate(members)
            ]
            return self._new(Op.SPEC_CONSTANT_COMPOSITE, type, ids)
        size = self._size(type)
        default = self._numbers.get(value, b"")[:size].ljust(size, b"\0")
        constant.default[offset : offset + size] = default
        if type in self._bools:
            made = self._new(Op.SPEC_CONSTANT_TRUE if any(default) else Op.SPEC_CONSTANT_FALSE, type, ())
        else:
            made = self._new(Op.SPEC_CONSTANT, type, array("I", default.ljust(-(-size // 4) * 4, b"\0")))
        self.decorations.extend((4 << 16 | Op.DECORATE, made, Decoration.SPEC_ID, self._count))
        constant.numbering.append((self._count, offset, size))
        self._count += 1
        return made

    def _members(self, type: int) -> list[tuple[int, int]]:
        """Returns the types and offsets of the parts of a structure, an array or a vector; [] for a number."""
        match self.module.types.get(type):
            case Op.TYPE_STRUCT, parts:
                return [(part, self.module.offset(parts, index)) for index, part in enumerate(parts)]
            case Op.TYPE_ARRAY, (part, count):
                return [(part, index * self._size(part)) for index in range(self.module.constants.get(count, 0))]
            case Op.TYPE_VECTOR, (part, count):
                return [(part, index * self._size(part)) for index in range(count)]
        return []

    def _new(self, code: int, type: int, operands: Sequence[int]) -> int:
        self.bound += 1
        self.declarations.extend((3 + len(operands) << 16 | code, type, self.bound - 1, *operands))
        return self.bound - 1

    def properties(self) -> dict[str, dict[str, Property]]:
        """Returns the properties of the image. Their values begin with their size in bits."""
        described: dict[str, Property] = {name: _sized(each.described) for name, each in self.by_name.items()}
        defaults = b"".join(each.default for each in self.by_name.values())
        return {CONSTANTS: described, DEFAULTS: {"all": _sized(defaults)}}


def _sized(data: bytes) -> bytes:
    return struct.pack("<Q", 8 * len(data)) + data


def with_constants(image: DeviceImage) -> DeviceImage:
    """Replaces the calls in the image's file; returns the image with its properties. Raises IcpxError."""
    il, properties = specialized(image.code.read_bytes())
    if not properties:
        return image
    image.code.write_bytes(il)
    return replace(image, properties=image.properties | properties)


def specialized(il: bytes) -> tuple[bytes, dict[str, dict[str, Property]]]:
    """Returns SPIR-V with constants in place of the calls that read them, and their properties. Raises IcpxError."""
    if READS_NUMBER.encode() not in il and READS_STRUCTURE.encode() not in il:
        return il, {}
    module = Module(il)
    names = {id: text_of(text) for _, (id, *text) in module.declared(Op.NAME)}
    readers = {id for id, name in names.items() if READS_NUMBER in name or READS_STRUCTURE in name}
    words = array("I", il)
    constants = Constants(module, words[BOUND])
    results: dict[int, int] = {}
    """The type to which each reader's first parameter points."""
    body = array("I")
    first_type = first_function = function = 0
    for code, at, length in module.instructions():
        operands = words[at + 1 : at + length].tolist()
        if not first_type and Op.TYPE_VOID <= code <= Op.TYPE_PIPE:
            first_type = at
        if code == Op.FUNCTION:
            first_function, function = first_function or at, operands[1]
        if not first_function:
            continue
        if code == Op.PARAMETER:
            results.setdefault(function, module.pointee(operands[0]))
        if code in ADDRESSES:
            constants.addresses[operands[1]] = operands[2]
        if code != Op.CALL or operands[2] not in readers:
            body.extend(words[at : at + length])
        elif READS_NUMBER in names[operands[2]]:
            type, result, _, name, default, *_ = operands
            body.extend((4 << 16 | Op.COPY_OBJECT, type, result, constants.read(type, name, default)))
        else:
            _, _, reader, result, name, default, *_ = operands
            body.extend((3 << 16 | Op.STORE, result, constants.read(results[reader], name, default)))
    annotated, declared = words[:first_type], words[first_type:first_function]
    annotated[BOUND] = constants.bound
    whole = annotated + constants.decorations + declared + constants.declarations + body
    return whole.tobytes(), constants.properties()
