# SPDX-License-Identifier: Apache-2.0
"""Objects that the host never released, with the call that made each (FPGART_LEAKS)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.programs.kernel import Kernel
from fpgart.watch.callers import Callers, Site
from fpgart.watch.origins import FREES
from fpgart.watch.places import Places


@dataclass(slots=True)
class Suspects:
    """The objects that one place in the host's code made and has not released so far.

    `things` are handles, or pointers to memory, each with its size in bytes (0: it has none).
    """

    noun: str
    maker: str
    site: Site | None
    things: list[tuple[int, int]] = field(default_factory=list)


class Leaks:
    """Listens to NOTICES and records the call that made each object."""

    def __init__(self, callers: Callers, places: Places) -> None:
        self._callers = callers
        self._places = places
        self._made: dict[int, Site | None] = {}
        self._memory: dict[int, tuple[str, int, Site | None]] = {}
        self._lost: list[tuple[str, int, Site | None, int]] = []

    def handle_given(self, item: Any) -> None:
        self._made[item.handle] = self._callers.here()

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        noun = f"{allocation.kind.name.lower()} allocation"
        self._memory[allocation.pointer] = noun, allocation.size, self._callers.here()

    def usm_freed(self, allocation: UsmAllocation) -> None:
        """Records an allocation that its context frees as one that the host never released."""
        known = self._memory.pop(allocation.pointer, None)
        if known is not None and self._callers.call not in FREES:
            noun, size, site = known
            self._lost.append((f"{noun} of a released context", size, site, allocation.pointer))

    def svm_allocated(self, address: int, size: int) -> None:
        self._memory[address] = "SVM allocation", size, self._callers.here()

    def svm_freed(self, address: int) -> None:
        self._memory.pop(address, None)

    def suspects(self, held: Iterable[tuple[int, str, Any]]) -> list[Suspects]:
        """Returns suspects by place in the host's code, in order.

        `held`: handle, type and object that the host holds.
        """
        found: dict[tuple[str, Site | None], Suspects] = {}

        def add(noun: str, site: Site | None, thing: int, size: int) -> None:
            if (noun, site) not in found:
                maker = self._places.describe(site) if site is not None else "a thread of the driver"
                found[noun, site] = Suspects(noun, maker, site)
            found[noun, site].things.append((thing, size))

        for handle, name, item in held:
            noun = f"{name} '{item.name}'" if isinstance(item, Kernel) else name
            size = item.size if isinstance(item, Buffer) else 0
            add(noun, self._made.get(handle), handle, size)
        for pointer, (noun, size, site) in self._memory.items():
            add(noun, site, pointer, size)
        for noun, size, site, pointer in self._lost:
            add(noun, site, pointer, size)
        return list(found.values())
