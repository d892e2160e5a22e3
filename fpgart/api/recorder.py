# SPDX-License-Identifier: Apache-2.0
"""Enqueues the launches that C has recorded; every call into Python does so first.

The driver's keeper does it periodically. Its modules are imported when a host first repeats a launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from _fpgart_icd import lib

if TYPE_CHECKING:
    from fpgart.runtime.scheduling.scheduler import Scheduler


def take_in(*, by_keeper: bool = False) -> None:
    """Enqueue what was recorded."""
    if lib.fpgart_any_launches():
        from fpgart.api.launches import enqueue_recorded

        enqueue_recorded(by_keeper=by_keeper)


def take_in_queue(queue: int) -> bool:
    """Enqueue what was recorded of one queue, and have it begin, while its host goes on recording."""
    from fpgart.api.launches import enqueue_recorded

    enqueue_recorded(by_keeper=True, only=queue)
    return True


def ended_parent(queue: int) -> int:
    """An event that has ended, for those of launches that C has had run (runs.py)."""
    from fpgart.api import runs

    return runs.ended_parent(queue)


def run_failed(queue: int, launches: int, outcomes: int) -> None:
    """Launches that C has had run did not all go well (runs.py)."""
    from fpgart.api import runs

    runs.run_failed(queue, launches, outcomes)


PATIENCE_NS = 200_000
"""How long launches wait for a call of the host before the keeper takes them in: hosts that wait for each few would
otherwise meet it there."""


class Recorder:
    """What the keeper knows of launches that are recorded."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._all = False
        """Whether the keeper is about to rest: then it takes in young ones, too."""
        self._hurried = False
        """Whether a thread of the host wants it to do so."""

    def hurry_keeper(self) -> bool:
        """Have the keeper take in what is recorded, however young it is; False if there is no keeper."""
        self._hurried = True
        return self._scheduler.look_for_recorded()

    def take_in(self) -> None:
        """Enqueue them, and have somebody see to the events that were released among them."""
        if self._hurried or self._all or lib.fpgart_launches_wait_for(PATIENCE_NS):
            self._hurried = False
            take_in(by_keeper=True)
        lib.fpgart_wake_reaper()

    def tended(self, flag: bool) -> bool:
        """The keeper looks from now on, or no more. Whether something is recorded."""
        lib.fpgart_launches_tended(flag)
        self._all = not flag
        return bool(lib.fpgart_any_launches())
