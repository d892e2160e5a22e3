# SPDX-License-Identifier: Apache-2.0
"""The global variables and the functions of a module in LLVM's bitcode, an engine's compiled object.

The blocks with types, declarations and names are read; all others are skipped by their length. The format is that of
LLVM 5 and later ("LLVM Bitcode File Format"). Sizes are those of x86-64 and AArch64.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from fpgart.base.named_tuples import NamedTuple

MAGIC = b"BC\xc0\xde"
POINTER_BYTES = 8


class Variable(NamedTuple):
    """A global variable of a module; `size` in bytes."""

    name: str
    size: int
    is_constant: bool


class Function(NamedTuple):
    """A function of a module.

    `spaces`: the address space that each argument points to, in the numbers of SPIR; NO_POINTER for other arguments.
    """

    name: str
    is_kernel: bool
    is_declared: bool
    """True if the module does not have its code."""
    spaces: tuple[int, ...]


class Damaged(Exception):
    """Raised for bytes that are no bitcode, or for bitcode that ends too early."""


class Block(IntEnum):
    """The blocks that are read."""

    INFORMATION = 0
    MODULE = 8
    TYPES = 17
    NAMES = 23


class Abbreviation(IntEnum):
    """The meaning of an abbreviation's number that no block defines."""

    END_BLOCK = 0
    ENTER_BLOCK = 1
    DEFINE = 2
    UNABBREVIATED = 3


class Encoding(IntEnum):
    """The encodings of an operand."""

    LITERAL = 0
    FIXED = 1
    VARIABLE = 2
    ARRAY = 3
    CHARACTER = 4
    BLOB = 5


Operand = tuple[Encoding, int]
SET_BLOCK = 1
GLOBAL_VARIABLE = 7
FUNCTION = 8
SPIR_KERNEL = 76
"""The calling convention of kernels."""
NO_POINTER = -1
NAMES_BLOB = 1
CHARACTER_BITS = 6


class Record(NamedTuple):
    block: int
    code: int
    numbers: list[int]
    blob: bytes = b""


