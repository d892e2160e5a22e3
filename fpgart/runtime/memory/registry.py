# SPDX-License-Identifier: Apache-2.0
"""Collections that many threads change and iterate over at the same time.

Iteration works on a snapshot, so no thread iterates over a container that another one changes. Items are
compared and destroyed without a lock, because destructors may re-enter the driver.
"""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from typing import Generic, Protocol, TypeVar
from weakref import ref

T = TypeVar("T")


class Ranged(Protocol):
    """An object in memory from `pointer` up to `end`, the first byte behind it."""

    @property
    def pointer(self) -> int: ...

    @property
    def end(self) -> int: ...


R = TypeVar("R", bound=Ranged)


class AddressRegistry(Generic[R]):
    """Ranges of memory that do not overlap. find() takes logarithmic time."""

    __slots__ = ("_begins", "_found", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begins: list[int] = []
        self._found: dict[int, R] = {}

    def __len__(self) -> int:
        return len(self._begins)

    def add(self, item: R) -> None:
        with self._lock:
            insort(self._begins, item.pointer)
            self._found[item.pointer] = item

    def remove(self, pointer: int) -> R | None:
        """Removes and returns the item that begins at `pointer`; None if none does."""
        with self._lock:
            item = self._found.pop(pointer, None)
            if item is not None:
                del self._begins[bisect_right(self._begins, pointer) - 1]
        return item

    def at(self, pointer: int) -> R | None:
        """Returns the item that begins at `pointer`, or None."""
        return self._found.get(pointer)

    def find(self, pointer: int) -> R | None:
        """Returns the item that contains `pointer`, or None."""
        with self._lock:
            index = bisect_right(self._begins, pointer) - 1
            item = self._found[self._begins[index]] if index >= 0 else None
        return item if item is not None and pointer < item.end else None

    def all(self) -> list[R]:
        """Returns the items as they are now."""
        with self._lock:
            return list(self._found.values())


class Living(Generic[T]):
    """The objects of a kind that exist. It refers to them weakly."""

    __slots__ = ("_limit", "_lock", "_refs")
    LEAST = 16

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refs: list[ref[T]] = []
        self._limit = self.LEAST

    def add(self, item: T) -> None:
        added = ref(item)
        with self._lock:
            self._refs.append(added)
            crowded = len(self._refs) > self._limit
        if crowded:
            self._remove_destroyed()

    def _remove_destroyed(self) -> None:
        """Removes references to destroyed objects.

        It runs when half of them may be destroyed, so that the cost of add() does not depend on their number.
        """
        with self._lock:
            refs = list(self._refs)
        dead = {id(each) for each in refs if each() is None}
        with self._lock:  # other threads may have added items: remove only those that were seen destroyed
            self._refs = [each for each in self._refs if id(each) not in dead]
            self._limit = max(self.LEAST, 2 * len(self._refs))

    def all(self) -> list[T]:
        """Returns the objects that exist now, oldest first."""
        with self._lock:
            refs = list(self._refs)
        return [item for each in refs if (item := each()) is not None]

    def newest(self) -> T | None:
        """Returns the newest object that exists, or None, in constant amortised time."""
        with self._lock:
            while self._refs:
                item = self._refs[-1]()
                if item is not None:
                    return item
                self._refs.pop()
        return None

    def __bool__(self) -> bool:
        return self.newest() is not None
