# SPDX-License-Identifier: Apache-2.0
"""The contexts of commands."""

from __future__ import annotations

from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import Event


def context_of(event: Event) -> Context:
    """Returns the context of a command or user event. Events themselves declare only the scheduler's part of it."""
    context = event.context
    assert isinstance(context, Context)
    return context
