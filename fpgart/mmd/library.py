# SPDX-License-Identifier: Apache-2.0
"""The boards of a process: hosts know them by names before they are open, then by handles."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property

from fpgart.board.description import BoardDescription
from fpgart.board.mmd import Mmd, OfflineInfo
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import Engine
from fpgart.mmd.errors import MmdError, Status
from fpgart.mmd.host_memory import HostMemory
from fpgart.mmd.open_board import OpenBoard

NAME = "acl"
"""The name of boards before their number, as in board packages."""


class Library:
    """The boards that FPGART_BOARD names. Any thread may call the methods."""

    def __init__(self, boards: Sequence[BoardDescription]) -> None:
        self._boards = tuple(boards)
        self._lock = threading.Lock()
        self._open: dict[int, OpenBoard] = {}
        self.host_memory = HostMemory()

    @property
    def names(self) -> list[str]:
        return [f"{NAME}{number}" for number in range(len(self._boards))]

    def offline_info(self, query: OfflineInfo) -> int | float | str:
        """Answers a query before a board is open; the library has more than one board."""
        if query is OfflineInfo.NUM_BOARDS:
            return len(self._boards)
        if query is OfflineInfo.BOARD_NAMES:
            return ";".join(self.names)
        return SimulatedBoard(self._boards[0]).get_offline_info(query)

    def open(self, name: str) -> int:
        """Opens a board and returns its handle, which is its number."""
        if name not in self.names:
            raise MmdError(f"there is no board '{name}'; there are {', '.join(self.names)}")
        handle = self.names.index(name)
        with self._lock:
            if handle in self._open:
                raise MmdError(f"board '{name}' is already open")
            self._open[handle] = OpenBoard(SimulatedBoard(self._boards[handle]), self.host_memory, lambda: self._engine)
        return handle

    def board(self, handle: int) -> OpenBoard:
        found = self._open.get(handle)
        if found is None:
            known = ", ".join(map(str, self._open)) or "none"
            raise MmdError(f"{handle} is not the handle of an open board (open: {known})", Status.INVALID_HANDLE)
        return found

    def mmds(self, handles: Sequence[int]) -> list[Mmd]:
        if not handles:
            raise MmdError("an allocation is for one board at least", Status.INVALID_HANDLE)
        return [self.board(handle).mmd for handle in handles]

    def close(self, handle: int) -> None:
        board = self.board(handle)
        board.close()
        with self._lock:
            del self._open[handle]

    @property
    def busy(self) -> bool:
        return any(board.busy for board in list(self._open.values()))

    def shut_down(self) -> bool:
        """Stops all boards, as the process exits. Returns True if all work has ended."""
        ended = [board.shut_down() for board in list(self._open.values())]
        return all(ended)

    @cached_property
    def _engine(self) -> Engine:
        """The engine, which the first programmed board opens."""
        return choose_engine()
