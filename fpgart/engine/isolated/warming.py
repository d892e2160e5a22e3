# SPDX-License-Identifier: Apache-2.0
"""Having a board process load its engine before it is greeted."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.spawning import ProcessError, Spawned


def modules() -> tuple[str, ...]:
    """Where this process finds packages: engines are in some of them."""
    return tuple(entry for entry in sys.path if entry and os.path.isabs(entry))


def warm_up(spawned: Spawned) -> None:
    """Have it begin, without waiting for it. One that has died meanwhile is noticed when it is greeted."""
    if not spawned.is_warming:
        with suppress(OSError):
            m.send(spawned.session, m.WarmUp(modules()))
        spawned.is_warming = True


def await_engine(spawned: Spawned, patience_s: float) -> None:
    """Until it has one, if it was told to. Raises TimeoutError; ProcessError when it has died."""
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
