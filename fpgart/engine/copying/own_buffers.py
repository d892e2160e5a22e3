# SPDX-License-Identifier: Apache-2.0
"""Engines whose kernels cannot access this process's memory: each launch works on buffers of the engine.

The memory that the pointer arguments may reach is copied into buffers of exactly that size, the kernel runs, and the
bytes that it changed are copied back; what the host or another kernel writes meanwhile stays. Arguments that overlap
share one buffer. Pointers in memory, in structures or without an allocation cannot be followed. An engine may keep the
memory that hosts only reach through the board's Mmd, instead of copying it for each launch
(engine/copying/resident.py).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from struct import Struct

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.base.ranges import Range, joined
from fpgart.engine.contents import Contents, holes
from fpgart.engine.driver import Driver, keeping_signal_handlers
from fpgart.engine.interface import ARGUMENT, BYTES, NOWHERE, NULL, POINTER, KernelLaunch, Misuse, Reach, pack_arguments
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import DriverProgram
from fpgart.kernels.opencl_c import size_of_type

HANDLE, SUB_BUFFER = Struct("Q"), Struct("2Q")
CHUNK = 4096
WORD = 4
MOST_POISONED = 1 << 20
"""The most unwritten bytes of a region, from its begin on, that the engine is told about: each takes 1 us."""
BACKGROUND = bytes(random.Random(1).choices(range(0x81, 0xFE), k=1 << 16))
"""The filling of unwritten bytes: values that programs seldom write."""


def background(offset: int, size: int) -> bytes:
    """Returns `size` bytes of the filling from `offset` on."""
    begin = offset % len(BACKGROUND)
    return (BACKGROUND * (-(-(begin + size) // len(BACKGROUND))))[begin : begin + size]


def changes(before: bytes, after: bytes) -> Iterator[Range]:
    """Yields the ranges in which two strings of the same size differ."""
    begin = -1
    for chunk in range(0, len(after), CHUNK):
        old, new = before[chunk : chunk + CHUNK], after[chunk : chunk + CHUNK]
        if old == new:
            if begin >= 0:
                yield begin, chunk
            begin = -1
            continue
        for index, (one, other) in enumerate(zip(old, new, strict=True), chunk):
            if (one != other) != (begin >= 0):
                if begin >= 0:
                    yield begin, index
                begin = index if begin < 0 else -1
    if begin >= 0:
        yield begin, len(after)


def untouched(begin: int, data: bytes, margin: int) -> list[Range]:
    """Returns the words of `data`, which is at offset `begin`, that still have the filling.

    The result leaves out `margin` bytes on each side of a change. A word that a kernel wrote is recognised, unless the
    value written is the filling.
    """
    first = -begin % WORD
    filling = background(begin, len(data))
    edges = [(start // WORD * WORD, -(-stop // WORD) * WORD) for start, stop in changes(filling[first:], data[first:])]
    last = first + (len(data) - first) // WORD * WORD
    found = []
    for start, stop in holes([(first + a, min(first + b, last)) for a, b in joined(edges)], first, last):
        start += margin if start > first else 0
        stop -= margin if stop < last else 0
        if start < stop:
            found.append((begin + start, begin + stop))
    return found


@dataclass(slots=True)
class ReachedMemory:
    """Memory that a launch reaches through the arguments `arguments`.

    `unwritten`: offsets of the bytes that had not been written when the launch began. `margin`: bytes next to what a
    kernel wrote that count as written, because its stores may be smaller than a word.
    """

    address: int
    size: int
    flags: int
    arguments: list[int] = field(default_factory=list)
    resident: bool = False
    """True if hosts access it through the board's Mmd only."""
    beside: bool = False
    """True if another region of the launch has some of these bytes, too."""
    unwritten: list[Range] = field(default_factory=list)
    margin: int = 0
    before: bytes = b""
    after: bytes = b""


def reached_by(reaches: tuple[Reach, ...]) -> list[ReachedMemory]:
    """Returns the memory that the arguments reach; reaches that overlap become one region."""
    found: list[ReachedMemory] = []
    for index, reach in sorted(enumerate(reaches), key=lambda pair: (pair[1].address, -pair[1].size)):
        if not reach.size:
            continue
        last = found[-1] if found else None
        if last is None or reach.address >= last.address + last.size:
            found.append(last := ReachedMemory(reach.address, reach.size, reach.flags, resident=reach.resident))
        elif last.flags != reach.flags:
            last.flags = cl.CL_MEM_READ_WRITE
        last.resident = last.resident and reach.resident
        last.size = max(last.size, reach.end - last.address)
        last.arguments.append(index)
    return found


def apart(regions: list[ReachedMemory], reaches: tuple[Reach, ...], image: bytes) -> list[ReachedMemory]:
    """Returns regions of which each begins at the pointer of an argument, for engines that take no parts of buffers."""
    found: list[ReachedMemory] = []
    for region in regions:
        begins: dict[int, list[int]] = {}
        for index in region.arguments:
            begins.setdefault(int(ARGUMENT.unpack_from(image, ARGUMENT.size * index)[2]), []).append(index)
        for begin, arguments in begins.items():
            size = max(reaches[index].end for index in arguments) - begin
            several = len(begins) > 1
            found.append(ReachedMemory(begin, size, region.flags, arguments, region.resident, several))
    return found


