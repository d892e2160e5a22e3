# SPDX-License-Identifier: Apache-2.0
"""The partition of a 66AK2x's DDR3 among its users, read from a small XML file.

The outermost element is `keystone` (name, vendor). In it are ranges in any order; `to` is their last byte:

- `linux`, `reserved` and `cmem` (from, to): physical memory between 8:0000:0000 and 9:FFFF:FFFF that Linux uses, that
  the runtime reserves, and that OpenCL allocates. Memory that no element names does not exist;
- `fixed` (from, to): the block of the DSP's address space that always shows the memory it shows after boot;
- `destination` (from, to), once or more: blocks in which other memory is mapped while a kernel runs.

If no `cmem` lies above the low 2 GiB, the DSP sees all of it, nothing is mapped, and `fixed` and `destination` may be
left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from fpgart.base import config
from fpgart.base.input_file import LARGEST_DESCRIPTION
from fpgart.base.ranges import joined
from fpgart.base.sizes import in_words
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import GlobalMemory
from fpgart.board.keystone.addresses import (
    DDR,
    LOW,
    MSMC,
    PAGE,
    WINDOW,
    Block,
    DspAddress,
    Extent,
    PhysicalAddress,
    physical_at_boot,
)
from fpgart.board.keystone.mpax import largest_region
from fpgart.board.memory_system import MemorySystem
from fpgart.board.xml_elements import BoardSpecError, Element, description_in, outermost, walk

ROOT = "keystone"
FOLDER = Path(__file__).parent / "boards"
CORES = 8
LARGEST_GROUP = 1 << 30
"""In work-items."""
TOLD_ALLOCATION = 1 << 30
"""The largest buffer that queries report, in bytes. Heaps take larger ones."""
LOCAL_BYTES = 768 << 10
"""The part of a core's L2 memory that a work-group has."""
CLOCK_MHZ = 1200

PHYSICAL = re.compile(r"[0-9a-fA-F]{1,2}:[0-9a-fA-F]{4}:[0-9a-fA-F]{4}")
DSP = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{4}")
Range = TypeVar("Range", Extent, Block)


@dataclass(frozen=True, slots=True)
class Partition:
    """A board's memory map. `cmem` is in order of addresses, and adjacent extents are joined.

    `text` is the file that it was read from.
    """

    name: str
    vendor: str
    linux: tuple[Extent, ...]
    reserved: tuple[Extent, ...]
    cmem: tuple[Extent, ...]
    fixed: Block | None = None
    destinations: tuple[Block, ...] = ()
    text: str = field(default="", repr=False, compare=False)

    @property
    def maps(self) -> bool:
        """True if OpenCL has memory that the DSP sees only while it is mapped."""
        return any(extent.end > LOW.end for extent in self.cmem)

    @property
    def fixed_heaps(self) -> tuple[Extent, ...]:
        """OpenCL's memory that the DSP sees at all times."""
        return self._heaps()[0]

    @property
    def mapped_heaps(self) -> tuple[Extent, ...]:
        """OpenCL's memory that has to be mapped; no buffer extends over two heaps."""
        return self._heaps()[1]

    def _heaps(self) -> tuple[tuple[Extent, ...], tuple[Extent, ...]]:
        if not self.maps or self.fixed is None:
            return self.cmem, ()
        fixed = Extent(physical_at_boot(self.fixed.begin), self.fixed.size)
        inside = [_between(extent, fixed.begin, fixed.end) for extent in self.cmem]
        below = [_between(extent, DDR.begin, fixed.begin) for extent in self.cmem]
        above = [_between(extent, fixed.end, DDR.end) for extent in self.cmem]
        return tuple(e for e in inside if e.size), tuple(e for e in below + above if e.size)

    def without_mapping(self) -> Partition:
        """Returns the board restricted to the low 2 GiB, as with TI_OCL_DSP_NOMAP."""
        low = (_between(extent, LOW.begin, LOW.end) for extent in self.cmem)
        return replace(self, cmem=tuple(extent for extent in low if extent.size), destinations=())

    @property
    def memory_names(self) -> list[str]:
        """The names of the memories in its description, in order."""
        return [memory.name for memory in self.description().memories]

    def description(self) -> BoardDescription:
        """Returns the board for the runtime: one memory per heap, the fixed ones first, the on-chip one last."""
        fixed = [GlobalMemory(name, e.begin, e.end) for name, e in _named("fixed", self.fixed_heaps)]
        region = largest_region(self.destinations)
        mapped = [
            GlobalMemory(name, e.begin, e.end, largest_region=region) for name, e in _named("mapped", self.mapped_heaps)
        ]
        return BoardDescription(
            self.name,
            self.vendor,
            (*fixed, *mapped, GlobalMemory("msmc", MSMC.begin, MSMC.end, on_chip=True)),
            cores=CORES,
            largest_group=LARGEST_GROUP,
            told_allocation=min(TOLD_ALLOCATION, max(e.size for e in (*self.fixed_heaps, *self.mapped_heaps))),
            local_memory=LOCAL_BYTES,
            clock_mhz=CLOCK_MHZ,
            text=self.text,
            own=self,
        )

    def memory_system(self) -> MemorySystem:
        """Returns its DDR3 and its on-chip memory, all free."""
        from fpgart.board.keystone.heaps import KeystoneHeaps  # few hosts use such a board

        return KeystoneHeaps(self)


def shipped() -> list[str]:
    """Returns the names of the included boards."""
    return sorted(path.stem for path in FOLDER.glob("*.xml"))


