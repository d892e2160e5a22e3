# SPDX-License-Identifier: Apache-2.0
"""What launches have used that Python took in last: others like them may be for C (runs.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

if TYPE_CHECKING:
    from fpgart.runtime.memory.buffer import Buffer
    from fpgart.runtime.objects.queue import CommandQueue
    from fpgart.runtime.programs.kernel import Kernel


class RunUse(NamedTuple):
    """A buffer, as C knows it, and where the engine has found it as an argument that needs it in a memory."""

    buffer: ref[Buffer]
    handle: int
    serial: int
    location: int
    """As C knows the memories."""
    address: int


class Candidate(NamedTuple):
    """What some launches of a queue have used."""

    queue: ref[CommandQueue]
    kernels: tuple[ref[Kernel], ...]
    uses: tuple[RunUse, ...]


TAKEN_IN: list[Candidate] = []
"""The latest one, until the host has waited for it."""
