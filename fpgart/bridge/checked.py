# SPDX-License-Identifier: Apache-2.0
"""The launches that C carries while checks are on.

Checks of order need what C notes of a launch when it is enqueued. C checks the marks around its buffers in the engine's
queue, in front of the next kernel (fpgart/check/pages/marks.c). Python runs launches for which a check has to prepare
something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from _fpgart_icd import lib

from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.base.notices import NOTICES
from fpgart.bridge.watched import NOTES, LaunchWatcher, Run, launch_of, place_of
from fpgart.check.findings import CheckPart
from fpgart.check.words import CALLS
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Site


class CheckedLaunches(LaunchWatcher):
    """Gives notices of launches that C carries. Listens to others, in front of the parts of checks."""

    def __init__(self) -> None:
        self._parts: list[CheckPart] = []

    def check_with(self, parts: Iterable[CheckPart], *, marks: bool) -> None:
        """Lets C carry launches that no part has to prepare. `marks`: blocks have marks."""
        self._parts = list(parts)
        around = int(native_ffi.cast("uintptr_t", native_ffi.addressof(native, "marks_around"))) if marks else 0
        NOTES.tell(self, lib.FPGART_CHECKED, around)

    def observe(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns an entry point that reads first what was enqueued before its call."""

        @wraps(function)
        def call(*arguments: Any) -> Any:
            NOTES.read()
            return function(*arguments)

        return call

    def prepares(self, device: Device, kernel: Kernel) -> bool:
        engine = device.platform.engine_in_use
        in_this_process = engine is not None and engine.memory is None  # else nothing looks at marks around a launch
        return not in_this_process or any(part.prepares(kernel) for part in self._parts)

    # Notices

    def end_observed(self, event: Event) -> None:
        NOTES.read()

    def queue_drained(self, queue: CommandQueue) -> None:
        NOTES.read()

    def region_mapped(self, buffer: Buffer, pointer: int, offset: int, size: int, flags: int) -> None:
        """Makes C ask again whether a launch has to be prepared."""
        for device in buffer.context.devices:
            device.epoch_ended()

    # Notes

    def called(self, runs: list[Run]) -> None:
        for launches, count in runs:
            ran = launch_of(launches[0])
            for listener in NOTICES.launches_carried:
                listener(ran.queue, ran.launch, site_of(launches[0]), count)

    def ended(self, runs: list[Run]) -> None:
        for launches, count in runs:
            if launches[0].wrote_beside:
                for index in range(count):
                    self._tell_of_marks(launches[index])

    def _tell_of_marks(self, launch: Any) -> None:
        ran, checked = launch_of(launch), native_ffi.cast("struct checked *", launch.checked)
        for index in range(checked.count):
            block = checked.blocks[index]
            if block.past >= 0 or block.before:
                of_block = int(block.begin), int(block.past), int(block.before)
                for listener in NOTICES.wrote_beside:
                    listener(ran.queue, ran.launch, site_of(launch), *of_block)


def site_of(launch: Any) -> Site:
    """Returns the place of the call that enqueued a launch."""
    kind, frames = place_of(launch)
    return Site(CALLS[kind], frames)
