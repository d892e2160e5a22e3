# SPDX-License-Identifier: Apache-2.0
"""The contexts of commands, with what they know of memory."""

from __future__ import annotations

from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event


def context_of(event: Event) -> Context:
    """The context of a command or user event, of which events themselves know but the scheduler's side."""
    context = event.context
    assert isinstance(context, Context)
    return context
