# SPDX-License-Identifier: Apache-2.0
"""Oclgrind as the engine: an interpreter of kernels that checks each of their accesses.

It reports errors as text in a log, with addresses of its own. The text is read after each launch, and the addresses are
translated into arguments and offsets. Oclgrind does not report the origin of a value that was never written; repeating
the launch, with the contents of one argument after another declared as written, shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.engine.contents import Contents
from fpgart.engine.copying.own_buffers import (
    BACKGROUND,
    Buffers,
    CopiedLaunch,
    OwnBuffersEngine,
    OwnBuffersKernel,
    ReachedMemory,
)
from fpgart.engine.driver import DriverError, open_driver, set_variable
from fpgart.engine.interface import BYTES, ONE_WORK_ITEM, SIZES, Access, Fault, KernelLaunch, Misuse, pack_arguments
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import DriverProgram

MOST_MESSAGES = 1_000_000
PAGE = 4096
U64 = Struct("Q")

ADDRESS = r" (?:to |from )?(?:at )?(?P<space>\w+) memory address 0x(?P<address>[0-9a-f]+)"
HEADLINES = {
    Fault.READ: re.compile(r"Invalid read of size (?P<size>\d+)" + ADDRESS),
    Fault.WRITE: re.compile(r"Invalid write of size (?P<size>\d+)" + ADDRESS),
    Fault.FORBIDDEN: re.compile(r"Invalid (?:write to read|read from write)-only buffer"),
    Fault.UNWRITTEN: re.compile(
        rf"Uninitialized (?:value written|address used to (?:write|read)){ADDRESS}"
        r"|Controlflow depends on uninitialized|Instruction depends on an uninitialized"
    ),
    Fault.RACE: re.compile(r"(?:Read|Write)-write data race" + ADDRESS),
    Fault.DIVERGENCE: re.compile(r"Work-group divergence detected"),
}
INDEX = re.compile(r"Index \(-?\d+\) exceeds static array size")
FATAL = re.compile(r"OCLGRIND FATAL ERROR")
SUPPRESSED = re.compile(r"Oclgrind: \d+ errors generated - suppressing")
KERNEL = re.compile(r"Kernel:\s+(\w+)")
ITEM = re.compile(r"Global\((\d+),(\d+),(\d+)\)")
LINE = re.compile(r"At line (\d+)(?: \(column (\d+)\))?")
OWN_KERNELS = """
struct line { uchar bytes[64]; };
struct byte { uchar bytes[1]; };

kernel void fpgart_where(global const void *pointer, global ulong *address)
{
    *address = (ulong)pointer;
}

/* Structures are copied together with what Oclgrind knows of them, and as bytes without a word about it. */
kernel void fpgart_poison(global uchar *target, global const uchar *nothing, ulong begin, ulong end)
{
    ulong i = begin + 65536 * get_global_id(0);
    end = min(end, i + 65536);
    for (; i < end && i % 64 != 0; i++)
        *(global struct byte *)(target + i) = *(global const struct byte *)(nothing + i % 65536);
    for (; i + 64 <= end; i += 64)
        *(global struct line *)(target + i) = *(global const struct line *)(nothing + i % 65536);
    for (; i < end; i++)
        *(global struct byte *)(target + i) = *(global const struct byte *)(nothing + i % 65536);
}
"""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of Oclgrind. `address` is one of Oclgrind's own, None if the message has none."""

    fault: Fault
    words: str
    kernel: str = ""
    accesses: tuple[Access, ...] = ()
    space: str = ""
    address: int | None = None
    size: int = 0
    fatal: bool = False