class OwnBuffersEngine(OpenCLEngine):
    """An engine on a driver that accepts only buffers of its own.

    `contents`, if given, says which bytes have not been written.
    """

    works_on_own_buffers = True
    takes_parts = True
    """True if an argument can be a part of a buffer. Otherwise arguments that overlap see each other's writes only
    after the launch."""

    def __init__(self, name: str, driver: Driver, contents: Contents | None = None) -> None:
        super().__init__(name, driver)
        self.contents = contents if contents is not None else Contents()
        self.largest = int.from_bytes(self.device_info(cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE), "little")
        """The largest size of a buffer, in bytes. Drivers may accept more, and then use all of the machine's memory."""
        self._running = threading.RLock()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Excludes other threads, also those that build and release, because these use the engine's memory, too."""
        with self._running, keeping_signal_handlers(self.path):
            yield

    def release_program(self, program: DriverProgram) -> None:
        with self._running:
            super().release_program(program)

    def create_buffer(self, flags: int, size: int) -> int:
        """Creates a buffer of the engine; raises OutOfResources if it is too large for the engine, CLError."""
        if size > self.largest:
            raise OutOfResources(
                f"a kernel reaches {size} bytes through an argument; the engine '{self.name}' works on "
                f"buffers of its own, which have no more than {self.largest}"
            )
        return self.driver.create("clCreateBuffer", self.driver.context, flags, size, ffi.NULL)

    def write_buffer(self, handle: int, offset: int, data: bytes) -> None:
        """Copies from the host to the engine; raises CLError."""
        self._transfer("clEnqueueWriteBuffer", handle, offset, len(data), _address(data))

    def read_buffer(self, handle: int, offset: int, size: int) -> bytes:
        """Copies from the engine to the host; raises CLError."""
        data = ffi.new("char[]", size)
        self._transfer("clEnqueueReadBuffer", handle, offset, size, int(ffi.cast("uintptr_t", data)))
        return bytes(ffi.buffer(data))

    def copy_buffer(self, source: int, source_offset: int, target: int, target_offset: int, size: int) -> None:
        """Copies within the engine; raises CLError."""
        queue, offsets = self.queues.of_thread(), (source_offset, target_offset)
        self.driver.call("clEnqueueCopyBuffer", queue, source, target, *offsets, size, 0, ffi.NULL, ffi.NULL)
        self.driver.call("clFinish", queue)

    def _transfer(self, name: str, handle: int, offset: int, size: int, address: int) -> None:
        self.driver.call(name, self.queues.of_thread(), handle, 1, offset, size, address, 0, ffi.NULL, ffi.NULL)

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        return OwnBuffersKernel(program, name)

    @contextmanager
    def keeping(self, regions: list[ReachedMemory]) -> Iterator[dict[int, int]]:
        """Yields the buffers of the regions that the engine keeps, by the address of the region. Raises CLError."""
        yield {}

    def keeps(self, region: ReachedMemory) -> bool:
        """True if the engine keeps a region from one launch to the next."""
        return False

    @contextmanager
    def in_step(self, regions: list[ReachedMemory]) -> Iterator[None]:
        """Makes the host's memory and `contents` agree with the engine's copies of these regions; raises CLError."""
        yield

    def poison(self, handle: int, begin: int, end: int) -> None:
        """Marks these bytes of a buffer as not written, for engines that check who reads such bytes."""


class OwnBuffersKernel(DriverKernel):
    """A kernel of an `OwnBuffersEngine`. One runs at a time."""

    wants_reaches = True
    engine: OwnBuffersEngine

    def launch(self, launch: KernelLaunch) -> None:
        with self.engine.at_work():
            regions = reached_by(launch.reaches)
            if not self.engine.takes_parts:
                regions = apart(regions, launch.reaches, launch.image)
            copied = [region for region in regions if not self.engine.keeps(region)]
            with self.engine.in_step(copied):
                for region in copied:
                    region.margin = self._margin(region)
                    look_at(region, self.engine.contents)
                misuses = self._checked(CopiedLaunch(self, launch, regions))
                for region in copied:
                    copy_back(region, self.engine.contents)
        for misuse in misuses:
            for listener in NOTICES.kernel_misused:
                listener(misuse)

    def _margin(self, region: ReachedMemory) -> int:
        names = [self.interface.arguments[index].type_name.rstrip("*") for index in region.arguments]
        return 0 if all(size_of_type(name.rstrip("0123456789")) >= WORD for name in names) else WORD

    def _checked(self, launch: CopiedLaunch) -> list[Misuse]:
        """Runs the launch; returns the misuses that the engine found."""
        with launch.buffers() as handles:
            launch.run(handles)
            launch.read_back(handles)
        return []


