# SPDX-License-Identifier: Apache-2.0
"""Functions that C calls about the commands that it carries (icd/entry/commands.c)."""

from __future__ import annotations

from typing import Any

from _fpgart_icd import ffi

from fpgart.base.errors import error_of
from fpgart.base.log import error as log_error
from fpgart.bridge.handles import HELD, known, seen


def board_idle(handle: int) -> None:
    """Records that no carried command runs on a board that is held."""
    from fpgart.bridge.carrying import BOARDS

    device = HELD[handle]
    device.scheduler.board_idle(BOARDS[device])


def renew(queue: int, kernel: int, count: int, uses: Any) -> int:
    """Updates what C needs for a command, because the epoch of its board has ended. True if C can carry the command."""
    from fpgart.bridge.carrying import renew

    found = ((seen(int(uses[i].buffer)), int(uses[i].at)) for i in range(count))
    buffers = [(buffer, place) for buffer, place in found if buffer is not None]
    return renew(known(queue), known(kernel) if kernel else None, buffers)


def run_handed_over(
    command: int, queue: int, kernel: int, kind: int, address: int, counter: int, count: int, uses: Any
) -> None:
    """Runs a command that C cannot carry, because its board has changed or is held when its turn comes."""
    from fpgart.bridge.handed_over import run_handed_over

    run_handed_over(command, queue, kernel, kind, address, counter, count, uses)


def svm_goes(queue: int, count: int, pointers: Any) -> None:
    """Frees shared virtual memory for a command that C has carried (clEnqueueSVMFree)."""
    from fpgart.bridge import svm

    context = known(queue).context
    for pointer in ffi.unpack(pointers, count):
        svm.free(context, pointer)


def failed(queue_handle: int, kernel_handle: int, status: int, place: int) -> None:
    """Reports the failure of a command. `place`: the argument or step at which the engine refused a launch."""
    from fpgart.engine.launches import launch_failure
    from fpgart.runtime.objects.queue import CommandQueue
    from fpgart.runtime.programs.kernel import Kernel

    queue, kernel = known(queue_handle), known(kernel_handle)
    if isinstance(kernel, Kernel):
        error = launch_failure(kernel.name, place << 32 | int(ffi.cast("uint32_t", status)))
    else:
        error = error_of(status, "the engine could not carry a command out")
    log_error(error)
    if isinstance(queue, CommandQueue):
        queue.context.notify(error)
