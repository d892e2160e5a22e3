# SPDX-License-Identifier: Apache-2.0
"""Events of the host's calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from time import monotonic_ns
from typing import Any

from fpgart.base import opencl as cl
from fpgart.watch.callers import MAY_WAIT
from fpgart.watch.trace.commands import CommandNumbers
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import Timeline


class HostCalls:
    """An event around each call of an entry point, with the error that it returns."""

    def __init__(self, timeline: Timeline, sites: Sites, commands: CommandNumbers) -> None:
        self._timeline = timeline
        self._sites = sites
        self._commands = commands
        self._failure = threading.local()
        self.write_first: Callable[[], None] = lambda: None
        """Writes the events of launches that C carries."""

    def observe(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the entry point with an event around it."""

        @wraps(function)
        def call(*arguments: Any) -> Any:
            self.write_first()
            begin = monotonic_ns()
            try:
                return function(*arguments)
            finally:
                duration = monotonic_ns() - begin
                self.write_first()
                enqueued = self._commands.enqueued_here()
                args = self._error(name) | enqueued | (self._sites.here() if enqueued or name in MAY_WAIT else {})
                self._timeline.emit("api", name, begin, duration, args)

        return call

    def _error(self, name: str) -> dict[str, Any]:
        """Returns the error of the call that this thread has just made, if it is one of `name`."""
        failure = getattr(self._failure, "words", None)
        if failure is None or failure[0] != name:
            return {}
        self._failure.words = None
        return {"error": failure[1]}

    def finding_told(self, rule: str, facts: dict[str, Any]) -> None:
        """Writes an event for a mistake of the host."""
        self._timeline.mark("finding", rule, facts)

    def call_failed(self, call: str, status: int, words: str) -> None:
        """Keeps the error until the call returns, on the same thread."""
        self._failure.words = call, f"{cl.NAMES_OF_STATUS.get(status, str(status))}: {words}"
