# SPDX-License-Identifier: Apache-2.0
"""Kernels that run in a board process."""

from __future__ import annotations

import struct
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Protocol, TypeVar

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, OutOfResources
from fpgart.base.shared_memory import SharedMemory
from fpgart.channels.interface import KernelNetwork
from fpgart.engine.interface import POINTER, SUBMISSION, Batch, EngineKernel, Reach
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.loss import ENTRY, BoardLost
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.patience import Patience
from fpgart.engine.isolated.process import BoardProcess, Lane, error_in
from fpgart.engine.isolated.staging import Staged
from fpgart.engine.launches import AddedLaunches, launch_failure

T = TypeVar("T")
U32 = Struct("<I")
COMPLETE = cl.CL_COMPLETE


class Processes(Protocol):
    """The part of the engine that provides the process which serves it."""

    shared: SharedMemory

    @property
    def process(self) -> BoardProcess:
        """The board process, restarted if it has died. Raises OutOfResources."""

    def number_of(self, kernel: IsolatedKernel) -> int:
        """Returns the number by which C launches a kernel; 0 if it does not."""

    def ask(self, query: Callable[[BoardProcess], object], kind: type[T]) -> T:
        """Returns the answer to a query, from another board process if one dies of it. Raises CLError."""


class KernelProgram(Protocol):
    """The program of a kernel."""

    def on(self, process: BoardProcess) -> int:
        """Returns its number in a board process, where it is made again if that is another one."""


class IsolatedKernel:
    """An `EngineKernel` that stands for one in the board process.

    It does not keep its program alive, which refers to it; the runtime's kernel does.
    """

    wants_reaches = False

    def __init__(self, engine: Processes, program: KernelProgram, name: str, *, apart: bool = False) -> None:
        """`apart`: it runs on the thread that launches it. Raises CLError."""
        self._engine = engine
        self._program_of = weakref.ref(program)
        self.name = name
        self._apart = apart
        self._process: BoardProcess | None = None
        self._made = m.Made(0, 0, False)
        self.launched = False
        self.last_ns = 0
        self.compile_ns = 0
        made = self.on(engine.process)
        self.waits_for_others = made.waits_for_others
        self.interface = engine.ask(lambda process: m.Interface(self.on(process).number), m.Interfaces).kernels[0]
        self.new_batch: Callable[[int], Batch] | None = partial(IsolatedBatch, engine) if made.offered else None

    @property
    def _program(self) -> KernelProgram:
        found = self._program_of()
        assert found is not None
        return found

    def on(self, process: BoardProcess) -> m.Made:
        """Returns the kernel of a board process for which it stands, made there if need be."""
        if self._process is not process:
            made = process.ask(m.MakeKernel(self._program.on(process), self.name), m.Made)
            if self._apart:
                made = process.ask(m.OnOwnThread(made.number), m.Made)
            self._made, self._process = made, process
        return self._made

    @property
    def carried(self) -> int:
        return self._engine.number_of(self)

    @property
    def argument_count(self) -> int:
        """The number of arguments of a launch."""
        return len(self.interface.arguments)

    def accepts(self, index: int, size: int) -> bool:
        return self._engine.ask(lambda process: m.Accepts(self.on(process).number, index, size), m.Truth).truth

    def work_group_info(self, query: int) -> bytes:
        return self._engine.ask(lambda process: m.WorkGroupInfo(self.on(process).number, query), m.Data).data

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        return self._engine.ask(
            lambda process: m.SubGroupInfo(self.on(process).number, query, sizes, length), m.Data
        ).data

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        return self._engine.ask(
            lambda process: m.SuggestedLocalSize(self.on(process).number, tuple(arguments), offset, sizes), m.Numbers
        ).numbers

    def on_own_thread(self) -> EngineKernel:
        return IsolatedKernel(self._engine, self._program, self.name, apart=True)

    def launch(
        self,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        reaches: tuple[Reach, ...] = (),
        network: KernelNetwork | None = None,
    ) -> None:
        if not reaches:
            self._launch(image, dimensions, sizes, has_local, network)
            return
        staged = Staged(self._engine.shared, image, reaches)
        try:
            self._launch(staged.image, dimensions, sizes, has_local, network)
            staged.copy_back()
        finally:
            staged.give_back()

    def _launch(
        self, image: bytes, dimensions: int, sizes: bytes, has_local: bool, network: KernelNetwork | None
    ) -> None:
        process = self._engine.process
        made = self.on(process)
        number = network.on(process) if isinstance(network, IsolatedNetwork) else 0
        lane = None
        try:
            lane = process.take()
            running = process.begin(self.name)
            if self.launched and made.offered and len(image) <= lib.LANE_ROOM:
                error = self._run_on_lane(process, lane, made, image, dimensions, sizes, has_local)
            else:  # the first launch, in which engines compile, takes long anyway
                launch = m.Launch(made.number, image, dimensions, sizes, has_local, number)
                error = self._run_by_message(process, lane, launch)
        except (OSError, ProtocolError):
            if lane is not None:
                process.give_up(lane)
            raise self.lost(process, image) from None
        process.end(running)
        process.give_back(lane)
        process.drain()
        if error is not None:
            raise error

    def _run_on_lane(
        self,
        process: BoardProcess,
        lane: Lane,
        made: m.Made,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
    ) -> CLError | None:
        """Launches by a lane; returns the engine's error or None. Raises OSError if the process dies."""
        address, size, life, patience = lane.address, len(image), process.life, Patience(process)
        left, seen = patience.left_ms(), patience.interrupted
        outcome = lib.lane_run(address, made.offered, image, size, dimensions, sizes, has_local, life, left, seen)
        while not patience.has_answered(outcome):
            outcome = lib.lane_wait(address, life, patience.left_ms(), seen)
        result = int(lib.lane_result(address))
        return failure(self.name, result) if result & 0xFFFFFFFF else None

    def _run_by_message(self, process: BoardProcess, lane: Lane, launch: m.Launch) -> CLError | None:
        """Launches by a message; returns the engine's error or None.

        Raises OSError or ProtocolError if the process dies.
        """
        answer = process.exchange(lane, launch, Patience(process).await_message)
        if isinstance(answer, m.Number):
            self.compile_ns = answer.number
        return error_in(answer)

    def lost(self, process: BoardProcess, image: bytes | memoryview) -> BoardLost:
        """Returns the error for a launch of it whose process has died."""
        loss = process.ended()
        others = sorted({name for name in list(process.kernels.values()) if name != self.name})
        beside = f" (or a kernel that ran at the same time: {', '.join(others)})" if others else ""
        written = [
            argument.name
            for index, argument in enumerate(self.interface.arguments)
            if ENTRY.unpack_from(image, ENTRY.size * index)[0] == POINTER
        ]
        undefined = f"; the memory that its arguments {', '.join(written)} point to is now undefined" if written else ""
        words = loss.words(image, self.interface)
        sentence = f"kernel '{self.name}'{beside} {words}{undefined}. The board restarts for the next command"
        process.warn(sentence)
        return BoardLost(sentence)


