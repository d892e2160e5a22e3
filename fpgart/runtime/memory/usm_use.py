# SPDX-License-Identifier: Apache-2.0
"""Describes the unified shared memory that a launch may use."""

from __future__ import annotations

import enum

from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import Kind, UsmAllocation, UsmContext


class Indirect(enum.IntFlag):
    """The kinds of allocations that a kernel may reach through pointers that are no arguments."""

    NONE = 0
    HOST = 1
    DEVICE = 2
    SHARED = 4

    @classmethod
    def of(cls, kind: Kind) -> Indirect:
        return cls[kind.name]


class UsmUse:
    """The allocations among a launch's arguments, and the kinds that it may reach besides."""

    __slots__ = ("allocations", "indirect")

    def __init__(self, allocations: list[UsmAllocation], indirect: Indirect) -> None:
        self.allocations = allocations
        self.indirect = indirect

    def may_touch(self, allocation: UsmAllocation) -> bool:
        return allocation in self.allocations or bool(self.indirect & Indirect.of(allocation.kind))

    def bring(self, context: UsmContext, device: Device, reason: str) -> list[UsmAllocation]:
        """Moves the shared allocations to the device's side for a kernel that is about to run.

        Returns those whose accesses by the host are recorded.
        """
        wanted = list(self.allocations)
        if self.indirect & Indirect.SHARED:
            wanted += [a for a in context.usm.all() if a.kind is Kind.SHARED and device in a.reached_by]
        watched = []
        for allocation in wanted:
            if allocation.kind is Kind.SHARED:
                if allocation.watched:
                    allocation.used_by_kernel()
                    watched.append(allocation)
                allocation.move(0, allocation.size, device, reason)
        return watched
