# SPDX-License-Identifier: Apache-2.0
"""Queues, command groups and kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyopencl as cl

from fpgart.sycl.commands import HOST, Allocation, Array, Command, Context, ExecCGCommand
from fpgart.sycl.graph import Graph
from fpgart.sycl.memory import DEFAULT_GRAPH, Buffer, close_at_exit
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

    def __init__(self, buffer: Buffer, mode: Mode) -> None:
        self.buffer = buffer
        self.mode = mode
        self.allocation: Allocation | None = None

    @property
    def array(self) -> Array:
        """The contents. Raises SyclError outside of a host task."""
        if self.allocation is None or self.allocation.array is None or not self.allocation.active:
            raise SyclError(f"buffer {self.buffer.number} can be accessed on the host in a host task only")
        view = self.allocation.array.view()
        view.flags.writeable = self.mode.writes
        return view


class Handler:
    """The contents of a command group: accesses, and one kernel or host task."""

    def __init__(self) -> None:
        self.accessors: list[Accessor] = []
        self.kernel: Kernel | None = None
        self.task: Callable[[], object] | None = None
        self.arguments: tuple[Any, ...] = ()
        self.global_size: tuple[int, ...] = ()
        self.local_size: tuple[int, ...] | None = None

    def access(self, buffer: Buffer, mode: Mode | str = Mode.READ_WRITE) -> Accessor:
        """Returns an accessor to a buffer, as an argument of the kernel or for the host task. Raises SyclError."""
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
        self._only()
        self.kernel = kernel
        self.arguments = arguments
        self.global_size = (global_size,) if isinstance(global_size, int) else tuple(global_size)
        self.local_size = local_size

    def single_task(self, kernel: Kernel, *arguments: Any) -> None:
        """Runs a kernel once."""
        self.parallel_for(1, kernel, *arguments, local_size=(1,))

    def host_task(self, function: Callable[[], object]) -> None:
        """Calls a function on the host; the accessors' arrays are the contents meanwhile."""
        self._only()
        self.task = function

    def _only(self) -> None:
        if self.kernel is not None or self.task is not None:
            raise SyclError("a command group has one action")


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
        """Creates a command group, bring its buffers here, and starts it. Raises SyclError."""
        handler = Handler()
        group(handler)
        if handler.kernel is None and handler.task is None:
            raise SyclError("the command group has no action")
        if handler.kernel is not None and self.native is None:
            raise SyclError(f"kernel '{handler.kernel.name}' needs a device's queue")
        with self.graph.lock:
            return Event(self._start(handler))

    def wait(self) -> None:
        """Waits until all command groups that were submitted here have ended."""
        if self.native is not None:
            self.native.finish()

    def _start(self, handler: Handler) -> Command:
        on_host = handler.task is not None
        context, native = (HOST, None) if on_host else (self.context, self.native)
        modes = self._modes(handler, context)
        after: list[Command] = []
        allocations = {}
        for buffer, mode in modes.items():
            allocations[buffer], before = self.graph.prepare(buffer.record, context, native, mode)
            after += before
        for accessor in handler.accessors:
            accessor.allocation = allocations[accessor.buffer]
        action, what = self._host_task(handler) if on_host else self._kernel(handler)
        uses = {buffer.number: mode for buffer, mode in modes.items()}
        command = ExecCGCommand(context, uses, what, action, after)
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

    def _host_task(self, handler: Handler) -> tuple[Callable[[list[cl.Event]], None], str]:
        task = handler.task
        assert task is not None

        def action(events: list[cl.Event]) -> None:
            task()

        return action, "host task"

    def _kernel(self, handler: Handler) -> tuple[Callable[[list[cl.Event]], cl.Event], str]:
        wanted, native = handler.kernel, self.native
        assert wanted is not None
        assert native is not None
        kernel = wanted.in_context(native.context)

        def action(events: list[cl.Event]) -> cl.Event:
            for index, argument in enumerate(handler.arguments):
                if isinstance(argument, Accessor):
                    assert argument.allocation is not None
                    argument = argument.allocation.native
                kernel.set_arg(index, argument)
            event = cl.enqueue_nd_range_kernel(native, kernel, handler.global_size, handler.local_size, wait_for=events)
            native.flush()
            return event

        return action, f"kernel '{wanted.name}'"