def failure(name: str, result: int) -> CLError:
    """Returns the error for the result of a failed launch."""
    if result >> 32 == lib.LANE_REFUSED:
        return OutOfResources(f"the board process did not take a launch of kernel '{name}'")
    return launch_failure(name, result)


def check_count(process: BoardProcess, count: int, least: int, most: int) -> None:
    """Stops the process and raises OSError if a count is impossible: kernels can write over a lane."""
    if not least <= count <= most:
        process.stop("overwrote memory that the driver and the board process share, and was stopped")
        raise ConnectionResetError(f"{count} launches cannot be, {least} to {most} can")


MOST_LOSSES = 3
"""If this many launches in a row end the board process of a batch, the rest fails."""
Outcome = tuple[int, CLError | None]
"""The status of a launch, and its error, if there is a text."""


class IsolatedBatch(AddedLaunches[IsolatedKernel]):
    """A `Batch` in the board process. If that dies, launches that have not begun are submitted to another one."""

    takes = IsolatedKernel
    takes_more = False

    def __init__(self, engine: Processes, most: int) -> None:
        super().__init__()
        self._engine = engine
        self._process: BoardProcess | None = None
        self._lane: Lane | None = None
        self._kernels: list[IsolatedKernel] = []
        self._launches = b""
        self._first = self._end = 0
        """Numbers of the launches that are under way, in C's array; `_end` is behind the last."""
        self._begun: list[tuple[IsolatedKernel, memoryview]] = []
        """Kernel and arguments of each launch that is under way."""
        self._is_posted = False
        """True if the board process may have begun any."""
        self._taken = 0
        """The number of launches that the board process has begun; all of them, until it reports a number."""
        self._refusal: CLError | None = None
        """The error with which the next one did not begin."""
        self._statuses = 0
        """The address at which the board process writes their statuses."""
        self._read = 0
        self._running: int | None = None
        """The number that BoardProcess.begin() gave to the launch that is waited for."""
        self._known: deque[Outcome] = deque()
        """The outcomes that wait() has not returned yet."""
        self._losses = 0
        self._interrupted = 0
        self.failure: CLError | None = None

    # Handing over

    def submit_laid_out(
        self, kernels: Sequence[EngineKernel], launches: bytes, begin: int, end: int
    ) -> tuple[int, CLError | None]:
        while self._is_under_way:  # the lane is for one array at a time
            self._await()
        self._kernels = [kernel for kernel in kernels if isinstance(kernel, IsolatedKernel)]
        self._launches, self._end = launches, end
        self._losses, self._interrupted = 0, int(lib.interrupts())
        self._line_up(begin)
        try:
            self._hand_over()
        except CLError as error:  # nothing is under way
            self._begun.clear()
            return self._first - begin, error
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            del self._begun[self._taken :]
            self._end = self._first + self._taken  # the caller submits the launches behind it
        return self._first + len(self._begun) - begin, refusal

    @property
    def _is_under_way(self) -> bool:
        return self._read < len(self._begun)

    def _line_up(self, first: int) -> None:
        """Selects the launches from this one on for _hand_over()."""
        whole = memoryview(self._launches)
        entries = _entries(self._launches, first, self._end)
        self._begun = [(self._kernels[number], whole[place:]) for number, place in entries]
        self._first, self._read = first, 0

    def _hand_over(self) -> None:
        """Submits the selected launches, except those that fail because board processes die. Raises CLError."""
        while self._is_under_way:
            try:
                self._post()
            except (OSError, ProtocolError, BoardLost):
                self._lose()
                self._line_up(self._first + self._read)
            else:
                return

    def _hand_over_rest(self, first: int) -> None:
        """Submits the launches from this one on; if that fails, they fail with its error."""
        self._line_up(first)
        try:
            self._hand_over()
        except CLError as error:
            self._known += [(error.status, error)] * len(self._begun)
            self._begun.clear()

    def _post(self) -> None:
        """Makes the board process begin the selected launches. Raises OSError, ProtocolError, CLError."""
        self._is_posted, self._taken, self._refusal = False, len(self._begun), None
        process, lane = self._taken_lane()
        kernels, launches, count = self._kernels, self._launches, len(self._begun)
        numbers = struct.pack(f"<{len(kernels)}I", *(kernel.on(process).offered for kernel in kernels))
        behind = int(lib.lane_statuses(len(launches), len(kernels)))
        process.make_room(lane, behind + U32.size * count)
        ffi.memmove(ffi.cast("char *", lane.data), launches, len(launches))
        at = behind - -(-len(numbers) // 8) * 8
        ffi.memmove(ffi.cast("char *", lane.data + at), numbers, len(numbers))
        self._statuses, self._is_posted = lane.data + behind, True
        lib.lane_submit(lane.address, lane.data, len(launches), len(kernels), self._first, self._end)
        patience = Patience(process)
        left, seen = patience.left_ms, patience.interrupted
        while not patience.has_answered(lib.lane_wait(lane.address, process.life, left(), seen)):
            pass
        done = int(lib.lane_submitted(lane.address))
        check_count(process, done, 0, count)
        self._taken = done
        if done < count:
            self._refusal = failure(self._begun[done][0].name, int(lib.lane_result(lane.address)))

    def _taken_lane(self) -> tuple[BoardProcess, Lane]:
        """Returns a board process that is alive, and a lane for this batch alone. Raises OSError, CLError."""
        if self._process is None or not self._process.alive:
            self._give_up_lane()
            self._process = self._engine.process
        if self._lane is None:
            self._lane = self._process.take()
        return self._process, self._lane

    def _give_up_lane(self) -> None:
        """Gives the lane back after the process has died."""
        lane, self._lane = self._lane, None
        if lane is not None and self._process is not None:
            self._process.give_up(lane)

    # Waiting

    def wait(self, most: int) -> list[int]:
        while not self._known:
            self._await()
        self.failure = None
        statuses: list[int] = []
        while self._known and len(statuses) < most and self.failure is None:
            status, self.failure = self._known.popleft()
            statuses.append(status)
        return statuses

    def _await(self) -> None:
        """Waits until the outcome of at least one launch is known."""
        if self._read == self._taken:
            self._pass_over_refused()
            return
        try:
            self._known += self._ended()
        except OSError:
            self._lose()
            self._hand_over_rest(self._first + self._read)

    def _pass_over_refused(self) -> None:
        """Reports the error of a launch that could not begin in the restarted process, and submits the rest."""
        error = self._refusal
        assert error is not None
        self._known.append((error.status, error))
        self._hand_over_rest(self._first + self._taken + 1)

    def _ended(self) -> list[Outcome]:
        """Waits for the next launch; returns the outcomes of those that have ended.

        Raises OSError if the process dies.
        """
        process, lane = self._process, self._lane
        assert process is not None
        assert lane is not None
        ended = ffi.new("uint32_t *", self._read)
        self._running, patience = process.begin(self._begun[self._read][0].name), Patience(process)
        left, seen = patience.left_ms, patience.interrupted
        while not patience.has_answered(
            lib.lane_wait_ended(lane.address, self._read, process.life, left(), seen, ended)
        ):
            pass
        check_count(process, int(ended[0]), self._read + 1, self._taken)
        process.end(self._running)
        self._running = None
        process.drain()
        return self._read_statuses(int(ended[0]))

    def _read_statuses(self, until: int) -> list[Outcome]:
        found = ffi.unpack(ffi.cast("int32_t *", self._statuses) + self._read, until - self._read)
        self._read = until
        return [(status, None) for status in found]

    # The end of the process

    def _lose(self) -> None:
        """Determines the outcomes of the launches that may have begun in a process which has died.

        The launches from `_read` on have no outcome yet. The engine runs them in order: the first that has not ended
        was running, those behind it had not begun.
        """
        process = self._process
        assert process is not None
        process.ended()
        completed = self._completed(process)
        if completed > 0:
            self._losses = 0
        self._losses += 1
        self._give_up_lane()
        if completed != lib.LANE_UNTOUCHED and self._read < self._taken:
            self._lose_running(process)
        why = self._why_the_rest_fails(process, completed)
        if why:
            for kernel, _ in self._begun[self._read :]:
                error = OutOfResources(f"a launch of kernel '{kernel.name}' was not run: {why}")
                self._known.append((error.status, error))
            self._read = len(self._begun)

    def _completed(self, process: BoardProcess) -> int:
        """Keeps the outcomes of launches that had ended; returns their number, or a constant of lanes.h."""
        if not self._is_posted or self._lane is None:
            return int(lib.LANE_UNTOUCHED)
        if process.ended().status is None:  # it may still run them
            return int(lib.LANE_UNKNOWN)
        completed, told = int(lib.lane_completed(self._lane.address)), int(lib.lane_told(self._lane.address))
        if completed == lib.LANE_UNTOUCHED and not told:
            return completed
        if completed == lib.LANE_UNKNOWN or not self._read <= told <= self._taken or completed > self._taken:
            return int(lib.LANE_UNKNOWN)
        self._known += self._read_statuses(told)
        self._known += [(COMPLETE, None)] * (completed - told)
        self._read = max(completed, told)
        return self._read

    def _lose_running(self, process: BoardProcess) -> None:
        """Reports the next launch as the one that was running."""
        kernel, image = self._begun[self._read]
        if self._running is not None:
            process.kernels[self._running] = kernel.name
            self._running = None
        error = kernel.lost(process, image)
        self._known.append((error.status, error))
        self._read += 1

    def _why_the_rest_fails(self, process: BoardProcess, completed: int) -> str:
        """Returns the reason why launches that have not begun run in no other process; "" if they do."""
        if completed == lib.LANE_UNKNOWN and process.ended().status is None:
            return "it is not known whether the board process that was given it has ended"
        if completed == lib.LANE_UNKNOWN:
            return "a kernel overwrote what says which of the launches before it have ended"
        if lib.interrupts() != self._interrupted:
            return "Ctrl-C stopped those before it"
        if self._losses >= MOST_LOSSES:
            return f"the board process {process.ended().ending}, {MOST_LOSSES} times in a row"
        return ""

    def __del__(self) -> None:
        if self._lane is not None and self._process is not None and not self._is_under_way:
            self._process.give_back(self._lane)


def _entries(launches: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the kernel's number and the offset of the arguments of each launch."""
    for index in range(begin, end):
        number, place, *_ = SUBMISSION.unpack_from(launches, index * SUBMISSION.size)
        yield number, place
