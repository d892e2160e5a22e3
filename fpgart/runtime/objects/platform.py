# SPDX-License-Identifier: Apache-2.0
"""The platform: its devices, its scheduler, its engine."""

from __future__ import annotations

import threading
from functools import cached_property
from time import monotonic_ns
from typing import TYPE_CHECKING

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.personality import Personality
from fpgart.board.memory_system import MemorySystem
from fpgart.board.mmd import Mmd
from fpgart.engine.contents import Contents
from fpgart.engine.interface import Engine
from fpgart.runtime.memory.board_malloc import BoardMalloc
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from fpgart.engine.isolated.spawning import Isolation


class Board(NamedTuple):
    """The parts of a device. A simulator does not know its memories until a binary is loaded."""

    mmd: Mmd
    memories: MemorySystem
    simulator: bool = False


class Platform:
    """The platform of the process (OpenCL 3.0, 4.1)."""

    def __init__(
        self,
        personality: Personality,
        boards: list[Board],
        engine: Engine | None,
        scheduler: Scheduler,
        contents: Contents | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        """With `engine` None an engine is chosen when it is first needed; it may need the boards' `contents`.

        With `isolation` the engine runs in another process.
        """
        self.handle = 0
        self.started_ns = monotonic_ns()
        self.personality = personality
        self.scheduler = scheduler
        self.devices = [
            Device(self, scheduler, id, board.mmd, board.memories, simulator=board.simulator)
            for id, board in enumerate(boards)
        ]
        self._engine = engine
        self._contents = contents
        self._isolation = isolation
        self._choosing = threading.Lock()
        self.meanwhile: Callable[[], None] | None = None
        """Is called on a thread of its own while the engine's libraries are loaded."""
        self.malloced = BoardMalloc()
        """The allocations of boards' memory that the host made without a buffer."""

    @property
    def engine(self) -> Engine:
        """The engine that executes kernels; a `NoEngine` with the reason if there is none."""
        if self._engine is None:
            from fpgart.engine.choice import choose_engine

            with self._choosing:
                if self._engine is None:
                    engine = choose_engine(self._contents, self._isolation, self.meanwhile)
                    if engine.mirrors is not None:
                        for device in self.devices:
                            device.mmd.keep_elsewhere(engine.mirrors)
                    self._engine = engine
        return self._engine

    @property
    def engine_in_use(self) -> Engine | None:
        """The engine if it has been chosen, otherwise None."""
        return self._engine

    @cached_property
    def group_limits(self) -> tuple[int, tuple[int, ...]]:
        """The engine's largest work-group in work-items, and its largest local size by dimension."""
        from fpgart.runtime.programs.work_groups import engine_limits  # loaded with the first kernel

        return engine_limits(self.engine)

    @cached_property
    def engine_local_memory(self) -> int:
        """The bytes of local memory that a work-group has on the engine's device."""
        from fpgart.runtime.programs.local_memory import engine_local_memory  # as above

        return engine_local_memory(self.engine)
