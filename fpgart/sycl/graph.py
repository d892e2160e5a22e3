# SPDX-License-Identifier: Apache-2.0
"""The execution graph: the commands that a program's accesses need, and their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from fpgart.sycl import drawing
from fpgart.sycl.commands import (
    HOST,
    AllocaCommand,
    AllocaSubBufCommand,
    Allocation,
    Array,
    Command,
    Context,
    ExecCGCommand,
    MapMemObject,
    MemCpyCommand,
    Part,
    ReleaseCommand,
    UnmapMemObject,
)
from fpgart.sycl.images import ImageLayout
from fpgart.sycl.modes import Mode, SyclError

Criterion = Callable[[cl.Context], bool]


def shares_memory(context: cl.Context) -> bool:
    """True if all devices of a context report that they share the host's memory."""
    return all(device.host_unified_memory for device in context.devices)


CRITERIA: dict[str, Criterion] = {
    "unified": shares_memory,
    "never": lambda context: False,
    "always": lambda context: True,
}


class Record:
    """The graph's facts about one memory object.

    `current` is the allocation with the contents, always the active one if it is of a pair; None before the first
    access. `writer` is the last command that changed the contents, `readers` those behind it.
    """

    def __init__(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any], host: Array | None) -> None:
        self.number = number
        self.layout = shape, dtype
        self.size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self.host = host
        self.image: ImageLayout | None = None
        """The layout of its native objects, if they are images."""
        self.allocations: list[Allocation] = []
        self.current: Allocation | None = None
        self.host_is_taken = False
        """True if an allocation is in the user's memory."""
        self.modified = False
        self.writer: Command | None = None
        self.readers: list[Command] = []
        self.history: list[Command] = []

    @property
    def host_is_suitable(self) -> bool:
        """True if the user's memory can be an allocation: contiguous, writable, aligned for its type."""
        return self.host is not None and self.host.flags.carray

    def in_context(self, context: Context) -> Allocation | None:
        return next((a for a in self.allocations if a.context == context), None)

    def before(self, mode: Mode) -> list[Command]:
        """Returns the commands that an access has to wait for: reads wait for the last write, writes for all."""
        writer = [self.writer] if self.writer is not None else []
        return writer + self.readers if mode.writes else writer

    def add(self, command: Command, mode: Mode) -> None:
        self.history.append(command)
        if mode.writes:
            self.writer, self.readers = command, []
        else:
            self.readers.append(command)


def _made(*allocations: Allocation) -> list[Command]:
    """Returns the commands that made the allocations."""
    return [allocation.command for allocation in allocations if allocation.command is not None]


