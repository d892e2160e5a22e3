# SPDX-License-Identifier: Apache-2.0
"""The nodes of the execution graph. Each runs once, when the graph has created it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyopencl as cl

from fpgart.sycl.images import ImageLayout
from fpgart.sycl.modes import Mode

Array = np.ndarray[Any, Any]
Part = tuple[int, int]
"""A sub-buffer: its first byte in the buffer, and its size in bytes."""


class Host:
    """The host as a context: its allocations are host memory, its commands run in this process."""

    name = "host"

    def __repr__(self) -> str:
        return self.name


HOST = Host()
Context = cl.Context | Host


def name_of(context: Context) -> str:
    if isinstance(context, Host):
        return context.name
    return ", ".join(device.name.strip() for device in context.devices)


class Allocation:
    """Holds a memory object's memory in one context: an array on the host, an OpenCL buffer or image elsewhere.

    Of two linked allocations, one is `active` at a time; the other one's memory must not be accessed. `mapped` is the
    mode for which the host's one is mapped, or None while it is not mapped.
    """

    def __init__(self, context: Context, queue: cl.CommandQueue | None, unified: bool) -> None:
        self.context = context
        self.queue = queue
        self.unified = unified
        """True if the context's device shares the host's memory, as it says."""
        self.command: AllocaCommand | None = None
        self.linked: Allocation | None = None
        self.active = True
        self.array: Array | None = None
        self.native: cl.MemoryObject | None = None
        self.parts: dict[Part, cl.Buffer | None] = {}
        """OpenCL's sub-buffers; None on the host."""
        self.mapped: Mode | None = None

    @property
    def on_host(self) -> bool:
        return isinstance(self.context, Host)


class Command:
    """A node: its action, its context and its predecessors; `bytes`: those that it copies between host and device."""

    def __init__(self, context: Context, objects: Iterable[int], after: Iterable[Command]) -> None:
        self.number = 0
        self.context = context
        self.objects = tuple(objects)
        """Numbers of the memory objects that it uses."""
        self.after = tuple(dict.fromkeys(after))
        self.event: cl.Event | None = None
        self.bytes = 0

    @property
    def kind(self) -> str:
        return type(self).__name__

    def words(self) -> str:
        """Returns the action in words."""
        raise NotImplementedError

    def run(self) -> None:
        raise NotImplementedError

    def wait(self) -> None:
        """Waits until it has ended; raises its error."""
        if self.event is not None:
            self.event.wait()

    def events(self) -> list[cl.Event]:
        """Returns the events of its own context that it has to wait for; waits for others here."""
        found = []
        for command in self.after:
            if command.event is None:
                continue
            if command.context == self.context:
                found.append(command.event)
            else:
                command.event.wait()
        return found

    def wait_for_others(self) -> None:
        for command in self.after:
            command.wait()


class AllocaCommand(Command):
    """Memory for an object in a context. `host` is memory to reuse, `linked` the other side of a pair."""

    def __init__(
        self,
        number: int,
        allocation: Allocation,
        layout: tuple[tuple[int, ...], np.dtype[Any]],
        host: Array | None,
        linked: Allocation | None,
        after: Iterable[Command],
        *,
        reusable: bool,
        image: ImageLayout | None,
    ) -> None:
        """`layout`: shape and type; `image`: of an image. `reusable` False: `host` only has the contents."""
        super().__init__(allocation.context, (number,), after)
        self.allocation = allocation
        self.layout = layout
        self.host = host
        self.linked = linked
        self.reusable = reusable
        self.image = image
        self.result = ""

    def words(self) -> str:
        link = f", linked to {self.linked.command.number}" if self.linked and self.linked.command else ""
        return f"{name_of(self.context)}: {self.result}{link}"

    def run(self) -> None:
        allocation = self.allocation
        if not allocation.on_host:
            self._make_native()
        elif self.host is not None and self.reusable:
            allocation.array, self.result = self.host, "the user's memory"
        elif self.linked is not None:
            self.result = "from mapping"
        else:
            allocation.array, self.result = np.empty(*self.layout), "new host memory"
            if self.host is not None:
                np.copyto(allocation.array, self.host)
        self.host = None

    def _make_native(self) -> None:
        allocation, context = self.allocation, self.context
        assert isinstance(context, cl.Context)
        flags: Any = cl.mem_flags.READ_WRITE
        self.result = "cl_mem"
        if self.host is not None:
            self.wait_for_others()  # the contents are copied here
            flags |= cl.mem_flags.USE_HOST_PTR
            self.result = "cl_mem with USE_HOST_PTR"
        if self.image is not None:
            allocation.native = self.image.make(context, flags, self.host)
        elif self.host is not None:
            allocation.native = cl.Buffer(context, flags, hostbuf=self.host)
        else:
            shape, dtype = self.layout
            allocation.native = cl.Buffer(context, flags, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)


class AllocaSubBufCommand(Command):
    """Makes a sub-buffer of an allocation. It moves with the allocation."""

    def __init__(self, number: int, allocation: Allocation, part: Part) -> None:
        super().__init__(allocation.context, (number,), [allocation.command] if allocation.command else [])
        self.allocation = allocation
        self.part = part

    def words(self) -> str:
        begin, size = self.part
        return f"{name_of(self.context)}: {size} bytes from byte {begin} on"

    def run(self) -> None:
        native = self.allocation.native
        self.allocation.parts[self.part] = native.get_sub_region(*self.part) if isinstance(native, cl.Buffer) else None