def messages(text: str) -> list[Message]:
    """Returns the messages of a log: headlines, each followed by indented lines."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            found.append([line])
        elif found and line.strip():
            found[-1].append(line)
    return [_message(lines[0], "\n".join(lines[1:])) for lines in found]


def _message(headline: str, body: str) -> Message:
    fault, facts = Fault.OTHER, {}
    for each, pattern in HEADLINES.items():
        match = pattern.match(headline)
        if match:
            fault, facts = each, match.groupdict()
            break
    kernel = KERNEL.search(body)
    items = [tuple(map(int, numbers)) for numbers in ITEM.findall(body)]
    lines = [(int(line), int(column or 0)) for line, column in LINE.findall(body)]
    count = max(len(items), len(lines))
    items += [()] * (count - len(items))
    lines += [(0, 0)] * (count - len(lines))
    address = facts.get("address")
    return Message(
        fault,
        headline.strip(),
        kernel[1] if kernel else "",
        tuple(Access(item, *place) for item, place in zip(items, lines, strict=True)),
        facts.get("space") or "",
        int(address, 16) if address else None,
        int(facts.get("size") or 0),
        bool(FATAL.match(headline)),
    )


def distinct(found: list[Message]) -> list[Message]:
    """Returns the messages without those that only follow from an out-of-bounds access of the same work-item."""
    outside = {(m.kernel, a.item) for m in found if m.fault in (Fault.READ, Fault.WRITE) for a in m.accesses[:1]}
    return [
        m
        for m in found
        if not (m.fault is Fault.UNWRITTEN or INDEX.match(m.words))
        or not any((m.kernel, a.item) in outside for a in m.accesses)
    ]


def summed_up(misuses: list[Misuse]) -> list[Misuse]:
    """Returns the first work-item's misuse for each kind, place in the source and arguments, with their number."""
    found: dict[object, Misuse] = {}
    for misuse in misuses:
        lines = tuple(sorted(access.line for access in misuse.accesses))
        words = misuse.words if misuse.fault is Fault.OTHER and not lines else ""
        apart = [] if misuse.arguments else [access.column for access in misuse.accesses]
        key = misuse.fault, misuse.space, misuse.arguments, lines, words, tuple(apart)
        known = found.get(key)
        if known is None:
            found[key] = misuse
            continue
        first = min(known, misuse, key=lambda m: [access.item[::-1] for access in m.accesses])
        found[key] = first._replace(times=known.times + 1)
    return list(found.values())


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Sets these variables for the engine within the context."""
    for name, value in values.items():
        set_variable(name, value)
    try:
        yield
    finally:
        for name in values:
            lib.environment_forget(name.encode())


class Oclgrind(OwnBuffersEngine):
    """An `OwnBuffersEngine` whose launches report with NOTICES.kernel_misused what kernels do wrong.

    Oclgrind's records of uninitialised memory take memory from a pool of the calling thread, which lives as long as the
    contexts that this thread made. So the engine's own context is made on a thread that ends, and each launching thread
    makes another one for the time of the launch; otherwise the pool would only ever grow.
    """

    def __init__(self, name: str, path: Path, contents: Contents | None = None) -> None:
        """Raises DriverError if the driver cannot be used."""
        self._log = int(lib.memory_file(b"fpgart-oclgrind"))
        if self._log < 0:
            raise DriverError("the system provides no file for the messages of Oclgrind")
        self._read = 0
        self._full = False
        set_variable("OCLGRIND_UNINITIALIZED", "1")  # read by each context, those of at_work() included
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._open, name, path, contents).result()

    def _open(self, name: str, path: Path, contents: Contents | None) -> None:
        with environment(
            OCLGRIND_LOG=f"/proc/self/fd/{self._log}", OCLGRIND_DATA_RACES="1", OCLGRIND_MAX_ERRORS=str(MOST_MESSAGES)
        ):
            super().__init__(name, open_driver(path), contents)
        self.own = OwnKernels(self)  # before any buffer is written

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        return CheckedKernel(program, name)

    def messages(self) -> list[Message]:
        """Returns the messages that were written since the last call."""
        parts = []
        while part := os.pread(self._log, 1 << 20, self._read):
            parts.append(part)
            whole = (self._read + len(part)) // PAGE * PAGE
            lib.punch(self._log, self._read // PAGE * PAGE, whole - self._read // PAGE * PAGE)
            self._read += len(part)
        found = messages(b"".join(parts).decode(errors="replace"))
        if not self._full and any(SUPPRESSED.match(message.words) for message in found):
            self._full = True
            log.warning(f"Oclgrind has reported {MOST_MESSAGES} errors of kernels and reports no more")
        return [message for message in found if not SUPPRESSED.match(message.words)]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Frees at the end all memory that the engine takes for this thread within the context."""
        driver = self.driver
        with super().at_work():
            context = driver.create("clCreateContext", ffi.NULL, 1, driver.devices, ffi.NULL, ffi.NULL)
            try:
                yield
            finally:
                driver.call("clReleaseContext", context)

    def poison(self, handle: int, begin: int, end: int) -> None:
        self.own.poison(handle, begin, end)


