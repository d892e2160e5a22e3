# SPDX-License-Identifier: Apache-2.0
"""Programs of a board process, which are made again after a restart of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from fpgart.engine.interface import BuildFailed, BuiltProgram, Plugs, no_plugs
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.kernel import IsolatedKernel, Processes
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.process import BoardProcess
from fpgart.kernels.interface import KernelInterface

Make = Callable[[BoardProcess], int]
"""Makes a program in a board process; returns its number."""
Step = Callable[[BoardProcess, int], object]
"""Does a step with a program in a board process."""


class IsolatedProgram:
    """A `BuiltProgram` in the board process. It keeps the steps by which it was made and built."""

    def __init__(self, engine: Processes, make: Make) -> None:
        """Raises the errors of `make`."""
        self._engine = engine
        self._make = make
        self._constants: dict[int, bytes] = {}
        self._built: Step | None = None
        self._making = threading.RLock()
        self._kernels: dict[str, IsolatedKernel] = {}
        process = engine.process
        self._number = make(process)
        self._process = process

    @property
    def process(self) -> BoardProcess:
        return self._engine.process

    def on(self, process: BoardProcess) -> int:
        """Returns its number in a board process; made again, if that is a new one. Raises CLError."""
        with self._making:
            if self._process is not process:
                number = self._make(process)
                for id, value in self._constants.items():
                    process.ask(m.Specialize(number, id, value), m.Done)
                try:
                    if self._built is not None:
                        self._built(process, number)
                except BuildFailed:  # as the first time: querying its kernels raises the error
                    self._built = None
                self._number, self._process = number, process
            return self._number

    def _do(self, step: Callable[[BoardProcess, int], str]) -> str:
        """Builds or compiles, and repeats it after each restart of the process; returns the log."""
        process = self.process
        log = step(process, self.on(process))
        with self._making:
            self._built = step
            self._kernels.clear()
        return log

    def build(self, options: str) -> str:
        return self._do(lambda process, number: process.ask(m.Build(number, options), m.Text).text)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        ours = {name: program for name, program in headers.items() if isinstance(program, IsolatedProgram)}

        def step(process: BoardProcess, number: int) -> str:
            named = tuple((name, header.on(process)) for name, header in ours.items())
            return process.ask(m.Compile(number, options, named), m.Text).text

        return self._do(step)

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        process = self.process
        found = process.ask(m.Kernels(self.on(process), tuple(known.values())), m.Interfaces).kernels
        return {interface.name: interface for interface in found}

    def kernel(self, name: str) -> IsolatedKernel:
        with self._making:
            found = self._kernels.get(name)
            if found is None:
                found = self._kernels[name] = IsolatedKernel(self._engine, self, name)
            return found

    def binary(self) -> bytes:
        process = self.process
        return process.ask(m.GetBinary(self.on(process)), m.Data).data

    def specialize(self, id: int, value: bytes) -> None:
        process = self.process
        process.ask(m.Specialize(self.on(process), id, value), m.Done)
        self._constants[id] = value

    def network(self, plugs: Plugs = no_plugs) -> IsolatedNetwork | None:
        """Creates a network without cables: a topology is refused together with FPGART_ISOLATE."""
        process = self.process
        made = process.ask(m.MakeNetwork(self.on(process)), m.NetworkMade)
        return IsolatedNetwork(self, process, made) if made.number else None

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self._process.forget(program=self._number)


def linked(engine: Processes, options: str, parts: Sequence[IsolatedProgram]) -> tuple[IsolatedProgram, str]:
    """Links compiled programs; returns program and log. Raises BuildFailed, CLError."""
    log = ""

    def make(process: BoardProcess) -> int:
        nonlocal log
        made = process.ask(m.Link(options, tuple(part.on(process) for part in parts)), m.Linked)
        log = made.log
        return made.program

    program = IsolatedProgram(engine, make)
    return program, log
