# SPDX-License-Identifier: Apache-2.0
"""The channels of a program in a board process; the host moves packets by messages."""

from __future__ import annotations

import threading
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol

from fpgart._native import ffi
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.channels.interface import History
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.loss import BoardLost
from fpgart.engine.isolated.process import BoardProcess

if TYPE_CHECKING:
    from fpgart.channels.links import Links

PIECE = 1 << 24
"""The bytes of a variable that one message carries."""


class NetworkProgram(Protocol):
    @property
    def process(self) -> BoardProcess:
        """The board process that serves it now."""

    def on(self, process: BoardProcess) -> int:
        """Returns its number in that process."""


class IsolatedNetwork:
    """A `KernelNetwork` in the board process; after a restart, its state is that of a newly programmed board."""

    def __init__(self, program: NetworkProgram, process: BoardProcess, made: m.NetworkMade) -> None:
        self._program = program
        self._process = process
        self._number = made.number
        self._making = threading.Lock()
        self.autorun = dict(made.autorun)
        self.began = monotonic_ns()
        self.links: Links = {}
        self.stopped = False

    def on(self, process: BoardProcess) -> int:
        """Returns its number in a board process."""
        with self._making:  # kernels that begin together share one network
            if self._process is not process:
                self._number = process.ask(m.MakeNetwork(self._program.on(process)), m.NetworkMade).number
                self._process = process
            return self._number

    def here(self) -> tuple[BoardProcess, int]:
        """Returns the board process, and its number there."""
        process = self._program.process
        return process, self.on(process)

    def history(self) -> list[History]:
        if self._process.alive:
            return list(self._process.ask(m.GetHistory(self._number), m.Histories).channels)
        return []

    def stop(self) -> None:
        for listener in NOTICES.network_stopped:
            listener(self)
        self.stopped = True
        try:
            self._process.ask(m.StopNetwork(self._number), m.Done)
        except BoardLost:
            return  # nothing of it is left that could run

    def channel(self, name: str) -> IsolatedChannel | None:
        process, number = self.here()
        packet = process.ask(m.FindChannel(number, name), m.Number).number
        return IsolatedChannel(self, name, packet) if packet else None

    def variable(self, name: str) -> IsolatedVariable | None:
        process, number = self.here()
        size = process.ask(m.FindVariable(number, name), m.Number).number
        return IsolatedVariable(self, name, size) if size >= 0 else None

    def __del__(self) -> None:
        self._process.forget(network=self._number)


class IsolatedChannel(NamedTuple):
    """A channel of the program in the board process."""

    network: IsolatedNetwork
    name: str
    packet: int

    def read(self, address: int, wait_ms: int = 0) -> bool:
        process, number = self.network.here()
        data = process.ask(m.ReadChannel(number, self.name, wait_ms), m.Data).data
        ffi.memmove(ffi.cast("char *", address), data, len(data))
        return bool(data)

    def write(self, address: int, wait_ms: int = 0) -> bool:
        process, number = self.network.here()
        data = bytes(ffi.buffer(ffi.cast("char *", address), self.packet))
        return process.ask(m.WriteChannel(number, self.name, wait_ms, data), m.Truth).truth


class IsolatedVariable(NamedTuple):
    """A program-scope variable in the board process."""

    network: IsolatedNetwork
    name: str
    size: int

    def read(self, offset: int, address: int, size: int) -> None:
        process, number = self.network.here()
        for done in range(0, size, PIECE):
            ask = m.ReadVariable(number, self.name, offset + done, min(PIECE, size - done))
            data = process.ask(ask, m.Data).data
            ffi.memmove(ffi.cast("char *", address + done), data, len(data))

    def write(self, offset: int, address: int, size: int) -> None:
        process, number = self.network.here()
        for done in range(0, size, PIECE):
            data = bytes(ffi.buffer(ffi.cast("char *", address + done), min(PIECE, size - done)))
            process.ask(m.WriteVariable(number, self.name, offset + done, data), m.Done)
