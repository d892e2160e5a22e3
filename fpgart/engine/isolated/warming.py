# SPDX-License-Identifier: Apache-2.0
"""The loading of a board process's engine before the first message."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.spawning import ProcessError, Spawned


def modules() -> tuple[str, ...]:
    """Returns the folders in which this process finds packages: engines are in some of them."""
    return tuple(entry for entry in sys.path if entry and os.path.isabs(entry))


def warm_up(spawned: Spawned) -> None:
    """Makes it load its engine, without waiting. If it has died, the first message finds out."""
    with suppress(OSError):
        m.send(spawned.session, m.WarmUp(modules()))
    spawned.is_warming = True


def await_engine(spawned: Spawned, patience_s: float) -> None:
    """Waits until it has loaded its engine, if it was told to. Raises TimeoutError; ProcessError if it has died."""
    if not spawned.is_warming:
        return
    spawned.session.settimeout(patience_s)
    try:
        answer = m.receive(spawned.session)
    except TimeoutError:
        raise
    except (OSError, ProtocolError) as error:
        raise ProcessError(str(error)) from None
    if not isinstance(answer, m.Done):
        raise ProcessError("it ended before it had an engine")
    spawned.session.settimeout(None)
    spawned.is_warming = False
