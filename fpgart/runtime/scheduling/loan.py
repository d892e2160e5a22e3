# SPDX-License-Identifier: Apache-2.0
"""What a board does for one queue, lent to C: blocking reads and writes, and recorded launches that are waited for.

It is lent while nothing is in the queue and nothing moves. Whatever enters the queue, moves bytes to or from the
board or programs it, calls the loan in first. What is under way, a copy or a run of launches, then becomes a command of
the queue, which others wait for as for any other; C tells when it has ended. What decides between the two sides is
one atomic number (board/loan.c). The scheduler's lock guards all state here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol
from weakref import ref

from fpgart import opencl as cl
from fpgart._native import ffi, lib
from fpgart.runtime.scheduling.event import Event, EventQueue, Launch, Operation, ReadyList
from fpgart.runtime.scheduling.occupancy import TAKEN, Claim, Direction, Occupancy

LAUNCHES = 4
"""The way of a run of launches; those of copies are a Direction."""
MOST_PATIENCE = 61
"""How many transfers it takes at most until they are lent."""


class LentBlock(Protocol):
    """What is asked of memory that launches in C use."""

    running: int


class EngineQueues(Protocol):
    """Queues of an engine, for one user at a time each."""

    def acquire(self) -> int: ...

    def release(self, handle: int) -> None: ...


class LendingDevice(Protocol):
    """What is asked of a device that lends."""

    loan: Loan | None

    @property
    def occupancy(self) -> Occupancy: ...

    @property
    def ready_transfers(self) -> ReadyList: ...

    @property
    def ready_kernels(self) -> ReadyList: ...

    def ran_in_c(self, launches: int, nanoseconds: int) -> None:
        """C has had the engine run launches, which took so long together."""


class Loan:
    """What one board lends. `address` is where C finds it; `copy`, what is under way in C and is a command by now."""

    __slots__ = (
        "_blocks",
        "_call_in",
        "_context",
        "_engine_queue",
        "_has_moved",
        "_launches",
        "_loan",
        "_missed",
        "_patience",
        "_queue",
        "_used",
        "address",
        "copy",
        "device",
        "occupancy",
    )

    def __init__(self, device: LendingDevice, call_in: Callable[[Loan], None]) -> None:
        """`call_in` is called before anything begins that excludes copies in C."""
        self._loan = lib.loan_new()
        if not self._loan:
            raise MemoryError("no memory for what C knows of a board's buffers")
        self.address = int(ffi.cast("uintptr_t", self._loan))
        self._queue: ref[EventQueue] | None = None
        self.copy: Event | None = None
        self._call_in = partial(call_in, self)
        self._has_moved = False
        self._context = 0
        self._used = ffi.new("int *")
        self._launches = ffi.new("uint64_t[2]")
        self._missed = 0
        self._patience = 1
        self._blocks: Sequence[LentBlock] = ()
        """What launches in C may use."""
        self._engine_queue: tuple[EngineQueues, int] | None = None
        """On which C has them run."""
        self.device = device
        self.occupancy = device.occupancy

    @property
    def queue(self) -> EventQueue | None:
        """To which it is lent; None if to none, or to one that is gone."""
        return self._queue() if self._queue is not None else None

    @property
    def is_out(self) -> bool:
        """Whether C copies now."""
        return bool(lib.loan_is_out(self._loan))

    def is_worth_while(self) -> bool:
        """Whether a transfer that C could have carried out is reason enough to lend.

        That costs about as much as half a transfer. So the more often it was of no use, one after the other, the more
        transfers it takes. Those numbers have no common divisor, or of transfers that take turns always the same one
        would be noted, and the others never.
        """
        self._missed += 1
        return self._missed >= self._patience

    def enter(
        self, buffer: int, serial: int, way: Direction, place: tuple[int, int], traffic: int, context: int
    ) -> None:
        """Let C copy to or from a buffer, while nothing is lent.

        `buffer` and `serial`: its handle, and what that stands for. `place`: address and bytes of its contents in this
        process. `traffic`: where the board has its bytes counted (Mmd.own_traffic). `context`: what the handle of its
        context stands for, which is the queue's; buffers of another one are forgotten, for Python has to refuse them.
        """
        self.begin_to_enter(context)
        lib.loan_enter(self._loan, buffer, serial, int(way), *place, traffic)

    def begin_to_enter(self, context: int) -> None:
        """What is entered next is of the context for which its handle stands for `context`."""
        if self._has_moved or self._context != context:
            self._has_moved = False
            self._context = context
            lib.loan_forget(self._loan)

    def enter_use(self, buffer: int, serial: int, location: int, address: int) -> None:
        """Let launches use a buffer, as an argument that needs it in a memory (C's number of that)."""
        lib.loan_enter_use(self._loan, buffer, serial, location, address)

    def enter_kernel(self, kernel: int, serial: int, engine_kernel: int) -> bool:
        """Let C have the engine run a kernel; False if there are too many. `engine_kernel`: the driver's."""
        return bool(lib.loan_enter_kernel(self._loan, kernel, serial, engine_kernel))

    def enter_engine(self, queues: EngineQueues, most: int, most_ns: int, blocks: Sequence[LentBlock]) -> None:
        """Let it run `most` launches at once, while they take `most_ns` at most. `blocks`: where all buffers are."""
        if self._engine_queue is None or self._engine_queue[0] is not queues:
            self._give_queue_back()
            self._engine_queue = queues, queues.acquire()
        self._blocks = blocks
        lib.loan_enter_engine(self._loan, self._engine_queue[1], most, most_ns)

    def forget_kernels(self) -> None:
        """C runs no launches, until kernels are entered."""
        self._blocks = ()
        lib.loan_forget_kernels(self._loan)

    def forget(self) -> None:
        """Buffers are not where they were, or may not be copied any more: all have to be entered anew."""
        self._has_moved = True

    def lend(self, queue: EventQueue, serial: int) -> None:
        """`serial`: what the handle of the queue stands for."""
        self._missed = 0
        self._queue = ref(queue)
        self.occupancy.lent = queue.order.lent = self._call_in
        lib.loan_lend(self._loan, queue.handle, serial)

    def call_in(self) -> int:
        """C begins nothing more; returns the way of a copy that is under way, 0 for none."""
        queue = self.queue
        if queue is not None:
            queue.order.lent = None
        self._queue = None
        self.occupancy.lent = None
        way = int(lib.loan_call_in(self._loan, self._used))
        self.count_runs()
        self._patience = 1 if self._used[0] else min(2 * self._patience + 1, MOST_PATIENCE)
        return way

    def count_runs(self) -> None:
        """Have the board know of the launches that C has had run by now."""
        lib.loan_take_runs(self._loan, self._launches, self._launches + 1)
        if self._launches[0]:
            self.device.ran_in_c(int(self._launches[0]), int(self._launches[1]))

    def become_command(self, queue: EventQueue, way: int) -> Event:
        """What is under way, as a command that others can wait for."""
        if way == LAUNCHES:
            work = LaunchesInC(self.device, self._blocks)
            self.copy = Event(queue.context, queue, cl.CL_COMMAND_NDRANGE_KERNEL, work)
            return self.copy
        kind = cl.CL_COMMAND_READ_BUFFER if way == Direction.OUT else cl.CL_COMMAND_WRITE_BUFFER
        self.copy = Event(queue.context, queue, kind, CopyInC(self.device, Direction(way)))
        return self.copy

    def _give_queue_back(self) -> None:
        if self._engine_queue is not None:
            queues, handle = self._engine_queue
            queues.release(handle)
            self._engine_queue = None

    def __del__(self) -> None:
        self._give_queue_back()
        lib.loan_free(self._loan)


class CopyInC:
    """A blocking transfer that C has begun, as the work behind a command; it runs already."""

    __slots__ = ("device", "direction")
    name = "transfer"
    needs_thread = False
    short_launch: Launch | None = None
    launch = None

    def __init__(self, device: LendingDevice, way: Direction) -> None:
        self.device = device
        self.direction = way

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_transfers

    def claim(self) -> Claim:
        self.device.occupancy.begin_transfer(self.direction)
        return TAKEN

    def release(self, following: Operation | None) -> None:
        self.device.occupancy.end_transfer(self.direction)

    def run(self) -> Operation | None:
        raise NotImplementedError("C runs it")

    def abandon(self) -> None:
        """It reserved nothing."""

    def accesses(self) -> tuple[()]:
        """Nobody noted what it moves: nothing is lent while somebody asks."""
        return ()

    def describe(self) -> dict[str, object]:
        return {}


class LaunchesInC:
    """Launches that C has the engine run, as the work behind a command; they run already."""

    __slots__ = ("_blocks", "device")
    name = "kernel"
    needs_thread = False
    short_launch: Launch | None = None
    launch = None
    direction = Direction.NONE

    def __init__(self, device: LendingDevice, blocks: Sequence[LentBlock]) -> None:
        """`blocks`: what they may use."""
        self.device = device
        self._blocks = blocks

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_kernels

    def claim(self) -> Claim:
        self.device.occupancy.begin_launch(0)
        for block in self._blocks:
            block.running += 1
        return TAKEN

    def release(self, following: Operation | None) -> None:
        self.device.occupancy.end_launch(0)
        for block in self._blocks:
            block.running -= 1

    def run(self) -> Operation | None:
        raise NotImplementedError("C runs them")

    def abandon(self) -> None:
        """They reserved nothing."""

    def accesses(self) -> tuple[()]:
        """Nobody noted what they touch: nothing is lent while somebody asks."""
        return ()

    def describe(self) -> dict[str, object]:
        return {}
