# SPDX-License-Identifier: Apache-2.0
"""The costs of movements, launches and programming on the described boards, by the model of time (docs/time.md).

The board's figures are in the trace; in traces of older versions they are not, and all costs are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from fpgart.watch.family import is_fpga
from fpgart.watch.report.trace_events import Args

SECOND = 1_000_000_000
STAGING_RATE = 4_000_000_000
"""Bytes per second at which a driver copies host memory that its DMA engine cannot reach: assumed, not measured."""


@dataclass(slots=True)
class Costs:
    """Costs in nanoseconds, from the facts of a whole trace."""

    CATEGORIES: ClassVar = frozenset(("fpgart", "buffer", "usm", "time"))
    _timing: dict[int, dict[str, int]] = field(default_factory=dict)
    _rates: dict[int, dict[str, int]] = field(default_factory=dict)
    dsps: set[int] = field(default_factory=set)
    """Devices whose board is no FPGA board."""
    _sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of each buffer and allocation."""
    _kernels: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """By device and kernel, the number and the sum of its times in the simulated clock, if the trace has that."""
    _transfers: dict[tuple[int, int], int] = field(default_factory=dict)
    """The costs by device and size, kept because many transfers are equal."""
    _last: tuple[Args | None, int] = (None, 0)
    """The last launch whose cost was requested, and that cost, because several advisers request it."""
    _by_shape: dict[tuple[object, ...], int] = field(default_factory=dict)
    """The costs of launches without a known time, kept because many are equal."""

    def take(self, event: Args) -> None:
        category, args = event.get("cat"), event.get("args", {})
        if category == "fpgart" and event["name"] == "board":
            self._timing[args["device"]] = args.get("timing", {})
            rates = {m["name"]: m.get("rate" if m["interleaved"] else "bank_rate", 0) for m in args["memories"]}
            self._rates[args["device"]] = rates
            if not is_fpga(args):
                self.dsps.add(args["device"])
        elif category in ("buffer", "usm") and "size" in args:
            self._sizes[args.get("buffer", args.get("allocation"))] = args["size"]
        elif category == "time" and "kernel" in args:
            key = args["device"], args["kernel"]
            count, total = self._kernels.get(key, (0, 0))
            self._kernels[key] = count + 1, total + args["end"] - args["begin"]

    def _of(self, device: int, name: str) -> int:
        return self._timing.get(device, {}).get(name, 0)

    def _rate(self, device: int) -> int:
        """Returns the bytes per second of a board's default memory."""
        return next(iter(self._rates.get(device, {}).values()), 0)

    def size(self, number: int) -> int:
        return self._sizes.get(number, 0)

    def transfer(self, device: int, size: int) -> int:
        """Returns the cost of one MMD call between host and board."""
        cost = self._transfers.get((device, size))
        if cost is None:
            rate = self._of(device, "link") or self._rate(device)
            cost = self._calls(device, size) + (-(-size * SECOND // rate) if rate else 0)
            self._transfers[device, size] = cost
        return cost

    def copy(self, device: int, size: int) -> int:
        """Returns the cost of a copy within a board."""
        rate = self._rate(device)
        return self._calls(device, size) + (-(-2 * size * SECOND // rate) if rate else 0)

    def staging(self, size: int) -> int:
        """Returns the cost of a copy by the host into memory that a DMA engine reaches."""
        return -(-size * SECOND // STAGING_RATE)

    def _calls(self, device: int, size: int) -> int:
        block = self._of(device, "dma_block")
        blocks = -(-size // block) if block else 0
        return self._of(device, "mmd_latency") + blocks * self._of(device, "dma_latency")

    def programming(self, device: int) -> int:
        return self._of(device, "programming")

    def launch(self, device: int) -> int:
        """Returns the cost of a launch without its kernel."""
        return self._of(device, "launch_latency")

    def kernel(self, args: Args) -> int:
        """Returns the cost of a launch's kernel: its average in the simulated clock, else a cycle per work-item."""
        if self._last[0] is not args:
            self._last = args, self._kernel(args)
        return self._last[1]

    def _kernel(self, args: Args) -> int:
        known = self._kernels.get((args["device"], args["kernel"]))
        if known:
            count, total = known
            return total // count
        buffers, allocations = _used(args)
        shape = args["device"], tuple(args.get("global", (1,))), tuple(buffers), tuple(allocations)
        cost = self._by_shape.get(shape)
        if cost is None:
            cost = self._by_shape[shape] = max(self.pipeline(args), self._streaming(args))
        return cost

    def pipeline(self, args: Args) -> int:
        clock = self._of(args["device"], "kernel_clock")
        return -(-prod(args.get("global", (1,))) * 1000 // clock) if clock else 0

    def _streaming(self, args: Args) -> int:
        """Returns the time to move each byte of the buffers once through the board's default memory."""
        rate = self._rate(args["device"])
        buffers, allocations = _used(args)
        moved = sum(self.size(number) for number in {*buffers, *allocations})
        return -(-moved * SECOND // rate) if rate else 0


def _used(args: Args) -> tuple[Sequence[int], Sequence[int]]:
    return args.get("buffers", ()), args.get("allocations", ())