class OwnKernels:
    """Kernels for what no call of Oclgrind's API does: to find addresses, and to mark bytes as not written.

    They must be made before any other buffer: Oclgrind gives numbers of released buffers to new ones, with its record
    of those, and one buffer here must be one of which it has no record.
    """

    def __init__(self, engine: Oclgrind) -> None:
        program = engine.from_source(OWN_KERNELS)
        program.build("-cl-opt-disable")
        assert isinstance(program, DriverProgram)
        self._driver = engine.driver
        self._engine = engine
        self._program = program
        self._where = DriverKernel(program, "fpgart_where")
        self._poison = DriverKernel(program, "fpgart_poison")
        self._answer = self._buffer(8)
        self._nothing = self._buffer(len(BACKGROUND))
        self._fill(self._nothing)

    def _buffer(self, size: int) -> int:
        return self._driver.create("clCreateBuffer", self._driver.context, cl.CL_MEM_READ_WRITE, size, ffi.NULL)

    def _fill(self, handle: int) -> None:
        """Fills a buffer. It is mapped for reading as well as writing, so that Oclgrind counts it as not written."""
        driver, queue, size = self._driver, self._engine.queues.of_thread(), len(BACKGROUND)
        flags = cl.CL_MAP_READ | cl.CL_MAP_WRITE
        pointer = driver.create("clEnqueueMapBuffer", queue, handle, 1, flags, 0, size, 0, ffi.NULL, ffi.NULL)
        lib.copy_bytes(pointer, int(ffi.cast("uintptr_t", ffi.from_buffer(BACKGROUND))), size)
        driver.call("clEnqueueUnmapMemObject", queue, handle, pointer, 0, ffi.NULL, ffi.NULL)
        driver.call("clFinish", queue)

    def locate(self, handle: int) -> int:
        """Returns the address at which kernels see a buffer."""
        self._where.run(KernelLaunch(pack_arguments([_value(handle), _value(self._answer)]), 1, ONE_WORK_ITEM, True))
        answer = ffi.new("uintptr_t *")
        place = int(ffi.cast("uintptr_t", answer))
        queue = self._engine.queues.of_thread()
        self._driver.call("clEnqueueReadBuffer", queue, self._answer, 1, 0, 8, place, 0, ffi.NULL, ffi.NULL)
        return int(answer[0])

    def poison(self, handle: int, begin: int, end: int) -> None:
        """Fills these bytes of a buffer with the background, and marks them as not written."""
        values = [_value(handle), _value(self._nothing), _value(begin), _value(end)]
        groups = -(-(end - begin) // len(BACKGROUND))
        sizes = SIZES.pack(0, 0, 0, groups, 1, 1, 1, 1, 1)
        self._poison.run(KernelLaunch(pack_arguments([*values]), 1, sizes, True))


def _value(number: int) -> tuple[int, int, int | bytes]:
    return BYTES, 8, U64.pack(number)


@dataclass(slots=True)
class Outcome:
    """The messages of a run, and the addresses of the regions in Oclgrind."""

    messages: list[Message]
    bases: list[int] = field(default_factory=list)


class CheckedKernel(OwnBuffersKernel):
    """A kernel that Oclgrind interprets."""

    engine: Oclgrind

    def __init__(self, program: DriverProgram, name: str) -> None:
        super().__init__(program, name)
        self.may_print = "printf" in program.source or not program.source

    def _checked(self, launch: CopiedLaunch) -> list[Misuse]:
        with launch.buffers() as buffers:
            outcome = self._told(launch, buffers)
            launch.read_back(buffers)
        fatal = next((message.words for message in outcome.messages if message.fatal), "")
        if fatal:
            raise OutOfResources(f"kernel '{self.interface.name}' failed on the engine: {fatal}")
        sources = self._unwritten_sources(launch, outcome.messages)
        return summed_up([self._misuse(launch, outcome, message, sources) for message in outcome.messages])

    def _told(self, launch: CopiedLaunch, buffers: Buffers) -> Outcome:
        self.engine.messages()
        launch.run(buffers)
        outcome = Outcome(distinct(self.engine.messages()))
        if any(message.address is not None for message in outcome.messages):
            outcome.bases = [self.engine.own.locate(handle) for handle in buffers.handles]
        return outcome

    def _unwritten_sources(self, launch: CopiedLaunch, found: list[Message]) -> dict[int, list[ReachedMemory]]:
        """Finds, for each line of the source, the regions with the unwritten values that it used.

        An empty list stands for the kernel's own variables.
        """
        lines = {a.line for m in found if m.fault is Fault.UNWRITTEN for a in m.accesses}
        suspects = [region for region in launch.regions if region.unwritten]
        if not lines or not suspects:
            return {}
        if self.may_print:
            return dict.fromkeys(lines, suspects)
        sources: dict[int, list[ReachedMemory]] = {line: [] for line in lines}
        for region in suspects:
            with launch.buffers([region]) as buffers:
                launch.run(buffers)
            again = {a.line for m in self.engine.messages() if m.fault is Fault.UNWRITTEN for a in m.accesses}
            for line in lines & again:
                sources[line].append(region)
        return self._without_own(launch, sources)

    def _without_own(
        self, launch: CopiedLaunch, sources: dict[int, list[ReachedMemory]]
    ) -> dict[int, list[ReachedMemory]]:
        """Empties the lists of lines that are reported even if all contents count as written."""
        with launch.buffers([]) as buffers:
            launch.run(buffers)
        own = {a.line for m in self.engine.messages() if m.fault is Fault.UNWRITTEN for a in m.accesses}
        return {line: [] if line in own else regions for line, regions in sources.items()}

    def _misuse(
        self, launch: CopiedLaunch, outcome: Outcome, message: Message, sources: dict[int, list[ReachedMemory]]
    ) -> Misuse:
        made = Misuse(message.fault, self.interface.name, message.words, message.accesses, message.space, message.size)
        if message.fault is Fault.UNWRITTEN:
            line = message.accesses[0].line if message.accesses else 0
            regions = sources.get(line, [])
            concerned = tuple(sorted(index for region in regions for index in region.arguments))
            if len(regions) != 1:
                return made._replace(arguments=concerned)
            shift = regions[0].address - launch.given.reaches[concerned[0]].address
            missing = tuple((begin + shift, end + shift) for begin, end in regions[0].unwritten)
            return made._replace(arguments=concerned, unwritten=missing)
        if message.fault is Fault.FORBIDDEN:
            wanted = cl.CL_MEM_READ_ONLY if "read-only" in message.words else cl.CL_MEM_WRITE_ONLY
            concerned = tuple(i for r in launch.regions if r.flags & wanted for i in sorted(r.arguments))
            return made._replace(arguments=concerned)
        if message.address is None or message.space not in ("global", "constant"):
            return made
        return self._placed(launch, outcome, message.address, made)

    @staticmethod
    def _placed(launch: CopiedLaunch, outcome: Outcome, address: int, made: Misuse) -> Misuse:
        """Adds the argument whose memory is nearest to the address, and the offset from its begin."""
        nearest = sorted(
            (max(base - address, address - base - region.size + 1, 0), region.address, base, region)
            for base, region in zip(outcome.bases, launch.regions, strict=True)
        )
        if not nearest or nearest[0][0] >= 1 << 47 or address < 1 << 47:
            return made._replace(offset=address)
        _, _, base, region = nearest[0]
        first = region.arguments[0]
        offset = address - base + region.address - launch.given.reaches[first].address
        return made._replace(arguments=(first,), offset=offset)