class Graph:
    """The commands of a program, in the order in which they were created and started.

    `linking` selects the contexts in which allocations are linked to the host's: "unified" (where devices share the
    host's memory, as in DPC++), "never", "always", or a function of a pyopencl.Context.
    """

    def __init__(self, linking: str | Criterion = "unified") -> None:
        if isinstance(linking, str) and linking not in CRITERIA:
            raise SyclError(f"linking '{linking}' is not one of {', '.join(CRITERIA)}")
        self._links = CRITERIA[linking] if isinstance(linking, str) else linking
        self._numbers = count(1)
        self._objects = count(1)
        self.lock = threading.RLock()
        self.commands: list[Command] = []

    def record(self, shape: tuple[int, ...], dtype: np.dtype[Any], host: Array | None) -> Record:
        """Returns a memory object without any allocation."""
        return Record(next(self._objects), shape, dtype, host)

    # Commands

    def _insert(self, command: Command) -> None:
        """Runs a command; it becomes part of the graph unless it fails at once."""
        try:
            command.run()
        except cl.Error as error:
            raise SyclError(f"{command.kind} ({command.words()}): {error}") from error
        command.number = next(self._numbers)
        self.commands.append(command)

    def _change(self, record: Record, command: Command) -> None:
        self._insert(command)
        record.add(command, Mode.READ_WRITE)

    def execute(self, context: Context, uses: list[tuple[Record, Mode]], command: ExecCGCommand) -> None:
        """Runs a command group whose memory is in place already."""
        self._insert(command)
        for record, mode in uses:
            record.add(command, mode)
            record.modified |= mode.writes

    def prepare(
        self, record: Record, context: Context, queue: cl.CommandQueue | None, mode: Mode, parts: Iterable[Part] = ()
    ) -> tuple[Allocation, list[Command]]:
        """Moves a memory object to a context; returns its allocation there, and the commands to wait for.

        `parts` are the sub-buffers that the access needs.
        """
        allocation = self._allocation(record, context, queue, mode)
        self._divide(record, allocation, parts)
        if record.current is not allocation:
            self._move(record, allocation, mode, parts)
        else:
            self._activate(record, allocation, mode)
        return allocation, [*_made(allocation), *record.before(mode)]

    # Allocations

    def _allocation(self, record: Record, context: Context, queue: cl.CommandQueue | None, mode: Mode) -> Allocation:
        found = record.in_context(context)
        if found is None:
            if context is not HOST and not record.allocations and self._starts_on_host(record, queue, mode):
                record.current = self._host(record)
            found = self._allocate(record, context, queue)
        return found

    def _starts_on_host(self, record: Record, queue: cl.CommandQueue | None, mode: Mode) -> bool:
        """True if the first allocation is the host's although a device accesses: its contents are needed there.

        A device that can be linked uses the user's memory directly.
        """
        if record.host is None:
            return False
        assert queue is not None
        return not mode.discards and not (self._links(queue.context) and record.host_is_suitable)

    def _host(self, record: Record) -> Allocation:
        return record.in_context(HOST) or self._allocate(record, HOST, None)

    def _allocate(self, record: Record, context: Context, queue: cl.CommandQueue | None) -> Allocation:
        unified = queue is not None and shares_memory(queue.context)
        allocation = Allocation(context, queue, unified)
        partner = self._partner(record, allocation)
        host, reusable = self._host_pointer(record, allocation, partner)
        after = record.before(Mode.READ_WRITE) if partner is not None else []
        if partner is not None:
            after = [*_made(partner), *after]
        command = AllocaCommand(
            record.number, allocation, record.layout, host, partner, after, reusable=reusable, image=record.image
        )
        self._insert(command)
        allocation.command = command
        record.host_is_taken |= reusable and host is not None and host is record.host
        if partner is not None:
            self._link(record, allocation, partner)
        record.allocations.append(allocation)
        record.current = record.current or allocation
        return allocation

    def _divide(self, record: Record, allocation: Allocation, parts: Iterable[Part]) -> None:
        for part in parts:
            if part not in allocation.parts:
                self._insert(AllocaSubBufCommand(record.number, allocation, part))

    def _host_pointer(
        self, record: Record, allocation: Allocation, partner: Allocation | None
    ) -> tuple[Array | None, bool]:
        """Returns host memory for a new allocation to use, or (False) only for its first contents."""
        if allocation.on_host:
            first = record.current is None
            return (record.host, record.host_is_suitable) if first or record.host_is_suitable else (None, True)
        if partner is not None:
            return partner.array, True
        assert allocation.queue is not None
        free = record.host_is_suitable and not record.host_is_taken
        return (record.host, True) if free and self._links(allocation.queue.context) else (None, True)

    def _partner(self, record: Record, new: Allocation) -> Allocation | None:
        """Returns the allocation to which a new one is linked.

        Exactly one of both is the host's, neither is linked, and the device's one is of a device that shares the host's
        memory.
        """
        for other in record.allocations:
            if other.linked is None and other.on_host != new.on_host:
                queue = other.queue or new.queue
                assert queue is not None
                if self._links(queue.context):
                    return other
        return None

    def _link(self, record: Record, new: Allocation, partner: Allocation) -> None:
        """Links two allocations. The device's side is active first: it was made over the host's memory."""
        new.linked, partner.linked = partner, new
        device, host = (partner, new) if new.on_host else (new, partner)
        host.active = False
        if record.current is host:
            record.current = device

    # Movement

    def _move(self, record: Record, target: Allocation, mode: Mode, parts: Iterable[Part]) -> None:
        """Makes `target` the allocation with the contents."""
        source = record.current
        if source is None or source.linked is target or mode.discards:
            self._activate(record, target, mode)
        elif not source.on_host and not target.on_host:
            # Copies between devices go through the host, which then needs all of the contents.
            host = self._host(record)
            self._divide(record, host, parts)
            self._move(record, host, Mode.READ, parts)
            if record.current is not target:
                self._move(record, target, mode, parts)
            return
        else:
            self._activate(record, target, Mode.DISCARD_WRITE)
            after = [*_made(source, target), *record.before(Mode.READ_WRITE)]
            self._change(record, MemCpyCommand(record.number, source, target, record.size, after, record.image))
        record.current = target

    def _activate(self, record: Record, target: Allocation, mode: Mode) -> None:
        """Makes one side of a pair the active one, with the contents that the mode needs."""
        if target.active and target.mapped is not None and mode.writes and not target.mapped.writes:
            self._unmap(record, target)
        if target.active or target.linked is None:
            return
        if target.on_host:
            self._map(record, target, mode)
        else:
            self._unmap(record, target.linked)

    def _map(self, record: Record, host: Allocation, mode: Mode) -> None:
        device = host.linked
        assert device is not None
        after = [*_made(device, host), *record.before(Mode.READ_WRITE)]
        command = MapMemObject(record.number, device, host, record.layout, mode, record.size, after, record.image)
        self._change(record, command)

    def _unmap(self, record: Record, host: Allocation) -> None:
        device = host.linked
        assert device is not None
        after = record.before(Mode.READ_WRITE)
        self._change(record, UnmapMemObject(record.number, device, host, record.size, after))

    # The end

    def release(self, record: Record) -> None:
        """Releases all of an object's allocations, when the commands that use them have ended."""
        for allocation in record.allocations:
            if allocation.on_host and allocation.mapped is not None:
                self._unmap(record, allocation)
        after = record.before(Mode.READ_WRITE)
        for allocation in sorted(record.allocations, key=lambda a: a.on_host):
            self._insert(ReleaseCommand(record.number, allocation, [*_made(allocation), *after]))
        for command in record.history:
            command.event = None  # it has ended
        record.history = []
        record.allocations, record.current, record.writer, record.readers = [], None, None, []

    # Output

    def kinds(self) -> list[str]:
        """Returns the names of the commands, in order."""
        return [command.kind for command in self.commands]

    def show(self) -> None:
        """Prints the commands in order."""
        print(drawing.as_text(self.commands))

    def __str__(self) -> str:
        return drawing.as_text(self.commands)

    def to_dot(self) -> str:
        """Returns the graph for Graphviz: linked pairs boxed, the active side of each marked."""
        return drawing.as_dot(self.commands)

    def save(self, path: str | Path) -> None:
        """Writes the graph to a file: .dot, or a picture by Graphviz's `dot` (.svg, .png, .pdf). Raises SyclError."""
        drawing.save(self.commands, Path(path))

    def copied(self) -> dict[str, tuple[int, int]]:
        """Returns commands and bytes copied, by kind of command."""
        return drawing.copied(self.commands)


def compare(program: Callable[[Graph], object], linkings: Iterable[str | Criterion] = ("unified", "never")) -> str:
    """Returns a table of the bytes that the same program copies with each way of linking."""
    results: dict[str, dict[str, tuple[int, int]]] = {}
    for linking in linkings:
        graph = Graph(linking)
        program(graph)
        results[linking if isinstance(linking, str) else "chosen"] = graph.copied()
    return drawing.table(results)
