# SPDX-License-Identifier: Apache-2.0
"""Replaces operations whose claim() has raised an error."""

from __future__ import annotations

from fpgart.runtime.scheduling.event import Operation, PlainOperation, ReadyList
from fpgart.runtime.scheduling.occupancy import Direction


class Unclaimable(PlainOperation):
    """Takes the place of such an operation and raises its error when it runs, so that no other command fails."""

    __slots__ = ("_error", "_operation", "device")
    name = "host"
    direction = Direction.NONE

    def __init__(self, operation: Operation, error: BaseException) -> None:
        self._operation = operation
        self._error = error
        self.device = operation.device

    @property
    def ready_list(self) -> ReadyList:
        return self._operation.ready_list

    def run(self) -> Operation | None:
        self._operation.abandon()
        raise self._error

    def abandon(self) -> None:
        self._operation.abandon()

    def accesses(self) -> tuple[()]:
        return ()
