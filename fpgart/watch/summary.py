# SPDX-License-Identifier: Apache-2.0
"""A summary of all movements in words, at the end of a process (FPGART_SUMMARY)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import monotonic_ns

from fpgart.base.output_file import append
from fpgart.base.sizes import in_words
from fpgart.board.faults import FAULTS
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.objects.platform import Platform
from fpgart.watch.family import MMD, movement
from fpgart.watch.trace.memory import block_facts
from fpgart.watch.words import place_in_words, times

MOST_BLOCKS = 64


@dataclass(slots=True)
class _Life:
    """A block that was reserved; `freed` once it was freed."""

    device: Device
    words: str
    freed: bool = False


class Summary:
    """Listens to NOTICES and keeps the first blocks that were reserved."""

    def __init__(self) -> None:
        self._lives: list[_Life] = []
        self._live: dict[int, _Life] = {}
        self._more = 0

    def block_reserved(self, block: Block) -> None:
        if len(self._lives) == MOST_BLOCKS:
            self._more += 1
            return
        device = block.device
        bank = f", {place_in_words(block_facts(block))}" if device.board.is_fpga else ""
        what = f"buffer {block.owner}" if block.owner else "memory of the host"
        what = "program" if block.program else what
        place = f"({device.memories.name_of(block.memory)}{bank})"
        life = _Life(device, f"{what} of {in_words(block.range.size)} at {block.device_address:#x} {place}")
        self._lives.append(life)
        self._live[id(block)] = life

    def block_freed(self, block: Block) -> None:
        life = self._live.pop(id(block), None)
        if life is not None:
            life.freed = True

    def describe(self, platform: Platform) -> str:
        lines = ["what moved where"]
        for device in platform.devices:
            lines += self._device_lines(device)
        for fault in FAULTS.active:
            lines.append(f"fault '{fault.rule.text}': {fault.injected} of {fault.seen} calls")
        if self._more:
            lines.append(f"and {self._more} more buffers")
        lines.append(f"time from loading to the end: {(monotonic_ns() - platform.started_ns) / 1e6:.1f} ms")
        return "\n".join(lines) + "\n"

    def _device_lines(self, device: Device) -> list[str]:
        board = device.board
        lines = [f"device {device.id}: board '{board.name}', {in_words(board.global_size)} of memory"]
        lives = [life for life in self._lives if life.device is device]
        lines += [f"  {life.words}, {'freed' if life.freed else 'held to the end'}" for life in lives]
        if not lives:
            lines.append("  no buffer was ever placed on it")
        for call, traffic in device.mmd.traffic.items():
            if traffic.calls:
                what = movement(f"{MMD}{call}", fpga=board.is_fpga)
                lines.append(f"  {what}: {times(traffic.calls, 'call')}, {in_words(traffic.bytes)}")
        if device.kernels_run:
            lines.append(f"  kernels: {times(device.kernels_run, 'launch')}")
        return lines

    def write(self, platform: Platform, target: str) -> None:
        """Appends the summary to a file, or writes it to stderr."""
        data = self.describe(platform).encode()
        if target == "stderr":
            os.write(2, data)
        else:
            append(target, data)
