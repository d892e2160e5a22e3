# SPDX-License-Identifier: Apache-2.0
"""Accesses that neither events nor queues order (families order and buffers).

Findings depend on the required order of commands, not on the times at which they ran: a race is found although the
results were right.

Qualifiers of arguments, buffers' flags and the kernel's source determine the accesses of kernels. If they do not, a
kernel wrote if its argument's contents differ after it, and findings are delayed until then. Launches of one kernel
that differ in their values or ND-range are assumed to work on different parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from fpgart._native import lib
from fpgart.check.accesses import HOST, Access, Key, Mode, Part, accesses, may_have_written, part_of
from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.happens_before import ClockedCommand, Order
from fpgart.check.words import command, launch_command, span
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, operation_of, running_kernel
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site
from fpgart.watch.origins import Origins

MOST_KEPT = 256
"""The most accesses to one object that later ones are compared with."""
ANY_WRITE = Mode.WRITE | Mode.MAYBE_WRITE


@dataclass(slots=True)
class _Done:
    """An access of a command that has its place in the order."""

    of: _Command
    access: Access
    made_at: Site | None
    """The place at which the host made the accessed object."""

    @property
    def command(self) -> ClockedCommand:
        return self.of.command

    @property
    def part(self) -> Part | None:
        return self.of.part

    @property
    def site(self) -> Site | None:
        """The place at which the host enqueued the command."""
        return self.of.site


@dataclass(slots=True)
class _Command:
    """A command and its accesses, and, while it runs, sums of the bytes that it may write.

    `done`: the accesses, once the command has its place in the order. `doubts`: accesses without order whose finding
    depends on whether this command has written.
    """

    command: ClockedCommand
    accesses: list[Access]
    part: Part | None
    sums: dict[int, tuple[int, int, int]]
    site: Site | None
    done: list[_Done] = field(default_factory=list)
    doubts: list[tuple[_Done, _Done]] = field(default_factory=list)

    def settle(self, origins: Origins) -> list[_Done]:
        """Returns its accesses, once the command has its place in the order."""
        self.done = [_Done(self, access, origins.of_number(access.key[1])) for access in self.accesses]
        return self.done


class Races(CheckPart):
    """Listens to NOTICES and compares each access with the earlier ones to the same object."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._order = Order()
        self._pending: WeakKeyDictionary[Event, _Command] = WeakKeyDictionary()
        self._of_command: WeakKeyDictionary[ClockedCommand, _Command] = WeakKeyDictionary()
        self._done: dict[Key, list[_Done]] = {}
        self._conflicts = 0
        """The number of pairs of accesses to one object that nothing orders."""
        self._doubtful: dict[int, _Command] = {}
        """The commands with doubts, by their numbers."""

    def finish(self) -> None:
        """Reports findings that depend on commands which have not ended."""
        found: list[Finding] = []
        with self._lock:
            for pending in list(self._doubtful.values()):
                self._resolve(pending, [], found)
        self._report(found)

    # Notices

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        operation = operation_of(event)
        touched = accesses(operation)
        part = part_of(operation.launch) if operation is not None and operation.launch is not None else None
        found: list[Finding] = []
        with self._lock:
            made, settled = self._order.enqueue(event, wait_list, command(event))
            if touched:
                pending = _Command(made, touched, part, {}, self._origins.of(event))
                self._of_command[made] = pending
                if any(access.mode & Mode.MAYBE_WRITE for access in touched):
                    self._pending[event] = pending
            self._compare_all(settled, found)
        self._report(found)

    def launches_carried(self, queue: CommandQueue, launch: LaunchKernel, site: Site, count: int) -> None:
        touched, part, text = accesses(launch), part_of(launch), launch_command(site.call, launch, queue)
        found: list[Finding] = []
        with self._lock:
            while count:
                conflicts = self._conflicts
                made, settled = self._order.enqueue_launch(queue, text)
                self._of_command[made] = _Command(made, touched, part, {}, site)
                self._compare_all(settled, found)
                count -= 1
                if count and queue.in_order and settled and conflicts == self._conflicts:
                    self._order.repeat(made, count)  # each takes the place of the one before it
                    break
        self._report(found)

    def prepares(self, kernel: Kernel) -> bool:
        return may_have_written(kernel)

    def user_event_ended(self, event: Event) -> None:
        found: list[Finding] = []
        with self._lock:
            self._compare_all(self._order.user_event_ended(event), found)
        self._report(found)

    def end_observed(self, event: Event) -> None:
        with self._lock:
            self._order.observed(event)

    def queue_drained(self, queue: CommandQueue) -> None:
        with self._lock:
            self._order.drained(queue)

    def buffer_destroyed(self, number: int) -> None:
        # Called by a destructor, which may run while this thread holds the lock; dict.pop() needs none.
        self._done.pop(("buffer", number), None)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        self._done.pop(("allocation", allocation.number), None)

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        pending = self._pending.get(event)
        if pending is None or running_kernel(operation) is None:
            return
        doubtful = {access.argument for access in pending.accesses if access.mode & Mode.MAYBE_WRITE}
        for access in operation.accesses():
            if access.argument in doubtful:
                begin, end = access.in_process()
                pending.sums[access.argument] = begin, end - begin, int(lib.checksum(0, begin, end - begin))

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        pending = self._pending.get(event)
        if pending is None or not pending.sums:
            return
        wrote = [argument for argument, known in pending.sums.items() if int(lib.checksum(0, *known[:2])) != known[2]]
        pending.sums = {}
        found: list[Finding] = []
        with self._lock:
            self._resolve(pending, wrote, found)
        self._report(found)

    # Comparing, with the lock held

    def _compare_all(self, settled: list[ClockedCommand], found: list[Finding]) -> None:
        for made in settled:
            pending = self._of_command.pop(made, None)
            if pending is None:
                continue
            for done in pending.settle(self._origins):
                self._compare(done, found)

    def _resolve(self, pending: _Command, wrote: list[int], found: list[Finding]) -> None:
        """Judges the accesses that depended on what the command writes: through the arguments `wrote` only."""
        for done in pending.done:
            mode = done.access.mode
            if mode & Mode.MAYBE_WRITE:
                decided = Mode.WRITE if done.access.argument in wrote else mode & ~Mode.MAYBE_WRITE
                done.access = replace(done.access, mode=decided)
        self._doubtful.pop(pending.command.number, None)
        doubts, pending.doubts = pending.doubts, []
        for old, new in doubts:
            self._judge(old, new, found)

    def _judge(self, old: _Done, new: _Done, found: list[Finding]) -> None:
        """Reports two accesses without order, once it is known whether they write.

        For some kernels their end shows it. No finding precedes that, so that the findings depend on neither time nor
        threads.
        """
        for done in (old, new):
            if done.access.mode & Mode.MAYBE_WRITE:
                done.of.doubts.append((old, new))
                self._doubtful[done.command.number] = done.of
                return
        finding = _race_between(old, new)
        if finding is not None:
            found.append(finding)

    def _compare(self, new: _Done, found: list[Finding]) -> None:
        earlier = self._done.get(new.access.key, [])
        kept = []
        for old in earlier:
            if self._order.known(old.command):
                continue
            if old.command.before(new.command):
                if not _replaces(new, old):
                    kept.append(old)
                continue
            kept.append(old)
            if old.command is not new.command and not new.command.before(old.command):
                self._conflicts += 1
                first, second = sorted((old, new), key=lambda done: done.command.number)
                self._judge(first, second, found)
        kept.append(new)
        self._done[new.access.key] = kept[-MOST_KEPT:]

    def _report(self, found: list[Finding]) -> None:
        for finding in found:
            self._findings.report(finding)


