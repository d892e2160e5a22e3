# SPDX-License-Identifier: Apache-2.0
"""Launches that one host enqueued one behind the other in an in-order queue, run as one command.

The event of the last one is the command's own; events of the others that the host holds end behind it. None needs a new
decision: their kernels were short before, and their ND-ranges have been checked. So they are claimed, submitted to the
engine and waited for together. Where they are of several programs the run has the board for itself, and programs it in
between; but while others run kernels of the program that comes first, its launches run beside them, before the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from time import monotonic_ns
from typing import NamedTuple, Protocol
from weakref import ref

from fpgart import config, log
from fpgart.board.mmd import BoardError
from fpgart.engine.interface import SUBMISSION, Batch, EngineKernel
from fpgart.errors import CLError, ExecStatusErrorForEventsInWaitList, OutOfResources, error_of, without_frames
from fpgart.runtime.commands.access import Accesses, MemoryAccess
from fpgart.runtime.commands.invocation import READ_WRITE, access_to
from fpgart.runtime.commands.launch import SHORT_NS, LaunchKernel, Stage
from fpgart.runtime.commands.programming import load_onto
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm_use import UsmUse
from fpgart.runtime.programs.kernel import SIZES, Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import COMPLETE, Operation
from fpgart.runtime.scheduling.occupancy import TAKEN, Claim

RUN_NS = 20_000_000
"""How long launches that run as one command may keep other programs off the board."""
HELD_RUN_NS = 1_000_000
"""The same where the host holds events of several, which learn of their ends together."""
MOST_GROWTH = 2
"""A kernel counts for at most so many times as long as before."""


class Use(NamedTuple):
    """A buffer as an argument of a kernel."""

    kernel: Kernel
    argument: int
    buffer: ref[Buffer]

    @property
    def location(self) -> str:
        """The memory that the argument needs it in."""
        return self.kernel.interface.arguments[self.argument].buffer_location


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
    """How many launches of these kernels may run as one command that takes `most_ns`."""
    times = (kernel.engine_kernel_on(kernel.program.on(device)).last_ns for kernel in kernels)
    return max(1, most_ns // max(1, *times))


def may_run_together(kernels: Sequence[Kernel], device: Device) -> bool:
    """Whether launches of these kernels may run as one command.

    Those of several programs where the board is programmed in no time, and all programs lay out its memory alike.
    """
    program = kernels[0].program
    if all(kernel.program is program for kernel in kernels):
        return True
    programs = {kernel.program.on(device) for kernel in kernels}
    return (
        not config.PROGRAM_SECONDS.value
        and not device.memories.keeps_programs
        and len({program.interleaving for program in programs}) == 1
    )


class Waits:
    """Which launches wait for the events of others, and so fail with them; for all runs of what one host enqueued.

    A run numbers its launches from 0, here they are numbered from the first of all.
    """

    def __init__(self, after: Mapping[int, int], failed: set[int], first: int) -> None:
        """`after`: by launch, the one before it whose event it waits for. `first`: number of the run's first one."""
        self._after = after
        self._failed = failed
        self._first = first

    def note(self, numbers: Iterable[int]) -> None:
        """Some launches of the run have failed."""
        self._failed.update(self._first + number for number in numbers)

    def failing(self, begin: int, end: int) -> dict[int, CLError]:
        """Those of some launches of the run that fail because others have, though the engine has run them."""
        found: dict[int, CLError] = {}
        for number in range(begin, end):
            if self._after.get(self._first + number) in self._failed:
                self._failed.add(self._first + number)
                found[number] = ExecStatusErrorForEventsInWaitList("a launch failed whose event this one waited for")
        return found


class Followers(Protocol):
    """The events of the launches of a run but for the last, by their numbers; they end with the run's."""

    def fail(self, number: int, error: CLError) -> None:
        """The event of a launch will end with this error, if there is one."""

    def end(self, number: int) -> None:
        """The launches before that one have ended, long before the run will."""


