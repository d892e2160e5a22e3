# SPDX-License-Identifier: Apache-2.0
"""Kernels that run in a board process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fpgart._native import lib
from fpgart.base.errors import CLError, OutOfResources
from fpgart.base.shared_memory import SharedMemory
from fpgart.engine.interface import ARGUMENT, POINTER, EngineKernel, KernelLaunch
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.loss import BoardLost
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.patience import Patience
from fpgart.engine.isolated.process import BoardProcess, Lane, error_in
from fpgart.engine.isolated.staging import Staged
from fpgart.engine.launches import launch_failure

T = TypeVar("T")


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
        self.compile_ns = 0
        made = self.on(engine.process)
        self.waits_for_others = made.waits_for_others
        self.interface = engine.ask(lambda process: m.Interface(self.on(process).number), m.Interfaces).kernels[0]

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

    def launch(self, launch: KernelLaunch) -> None:
        if not launch.reaches:
            self._launch(launch)
            return
        staged = Staged(self._engine.shared, launch.image, launch.reaches)
        try:
            self._launch(launch._replace(image=staged.image))
            staged.copy_back()
        finally:
            staged.give_back()

    def _launch(self, launch: KernelLaunch) -> None:
        process, network = self._engine.process, launch.network
        made = self.on(process)
        number = network.on(process) if isinstance(network, IsolatedNetwork) else 0
        lane = None
        try:
            lane = process.take()
            running = process.begin(self.name)
            if self.launched and made.offered and len(launch.image) <= lib.LANE_ROOM:
                error = self._run_on_lane(process, lane, made, launch)
            else:  # the first launch, in which engines compile, takes long anyway
                error = self._run_by_message(process, lane, m.Launch(made.number, *launch.for_driver(), number))
        except (OSError, ProtocolError):
            if lane is not None:
                process.give_up(lane)
            raise self.lost(process, launch.image) from None
        process.end(running)
        process.give_back(lane)
        process.drain()
        if error is not None:
            raise error

    def _run_on_lane(self, process: BoardProcess, lane: Lane, made: m.Made, launch: KernelLaunch) -> CLError | None:
        """Launches by a lane; returns the engine's error or None. Raises OSError if the process dies."""
        image, *others = launch.for_driver()
        address, life, patience = lane.address, process.life, Patience(process)
        left, seen = patience.left_ms(), patience.interrupted
        outcome = lib.lane_run(address, made.offered, image, len(image), *others, life, left, seen)
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
            f"'{argument.name}'"
            for index, argument in enumerate(self.interface.arguments)
            if ARGUMENT.unpack_from(image, ARGUMENT.size * index)[0] == POINTER
        ]
        undefined = f"; memory that it reaches through {', '.join(written)} is now undefined" if written else ""
        words = loss.words(image, self.interface)
        sentence = f"kernel '{self.name}'{beside} {words}{undefined}. The board restarts for the next command"
        process.warn(sentence)
        return BoardLost(sentence)


def failure(name: str, result: int) -> CLError:
    """Returns the error for the result of a failed launch."""
    if result >> 32 == lib.LANE_REFUSED:
        return OutOfResources(f"the board process did not take a launch of kernel '{name}'")
    return launch_failure(name, result)
