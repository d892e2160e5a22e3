# SPDX-License-Identifier: Apache-2.0
"""Queues, command groups and kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from fpgart.sycl.commands import HOST, Allocation, Array, Command, Context, ExecCGCommand, Part
from fpgart.sycl.graph import Graph
from fpgart.sycl.memory import DEFAULT_GRAPH, Buffer, Image, SubBuffer, close_at_exit
from fpgart.sycl.modes import Mode, SyclError

_CONTEXTS: dict[cl.Device, cl.Context] = {}
_LOCK = threading.Lock()


def _context_of(device: cl.Device) -> cl.Context:
    """Returns one context for each device, so that its queues share their allocations."""
    with _LOCK:
        if device not in _CONTEXTS:
            _CONTEXTS[device] = cl.Context([device])
        return _CONTEXTS[device]


class Kernel:
    """A kernel of an OpenCL C source, built for a context at its first use there."""

    def __init__(self, source: str, name: str, options: str = "") -> None:
        self.source = source
        self.name = name
        self.options = options
        self._built: dict[cl.Context, cl.Kernel] = {}

    def in_context(self, context: cl.Context) -> cl.Kernel:
        """Builds the kernel; raises SyclError with the build log."""
        if context not in self._built:
            try:
                program = cl.Program(context, self.source).build(self.options, cache_dir=False)  # type: ignore[arg-type]
                self._built[context] = cl.Kernel(program, self.name)
            except cl.Error as error:
                raise SyclError(f"kernel '{self.name}': {error}") from error
        return self._built[context]


class Accessor:
    """A command group's access to a buffer. In a host task, `array` is the contents."""

    def __init__(self, buffer: Buffer | SubBuffer, mode: Mode) -> None:
        self.part = buffer if isinstance(buffer, SubBuffer) else None
        self.buffer = buffer.whole if isinstance(buffer, SubBuffer) else buffer
        self.mode = mode.keeping if self.part else mode
        self.allocation: Allocation | None = None

    @property
    def nbytes(self) -> int:
        return self.part.part[1] if self.part else self.buffer.nbytes

    @property
    def array(self) -> Array:
        """The contents. Raises SyclError outside of a host task."""
        if self.allocation is None or self.allocation.array is None:
            raise SyclError(f"buffer {self.buffer.number} can be accessed on the host in a host task only")
        view = self.allocation.array[self.part.range] if self.part else self.allocation.array.view()
        view.flags.writeable = self.mode.writes
        return view


Operation = Callable[[cl.CommandQueue, list[cl.Event]], cl.Event]
"""Enqueues a copy or a fill behind events."""


