# SPDX-License-Identifier: Apache-2.0
"""The contents of boards' memories in a trace: each block's place and time, and the limits of their bandwidth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fpgart.base.sizes import in_words
from fpgart.watch.family import dsps_of, movement
from fpgart.watch.report.trace_events import Args
from fpgart.watch.words import on_board


@dataclass(slots=True, frozen=True)
class Memory:
    """A global memory of a device; `begin` and `size` in bytes, `bandwidth` in MB/s (0: not known)."""

    device: int
    name: str
    begin: int = 0
    size: int = 0
    banks: int = 1
    bandwidth: int = 0
    interleaved: bool = False
    """True if banks are interleaved. A block's bank is then the one that was requested for its begin."""

    @property
    def bank_size(self) -> int:
        return self.size // self.banks

    def __str__(self) -> str:
        return f"device {self.device}, {self.name}"


@dataclass(slots=True)
class Box:
    """The part of a block in one bank, from `begin` until `end` microseconds."""

    memory: Memory
    bank: int
    """The bank's number, from 0, by the address."""
    offset: int
    """Bytes from the bank's begin."""
    size: int
    buffer: int
    address: int
    begin: float
    end: float
    kind: str = "buffer"
    """"buffer", or "program" for a block with a program's code."""


@dataclass(slots=True)
class Occupancy:
    """The used bytes of a memory over time: one entry per change."""

    at: list[float] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    """Bytes in blocks."""
    holes: list[int] = field(default_factory=list)
    """Bytes below the last block of a bank that are in no block."""


def memories(events: Iterable[Args]) -> list[Memory]:
    return [
        Memory(
            event["args"]["device"],
            memory["name"],
            int(memory["begin"], 16),
            memory["size"],
            memory["banks"],
            memory["bandwidth"] or 0,
            memory["interleaved"],
        )
        for event in events
        if event.get("cat") == "fpgart" and event.get("name") == "board"
        for memory in event["args"]["memories"]
    ]


def boxes(events: Iterable[Args], end: float) -> list[Box]:
    """Returns all blocks, cut at the borders of banks; those that were never freed last until `end`."""
    found = list(events)
    known = {(memory.device, memory.name): memory for memory in memories(found)}
    live: dict[tuple[int, str, int], list[Box]] = {}
    made: list[Box] = []
    for event in found:
        if event.get("cat") != "memory":
            continue
        args, at = event["args"], float(event["ts"])
        key = args["device"], args["address"], args["buffer"]
        if event["name"] == "free":
            for box in live.pop(key, ()):
                box.end = at
            continue
        memory = known.get((args["device"], args["memory"])) or Memory(args["device"], args["memory"])
        live[key] = _pieces(memory, args, at, end)
        made += live[key]
    return made


def _pieces(memory: Memory, args: Args, begin: float, end: float) -> list[Box]:
    address, size = on_board(args), args["size"]
    pieces, done = [], 0
    while done < size:
        bank, offset = divmod(address + done - memory.begin, memory.bank_size or 1 << 64)
        piece = min(size - done, (memory.bank_size or 1 << 64) - offset)
        kind = "program" if "program" in args else "buffer"
        pieces.append(Box(memory, bank, offset, piece, args["buffer"], address, begin, end, kind))
        done += piece
    return pieces


def occupancy(found: Iterable[Box], end: float) -> Occupancy:
    """Returns the occupancy by one memory's boxes, until `end` microseconds."""
    changes: list[tuple[float, int, Box]] = []
    for box in found:
        if box.begin < box.end:
            changes.append((box.begin, 1, box))
            changes.append((box.end, 0, box))
    steps = Occupancy([0.0], [0], [0])
    ends: dict[int, list[tuple[int, float, int]]] = defaultdict(list)
    used = 0
    for at, came, box in sorted(changes, key=lambda change: change[:2]):
        if at >= end:
            break
        used += box.size if came else -box.size
        if came:
            heappush(ends[box.bank], (-box.offset - box.size, box.end, box.size))
        for blocks in ends.values():
            while blocks and blocks[0][1] <= at:
                heappop(blocks)
        heap = sum(-blocks[0][0] for blocks in ends.values() if blocks)
        steps.at.append(at)
        steps.used.append(used)
        steps.holes.append(heap - used)
    steps.at.append(end)
    steps.used.append(used)
    steps.holes.append(steps.holes[-1])
    return steps


