# SPDX-License-Identifier: Apache-2.0
"""The contents of boards' memories in a trace: each block's place and time, and the limits of their bandwidth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fpgart.watch.family import dsps_of, movement
from fpgart.watch.report.trace_events import Args
from fpgart.watch.words import in_words, on_board


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
    """Then a bank is only where blocks begin for which that bank was asked."""

    @property
    def bank_size(self) -> int:
        return self.size // self.banks

    def __str__(self) -> str:
        return f"device {self.device}, {self.name}"


@dataclass(slots=True)
class Box:
    """What a block has of one bank, from `begin` until `end` microseconds."""

    memory: Memory
    bank: int
    """From 0, by the address."""
    offset: int
    """Bytes from the bank's first."""
    size: int
    buffer: int
    address: int
    begin: float
    end: float
    kind: str = "buffer"
    """Or "program", of a block with a program's code."""


@dataclass(slots=True)
class Occupancy:
    """How full a memory was: steps, one entry per change."""

    at: list[float] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    """Bytes in blocks."""
    holes: list[int] = field(default_factory=list)
    """Bytes below the last block of a bank that no block has."""


def memories(events: Iterable[Args]) -> list[Memory]:
    """Those that boards describe."""
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
    """All blocks, cut at the borders of banks; those that were never freed last until `end`."""
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
    """Of one memory's boxes, until `end` microseconds."""
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
    """When most bytes were in blocks, in microseconds."""
    steps = occupancy(found, end)
    return steps.at[max(range(len(steps.used)), key=steps.used.__getitem__)]


@dataclass(slots=True)
class Use:
    """What one kind of transfer, or one kernel, moved in `microseconds` of the simulation."""

    what: str
    times: int = 0
    bytes: int = 0
    microseconds: float = 0.0
    least_microseconds: float = 0.0
    """What the board's memories allow at best, by the bandwidths of its description."""
    unknown: bool = False
    """Whether the description is silent about a memory that took part."""


def uses(events: Iterable[Args]) -> list[Use]:
    """Transfers by direction and memory; kernels as if each touched its buffers' bytes once."""
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
            name = f"{what}, {_memory_at(known, device, places[0][0]) or f'device {device}'}"
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


def _memory_at(known: list[Memory], device: int, address: int) -> Memory | None:
    for memory in known:
        if memory.device == device and 0 <= address - memory.begin < memory.size:
            return memory
    return None


def _least_time(known: list[Memory], device: int, places: list[tuple[int, int]]) -> float | None:
    """Microseconds that bytes at these addresses take at best; None if the description does not say.

    Memories work at the same time, and so do separate banks, each with its share of the memory's
    bandwidth; an interleaved memory gives all of it to any block. The slowest bounds.
    """
    loads: dict[tuple[Memory, int], int] = defaultdict(int)
    for address, size in places:
        memory = _memory_at(known, device, address)
        if memory is None or not memory.bandwidth:
            return None
        bank = -1 if memory.interleaved else (address - memory.begin) // memory.bank_size
        loads[memory, bank] += size
    # MB/s are bytes per microsecond
    return max(
        (size * (1 if bank < 0 else memory.banks) / memory.bandwidth for (memory, bank), size in loads.items()),
        default=0.0,
    )


def box_in_words(box: Box) -> str:
    what = f"{box.kind} {box.buffer}" if box.buffer else "the host's own allocation"
    return f"{what}: {in_words(box.size)} at {box.address:#x}, {bank_in_words(box.memory, box.bank)}"


def bank_in_words(memory: Memory, bank: int) -> str:
    """An interleaved memory has no place that is one bank's, only parts where placing begins."""
    if memory.banks == 1:
        return str(memory)
    return f"{memory}, {'part' if memory.interleaved else 'bank'} {bank + 1}"
