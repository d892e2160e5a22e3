# SPDX-License-Identifier: Apache-2.0
"""Reads board_spec.xml, in which a board's maker describes its memories.

It reads `board` (name), `global_mem` (name, max_bandwidth, interleaved_bytes, config_addr, default, allocation_type)
with its `interface` elements (port, address, size, width, latency, maxburst), and the `interface` elements of
`channels` (type, width, chan_id). Everything else (host, interfaces of other parts, PLL, ...) is ignored. An element of
our own has the rest:

    <fpgart vendor="..." full_duplex="0|1" unified_memory="0|1" lowest_first="0|1" system_allocations="0|1"/>

It also takes the fields of description.Timing (pcie_generation, kernel_clock, ...) as attributes. Banks are interleaved
unless `interleaved_bytes` is 0. Its default is the longest burst of the memory's interfaces. The banks of a memory have
equal sizes: it is divided by the number of its interfaces, whatever their sizes are.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

from fpgart.board.description import BoardDescription, IoChannel, Timing
from fpgart.board.device_address import BOARD_MASK
from fpgart.board.global_memory import AllocationType, GlobalMemory, Interface
from fpgart.board.xml_elements import BoardSpecError as BoardSpecError
from fpgart.board.xml_elements import Element, description_in, walk

MOST_MEMORIES = 32
PCIE = {
    "pcie_generation": (1, 2, 3, 4, 5),
    "pcie_lanes": (1, 2, 4, 8, 16),
    "pcie_payload": (128, 256, 512, 1024, 2048, 4096),
}
STREAMS = {"streamsource": False, "streamsink": True}
"""True for the type of interface that kernels write to. The words are the board's: kernels read a source."""
ALLOCATION_TYPES = {"host": AllocationType.HOST, "shared": AllocationType.SHARED, "device": AllocationType.DEVICE}


class _Reader:
    """Collects the elements that describe the board while the file is read."""

    def __init__(self) -> None:
        self.board: Element | None = None
        self.ours: Element | None = None
        self.memories: list[tuple[Element, list[Element]]] = []
        self.channels: list[Element] = []

    def visit(self, element: Element, around: Sequence[str]) -> None:
        if not around:
            self.board = element
        elif element.name == "fpgart":
            self.ours = element
        elif element.name == "global_mem":
            self.memories.append((element, []))
        elif element.name == "interface" and around[-1] == "global_mem":
            self.memories[-1][1].append(element)
        elif element.name == "interface" and around[-1] == "channels":
            self.channels.append(element)


def parse(data: bytes, file: str) -> BoardDescription:
    """Returns the board that `data` describes. Raises BoardSpecError."""
    reader = _Reader()
    walk(data, file, reader.visit)
    board = reader.board
    if board is None or board.name != "board":
        raise BoardSpecError(f"{file}: the outermost element is '{board.name if board else ''}', not 'board'")
    name = board.text("name")
    described = [(element, _memory(element, interfaces)) for element, interfaces in reader.memories]
    if not any(memory.is_device_private for _, memory in described):
        raise BoardSpecError(f"{file}:{board.line}: board global_mem: there is none that buffers could be in")
    if len(described) > MOST_MEMORIES:
        raise described[MOST_MEMORIES][0].error("name", f"this is more than {MOST_MEMORIES} memories")
    _check_apart(described)
    defaults = [index for index, (element, _) in enumerate(described) if element.flag("default")]
    if len(defaults) > 1:
        raise described[defaults[1]][0].error("default", "another memory is the default already")
    first = defaults[0] if defaults else next(i for i, (_, m) in enumerate(described) if m.is_device_private)
    if not described[first][1].is_device_private:
        raise described[first][0].error("default", "buffers cannot be in a memory for host or shared allocations only")
    memories = [memory for _, memory in described]
    memories.insert(0, memories.pop(first))
    ours = reader.ours or Element(file, board.line, "fpgart", {})
    return BoardDescription(
        name,
        ours.attributes.get("vendor", "fpgart"),
        tuple(memories),
        full_duplex=ours.flag("full_duplex"),
        unified_memory=ours.flag("unified_memory"),
        lowest_first=ours.flag("lowest_first"),
        system_allocations=ours.flag("system_allocations"),
        text=data.decode(errors="replace"),
        timing=_timing(ours),
        channels=_channels(reader.channels),
    )


