# SPDX-License-Identifier: Apache-2.0
"""Launches that one host enqueued one behind the other in an in-order queue, run as one command.

The event of the last one is the command's own; events of the others that the host holds end behind it. None needs a new
decision: they share the program, their kernels were short before, and their ND-ranges have been checked. So they are
claimed, submitted to the engine and waited for together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic_ns
from weakref import ref

from fpgart import log
from fpgart.engine.interface import EngineKernel
from fpgart.errors import CLError, OutOfResources, error_of
from fpgart.runtime.commands.access import Accesses, MemoryAccess
from fpgart.runtime.commands.host_work import failing
from fpgart.runtime.commands.invocation import READ_WRITE
from fpgart.runtime.commands.launch import LaunchKernel, Stage
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.kernel import SIZES, Kernel
from fpgart.runtime.scheduling.event import COMPLETE, Event

RUN_NS = 20_000_000
"""How long launches that run as one command may keep other programs off the board."""
HELD_RUN_NS = 1_000_000
"""The same where the host holds events of several, which learn of their ends together."""


@dataclass(frozen=True, slots=True)
class Use:
    """A buffer as an argument of a kernel."""

    kernel: Kernel
    index: int
    buffer: ref[Buffer]

    @property
    def location(self) -> str:
        """The memory that the argument needs it in."""
        return self.kernel.interface.arguments[self.index].buffer_location


def are_in_their_places(uses: Sequence[Use]) -> bool:
    """Whether all buffers are alive and in memory of boards, and none has to move between the launches."""
    wanted: dict[Buffer, str] = {}
    for use in uses:
        buffer = use.buffer()
        if buffer is None or buffer.owner.stays_on_host:
            return False
        if wanted.setdefault(buffer.owner, use.location) != use.location:
            return False
    return True


def _alive(uses: Sequence[Use]) -> list[tuple[int, Buffer]]:
    """The number of each use, and its buffer."""
    found = [(number, use.buffer()) for number, use in enumerate(uses)]
    return [(number, buffer) for number, buffer in found if buffer is not None]


def longest(kernels: Sequence[Kernel], device: Device, most_ns: int = RUN_NS) -> int:
    """How many launches of these kernels, which are of one program, may run as one command that takes `most_ns`."""
    program = kernels[0].program.on(device)
    return max(1, most_ns // max(1, *(kernel.engine_kernel_on(program).last_ns for kernel in kernels)))


class LaunchRun(LaunchKernel):
    """Launches of one or more kernels of a program, with the union of their buffers."""

    __slots__ = ("_count", "_has_run", "_kernels", "_launches", "_uses", "followers")

    def __init__(self, device: Device, kernels: Sequence[Kernel], uses: Sequence[Use]) -> None:
        """Room for the buffers, which are alive, is reserved now. Raises MemObjectAllocationFailure, OutOfResources."""
        self._uses = uses
        self._kernels = kernels
        self._launches = b""
        self._count = 0
        self._has_run = False
        self.followers: dict[int, Event] = {}
        """By number of the launch: an event that ends behind the run, without work of its own."""
        super().__init__(kernels[0], device, [], _alive(uses), 1, SIZES.pack(*[0] * 9), False)
        self.reserve()

    @property
    def short_launch(self) -> LaunchKernel | None:
        """It is a batch by itself."""
        return None

    def addresses(self) -> Iterator[tuple[Use, int]]:
        """Where the engine finds the buffer of each use."""
        for use, (_, buffer), block in zip(self._uses, self.buffers, self.places, strict=True):
            yield use, block.pointer + buffer.origin

    def lay_out(self, launches: bytes, count: int) -> None:
        """`launches`: what the engine is given, `count` entries (engine/calls.h), kernels by their numbers."""
        self._launches = launches
        self._count = count

    def location_of(self, index: int) -> str:
        return self._uses[index].location

    def describe_argument(self, index: int) -> str:
        use = self._uses[index]
        return use.kernel.describe(use.index)

    def reason(self, index: int) -> str:
        use = self._uses[index]
        return use.kernel.describe_briefly(use.index)

    def accesses(self) -> Accesses:
        """What the kernels may do with the buffers of all launches."""
        return tuple(
            MemoryAccess(READ_WRITE, ((0, buffer.size),), buffer, None, use.index, block)
            for use, (_, buffer), block in zip(self._uses, self.buffers, self.places, strict=True)
        )

    def describe(self) -> dict[str, object]:
        """What traces say that begin while it is under way; of those that listen before, each launch is a command."""
        if self.stage is not Stage.RUN:
            return super().describe()
        return {
            "kernel": self.kernel.name,
            "launches": self._count,
            "buffers": [buffer.owner.number for _, buffer in self.buffers],
        }

    def _run(self) -> None:
        kernels = [kernel.engine_kernel_on(self.program) for kernel in self._kernels]
        begin = monotonic_ns()
        ended = self._hand_over(kernels)
        each = (monotonic_ns() - begin) // max(1, ended)
        for kernel in kernels:
            kernel.last_ns = each
        self.device.kernel_ns += each * ended
        for _ in range(ended):
            self.device.mmd.interrupt()

    def abandon(self) -> None:
        """As for any launch; where none has run, the events behind it fail, too."""
        super().abandon()
        if not self._has_run:
            reason = OutOfResources(f"launches of kernel '{self.kernel.name}' could not be run")
            for follower in self.followers.values():
                follower.operation = failing(self.device, reason)

    def _hand_over(self, kernels: Sequence[EngineKernel]) -> int:
        """Run all of them, also those behind one that fails; returns how many have run.

        Raises the error of the last one, whose event the host may have.
        """
        new_batch = kernels[0].new_batch
        assert new_batch is not None
        batch = new_batch(self._count)
        failed: dict[int, CLError] = {}
        submitted: list[int] = []
        next_one = 0
        while next_one < self._count:
            done, error = batch.submit_laid_out(kernels, self._launches, next_one, self._count)
            submitted += range(next_one, next_one + done)
            next_one += done
            if error is not None:
                failed[next_one] = error
                next_one += 1
        statuses: list[int] = []
        while len(statuses) < len(submitted):
            statuses += batch.wait()
        for number, status in zip(submitted, statuses, strict=True):
            if status < COMPLETE:
                words = f"a launch of kernel '{self.kernel.name}' failed on the engine"
                failed[number] = batch.failure or error_of(status, words)
        self._has_run = True
        last = failed.pop(self._count - 1, None)
        for number, error in failed.items():
            follower = self.followers.get(number)
            if follower is None:
                log.error(error)
                self.kernel.context.notify(error)
            else:
                follower.operation = failing(self.device, error)
        if last is not None:
            raise last
        return len(submitted)
