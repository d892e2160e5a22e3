# SPDX-License-Identifier: Apache-2.0
"""Runs a step of a command; an error becomes the status of the command's event."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fpgart.base import log
from fpgart.base.errors import CLError, OutOfResources, without_frames
from fpgart.board.mmd import BoardError
from fpgart.runtime.scheduling.event import COMPLETE, Event

T = TypeVar("T")


def attempt(event: Event, act: Callable[[], T]) -> tuple[int, T | None]:
    """Runs a step of a command. Returns CL_COMPLETE and the result, or the status of the error that was raised."""
    try:
        return COMPLETE, act()
    except CLError as error:
        tell_failure(event, without_frames(error))
        return error.status, None
    except BoardError as error:
        tell_failure(event, OutOfResources(str(error)))
    except BaseException:
        log.bug("a command failed")
    return OutOfResources.status, None


def tell_failure(event: Event, error: CLError) -> None:
    log.error(error)
    event.context.notify(error)