def _replaces(new: _Done, old: _Done) -> bool:
    """True if each access that conflicts with the old one conflicts with the new one, which is after it, too."""
    stronger = bool(new.access.mode & Mode.WRITE) or not old.access.mode & ANY_WRITE
    return stronger and new.part in (None, old.part) and new.access.covers(old.access)


def _race_between(old: _Done, new: _Done) -> Finding | None:
    """Returns the finding for two accesses without order; None if they do not conflict."""
    if not (old.access.mode | new.access.mode) & Mode.WRITE:
        return None
    if old.access.mode & new.access.mode & Mode.ATOMIC:
        return None
    if old.part is not None and new.part is not None and old.part.apart(new.part):
        return None
    common = old.access.meets(new.access)
    if common is None:
        return None
    first, second = old.access.thing, new.access.thing
    if first.through != second.through:
        return _of_windows(old, new, *common)
    where = span(*common)
    if new.access.key == HOST:
        where = f"{common[1] - common[0]} bytes at {common[0]:#x}"
    return Finding(
        "order",
        _kind(old, new),
        second.name,
        second.maker,
        new.command.text,
        f"{new.command.text} {_verb(new.access)} {where}, which {old.command.text} {_verb(old.access)}; "
        "neither an event nor a queue orders the two",
        f"pass the event of {old.command.text} in the wait list of the other (in SYCL, depends_on), "
        "or wait for it first",
        *_sites(old, new),
    )


def _of_windows(old: _Done, new: _Done, begin: int, end: int) -> Finding:
    first, second = old.access.thing, new.access.thing
    return Finding(
        "buffers",
        "overlapping sub-buffers used at once" if first.parent and second.parent else "sub-buffer and buffer at once",
        second.name,
        second.maker,
        new.command.text,
        f"{new.command.text} {_verb(new.access)} {span(begin, end)} of buffer {second.parent or second.through}, "
        f"which {old.command.text} {_verb(old.access)} through {first.name}; nothing orders the two",
        f"pass the event of {old.command.text} in the wait list of the other (in SYCL, depends_on), "
        "or make the regions disjoint",
        *_sites(old, new),
    )


def _sites(old: _Done, new: _Done) -> tuple[Site | None, Site | None, str, Site | None]:
    return new.made_at, new.site, old.command.text, old.site


def _kind(old: _Done, new: _Done) -> str:
    if not new.access.mode & Mode.WRITE:
        return "read without order after a write"
    return "two writes without order" if old.access.mode & Mode.WRITE else "write without order after a read"


def _verb(access: Access) -> str:
    if not access.mode & Mode.WRITE:
        return "reads"
    return "reads and writes" if access.mode & Mode.READ else "writes"
