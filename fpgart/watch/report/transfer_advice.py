# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers from and to host memory that a board's DMA engine does not reach."""

from __future__ import annotations

from dataclasses import dataclass, field

from fpgart.watch.family import is_fpga
from fpgart.watch.report.found import EventTaker
from fpgart.watch.report.trace_events import Args, Takes

LARGE = 64 << 10
"""The least bytes of a transfer that advice reports."""
WORDS = (
    "align the host memory of transfers to 64 bytes (aligned_alloc, or clHostMemAllocINTEL where the board has it): "
    "otherwise the driver of a board copies it first, without its DMA engine"
)
"""One hint for all buffers: where an allocator puts arrays may differ from run to run."""


@dataclass(slots=True)
class TransferAdviser(EventTaker):
    _dsps: set[int] = field(default_factory=set)
    """Boards without a DMA engine: the host's processor moves all bytes."""

    def takes(self) -> Takes:
        return {"fpgart board": self._board, "mmd": self._moved}

    def _board(self, event: Args) -> None:
        if not is_fpga(event["args"]):
            self._dsps.add(event["args"]["device"])

    def _moved(self, event: Args) -> None:
        args = event["args"]
        if args.get("unaligned") and args["size"] >= LARGE and "buffer" in args and args["device"] not in self._dsps:
            cost = self._costs.staging(args["size"])
            self._found.add(WORDS, args["size"], nanoseconds=cost, args=args, noun="staging copy", hint=True)
