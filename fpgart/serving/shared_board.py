# SPDX-License-Identifier: Apache-2.0
"""A board of a service, in a host: the simulated board, which one host at a time can open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from fpgart.board.mmd import Around, BoardError, Loaded, Mmd
from fpgart.engine.isolated import messages as m
from fpgart.serving.connection import Connection
from fpgart.serving.sockets import ServiceError

T = TypeVar("T")


class SharedBoard(Around):
    """An `Mmd` of a service. Its memory is new for each host; its program stays."""

    def __init__(self, mmd: Mmd, service: Connection, number: int) -> None:
        """`number` is the board's in the service."""
        super().__init__(mmd)
        self._service = service
        self._number = number
        self._loaded: Loaded | None = None
        self.write, self.read, self.copy, self.program = mmd.write, mmd.read, mmd.copy, mmd.program
        self.host_alloc, self.shared_alloc, self.free = mmd.host_alloc, mmd.shared_alloc, mmd.free

    @property
    def in_c(self) -> int:
        return self._mmd.in_c

    @property
    def is_shared(self) -> bool:
        return True

    def open(self) -> None:
        (board,) = self._ask(m.OpenBoard(self._number), m.Boards).boards
        self._loaded = Loaded(board.identity, board.kernels, board.interleaving) if board.identity else None
        try:
            self._mmd.open()
        except BaseException:
            with suppress(BoardError):  # a service that has ended records no holder
                self._give_back()
            raise

    def close(self) -> None:
        self._mmd.close()
        self._give_back()

    def _give_back(self) -> None:
        self._ask(m.CloseBoard(self._number), m.Done)

    def is_available(self) -> bool:
        try:
            return not self._ask(m.GetBoards(), m.Boards).boards[self._number].holder
        except BoardError:
            return False

    def loaded(self) -> Loaded | None:
        return self._loaded

    def identify(self, loaded: Loaded) -> None:
        self._ask(m.SetProgram(self._number, *loaded), m.Done)

    def _ask(self, request: object, kind: type[T]) -> T:
        try:
            return self._service.ask(request, kind)
        except ServiceError as error:
            raise BoardError(str(error)) from None


def numbers_of(names: Sequence[str], service: Connection) -> list[int]:
    """Returns the numbers of a service's boards by their names, each once.

    Raises ServiceError for one that it lacks.
    """
    free = dict(enumerate(board.name for board in service.boards))
    found = []
    for name in names:
        number = next((number for number, each in free.items() if each == name), None)
        if number is None:
            there = ", ".join(board.name for board in service.boards)
            raise ServiceError(
                f"service '{service.name}' has no other board '{name}' for this host; its boards are {there}"
            )
        del free[number]
        found.append(number)
    return found
