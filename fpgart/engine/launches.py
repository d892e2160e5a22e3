# SPDX-License-Identifier: Apache-2.0
"""Launches through engine/calls.h: their layout, and their results. Several engines use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import ClassVar, Generic, Protocol, TypeVar, cast

from fpgart._native import ffi
from fpgart.base.errors import CLError, error_of
from fpgart.engine.interface import SUBMISSION, EngineKernel


class CountedKernel(EngineKernel, Protocol):
    """A kernel with a number of arguments."""

    @property
    def argument_count(self) -> int: ...


K = TypeVar("K", bound=CountedKernel)


def lay_out(launches: Sequence[tuple[K, bytes, int, bytes, bool]]) -> tuple[list[K], bytes]:
    """Returns the kernels, and `struct submission` of each launch (engine/calls.h) with all arguments behind.

    A launch: kernel, arguments, dimensions, sizes, and whether it has a local size.
    """
    kernels: dict[K, int] = {}
    entries, images, end = [], [], SUBMISSION.size * len(launches)
    for kernel, image, dimensions, sizes, has_local in launches:
        number = kernels.setdefault(kernel, len(kernels))
        entries.append(SUBMISSION.pack(number, end, sizes, kernel.argument_count, dimensions, has_local))
        images.append(image)
        end += len(image)
    return list(kernels), b"".join(entries + images)


class AddedLaunches(ABC, Generic[K]):
    """A `Batch` that lays out the launches added to it as C lays out repeated launches, and submits them alike."""

    __slots__ = ("_added",)
    takes: ClassVar[type]
    """The kernels of its engine."""

    def __init__(self) -> None:
        self._added: list[tuple[K, bytes, int, bytes, bool]] = []

    def add(self, kernel: EngineKernel, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        assert isinstance(kernel, self.takes)
        self._added.append((cast("K", kernel), image, dimensions, sizes, has_local))

    def submit(self) -> tuple[int, CLError | None]:
        added, self._added = self._added, []
        kernels, launches = lay_out(added)
        return self.submit_laid_out(kernels, launches, 0, len(added))

    @abstractmethod
    def submit_laid_out(
        self, kernels: Sequence[EngineKernel], launches: bytes, begin: int, end: int
    ) -> tuple[int, CLError | None]: ...


_said: dict[int, CLError] = {}
_places = count(-16, -1)


def say_later(error: CLError) -> int:
    """Keeps an error for launch_failure(); returns the place that stands for it."""
    place = next(_places)
    _said[place] = error
    return place


def launch_failure(name: str, result: int) -> CLError:
    """Returns the error for the result of a failed launch of kernel `name`: the place, and the driver's status."""
    place, status = result >> 32, int(ffi.cast("int32_t", result))
    said = _said.pop(place, None)
    if said is not None:
        return said
    where = {-1: "enqueueing the kernel", -2: "the kernel"}.get(place, f"argument {place}")
    return error_of(status, f"kernel '{name}' failed on the engine, in {where}")