def is_one(name: str) -> bool:
    """True for the name of an included board, and for the path of a file whose outermost element is `keystone`."""
    if not name.endswith(".xml") or not Path(name).is_file():
        return name in shipped()
    with open(name, "rb") as file:
        return outermost(file.read(LARGEST_DESCRIPTION)) == ROOT


def describe(name: str) -> Partition:
    """Returns a board by its name or its file's path, restricted to the low 2 GiB if TI_OCL_DSP_NOMAP is set.

    Raises BoardSpecError for a file that describes no board.
    """
    partition = read(Path(name) if "/" in name or name.endswith(".xml") else FOLDER / f"{name}.xml")
    return partition.without_mapping() if config.NO_MAPPING.value else partition


def read(path: Path) -> Partition:
    """Returns the board of a file. Raises BoardSpecError."""
    return parse(description_in(str(path)), str(path))


def parse(data: bytes, file: str) -> Partition:
    """Returns the board that `data` describes. Raises BoardSpecError."""
    found: list[Element] = []
    walk(data, file, lambda element, around: found.append(element) if len(around) < 2 else None)
    root = found.pop(0)
    if root.name != ROOT:
        raise BoardSpecError(f"{file}: the outermost element is '{root.name}', not '{ROOT}'")
    memory = [(element, _extent(element)) for element in found if element.name in ("linux", "reserved", "cmem")]
    blocks = [(element, _block(element)) for element in found if element.name in ("fixed", "destination")]
    _check_apart(memory)
    _check_apart(blocks)
    fixed = [element for element, _ in blocks if element.name == "fixed"]
    if len(fixed) > 1:
        raise fixed[1].error("from", "there is another fixed block")
    partition = Partition(
        root.text("name"),
        root.attributes.get("vendor", "fpgart"),
        _of("linux", memory),
        _of("reserved", memory),
        _joined(_of("cmem", memory)),
        next(iter(_of("fixed", blocks)), None),
        _of("destination", blocks),
        text=data.decode(errors="replace"),
    )
    _check_usable(root, fixed[0] if fixed else None, partition)
    return partition


def _check_usable(root: Element, fixed: Element | None, partition: Partition) -> None:
    if not partition.cmem:
        raise root.error("cmem", "there is none, so OpenCL has no memory")
    if not partition.maps:
        return
    if not partition.destinations:
        raise root.error("destination", f"there is none, so cmem above {PhysicalAddress(LOW.end - 1)} is out of reach")
    if fixed is None:
        raise root.error("fixed", "there is none, and programs have to be in memory that stays where it is")
    if not partition.fixed_heaps:
        raise fixed.error("from", "no cmem is in this block, and programs have to be in one that stays where it is")


def _extent(element: Element) -> Extent:
    begin, end = (
        _address(element, "from", PHYSICAL, "8:2000:0000"),
        _address(element, "to", PHYSICAL, "8:1FFF:FFFF") + 1,
    )
    _check_range(element, begin, end, DDR, PhysicalAddress)
    return Extent(PhysicalAddress(begin), end - begin)


def _block(element: Element) -> Block:
    begin, end = _address(element, "from", DSP, "A000:0000"), _address(element, "to", DSP, "BFFF:FFFF") + 1
    _check_range(element, begin, end, WINDOW, DspAddress)
    return Block(DspAddress(begin), end - begin)


def _address(element: Element, attribute: str, form: re.Pattern[str], example: str) -> int:
    text = element.text(attribute)
    if not form.fullmatch(text):
        raise element.error(attribute, f"'{text}' is not an address such as {example}")
    return int(text.replace(":", ""), 16)


def _check_range(
    element: Element, begin: int, end: int, within: Extent | Block, kind: type[PhysicalAddress] | type[DspAddress]
) -> None:
    if begin % PAGE:
        raise element.error("from", f"{kind(begin)} is not a multiple of {in_words(PAGE)}")
    if end % PAGE:
        raise element.error("to", f"{kind(end - 1)} is not the last byte of {in_words(PAGE)}")
    if end <= begin:
        raise element.error("to", f"{kind(end - 1)} lies before {kind(begin)}")
    if begin < within.begin or end > within.end:
        raise element.error("from" if begin < within.begin else "to", f"this is not within {within}")


def _check_apart(found: Sequence[tuple[Element, Range]]) -> None:
    ordered = sorted(found, key=lambda pair: pair[1].begin)
    for (_, before), (element, after) in itertools.pairwise(ordered):
        if after.begin < before.end:
            raise element.error("from", f"this overlaps {before}")


def _of(name: str, found: Iterable[tuple[Element, Range]]) -> tuple[Range, ...]:
    """Returns the ranges of the elements with a name, in order of addresses."""
    return tuple(sorted((part for element, part in found if element.name == name), key=lambda part: part.begin))


def _joined(extents: Iterable[Extent]) -> tuple[Extent, ...]:
    ranges = joined((extent.begin, extent.end) for extent in extents)
    return tuple(Extent(PhysicalAddress(begin), end - begin) for begin, end in ranges)


def _between(extent: Extent, begin: int, end: int) -> Extent:
    """Returns the part of an extent in a range; it may be empty."""
    begin = max(begin, extent.begin)
    return Extent(PhysicalAddress(begin), max(0, min(end, extent.end) - begin))


def _named(name: str, heaps: tuple[Extent, ...]) -> list[tuple[str, Extent]]:
    if len(heaps) == 1:
        return [(name, heaps[0])]
    return [(f"{name}{number}", extent) for number, extent in enumerate(heaps, 1)]
