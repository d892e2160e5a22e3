# SPDX-License-Identifier: Apache-2.0
"""Enqueues the launches that C has recorded; every call into Python does so first.

The driver's keeper does it periodically. Its modules are imported when a host first repeats a launch.
"""

from __future__ import annotations

from _fpgart_icd import lib


def take_in(*, by_keeper: bool = False) -> None:
    """Enqueue what was recorded."""
    if lib.fpgart_any_launches():
        from fpgart.api.launches import enqueue_recorded

        enqueue_recorded(by_keeper=by_keeper)


PATIENCE_NS = 200_000
"""How long launches wait for a call of the host before the keeper takes them in: hosts that wait for each few would
otherwise meet it there."""


class Recorder:
    """What the keeper knows of launches that are recorded."""

    def __init__(self) -> None:
        self._all = False
        """Whether the keeper is about to rest: then it takes in young ones, too."""

    def take_in(self) -> None:
        """Enqueue them, and have somebody see to the events that were released among them."""
        if self._all:
            take_in()
        elif lib.fpgart_launches_wait_for(PATIENCE_NS):
            take_in(by_keeper=True)
        lib.fpgart_wake_reaper()

    def tended(self, flag: bool) -> bool:
        """The keeper looks from now on, or no more. Whether something is recorded."""
        lib.fpgart_launches_tended(flag)
        self._all = not flag
        return bool(lib.fpgart_any_launches())