def look_at(region: ReachedMemory, contents: Contents) -> None:
    """Reads the contents of a region, with the filling in place of bytes that have not been written."""
    unwritten = contents.unwritten(region.address, region.size)
    region.unwritten = [(begin - region.address, end - region.address) for begin, end in unwritten]
    data = bytearray(ffi.buffer(ffi.cast("char *", region.address), region.size))
    for begin, end in region.unwritten:
        data[begin:end] = background(begin, end - begin)
    region.before = bytes(data)


def copy_back(region: ReachedMemory, contents: Contents) -> None:
    """Writes the bytes that the kernel changed to the region, except those that the host has written meanwhile."""
    for begin, end in holes(region.unwritten, 0, region.size):
        for start, stop in changes(region.before[begin:end], region.after[begin:end]):
            _put(region, begin + start, begin + stop)
    with contents.lock:
        for begin, end in region.unwritten:
            for low, high in contents.unwritten(region.address + begin, end - begin):
                start, stop = low - region.address, high - region.address
                still = untouched(start, region.after[start:stop], region.margin)
                for first, last in holes(still, start, stop):
                    _put(region, first, last)
                    contents.wrote(region.address + first, last - first)


def _put(region: ReachedMemory, begin: int, end: int) -> None:
    lib.copy_bytes(region.address + begin, _address(region.after) + begin, end - begin)


def _address(data: bytes) -> int:
    return int(ffi.cast("uintptr_t", ffi.from_buffer(data)))


@dataclass(slots=True)
class CopiedLaunch:
    """One launch, which can be run several times from the same beginning."""

    kernel: OwnBuffersKernel
    given: KernelLaunch
    regions: list[ReachedMemory]

    def buffers(self, poisoned: list[ReachedMemory] | None = None) -> Buffers:
        """Returns filled buffers of the engine.

        Unwritten bytes stay unwritten in `poisoned` only (None: in all regions).
        """
        return Buffers(self.kernel.engine, self.regions, self.regions if poisoned is None else poisoned)

    def run(self, buffers: Buffers) -> None:
        """Runs the kernel on these buffers; raises CLError."""
        arguments: list[tuple[int, int, int | bytes]] = []
        image = self.given.image
        for index, reach in enumerate(self.given.reaches):
            kind, size, value = ARGUMENT.unpack_from(image, ARGUMENT.size * index)
            if kind == BYTES:
                arguments.append((BYTES, size, image[value : value + size]))
            elif kind != POINTER:
                arguments.append((kind, size, value))
            elif reach == NOWHERE:
                arguments.append((NULL, 8, 0))
            else:
                arguments.append((BYTES, 8, HANDLE.pack(buffers.at(value))))
        self.kernel.run(self.given._replace(image=pack_arguments(arguments)))

    def read_back(self, buffers: Buffers) -> None:
        for index, region in enumerate(self.regions):
            if not self.kernel.engine.keeps(region):
                region.after = buffers.read(index)


class Buffers:
    """The engine's buffers of a launch; those that the engine does not keep are released at the end."""

    def __init__(self, engine: OwnBuffersEngine, regions: list[ReachedMemory], poisoned: list[ReachedMemory]) -> None:
        self.engine = engine
        self.driver = engine.driver
        self.regions = regions
        self.poisoned = poisoned
        self.handles: list[int] = []
        self._stack = ExitStack()

    def __enter__(self) -> Buffers:
        engine = self.engine
        with self._stack:
            kept = self._stack.enter_context(engine.keeping([each for each in self.regions if engine.keeps(each)]))
            self.handles = [kept.get(region.address) or self._made(region) for region in self.regions]
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _owned(self, handle: int) -> int:
        self._stack.callback(self.driver.function("clReleaseMemObject"), handle)
        return handle

    def _made(self, region: ReachedMemory) -> int:
        handle = self._owned(self.engine.create_buffer(region.flags or cl.CL_MEM_READ_WRITE, region.size))
        self.engine.write_buffer(handle, 0, region.before)
        left = MOST_POISONED if any(region is each for each in self.poisoned) else 0
        for begin, end in region.unwritten:
            if left > 0:
                self.engine.poison(handle, begin, min(end, begin + left))
            left -= end - begin
        return handle

    def at(self, address: int) -> int:
        """Returns the engine's buffer for an address of this process, or a sub-buffer that begins at the address."""
        pairs = list(zip(self.regions, self.handles, strict=True))
        for region, handle in pairs:
            if region.address == address:
                return handle
        for region, handle in pairs:
            offset = address - region.address
            if 0 < offset < region.size:
                part = ffi.new("char[]", SUB_BUFFER.pack(offset, region.size - offset))
                kind = cl.CL_BUFFER_CREATE_TYPE_REGION
                return self._owned(self.driver.create("clCreateSubBuffer", handle, region.flags, kind, part))
        raise AssertionError(f"{address:#x} is in no region of the launch")

    def read(self, index: int) -> bytes:
        return self.engine.read_buffer(self.handles[index], 0, self.regions[index].size)