class Handler:
    """The contents of a command group: accesses, and one action."""

    def __init__(self) -> None:
        self.accessors: list[Accessor] = []
        self.kernel: Kernel | None = None
        self.task: Callable[[], object] | None = None
        self.operation: Operation | None = None
        self.updated: Accessor | None = None
        self.what = ""
        """The action in words."""
        self.arguments: tuple[Any, ...] = ()
        self.global_size: tuple[int, ...] = ()
        self.local_size: tuple[int, ...] | None = None

    def access(self, buffer: Buffer | SubBuffer, mode: Mode | str = Mode.READ_WRITE) -> Accessor:
        """Returns an accessor to a buffer or a part of it, for the kernel or the host task. Raises SyclError."""
        accessor = Accessor(buffer, Mode.of(mode))
        self.accessors.append(accessor)
        return accessor

    def parallel_for(
        self,
        global_size: int | tuple[int, ...],
        kernel: Kernel,
        *arguments: Any,
        local_size: tuple[int, ...] | None = None,
    ) -> None:
        """Runs a kernel. Arguments are accessors, and numpy scalars or bytes as pyopencl takes them."""
        self._only(f"kernel '{kernel.name}'")
        self.kernel = kernel
        self.arguments = arguments
        self.global_size = (global_size,) if isinstance(global_size, int) else tuple(global_size)
        self.local_size = local_size

    def single_task(self, kernel: Kernel, *arguments: Any) -> None:
        """Runs a kernel once."""
        self.parallel_for(1, kernel, *arguments, local_size=(1,))

    def host_task(self, function: Callable[[], object]) -> None:
        """Calls a function on the host; the accessors' arrays are the contents meanwhile."""
        self._only("host task")
        self.task = function

    def copy(self, source: Accessor | Array, target: Accessor | Array) -> None:
        """Copies a buffer to a buffer or an array, or an array to a buffer. Raises SyclError.

        All of the source is copied, but no more of an array than the buffer has. The array must be contiguous, and
        belongs to the command group until that has ended.
        """
        if isinstance(source, Accessor):
            self._explicit(source, reads=True)
            size = source.nbytes
        elif isinstance(target, Accessor):
            size = target.nbytes
        else:
            raise SyclError("a copy needs a buffer")
        if isinstance(target, Accessor):
            self._explicit(target, reads=False)
        elif not target.flags.writeable:
            raise SyclError("an array that is not writable cannot be the target of a copy")
        ends = [end if isinstance(end, Accessor) else _bytes(end) for end in (target, source)]
        for end in ends:
            if end.nbytes < size:
                raise SyclError(f"{size} bytes cannot be copied from or to {end.nbytes} bytes")
        self._only("copy")

        def enqueue(queue: cl.CommandQueue, events: list[cl.Event]) -> cl.Event:
            natives: Any = [_native(end) if isinstance(end, Accessor) else end[:size] for end in ends]
            between = all(isinstance(end, Accessor) for end in ends)
            how: Any = {"byte_count": size} if between else {"is_blocking": False}
            return cl.enqueue_copy(queue, *natives, wait_for=events, **how)

        self.operation = enqueue

    def fill(self, target: Accessor, value: Any) -> None:
        """Sets each element of a buffer to a value. Raises SyclError."""
        buffer = self._explicit(target, reads=False)
        pattern = np.array(value, buffer.dtype)
        self._only("fill")
        self.operation = lambda queue, events: cl.enqueue_fill_buffer(
            queue, _native(target), pattern, 0, target.nbytes, wait_for=events
        )

    def update_host(self, accessor: Accessor) -> None:
        """Brings the contents to the buffer's memory on the host."""
        self._only("update of the host")
        self.updated = accessor

    def _explicit(self, accessor: Accessor, *, reads: bool) -> Buffer:
        """Returns the buffer of an accessor that a copy or a fill reads or writes. Raises SyclError."""
        buffer, mode = accessor.buffer, accessor.mode
        if isinstance(buffer, Image):
            raise SyclError("copies and fills are for buffers")
        if mode not in (Mode.READ, Mode.READ_WRITE) if reads else not mode.writes:
            raise SyclError(f"an accessor of the mode {mode.value} does not {'read' if reads else 'write'}")
        return buffer

    def _only(self, what: str) -> None:
        if self.what:
            raise SyclError("a command group has one action")
        self.what = what


def _native(accessor: Accessor) -> Any:
    allocation = accessor.allocation
    assert allocation is not None
    return allocation.parts[accessor.part.part] if accessor.part else allocation.native


def _parts(handler: Handler, buffer: Buffer) -> list[Part]:
    """Returns the sub-buffers of a buffer that a command group accesses."""
    return [each.part.part for each in handler.accessors if each.part and each.buffer is buffer]


def _bytes(array: Array) -> Array:
    """Returns the bytes of an array; raises SyclError if it is not contiguous."""
    if not array.flags.c_contiguous:
        raise SyclError("an array that is not contiguous cannot be copied")
    return array.reshape(-1).view(np.uint8)


class Event:
    """A submitted command group."""

    def __init__(self, command: Command) -> None:
        self.command = command

    def wait(self) -> None:
        """Waits until it has ended. Raises SyclError if it failed."""
        try:
            self.command.wait()
        except cl.Error as error:
            raise SyclError(f"{self.command.words()}: {error}") from error