class MemCpyCommand(Command):
    """Copies all contents from one allocation to another; one of them is the host's."""

    def __init__(
        self,
        number: int,
        source: Allocation,
        target: Allocation,
        size: int,
        after: Iterable[Command],
        image: ImageLayout | None,
    ) -> None:
        device = target if source.on_host else source
        super().__init__(device.context, (number,), after)
        self.source = source
        self.target = target
        self.image = image
        self.bytes = size

    def words(self) -> str:
        verb = "write" if self.source.on_host else "read"
        return f"{verb} {name_of(self.source.context)} -> {name_of(self.target.context)}"

    def run(self) -> None:
        source, target = self.source, self.target
        events = self.events()
        if source.on_host:
            self.event = self._copy(target.queue, target.native, source.array, events)
        else:
            self.event = self._copy(source.queue, target.array, source.native, events)

    def _copy(self, queue: cl.CommandQueue | None, target: Any, source: Any, events: list[cl.Event]) -> cl.Event:
        assert queue is not None
        where = self.image.everywhere if self.image is not None else {}
        event = cl.enqueue_copy(queue, target, source, is_blocking=False, wait_for=events, **where)
        queue.flush()
        return event


MAP_FLAGS = {
    Mode.READ: cl.map_flags.READ,
    Mode.DISCARD_WRITE: cl.map_flags.WRITE_INVALIDATE_REGION,
    Mode.DISCARD_READ_WRITE: cl.map_flags.WRITE_INVALIDATE_REGION,
}


class MapMemObject(Command):
    """Activates the host's side of a pair, at the address that mapping returns."""

    def __init__(
        self,
        number: int,
        device: Allocation,
        host: Allocation,
        layout: tuple[tuple[int, ...], np.dtype[Any]],
        mode: Mode,
        size: int,
        after: Iterable[Command],
        image: ImageLayout | None,
    ) -> None:
        super().__init__(device.context, (number,), after)
        self.device = device
        self.host = host
        self.layout = layout
        self.image = image
        self.mode = Mode.READ_WRITE if mode is Mode.WRITE else mode  # bytes that are not written stay unchanged
        self.bytes = 0 if device.unified or mode.discards else size

    def words(self) -> str:
        return f"{name_of(self.device.context)} for the host: {self.mode.value}"

    def run(self) -> None:
        device, host = self.device, self.host
        shape, dtype = self.layout
        flags: Any = MAP_FLAGS.get(self.mode, cl.map_flags.READ | cl.map_flags.WRITE)
        native: Any = device.native
        assert device.queue is not None
        if self.image is not None:
            host.array, self.event = self.image.map(device.queue, native, flags, self.layout, self.events())
        else:
            host.array, self.event = cl.enqueue_map_buffer(
                device.queue, native, flags, 0, shape, dtype, wait_for=self.events(), is_blocking=False
            )
        device.queue.flush()
        device.active, host.active, host.mapped = False, True, self.mode


class UnmapMemObject(Command):
    """Activates the device's side of a pair."""

    def __init__(self, number: int, device: Allocation, host: Allocation, size: int, after: Iterable[Command]) -> None:
        super().__init__(device.context, (number,), after)
        self.device = device
        self.host = host
        self.bytes = size if not device.unified and host.mapped is not None and host.mapped.writes else 0

    def words(self) -> str:
        return f"{name_of(self.device.context)} is the device's again"

    def run(self) -> None:
        device, host = self.device, self.host
        events = self.events()
        assert host.array is not None
        assert device.queue is not None
        base: Any = host.array.base
        while not isinstance(base, cl.MemoryMap):
            base = base.base
        self.event = base.release(device.queue, events)
        device.queue.flush()
        device.active, host.active, host.mapped, host.array = True, False, None, None


class ExecCGCommand(Command):
    """Runs a command group: a kernel on a device, or a task on the host."""

    def __init__(
        self,
        context: Context,
        uses: dict[int, Mode],
        what: str,
        action: Callable[[list[cl.Event]], cl.Event | None],
        after: Iterable[Command],
    ) -> None:
        """`uses`: mode by number of memory object; `action` runs or enqueues it behind the events."""
        super().__init__(context, uses, after)
        self.uses = uses
        self.what = what
        self._action: Callable[[list[cl.Event]], cl.Event | None] | None = action

    def words(self) -> str:
        uses = ", ".join(f"{mode.value} {number}" for number, mode in self.uses.items())
        return f"{self.what} on {name_of(self.context)}" + (f" ({uses})" if uses else "")

    def run(self) -> None:
        action, self._action = self._action, None
        assert action is not None
        if isinstance(self.context, Host):
            self.wait_for_others()
            action([])
        else:
            self.event = action(self.events())


class ReleaseCommand(Command):
    """Releases an allocation, when all commands that use it have ended."""

    def __init__(self, number: int, allocation: Allocation, after: Iterable[Command]) -> None:
        super().__init__(allocation.context, (number,), after)
        self.allocation = allocation

    def words(self) -> str:
        return f"memory on {name_of(self.context)}"

    def run(self) -> None:
        self.wait_for_others()
        for native in (*self.allocation.parts.values(), self.allocation.native):
            if native is not None:
                native.release()
        self.allocation.native = self.allocation.array = None
