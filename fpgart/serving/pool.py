# SPDX-License-Identifier: Apache-2.0
"""Board processes without a host: they have loaded their engine before a host needs them."""

from __future__ import annotations

import threading

from fpgart._native import lib
from fpgart.base import log
from fpgart.engine.isolated.process import GREETING_S
from fpgart.engine.isolated.spawning import ProcessError, Spawned, spawn
from fpgart.engine.isolated.warming import await_engine, warm_up

REST_S = 1.0
"""Seconds between a host's taking of a process and the start of the next, so that the host has the machine alone."""


class Pool:
    """One process, which is replaced when a host has taken it."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._ready: Spawned | None = None
        self._taken = threading.Event()
        self._taken.set()
        self._closed = threading.Event()

    def start(self) -> None:
        """Starts the thread that keeps a process ready."""
        threading.Thread(target=self._refill, name="fpgart pool", daemon=True).start()

    def take(self) -> Spawned:
        """Returns a process for one host. Raises ProcessError."""
        with self._changing:
            found, self._ready = self._ready, None
            self._taken.set()
        if found is not None and not lib.lane_is_lost(found.life.fileno()):
            return found
        if found is not None:
            found.discard()
        return spawn()

    def close(self) -> None:
        """Starts no further process, and ends the one that is ready."""
        with self._changing:
            self._closed.set()
            found, self._ready = self._ready, None
        self._taken.set()
        if found is not None:
            found.discard()

    def _refill(self) -> None:
        while self._taken.wait() and not self._closed.is_set():
            with self._changing:
                if self._closed.is_set():
                    return
                self._taken.clear()
            try:
                made = warm()
            except ProcessError as error:
                log.note(f"no board process is ready for the next host: {error}")
            else:
                self._keep(made)
                self._taken.wait()
            self._closed.wait(REST_S)

    def _keep(self, made: Spawned) -> None:
        with self._changing:
            if not self._closed.is_set():
                self._ready = made
                self._taken.clear()  # hosts that came before this one was ready have not taken it
                return
        made.discard()


def warm() -> Spawned:
    """Returns a board process that has an engine. Raises ProcessError."""
    made = spawn()
    try:
        warm_up(made)
        await_engine(made, GREETING_S)
    except (TimeoutError, ProcessError) as error:
        made.discard()
        raise ProcessError(f"a board process has no engine: {error}") from None
    return made
