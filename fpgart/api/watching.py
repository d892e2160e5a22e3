# SPDX-License-Identifier: Apache-2.0
"""Starts the watchers that the environment asks for, and imports no others."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from _fpgart_icd import ffi, lib

from fpgart import config
from fpgart.api.entry import observe
from fpgart.notices import NOTICES

if TYPE_CHECKING:
    from fpgart.watch.callers import Callers
    from fpgart.watch.leaks import Suspects

MOST_PYTHON_FRAMES = 40  # of the host and of what is between it and the driver
FRAMES_TEXT = 16384  # bytes

AtEnd = list[Callable[[], None]]


def start_watchers(at_end: AtEnd) -> None:
    """Those that need no more than NOTICES and the entry points; to be called before these are registered.

    `at_end` gets what they do last. Raises OptionError for what cannot be done.
    """
    start_use()
    start_leaks(at_end)
    start_watchdog(at_end)
    start_capture()


@lru_cache(maxsize=1)
def callers() -> Callers:
    """Which call is under way and where it came from, for those who ask for that; made at the first call."""
    from fpgart.watch.callers import MOST_FRAMES, Callers, PythonFrame, python_frames

    array = "uintptr_t[]"

    def host_frames() -> tuple[PythonFrame, ...] | tuple[int, ...]:
        text = ffi.new("char[]", FRAMES_TEXT)
        length = int(lib.fpgart_host_python_frames(text, FRAMES_TEXT, MOST_PYTHON_FRAMES))
        if length:
            return python_frames(bytes(ffi.unpack(text, length)).decode(errors="replace"))
        frames = ffi.new(array, MOST_FRAMES)
        return tuple(ffi.unpack(frames, lib.fpgart_host_frames(frames, MOST_FRAMES)))

    made = Callers(host_frames)
    observe(made.observe)
    return made


def start_use() -> None:
    path = config.USE_FILE.value
    if path:
        from fpgart.watch.use import Use

        try:
            NOTICES.listen(Use(path))
        except OSError as error:
            raise config.OptionError(f"FPGART_USE_FILE={path}: {error.strerror}") from None


def start_leaks(at_end: AtEnd) -> None:
    if config.LEAKS.value or config.TRACK_LEAKS.value:
        from fpgart.watch.leaks import Leaks

        leaks = Leaks(callers())
        NOTICES.listen(leaks)
        at_end.append(lambda: expect_leaks(leaks.suspects(held_objects())))


def start_watchdog(at_end: AtEnd) -> None:
    if config.WATCHDOG.value:
        from fpgart.watch.watchdog import Watchdog

        watchdog = Watchdog(callers(), config.WATCHDOG.value)
        NOTICES.listen(watchdog)
        watchdog.start()
        at_end.append(watchdog.stop)


def start_capture() -> None:
    path = config.CAPTURE.value
    wanted = config.CAPTURE_KERNELS.value
    if path:
        from pathlib import Path

        from fpgart.watch.capture import Capture

        try:
            NOTICES.listen(Capture(Path(path), wanted))
        except OSError as error:
            raise config.OptionError(f"FPGART_CAPTURE={path}: {error.strerror}") from None


def held_objects() -> list[tuple[int, str, object]]:
    """Handle, type and object of all that the host holds."""
    from fpgart.api.fpga import TYPE_NAMES
    from fpgart.api.handles import HELD

    found = [(handle, TYPE_NAMES.get(item.__class__), item) for handle, item in list(HELD.items())]
    return [(handle, name, item) for handle, name, item in found if name]


def expect_leaks(found: list[Suspects]) -> None:
    """Have the C side tell, when the process has ended, which of these are alive even then."""
    things = [(thing, size, number) for number, each in enumerate(found) for thing, size in each.things]
    nouns = [ffi.new("char[]", each.noun.encode(errors="replace")) for each in found]
    makers = [ffi.new("char[]", each.maker.encode(errors="replace")) for each in found]
    target = "" if config.LOG.value == "stderr" else config.LOG.value
    lib.fpgart_leaks_expected(
        len(found),
        ffi.new("char *[]", nouns),
        ffi.new("char *[]", makers),
        len(things),
        ffi.new("uintptr_t[]", [thing for thing, _, _ in things]),
        ffi.new("uint64_t[]", [size for _, size, _ in things]),
        ffi.new("uint32_t[]", [number for _, _, number in things]),
        ffi.new("char[]", target.encode(errors="surrogateescape")),
    )