class _Bits:
    """Numbers of some bits each, from the beginning of the bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def fixed(self, width: int) -> int:
        end = self.at + width
        if end > 8 * len(self.content):
            raise Damaged("the bitcode ends in a record")
        word = int.from_bytes(self.content[self.at // 8 : (end + 7) // 8], "little")
        found = word >> self.at % 8 & (1 << width) - 1
        self.at = end
        return found

    def variable(self, width: int) -> int:
        """Returns a number in groups of `width` bits, of which the highest says whether another group follows."""
        if width < 2:
            raise Damaged(f"the bitcode has numbers in groups of {width} bits")
        more = 1 << width - 1
        value = shift = 0
        while True:
            group = self.fixed(width)
            value |= (group & more - 1) << shift
            if not group & more:
                return value
            shift += width - 1

    def align(self) -> None:
        """Moves to the next 32-bit word."""
        self.at = self.at + 31 & ~31

    def blob(self) -> bytes:
        length = self.variable(6)
        self.align()
        begin = self.at // 8
        self.at += 8 * length
        if self.at > 8 * len(self.content):
            raise Damaged("the bitcode ends in a blob")
        self.align()
        return self.content[begin : begin + length]


class _Stream:
    """The records of the blocks that are read."""

    def __init__(self, content: bytes) -> None:
        self.bits = _Bits(content)
        self.shared: dict[int, list[list[Operand]]] = {}
        """Abbreviations by block, defined in the block of information."""

    def records(self) -> Iterator[Record]:
        if self.bits.content[: len(MAGIC)] != MAGIC:
            raise Damaged("this is no bitcode")
        self.bits.at = 8 * len(MAGIC)
        opened: list[tuple[int, int, list[list[Operand]]]] = []
        """By block that is open: its number, the bits of an abbreviation's number, its abbreviations."""
        about = -1
        while opened or self.bits.at + 32 <= 8 * len(self.bits.content):
            block, width, known = opened[-1] if opened else (-1, 2, [])
            which = self.bits.fixed(width)
            if which == Abbreviation.ENTER_BLOCK:
                opened += self._entered()
            elif which == Abbreviation.END_BLOCK and opened:
                self.bits.align()
                opened.pop()
            elif which == Abbreviation.DEFINE:
                target = self.shared.setdefault(about, []) if block == Block.INFORMATION else known
                target.append(self._definition())
            elif which == Abbreviation.UNABBREVIATED:
                record = self._unabbreviated(block)
                if block == Block.INFORMATION and record.code == SET_BLOCK and record.numbers:
                    about = record.numbers[0]
                yield record
            elif which - 4 in range(len(known)):
                yield self._abbreviated(block, known[which - 4])
            else:
                raise Damaged(f"the bitcode has no abbreviation {which}")

    def _entered(self) -> list[tuple[int, int, list[list[Operand]]]]:
        """Returns the block that begins here; none if it is skipped."""
        block, width = self.bits.variable(8), self.bits.variable(4)
        self.bits.align()
        words = self.bits.fixed(32)
        if block not in set(Block):
            self.bits.at += 32 * words
            return []
        return [(block, width, list(self.shared.get(block, ())))]

    def _definition(self) -> list[Operand]:
        found: list[Operand] = []
        for _ in range(self.bits.variable(5)):
            if self.bits.fixed(1):
                found.append((Encoding.LITERAL, self.bits.variable(8)))
                continue
            number = self.bits.fixed(3)
            if number not in (1, 2, 3, 4, 5):
                raise Damaged(f"the bitcode has an encoding {number}")
            encoding = Encoding(number)
            has_width = encoding in (Encoding.FIXED, Encoding.VARIABLE)
            found.append((encoding, self.bits.variable(5) if has_width else 0))
        return found

    def _unabbreviated(self, block: int) -> Record:
        code = self.bits.variable(6)
        return Record(block, code, [self.bits.variable(6) for _ in range(self.bits.variable(6))])

    def _abbreviated(self, block: int, operands: list[Operand]) -> Record:
        numbers: list[int] = []
        blob = b""
        for index, operand in enumerate(operands):
            if operand[0] == Encoding.ARRAY:
                if index + 2 != len(operands) or operands[-1][0] in (Encoding.ARRAY, Encoding.BLOB):
                    raise Damaged("the bitcode has an array of nothing")
                count = self.bits.variable(6)
                if operands[-1][0] == Encoding.LITERAL or operands[-1] == (Encoding.FIXED, 0):
                    raise Damaged("the bitcode has an array whose elements take no bits")
                numbers += [self._number(operands[-1]) for _ in range(count)]
                break
            if operand[0] == Encoding.BLOB:
                blob = self.bits.blob()
            else:
                numbers.append(self._number(operand))
        if not numbers:
            raise Damaged("the bitcode has a record without a code")
        return Record(block, numbers[0], numbers[1:], blob)

    def _number(self, operand: Operand) -> int:
        encoding, value = operand
        if encoding == Encoding.LITERAL:
            return value
        if encoding == Encoding.VARIABLE:
            return self.bits.variable(value)
        return self.bits.fixed(CHARACTER_BITS if encoding == Encoding.CHARACTER else value)