def fullest(found: list[Box], end: float) -> float:
    """Returns the time, in microseconds, at which most bytes were in blocks."""
    steps = occupancy(found, end)
    return steps.at[max(range(len(steps.used)), key=steps.used.__getitem__)]


@dataclass(slots=True)
class Use:
    """The bytes that one kind of transfer, or one kernel, moved in `microseconds` of the simulation."""

    what: str
    times: int = 0
    bytes: int = 0
    microseconds: float = 0.0
    least_microseconds: float = 0.0
    """The shortest time that the bandwidths of the board's description allow."""
    unknown: bool = False
    """True if the description gives no bandwidth for a memory that took part."""


def uses(events: Iterable[Args]) -> list[Use]:
    """Returns transfers by direction and memory, and kernels as if each accessed its buffers' bytes once."""
    found = list(events)
    known, dsps = memories(found), dsps_of(found)
    where = {
        (args["device"], args["buffer"]): args
        for event in found
        if event.get("cat") == "memory" and event["name"] == "reserve"
        for args in (event["args"],)
    }
    made: dict[str, Use] = {}
    for event in found:
        args = event.get("args", {})
        if event.get("cat") == "mmd" and "address" in args:
            device, size = args["device"], args["size"]
            places = [(on_board(args, key), size) for key in ("address", "source_address") if key in args]
            what = movement(str(event["name"]), fpga=device not in dsps)
            name = f"{what}, {memory_at(known, device, places[0][0]) or f'device {device}'}"
        elif event.get("cat") == "device" and event["name"] == "kernel":
            device = args["device"]
            blocks = [where[device, b] for b in dict.fromkeys(args["buffers"]) if (device, b) in where]
            places = [(on_board(block), block["size"]) for block in blocks]
            name, size = f"kernel {args['kernel']}, device {device}", sum(size for _, size in places)
        else:
            continue
        use = made.setdefault(name, Use(name))
        use.times += 1
        use.bytes += size
        use.microseconds += float(event["dur"])
        least = _least_time(known, device, places)
        use.least_microseconds += least or 0.0
        use.unknown |= least is None
    return sorted(made.values(), key=lambda use: -use.bytes)


def memory_at(known: list[Memory], device: int, address: int) -> Memory | None:
    """Returns the memory of a device in which an address of its board lies; None if no memory contains it."""
    return next((m for m in known if m.device == device and 0 <= address - m.begin < m.size), None)


def _least_time(known: list[Memory], device: int, places: list[tuple[int, int]]) -> float | None:
    """Returns the shortest time, in microseconds, to move bytes at these addresses; None without bandwidths.

    Memories work at the same time, and so do separate banks, each with its share of the memory's bandwidth; an
    interleaved memory gives all of it to any block. The slowest bounds.
    """
    loads: dict[tuple[Memory, int], int] = defaultdict(int)
    for address, size in places:
        memory = memory_at(known, device, address)
        if memory is None or not memory.bandwidth:
            return None
        bank = -1 if memory.interleaved else (address - memory.begin) // memory.bank_size
        loads[memory, bank] += size
    # MB/s: bytes per microsecond
    return max(
        (size * (1 if bank < 0 else memory.banks) / memory.bandwidth for (memory, bank), size in loads.items()),
        default=0.0,
    )


def box_in_words(box: Box) -> str:
    what = f"{box.kind} {box.buffer}" if box.buffer else "the host's own allocation"
    return f"{what}: {in_words(box.size)} at {box.address:#x}, {bank_in_words(box.memory, box.bank)}"


def bank_in_words(memory: Memory, bank: int) -> str:
    """Returns the name of a bank. In an interleaved memory it is a part: the place where the block was requested."""
    if memory.banks == 1:
        return str(memory)
    return f"{memory}, {'part' if memory.interleaved else 'bank'} {bank + 1}"
