# SPDX-License-Identifier: Apache-2.0
"""The present activity of this process's boards, for `fpgart top` and other clients (FPGART_LIVE)."""

from __future__ import annotations

import os
from time import monotonic_ns
from typing import Any

from fpgart.bridge.carrying import count_launches, kernel_time
from fpgart.bridge.handles import alive, view_all
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.platform import Platform
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import RUNNING, Event
from fpgart.watch.live import Snapshot
from fpgart.watch.watchdog import command_words

MOST_COMMANDS = 8
"""The most commands under way that are reported of a queue."""


def describe(platform: Platform) -> Snapshot:
    """Returns all boards, with their memories and queues, as JSON has it; times of the monotonic clock."""
    view_all("CommandQueue")
    count_launches()
    now_ns = monotonic_ns()
    return {
        "process": os.getpid(),
        "now_ns": now_ns,
        "started_ns": platform.started_ns,
        "devices": [_device(device, now_ns) for device in platform.devices],
        "queues": [_queue(queue) for context in alive(Context) for queue in context.queues.all() if _is_hosts(queue)],
    }


def _is_hosts(queue: object) -> bool:
    return isinstance(queue, CommandQueue) and bool(queue.handle)


def _device(device: Device, now_ns: int) -> dict[str, Any]:
    return {
        "device": device.id,
        "board": device.board.name,
        "memories": _memories(device),
        "traffic": {name: [made.calls, made.bytes] for name, made in list(device.mmd.traffic.items())},
        "kernels_run": device.kernels_run,
        "kernel_ns": kernel_time(device, now_ns),
    }


def _memories(device: Device) -> list[dict[str, Any]]:
    """Returns the bytes in use in each memory, and in each of its banks if these are separate."""
    found = []
    for index, memory in enumerate(device.board.memories):
        if not memory.is_device_private:
            continue
        blocks = [block for block in device.blocks() if block.memory == index]
        separate = memory.banks > 1 and not memory.interleaved
        banks = [0] * (memory.banks if separate else 1)
        for block in blocks:
            banks[min(block.banks[0], len(banks)) - 1] += block.range.size
        found.append({"name": memory.name, "size": memory.size, "banks": banks, "blocks": len(blocks)})
    return found


def _queue(queue: Any) -> dict[str, Any]:
    commands = list(queue.open)
    running = [event for event in commands if event.status == RUNNING]
    return {
        "queue": queue.number,
        "device": queue.device.id,
        "in_order": queue.in_order,
        "waiting": len(commands) - len(running),
        "running": [_running(event) for event in running[:MOST_COMMANDS]],
    }


def _running(event: Event) -> dict[str, Any]:
    return {"command": command_words(event), "for_ns": monotonic_ns() - event.start_ns}
