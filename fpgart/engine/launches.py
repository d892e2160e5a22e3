# SPDX-License-Identifier: Apache-2.0
"""Errors of launches through engine/calls.h."""

from __future__ import annotations

from itertools import count

from fpgart._native import ffi
from fpgart.base.errors import CLError, error_of

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