class Layout(NamedTuple):
    """The size and the alignment of a type, in bytes."""

    size: int
    alignment: int

    @property
    def stride(self) -> int:
        """The bytes from one element of an array to the next."""
        return -(-self.size // self.alignment) * self.alignment


NOTHING = Layout(0, 1)
"""The layout of a type that variables do not have."""
PLAIN = {
    3: Layout(4, 4),  # float
    4: Layout(8, 8),  # double
    8: Layout(POINTER_BYTES, POINTER_BYTES),  # a pointer to a type
    10: Layout(2, 2),  # half
    13: Layout(16, 16),  # x86_fp80
    14: Layout(16, 16),  # fp128
    23: Layout(2, 2),  # bfloat
    25: Layout(POINTER_BYTES, POINTER_BYTES),  # a pointer
}
INTEGER, ARRAY, VECTOR, ANONYMOUS_STRUCTURE, NAMED_STRUCTURE = 7, 11, 12, 18, 20
TYPED_POINTER, FUNCTION_TYPE, POINTER = 8, 21, 25
NUMBER_OF_TYPES, STRUCTURE_NAME = 1, 19
"""Records of the block of types that define no types."""
LARGEST_ALIGNMENT_OF_INTEGERS = 16


def _of_bits(bits: int) -> Layout:
    size = -(-bits // 8)
    return Layout(size, 1 << max(size - 1, 0).bit_length())


def _layout(record: Record, known: list[Layout]) -> Layout:
    """Returns the layout of the type that a record defines, which consists of types before it."""

    def of(index: int) -> Layout:
        return known[index] if index < len(known) else NOTHING

    match record.code, record.numbers:
        case code, _ if code in PLAIN:
            return PLAIN[code]
        case code, [bits] if code == INTEGER:
            found = _of_bits(bits)
            return found._replace(alignment=min(found.alignment, LARGEST_ALIGNMENT_OF_INTEGERS))
        case code, [count, element, *_] if code == ARRAY:
            return Layout(count * of(element).stride, of(element).alignment)
        case code, [count, element, *_] if code == VECTOR:
            return _of_bits(8 * count * of(element).size)
        case code, [is_packed, *elements] if code in (ANONYMOUS_STRUCTURE, NAMED_STRUCTURE):
            return _of_structure([of(each) for each in elements], is_packed=bool(is_packed))
    return NOTHING


def _of_structure(members: list[Layout], *, is_packed: bool) -> Layout:
    end, alignment = 0, 1
    for member in members:
        if not is_packed:
            end = -(-end // member.alignment) * member.alignment
            alignment = max(alignment, member.alignment)
        end += member.stride
    return Layout(-(-end // alignment) * alignment, alignment)


class _Module(NamedTuple):
    """The records that define types, variables and functions, and the names of all."""

    types: list[Record]
    globals: list[list[int]]
    functions: list[list[int]]
    names: bytes

    def name(self, begin: int, length: int) -> str:
        return self.names[begin : begin + length].decode(errors="replace")

    def space(self, type_number: int) -> int:
        """Returns the address space that values of a type point to; NO_POINTER for other types."""
        match self.types[type_number] if type_number < len(self.types) else None:
            case Record(code=code, numbers=[space, *_]) if code == POINTER:
                return space
            case Record(code=code, numbers=[_, space, *_]) if code == TYPED_POINTER:
                return space
        return NO_POINTER


def _read(bitcode: bytes) -> _Module:
    types: list[Record] = []
    found: dict[int, list[list[int]]] = {GLOBAL_VARIABLE: [], FUNCTION: []}
    names = b""
    for record in _Stream(bitcode).records():
        if record.block == Block.TYPES and record.code not in (NUMBER_OF_TYPES, STRUCTURE_NAME):
            types.append(record)
        elif record.block == Block.MODULE and record.code in found and len(record.numbers) >= 5:
            found[record.code].append(record.numbers)
        elif record.block == Block.NAMES and record.code == NAMES_BLOB:
            names = record.blob
    return _Module(types, found[GLOBAL_VARIABLE], found[FUNCTION], names)


def global_variables(bitcode: bytes) -> Iterator[Variable]:
    """Yields each global variable of a module. Raises Damaged."""
    module = _read(bitcode)
    layouts: list[Layout] = []
    for record in module.types:
        layouts.append(_layout(record, layouts))
    for begin, length, type_number, flags, *_ in module.globals:
        layout = layouts[type_number] if type_number < len(layouts) else NOTHING
        yield Variable(module.name(begin, length), layout.stride, bool(flags & 1))


def functions(bitcode: bytes) -> Iterator[Function]:
    """Yields each function of a module. Raises Damaged."""
    module = _read(bitcode)
    for begin, length, type_number, convention, is_declared, *_ in module.functions:
        record = module.types[type_number] if type_number < len(module.types) else None
        arguments = record.numbers[2:] if record is not None and record.code == FUNCTION_TYPE else []
        spaces = tuple(module.space(each) for each in arguments)
        yield Function(module.name(begin, length), convention == SPIR_KERNEL, bool(is_declared), spaces)
