# SPDX-License-Identifier: Apache-2.0
"""Starts the watchers that the environment names, and imports no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from _fpgart_icd import ffi, lib

from fpgart.base import config, log
from fpgart.base.notices import NOTICES
from fpgart.base.output_file import open_output

if TYPE_CHECKING:
    from fpgart.watch.leaks import Suspects

AtEnd = list[Callable[[], None]]


def start_watchers(at_end: AtEnd) -> None:
    """Starts those that need only NOTICES and the entry points, which are registered after this call.

    `at_end` gets the functions that they run last. Raises OptionError.
    """
    start_use()
    start_leaks(at_end)
    start_watchdog(at_end)
    start_capture()


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
        from fpgart.bridge.host_calls import callers, places
        from fpgart.watch.leaks import Leaks

        leaks = Leaks(callers(), places())
        NOTICES.listen(leaks)

        def tell() -> None:
            from fpgart.api.fpga import held_objects

            expect_leaks(leaks.suspects(held_objects()))

        at_end.append(tell)


def start_watchdog(at_end: AtEnd) -> None:
    if config.WATCHDOG.value:
        from fpgart.bridge.host_calls import callers, places
        from fpgart.watch.watchdog import Watchdog

        watchdog = Watchdog(callers(), config.WATCHDOG.value, places=places())
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


def opened(path: str, otherwise: int) -> int:
    """Returns a descriptor of a file for the report of leaks; `otherwise` if there is none."""
    try:
        return open_output(path) if path else otherwise
    except OSError as error:
        log.warning(f"{path}: {error.strerror}: leaks are not in it")
        return otherwise


def expect_leaks(found: list[Suspects]) -> None:
    """Lets C report, when the process has ended, which of these objects still exist."""
    import json  # it imports five modules, which few hosts need

    things = [(thing, size, number) for number, each in enumerate(found) for thing, size in each.things]
    nouns = [ffi.new("char[]", each.noun.encode(errors="replace")) for each in found]
    makers = [ffi.new("char[]", each.maker.encode(errors="replace")) for each in found]
    facts = [ffi.new("char[]", json.dumps(leak_facts(each))[1:].encode(errors="replace")) for each in found]
    lib.fpgart_leaks_expected(
        len(found),
        ffi.new("char *[]", nouns),
        ffi.new("char *[]", makers),
        ffi.new("char *[]", facts),
        len(things),
        ffi.new("uintptr_t[]", [thing for thing, _, _ in things]),
        ffi.new("uint64_t[]", [size for _, size, _ in things]),
        ffi.new("uint32_t[]", [number for _, _, number in things]),
        opened(log.file(), 2),
        opened(config.FINDINGS.value, -1),
    )


def leak_facts(suspects: Suspects) -> dict[str, Any]:
    """Returns the facts about a group of objects that the host did not release, in the form of FPGART_FINDINGS."""
    from fpgart.bridge.host_calls import places

    return {
        "check": "leaks",
        "rule": "alive at the end",
        "object": suspects.noun,
        "made_by": suspects.maker.partition(",")[0],
        "misused_by": "the end of the process",
        "words": f"{suspects.noun} was never given back",
        "fix": "release or free it before the program ends",
        **({"made_at": places().facts(suspects.site)} if suspects.site is not None else {}),
    }
