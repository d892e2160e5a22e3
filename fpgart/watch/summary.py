# SPDX-License-Identifier: Apache-2.0
"""What moved where, in words, at the end of a process (FPGART_SUMMARY)."""

from __future__ import annotations

import os
from time import monotonic_ns

from fpgart.runtime.device import Device
from fpgart.runtime.platform import Platform

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def in_words(size: int) -> str:
    """A number of bytes as a person would say it."""
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def _device_lines(device: Device) -> list[str]:
    board = device.board
    lines = [f"device {device.id}: board '{board.name}', {in_words(board.global_size)} of memory"]
    for record in device.history:
        ended = "freed" if record.freed else "held to the end"
        lines.append(
            f"  buffer of {in_words(record.size)} at {record.address:#x} ({record.memory}, bank {record.bank}), {ended}"
        )
    if device.forgotten:
        lines.append(f"  and {device.forgotten} more buffers")
    if not device.history:
        lines.append("  no buffer was ever placed on it")
    for call, traffic in device.mmd.traffic.items():
        if traffic.calls:
            lines.append(f"  aocl_mmd_{call}: {traffic.calls} calls, {in_words(traffic.bytes)}")
    if device.kernels_run:
        lines.append(f"  kernels: {device.kernels_run} launches, {device.kernel_ns / 1e6:.3f} ms")
    return lines


def describe(platform: Platform) -> str:
    """The summary of all devices."""
    lines = ["what moved where"]
    for device in platform.devices:
        lines += _device_lines(device)
    lines.append(f"time from loading to the end: {(monotonic_ns() - platform.started_ns) / 1e6:.1f} ms")
    return "\n".join(lines) + "\n"


def write_summary(platform: Platform, target: str) -> None:
    """Append the summary to a file, or write it to stderr."""
    data = describe(platform).encode()
    if target == "stderr":
        os.write(2, data)
        return
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
