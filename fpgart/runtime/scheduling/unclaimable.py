# SPDX-License-Identifier: Apache-2.0
"""Replaces operations whose claim() has raised an error."""

from __future__ import annotations

from fpgart.runtime.scheduling.event import Operation, ReadyList
from fpgart.runtime.scheduling.occupancy import Claim, Direction


class Unclaimable:
    """Takes the place of such an operation and raises its error when it runs, so that no other command fails."""

    __slots__ = ("_error", "_operation", "device")
    name = "host"
    needs_thread = False
    launch = None
    compute_unit = None
    direction = Direction.NONE

    def __init__(self, operation: Operation, error: BaseException) -> None:
        self._operation = operation
        self._error = error
        self.device = operation.device

    @property
    def ready_list(self) -> ReadyList:
        return self._operation.ready_list

    def claim(self) -> Claim:
        return Claim.TAKEN

    def release(self, following: Operation | None) -> None:
        pass

    def run(self) -> Operation | None:
        self._operation.abandon()
        raise self._error

    def abandon(self) -> None:
        self._operation.abandon()

    def accesses(self) -> tuple[()]:
        return ()

    def describe(self) -> dict[str, object]:
        return {}
