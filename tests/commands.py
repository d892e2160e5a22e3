"""Commands whose operations claim what they are told to: readiness without boards and without threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from fpgart.base import opencl as cl
from fpgart.runtime.scheduling.core import Core
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, ComputeUnit, Event, EventCallbacks, ReadyList
from fpgart.runtime.scheduling.occupancy import Claim, Direction
from fpgart.runtime.scheduling.readiness import Aftermath, Readiness
from fpgart.runtime.scheduling.reaper import Reaper


@dataclass(eq=False)
class Work:
    """An operation that claims what it is told to."""

    ready_list: ReadyList
    direction: Direction = Direction.BOTH
    answer: Claim = Claim.TAKEN
    released: list[object] = field(default_factory=list)
    abandoned: int = 0
    device: Any = None
    claims: int = 0
    compute_unit: ComputeUnit | None = None

    def claim(self) -> Claim:
        self.claims += 1
        return self.answer

    def release(self, following: object) -> None:
        self.released.append(following)

    def abandon(self) -> None:
        self.abandoned += 1


def nobody(event: Event) -> None:
    """Calls no callbacks: tests look at those that are due."""


class Commands:
    """Commands by their names, in a readiness of their own; time goes on by 10 with each call."""

    def __init__(self) -> None:
        self.core: Core[Event] = Core()
        self.readiness = Readiness(self.core)
        self.transfers = self.readiness.new_list(ends_by_itself=True)
        self.kernels = self.readiness.new_list(ends_by_itself=False)
        self.after = Aftermath()
        self.now = 100
        self.context: Any = SimpleNamespace(scheduler=self.core, reaper=Reaper())
        self.in_order, self.out_of_order = self.queue(True), self.queue(False)
        self._begun: list[Event] = []

    def close(self) -> None:
        """Ends the commands that run: the core counts those of all queues in the process."""
        for event in self._begun:
            assert event.command is not None
            if not event.command.has_ended():
                event.command.set(COMPLETE)

    def queue(self, in_order: bool) -> Any:
        return SimpleNamespace(core=self.core.queue(in_order=in_order), open={}, in_order=in_order)

    def time(self) -> int:
        self.now += 10
        return self.now

    def user_event(self) -> Event:
        return Event(self.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)

    def enter(
        self,
        work: Work | None = None,
        *waits: Event,
        queue: Any = None,
        kind: int = cl.CL_COMMAND_MARKER,
        told: Sequence[tuple[int, Callable[[Event, int], None]]] = (),
    ) -> Event:
        queue = queue or self.queue(False)
        operation: Any = work
        event = Event(self.context, queue, kind, operation)
        event.callbacks = EventCallbacks(nobody, told)
        event.queued_ns = self.time()
        self.let_follow(self.readiness.enter(event, queue, waits, event.queued_ns, self.after))
        return event

    def let_follow(self, ended: Sequence[Event]) -> None:
        """As the scheduler does, at the time that it is."""
        while ended:
            for event in ended:
                assert event.command is not None
                event.command.let_follow()
            ended = self.readiness.take(self.now, self.after)

    def transfer(self, *waits: Event, queue: Any = None, **more: Any) -> Event:
        return self.enter(Work(self.transfers, **more), *waits, queue=queue)

    def kernel(self, *waits: Event, queue: Any = None, **more: Any) -> Event:
        return self.enter(Work(self.kernels, **more), *waits, queue=queue)

    def take(self, event: Event) -> None:
        assert self.readiness.claim(event)
        assert event.command is not None
        event.status = RUNNING
        event.command.begin()
        self._begun.append(event)

    def end(self, event: Event, status: int = COMPLETE) -> None:
        self.readiness.end(event, status, self.time(), self.after)
        self.let_follow([event])

    def stage_ends(self, event: Event, following: Work | None, status: int = COMPLETE) -> Any:
        stage: Any = following
        status, stage = self.readiness.release(event, status, stage)
        if stage is not None:
            return self.readiness.go_on(event, stage)
        event.operation = None
        self.readiness.end_claimed(event, status, self.time(), self.after)
        self.let_follow([event])
        return None

    def due(self) -> Event | None:
        self.readiness.make_due(self.now)
        return self.readiness.claim_any()
