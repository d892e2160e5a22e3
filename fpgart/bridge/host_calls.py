# SPDX-License-Identifier: Apache-2.0
"""The host's current call and its place in the host's code, for watchers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from _fpgart_icd import ffi, lib

from fpgart.base import config
from fpgart.bridge.entry import observe

if TYPE_CHECKING:
    from fpgart.watch.callers import Callers, Frames
    from fpgart.watch.places import Places

MOST_PYTHON_FRAMES = 40  # of the host and of what is between it and the driver
FRAMES_TEXT = 16384  # bytes


@lru_cache(maxsize=1)
def callers() -> Callers:
    """Returns the object that knows the host's current calls and their frames. The first call creates it."""
    made = new_callers()
    observe(made.observe)
    return made


def new_callers() -> Callers:
    """Returns such an object that is not wrapped around the entry points: the caller does that."""
    from fpgart.watch.callers import Callers

    return Callers(host_frames)


def host_frames() -> Frames:
    """Returns the host's frames behind the entry point that this thread is in."""
    from fpgart.watch.callers import MOST_FRAMES, python_frames

    if lib.fpgart_is_guest():
        text = ffi.new("char[]", FRAMES_TEXT)
        length = int(lib.fpgart_host_python_frames(text, FRAMES_TEXT, MOST_PYTHON_FRAMES))
        if length:
            return python_frames(bytes(ffi.unpack(text, length)).decode(errors="replace"))
    frames = ffi.new("uintptr_t[]", MOST_FRAMES)
    return tuple(ffi.unpack(frames, lib.fpgart_frames_of_call(frames, MOST_FRAMES, True)))


@lru_cache(maxsize=1)
def places() -> Places:
    """Returns the object that finds the places of the host's calls in its code."""
    from fpgart.watch.places import Places

    return Places(config.WRAPPERS.value)