class NoFollowers:
    """Nobody holds an event."""

    def fail(self, number: int, error: CLError) -> None:
        """Nobody asks."""

    def end(self, number: int) -> None:
        """Nobody waits."""


class LaunchRun(LaunchKernel):
    """Launches of one or more kernels, with the union of their buffers."""

    __slots__ = (
        "_alone",
        "_count",
        "_kernels",
        "_launches",
        "_left",
        "_mixed",
        "_programs",
        "_submitted",
        "_uses",
        "followers",
        "waits",
    )

    def __init__(
        self, device: Device, kernels: Sequence[Kernel], uses: Sequence[Use], usm: UsmUse | None = None
    ) -> None:
        """Room for the buffers, which are alive, is reserved now. Raises MemObjectAllocationFailure, OutOfResources."""
        self._uses = uses
        self._kernels = kernels
        self._programs = [kernel.program.on(device) for kernel in kernels]
        self._mixed = len({program.identity for program in self._programs}) > 1
        """Whether the board has to be programmed between them."""
        self._launches = b""
        self._count = 0
        self._left: list[_Part] = []
        """What has not run yet."""
        self._submitted: _Submitted | None = None
        """What the engine has been given."""
        self._alone = False
        """Whether nothing else may be on the board while it runs."""
        self.followers: Followers = NoFollowers()
        self.waits: Waits | None = None
        """Where launches were given events of others to wait for."""
        super().__init__(kernels[0], device, [], _alive(uses), 1, SIZES.pack(*[0] * 9), False)
        self.usm = usm
        self.reserve()

    @property
    def short_launch(self) -> LaunchKernel | None:
        """Itself, if it is of one program: what follows it may be submitted before it has ended."""
        if self._mixed or any(kernel.last_ns > SHORT_NS for kernel in self._engine_kernels()):
            return None
        return super().short_launch

    @property
    def is_run(self) -> bool:
        return True

    @property
    def expected_ns(self) -> int:
        return self._count * max(kernel.last_ns for kernel in self._engine_kernels())

    def _engine_kernels(self) -> list[EngineKernel]:
        return [kernel.engine_kernel_on(program) for kernel, program in zip(self._kernels, self._programs, strict=True)]

    def addresses(self) -> Iterator[tuple[Use, int]]:
        """Where the engine finds the buffer of each use."""
        for use, (_, buffer), block in zip(self._uses, self.buffers, self.places, strict=True):
            yield use, block.pointer + buffer.origin

    def lay_out(self, launches: bytes, count: int) -> None:
        """`launches`: what the engine is given, `count` entries (engine/calls.h), kernels by their numbers."""
        self._launches = launches
        self._count = count
        self._left = list(self._parts())

    def claim(self) -> Claim:
        """Of several programs, it keeps the board busy as programming does: with nothing beside it."""
        if not self._mixed:
            return super().claim()
        if not self.adopt_places():
            self.stage = Stage.MIGRATE
            return TAKEN
        occupancy = self.device.occupancy
        if occupancy.lent is not None:
            occupancy.lent()
        others = bool(occupancy.launches or occupancy.moving)
        self._alone = not others or self._left[0].program.identity not in self.device.loaded
        claim = occupancy.claim_programming() if self._alone else occupancy.claim_launch(0)
        if claim is TAKEN:
            self.committed = not self._alone
            self._begin()
        return claim

    def release(self, following: Operation | None) -> None:
        if self._mixed and self.stage is Stage.RUN:
            if self._alone:
                self.device.occupancy.end_programming()
            else:
                self.device.occupancy.end_launch(0)
            self.committed = False
        super().release(following)

    def location_of(self, index: int) -> str:
        return self._uses[index].location

    def describe_argument(self, index: int) -> str:
        use = self._uses[index]
        return use.kernel.describe(use.argument)

    def reason(self, index: int) -> str:
        use = self._uses[index]
        return use.kernel.describe_briefly(use.argument)

    def accesses(self) -> Accesses:
        """What the kernels may do with the buffers of all launches."""
        of_buffers = (
            MemoryAccess(READ_WRITE, ((0, buffer.size),), buffer, None, use.argument, block)
            for use, (_, buffer), block in zip(self._uses, self.buffers, self.places, strict=True)
        )
        allocations = self.usm.allocations if self.usm is not None else ()
        return *of_buffers, *(access_to(READ_WRITE, each) for each in allocations)

    def describe(self) -> dict[str, object]:
        """What traces say that begin while it is under way; of those that listen before, each launch is a command."""
        if self.stage is not Stage.RUN:
            return super().describe()
        return {
            "kernel": self.kernel.name,
            "launches": self._count,
            "buffers": [buffer.owner.number for _, buffer in self.buffers],
        }

    def _run_stage(self) -> Operation | None:
        if self.stage is not Stage.RUN:
            return super()._run_stage()
        parts = self._left
        if self._mixed and not self._alone:
            parts = parts[:1]
        begin = monotonic_ns()
        self._hand_over(self.batch(parts[-1].end - parts[0].begin), parts)
        last = self._settle(parts)
        self.took(monotonic_ns() - begin)
        if last is not None:
            raise last
        if not self._left:
            return None
        self.followers.end(parts[-1].end)  # the rest may wait for what the host does then
        return self

    def hand_over(self, batch: Batch) -> None:
        try:
            self._hand_over(batch, self._left)
        except BaseException:
            self.abandon()
            raise
        assert self._submitted is not None
        self._submitted.submit()

    def settle(self) -> None:
        if self._submitted is None:  # it could not even be handed over
            return
        try:
            last = self._settle(self._left)
            if last is not None:
                raise last
        except BaseException:
            self.abandon()
            raise

    def took(self, elapsed_ns: int) -> None:
        """The launches that have run last have taken so long together."""
        self._leave_watched()
        ended = self._submitted.count if self._submitted is not None else 0
        each = elapsed_ns // max(1, ended)
        for kernel in self._engine_kernels():  # a run during which the machine did something else says little of them
            kernel.last_ns = min(each, MOST_GROWTH * kernel.last_ns) if kernel.last_ns else each
        self.device.kernel_ns += each * ended
        for _ in range(ended):
            self.device.mmd.interrupt()

    def abandon(self) -> None:
        """As for any launch; the events behind what has not run fail, too."""
        super().abandon()
        reason = OutOfResources(f"launches of kernel '{self.kernel.name}' could not be run")
        for part in self._left:
            for number in range(part.begin, part.end):
                self.followers.fail(number, reason)
            if self.waits is not None:
                self.waits.note(range(part.begin, part.end))

    def _hand_over(self, batch: Batch, parts: Sequence[_Part]) -> None:
        """Have some of them run, also those behind one that fails; what this raises, it raises before any may run."""
        self._bring_shared()
        self._submitted = submitted = _Submitted(batch, self._engine_kernels(), self._launches)
        for part in parts:
            try:
                self._program_with(part.program, submitted)
            except BaseException as refusal:
                submitted.refuse(part.begin, part.end, refusal)
            else:
                submitted.add(part)

    def _settle(self, parts: Sequence[_Part]) -> CLError | None:
        """Wait until they have ended; returns the error of the last launch of all, whose event the host may have."""
        submitted = self._submitted
        assert submitted is not None
        submitted.settle(self.kernel.name)
        begin, end = parts[0].begin, parts[-1].end
        self._left = self._left[len(parts) :]
        if self.waits is not None:
            self.waits.note(submitted.failed)
            submitted.failed.update(self.waits.failing(begin, end))
        last = submitted.failed.pop(self._count - 1, None)
        for number, error in submitted.failed.items():
            self.followers.fail(number, error)
            log.error(error)
            self.kernel.context.notify(error)
        return last

    def _parts(self) -> Iterator[_Part]:
        if not self._mixed:
            yield _Part(self.program, 0, self._count)
            return
        entries = memoryview(self._launches)[: SUBMISSION.size * self._count].cast("Q")
        numbers = entries[:: SUBMISSION.size // entries.itemsize].tolist()
        end = 0
        for program, launches in groupby(map(self._programs.__getitem__, numbers)):
            begin, end = end, end + sum(1 for _ in launches)
            yield _Part(program, begin, end)

    def _program_with(self, program: Program, submitted: _Submitted) -> None:
        """Have the board hold the program. Raises BoardError, CLError.

        A simulated board may take it before kernels of others have run. Where more is to be done, or may fail, they
        have ended before.
        """
        device = self.device
        if program.identity in device.loaded:
            return
        if device.network is not None or device.before_kernel is not None or config.PROGRAM_SECONDS.value:
            submitted.settle(self.kernel.name)
        load_onto(device, program)


class _Part(NamedTuple):
    """Launches of one program, which follow each other."""

    program: Program
    begin: int
    end: int


def _failure_of(error: BaseException) -> CLError:
    """What launches fail with because of `error`, which is being handled."""
    if isinstance(error, CLError):
        return without_frames(error)
    if not isinstance(error, BoardError):
        log.bug("launches could not be run")
    return OutOfResources(str(error) or f"launches could not be run: {error!r}")


class _Submitted:
    """Launches of a run that the engine is given, by their numbers, and the errors of those that have failed."""

    def __init__(self, batch: Batch, kernels: Sequence[EngineKernel], launches: bytes) -> None:
        self._batch = batch
        self._kernels = kernels
        self._launches = launches
        self._waiting: deque[list[int]] = deque()
        """Begin and end of what is to be submitted."""
        self._taken: list[list[int]] = []
        """The first of some that the engine has taken, and how many it has: in its order."""
        self._settled = 0
        self.failed: dict[int, CLError] = {}

    @property
    def count(self) -> int:
        """How many the engine has taken."""
        return sum(count for _, count in self._taken)

    def add(self, part: _Part) -> None:
        """Some are to run behind the others."""
        if self._waiting and self._waiting[-1][1] == part.begin:
            self._waiting[-1][1] = part.end
        else:
            self._waiting.append([part.begin, part.end])

    def refuse(self, begin: int, end: int, error: BaseException) -> None:
        """Some cannot be run."""
        self.failed.update(dict.fromkeys(range(begin, end), _failure_of(error)))

    def submit(self) -> None:
        """Give the engine all that was added, each launch once. What it cannot be given has failed."""
        while self._waiting:
            begin, end = self._waiting.popleft()
            self._submit(begin, end)

    def settle(self, name: str) -> None:
        """Return when all have ended; `name`: of a kernel, for the errors of those that fail."""
        self.submit()
        taken = chain.from_iterable(range(begin, begin + count) for begin, count in self._taken)
        left = deque(islice(taken, self._settled, None))
        while left:
            statuses = self._wait(left)
            self._settled += len(statuses)
            for status in statuses:
                number = left.popleft()
                if status < COMPLETE:
                    self.failed[number] = self._error(status, name)

    def _wait(self, left: deque[int]) -> list[int]:
        """The statuses of some that are left. Where they cannot be told, all have failed, and the engine forgets them.

        The next statuses that it tells are those of launches behind them.
        """
        try:
            return self._batch.wait_for(len(left))
        except BaseException as error:
            self.failed.update(dict.fromkeys(left, _failure_of(error)))
            self._settled += len(left)
            left.clear()
            return []

    def _error(self, status: int, name: str) -> CLError:
        """Why a launch failed, with the engine's words if it has any."""
        why = self._batch.failure
        if why is not None and why.status == status:
            return why
        return error_of(status, f"a launch of kernel '{name}' failed on the engine")

    def _submit(self, begin: int, end: int) -> None:
        """Also those behind one that the engine refuses."""
        while begin < end:
            self._taken.append(taken := [begin, 0])  # so that nothing has to be made behind the engine's call
            try:
                taken[1], error = self._batch.submit_laid_out(self._kernels, self._launches, begin, end)
            except BaseException as refusal:  # it has taken none of these
                self.refuse(begin, end, refusal)
                return
            begin += taken[1]
            if error is not None:
                self.failed[begin] = error
                begin += 1