class Queue:
    """A queue for command groups, of a pyopencl.Device, or of the host with None.

    Queues of one device share a context, and so its allocations, unless they are given others. Command groups run when
    those that they depend on have ended, and kernels run while the program continues. Submitting a command group waits
    for commands of other contexts on which it depends.
    """

    def __init__(
        self, device: cl.Device | None = None, *, context: cl.Context | None = None, graph: Graph | None = None
    ) -> None:
        self.graph = graph or DEFAULT_GRAPH
        self.device = device
        self.context: Context = HOST
        self.native: cl.CommandQueue | None = None
        if device is not None:
            self.context = context or _context_of(device)
            unordered = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
            properties: Any = device.queue_properties & unordered
            self.native = cl.CommandQueue(self.context, device, properties)
            close_at_exit()

    def submit(self, group: Callable[[Handler], object]) -> Event:
        """Creates a command group, brings its buffers here, and starts it. Raises SyclError."""
        handler = Handler()
        group(handler)
        if not handler.what:
            raise SyclError("the command group has no action")
        if handler.task is None and handler.updated is None and self.native is None:
            raise SyclError(f"{handler.what} needs a device's queue")
        with self.graph.lock:
            return Event(self._start(handler))

    def wait(self) -> None:
        """Waits until all command groups that were submitted here have ended."""
        if self.native is not None:
            self.native.finish()

    def _start(self, handler: Handler) -> Command:
        if handler.updated is not None:
            self._modes(handler, HOST)
            buffer = handler.updated.buffer
            return self.graph.prepare(buffer.record, HOST, None, Mode.READ, _parts(handler, buffer))[1][-1]
        on_host = handler.task is not None
        context, native = (HOST, None) if on_host else (self.context, self.native)
        modes = self._modes(handler, context)
        after: list[Command] = []
        allocations = {}
        for buffer, mode in modes.items():
            allocations[buffer], before = self.graph.prepare(
                buffer.record, context, native, mode, _parts(handler, buffer)
            )
            after += before
        for accessor in handler.accessors:
            accessor.allocation = allocations[accessor.buffer]
        action = self._action(handler)
        uses = {buffer.number: mode for buffer, mode in modes.items()}
        command = ExecCGCommand(context, uses, handler.what, action, after)
        self.graph.execute(context, [(buffer.record, mode) for buffer, mode in modes.items()], command)
        return command

    def _modes(self, handler: Handler, context: Context) -> dict[Buffer, Mode]:
        """Returns the mode in which each buffer is needed; two accessors to one buffer are combined."""
        modes: dict[Buffer, Mode] = {}
        for accessor in handler.accessors:
            buffer, mode = accessor.buffer, accessor.mode
            if buffer.graph is not self.graph:
                raise SyclError(f"buffer {buffer.number} belongs to another graph than the queue")
            buffer.check(mode, context)
            modes[buffer] = mode if modes.get(buffer, mode) is mode else Mode.READ_WRITE
        return modes

    def _action(self, handler: Handler) -> Callable[[list[cl.Event]], cl.Event | None]:
        """Returns the function that runs or enqueues the action behind events."""
        task, native = handler.task, self.native
        if task is not None:

            def on_host(events: list[cl.Event]) -> None:
                try:
                    task()
                finally:
                    for accessor in handler.accessors:
                        accessor.allocation = None

            return on_host
        assert native is not None
        operation = handler.operation or self._launch(handler, native)

        def action(events: list[cl.Event]) -> cl.Event:
            event = operation(native, events)
            native.flush()
            return event

        return action

    def _launch(self, handler: Handler, native: cl.CommandQueue) -> Operation:
        assert handler.kernel is not None
        kernel = handler.kernel.in_context(native.context)

        def enqueue(queue: cl.CommandQueue, events: list[cl.Event]) -> cl.Event:
            for index, argument in enumerate(handler.arguments):
                kernel.set_arg(index, _native(argument) if isinstance(argument, Accessor) else argument)
            return cl.enqueue_nd_range_kernel(queue, kernel, handler.global_size, handler.local_size, wait_for=events)

        return enqueue