def _channels(elements: list[Element]) -> tuple[IoChannel, ...]:
    found: dict[str, IoChannel] = {}
    for element in elements:
        kind = element.text("type")
        if kind not in STREAMS:
            raise element.error("type", f"'{kind}' is not one of {', '.join(STREAMS)}")
        name = element.attributes.get("chan_id") or element.text("port")
        if name in found:
            raise element.error("chan_id", f"'{name}' is taken")
        found[name] = IoChannel(name, STREAMS[kind], element.positive("width", 256))
    return tuple(found.values())


def read(path: str) -> BoardDescription:
    """Returns the board of a file, or of the board_spec.xml in a folder. Raises BoardSpecError."""
    file = os.path.join(path, "board_spec.xml") if os.path.isdir(path) else path
    return parse(description_in(file), file)


def _timing(element: Element) -> Timing:
    """Returns the times. Latencies may be 0, other attributes have to be positive; missing ones have Timing's value."""
    given: dict[str, int] = {}
    for name in Timing._fields:
        if name not in element.attributes:
            continue
        read = element.positive if name in ("dma_block", "kernel_clock", "cable_rate") else element.number
        value = given[name] = read(name, 0)
        choices = PCIE.get(name)
        if choices and value not in choices:
            raise element.error(name, f"{value} is not one of {', '.join(map(str, choices))}")
    return Timing(**given)


def _memory(element: Element, parts: list[Element]) -> GlobalMemory:
    name = element.text("name")
    if not parts:
        raise element.error("interface", f"memory '{name}' has none, so it has no addresses")
    interfaces = sorted((_interface(part) for part in parts), key=lambda interface: interface.address)
    for before, after in itertools.pairwise(interfaces):
        if before.end != after.address:
            raise element.error(
                "interface", f"'{before.name}' ends at {before.end:#x}, '{after.name}' begins at {after.address:#x}"
            )
    return GlobalMemory(
        name,
        interfaces[0].address,
        interfaces[-1].end,
        len(interfaces),
        element.number("interleaved_bytes", max(interface.longest_burst for interface in interfaces)),
        _allocation_types(element),
        element.number("max_bandwidth", 0),
        element.number("config_addr", 0),
        tuple(interfaces),
    )


def _interface(element: Element) -> Interface:
    size, address = element.number("size"), element.number("address")
    if not size or size % 1024:
        raise element.error("size", f"{size:#x} is not a multiple of 1024 bytes")
    if address + size > BOARD_MASK + 1:
        raise element.error("address", f"{address:#x} + {size:#x} needs more than 54 bits")
    return Interface(
        element.attributes.get("port", "") or element.attributes.get("name", ""),
        address,
        size,
        element.positive("width", 512),
        element.number("latency", 0),
        element.positive("maxburst", 16),
    )


def _allocation_types(element: Element) -> AllocationType:
    found = AllocationType.NONE
    for word in element.attributes.get("allocation_type", "").replace(",", " ").split():
        if word not in ALLOCATION_TYPES:
            raise element.error("allocation_type", f"'{word}' is not one of {', '.join(ALLOCATION_TYPES)}")
        found |= ALLOCATION_TYPES[word]
    return found


def _check_apart(described: list[tuple[Element, GlobalMemory]]) -> None:
    names: set[str] = set()
    for element, memory in described:
        if memory.name in names:
            raise element.error("name", f"'{memory.name}' is taken")
        names.add(memory.name)
    ordered = sorted(described, key=lambda pair: pair[1].begin)
    for (_, before), (element, after) in itertools.pairwise(ordered):
        if after.begin < before.end:
            raise element.error("address", f"'{after.name}' overlaps '{before.name}'")
