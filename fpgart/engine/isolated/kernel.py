# SPDX-License-Identifier: Apache-2.0
"""Kernels that run in a board process."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Protocol, TypeVar

from fpgart._native import ffi, lib
from fpgart.engine.interface import (
    POINTER,
    SUBMISSION,
    Batch,
    EngineKernel,
    KernelNetwork,
    Reach,
    SharedMemory,
)
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.loss import ENTRY, BoardLost
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.patience import Patience
from fpgart.engine.isolated.process import BoardProcess, Lane, error_in
from fpgart.engine.isolated.staging import Staged
from fpgart.engine.launches import AddedLaunches, launch_failure
from fpgart.errors import CLError, OutOfResources

T = TypeVar("T")
U32 = Struct("<I")


class Processes(Protocol):
    """The engine, for those who need the process that serves it now."""

    shared: SharedMemory

    @property
    def process(self) -> BoardProcess:
        """The board process, started anew if it has died. Raises OutOfResources."""

    def ask(self, query: Callable[[BoardProcess], object], kind: type[T]) -> T:
        """The answer to a query, from another board process if one dies of it. Raises CLError."""


class KernelProgram(Protocol):
    """The program of a kernel."""

    def on(self, process: BoardProcess) -> int:
        """Its number in a board process, where it is made again if that is another one."""


class IsolatedKernel:
    """An `EngineKernel` that stands for one in the board process."""

    wants_reaches = False

    def __init__(self, engine: Processes, program: KernelProgram, name: str, *, apart: bool = False) -> None:
        """`apart`: its twin that runs on the thread that launches it. Raises CLError."""
        self._engine = engine
        self._program = program
        self.name = name
        self._apart = apart
        self._process: BoardProcess | None = None
        self._made = m.Made(0, 0, False)
        self.launched = False
        self.last_ns = 0
        made = self.on(engine.process)
        self.waits_for_others = made.waits_for_others
        self.interface = engine.ask(lambda process: m.Interface(self.on(process).number), m.Interfaces).kernels[0]
        self.new_batch: Callable[[int], Batch] | None = partial(IsolatedBatch, engine) if made.offered else None

    def on(self, process: BoardProcess) -> m.Made:
        """What it is in a board process."""
        if self._process is not process:
            made = process.ask(m.MakeKernel(self._program.on(process), self.name), m.Made)
            if self._apart:
                made = process.ask(m.OnOwnThread(made.number), m.Made)
            self._made, self._process = made, process
        return self._made

    @property
    def argument_count(self) -> int:
        """How many arguments a launch has."""
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
            else:  # the first launch is no matter of microseconds: engines compile for good then
                launch = m.Launch(made.number, image, dimensions, sizes, has_local, number)
                error = self._run_by_message(process, lane, launch)
        except (OSError, ProtocolError):
            if lane is not None:
                process.bury(lane)
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
        """What the engine says of the launch. Raises OSError when the process dies."""
        address, size, life, patience = lane.address, len(image), process.life, Patience(process)
        left, seen = patience.left_ms(), patience.interrupted
        outcome = lib.lane_run(address, made.offered, image, size, dimensions, sizes, has_local, life, left, seen)
        while not patience.has_answered(outcome):
            outcome = lib.lane_wait(address, life, patience.left_ms(), seen)
        result = int(lib.lane_result(address))
        return failure(self.name, result) if result & 0xFFFFFFFF else None

    def _run_by_message(self, process: BoardProcess, lane: Lane, launch: m.Launch) -> CLError | None:
        """What the engine says of the launch. Raises OSError or ProtocolError when the process dies."""
        return error_in(process.exchange(lane, launch, Patience(process).await_message))

    def lost(self, process: BoardProcess, image: bytes | memoryview) -> BoardLost:
        """Why a launch of it failed whose process has died."""
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
    """What the result of a launch that went wrong says."""
    if result >> 32 == lib.LANE_REFUSED:
        return OutOfResources(f"the board process did not take a launch of kernel '{name}'")
    return launch_failure(name, result)


def check_count(process: BoardProcess, count: int, least: int, most: int) -> None:
    """Kernels can write over a lane: a count that cannot be ends the process, and raises OSError."""
    if not least <= count <= most:
        process.stop("overwrote memory that the driver and the board process share, and was stopped")
        raise ConnectionResetError(f"{count} launches cannot be, {least} to {most} can")


class IsolatedBatch(AddedLaunches[IsolatedKernel]):
    """A `Batch` in the board process."""

    takes = IsolatedKernel
    takes_more = False

    def __init__(self, engine: Processes, most: int) -> None:
        super().__init__()
        self._engine = engine
        self._process: BoardProcess | None = None
        self._lane: Lane | None = None
        self._begun: list[tuple[IsolatedKernel, memoryview]] = []
        """Kernel and arguments of each launch that is under way."""
        self._statuses = 0
        """Where the board process puts theirs."""
        self._read = 0
        self._known: list[int] = []
        """Statuses that wait() has not given yet."""
        self.failure: CLError | None = None

    def submit_laid_out(
        self, kernels: Sequence[EngineKernel], launches: bytes, begin: int, end: int
    ) -> tuple[int, CLError | None]:
        while len(self._begun) > self._read:  # the lane is for one array at a time
            self._known += self._await()
        if self.failure is not None and not self._known:  # the board restarts for what comes behind those that failed
            self._process = self.failure = None
        ours = [kernel for kernel in kernels if isinstance(kernel, IsolatedKernel)]
        whole = memoryview(launches)
        self._begun = [(ours[number], whole[place:]) for number, place in _entries(launches, begin, end)]
        self._read = 0
        try:
            done, result = self._hand_over(ours, launches, begin, end)
        except (OSError, ProtocolError, BoardLost):
            self._fail()
            return end - begin, None
        except CLError as error:  # nothing has been handed over
            self._begun.clear()
            return 0, error
        if begin + done == end:
            return done, None
        failed, _ = self._begun[done]
        del self._begun[done:]
        return done, failure(failed.name, result)

    def _hand_over(self, kernels: list[IsolatedKernel], launches: bytes, begin: int, end: int) -> tuple[int, int]:
        """How many launches were begun, and the result of the last one tried. Raises OSError, ProtocolError."""
        process = self._process = self._process or self._engine.process
        numbers = struct.pack(f"<{len(kernels)}I", *(kernel.on(process).offered for kernel in kernels))
        lane = self._lane = self._lane or process.take()
        behind = int(lib.lane_statuses(len(launches), len(kernels)))
        process.make_room(lane, behind + U32.size * (end - begin))
        ffi.memmove(ffi.cast("char *", lane.data), launches, len(launches))
        at = behind - -(-len(numbers) // 8) * 8
        ffi.memmove(ffi.cast("char *", lane.data + at), numbers, len(numbers))
        self._statuses = lane.data + behind
        lib.lane_submit(lane.address, lane.data, len(launches), len(kernels), begin, end)
        patience = Patience(process)
        left, seen = patience.left_ms, patience.interrupted
        while not patience.has_answered(lib.lane_wait(lane.address, process.life, left(), seen)):
            pass
        done = int(lib.lane_submitted(lane.address))
        check_count(process, done, 0, end - begin)
        return done, int(lib.lane_result(lane.address))

    def wait(self, most: int) -> list[int]:
        if not self._known:
            self._known = self._await()
        statuses, self._known = self._known[:most], self._known[most:]
        return statuses

    def wait_for(self, count: int) -> list[int]:
        statuses: list[int] = []
        while len(statuses) < count:
            statuses += self.wait(count - len(statuses))
        return statuses

    def _await(self) -> list[int]:
        """Statuses of launches that have ended since."""
        process, lane = self._process, self._lane
        assert process is not None
        if lane is None:  # the process has died
            return self._all_failed()
        ended = ffi.new("uint32_t *", self._read)
        kernel, _ = self._begun[self._read]
        running, patience = process.begin(kernel.name), Patience(process)
        left, seen = patience.left_ms, patience.interrupted
        try:
            while not patience.has_answered(
                lib.lane_wait_ended(lane.address, self._read, process.life, left(), seen, ended)
            ):
                pass
            check_count(process, int(ended[0]), self._read + 1, len(self._begun))
        except OSError:
            return self._all_failed()
        process.end(running)
        process.drain()
        found = ffi.unpack(ffi.cast("int32_t *", self._statuses) + self._read, ended[0] - self._read)
        self._read = int(ended[0])
        return list(found)

    def _all_failed(self) -> list[int]:
        status, count = self._fail(), len(self._begun) - self._read
        self._read = len(self._begun)
        return [status] * count

    def _fail(self) -> int:
        """The process has died: the status of all that had not ended."""
        lane, self._lane = self._lane, None
        assert self._process is not None
        if lane is not None:
            self._process.bury(lane)
        if self.failure is None:
            kernel, image = self._begun[self._read]
            self.failure = kernel.lost(self._process, image)
        return self.failure.status

    def __del__(self) -> None:
        if self._lane is not None and self._process is not None and self._read == len(self._begun):
            self._process.give_back(self._lane)


def _entries(launches: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Number of the kernel, and place of the arguments, of each launch."""
    for index in range(begin, end):
        number, place, *_ = SUBMISSION.unpack_from(launches, index * SUBMISSION.size)
        yield number, place
