# SPDX-License-Identifier: Apache-2.0
"""The engine of a board process, and that process, which is restarted whenever it has died."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fpgart._native import ffi, lib
from fpgart.base import config, log
from fpgart.base.errors import CLError, InvalidOperation, OutOfResources
from fpgart.base.shared_memory import SharedMemory
from fpgart.engine.interface import BuiltProgram, Carrier
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.loss import BoardLost
from fpgart.engine.isolated.process import BoardProcess, start_process
from fpgart.engine.isolated.program import IsolatedProgram, linked
from fpgart.engine.isolated.spawning import ProcessError, Spawned, spawn
from fpgart.engine.mirrors import Mirrors

if TYPE_CHECKING:
    from fpgart.engine.isolated.carried import CarriedCommands
    from fpgart.engine.isolated.kernel import IsolatedKernel

T = TypeVar("T")


class IsolatedEngine:
    """An `Engine` in a board process. Its creation raises ProcessError if that does not start, or has no engine."""

    works_on_own_buffers = False
    mirrors: Mirrors | None = None

    def __init__(
        self, memory: SharedMemory, spawned: Spawned | None = None, start: Callable[[], Spawned] = spawn
    ) -> None:
        """`spawned`: a board process that has been started already; `start` starts others."""
        self.memory: SharedMemory | None = memory
        self.shared = memory
        self._starting = threading.Lock()
        self._carried: CarriedCommands | None = None
        self._start = start
        self._process = start_process(memory, spawned, start)
        welcome = self._process.welcome
        if welcome.missing:
            raise ProcessError(welcome.missing)
        if welcome.works_on_own_buffers:
            raise ProcessError(
                f"the engine {welcome.path} works on buffers of its own; it runs only in the host's process, without "
                f"{config.ISOLATE.name} and {config.SERVED.name}"
            )
        self.name, self.version, self.path = welcome.name, welcome.engine_version, welcome.path
        self._answers: dict[int, bytes] = {}

    @property
    def process(self) -> BoardProcess:
        process = self._process
        return process if process.alive else self._start_anew()

    @property
    def carried(self) -> CarriedCommands:
        """The commands that C carries. The first call makes the object; raises OutOfResources."""
        with self._starting:
            if self._carried is None:
                from fpgart.engine.isolated.carried import CarriedCommands  # for hosts that launch kernels

                self._carried = CarriedCommands(self)
            return self._carried

    def _carries(self) -> bool:
        """True if C carries commands. It does not know the driver's own mapping of memory that the host cannot access.

        Raises CLError.
        """
        return self.process.welcome.carries and not config.host_accesses_fail()

    def carrier(self) -> Carrier | None:
        try:
            if not self._carries():
                return None
            carried = self.carried
        except CLError as error:
            log.note(f"C carries no commands: {error}")
            return None
        return Carrier(int(ffi.cast("uintptr_t", lib.ring_carrier())), carried.address, 0, carried.lost)

    def number_of(self, kernel: IsolatedKernel) -> int:
        try:
            return self.carried.number_of(kernel) if self._carries() else 0
        except CLError:  # the launch reports it
            return 0

    def _start_anew(self) -> BoardProcess:
        with self._starting:
            if not self._process.alive:
                log.note(f"the board process {self._process.ended().ending}; another one is started")
                try:
                    self._process = start_process(self.shared, None, self._start)
                except ProcessError as error:
                    raise OutOfResources(f"the board process cannot be restarted: {error}") from None
            return self._process

    def ask(self, query: Callable[[BoardProcess], object], kind: type[T]) -> T:
        try:
            process = self.process
            return process.ask(query(process), kind, is_repeated=True)
        except BoardLost as lost:  # a query cannot have ended the process
            log.note(str(lost))
        process = self.process
        return process.ask(query(process), kind)

    def device_info(self, query: int) -> bytes:
        if query not in self._answers:
            self._answers[query] = self.ask(lambda process: m.DeviceInfo(query), m.Data).data
        return self._answers[query]

    def from_source(self, source: str) -> BuiltProgram:
        return IsolatedProgram(self, lambda process: process.ask(m.FromSource(source), m.Number).number)

    def from_il(self, il: bytes) -> BuiltProgram:
        return IsolatedProgram(self, lambda process: process.ask(m.FromIL(il), m.Number).number)

    def from_binary(self, binary: bytes) -> BuiltProgram:
        return IsolatedProgram(self, lambda process: process.ask(m.FromBinary(binary), m.Number).number)

    def link(self, options: str, programs: list[BuiltProgram]) -> tuple[BuiltProgram, str]:
        parts = [program for program in programs if isinstance(program, IsolatedProgram)]
        if len(parts) < len(programs):
            raise InvalidOperation("programs of another engine cannot be linked with those of a board process")
        return linked(self, options, parts)
