# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers from and to host memory that a board's DMA engine does not reach."""

from __future__ import annotations

from fpgart.watch.report.found import EventTaker
from fpgart.watch.report.trace_events import Args, Takes

LARGE = 64 << 10
"""The least bytes of a transfer that advice reports."""
WORDS = (
    "align the host memory of transfers to 64 bytes (aligned_alloc, or clHostMemAllocINTEL where the board has it): "
    "otherwise the driver of a board copies it first, without its DMA engine"
)
"""One hint for all buffers: where an allocator puts arrays may differ from run to run."""


class TransferAdviser(EventTaker):
    def takes(self) -> Takes:
        return {"mmd": self._moved}

    def _moved(self, event: Args) -> None:
        args = event["args"]
        has_dma = args["device"] not in self._costs.dsps  # on a DSP the host's processor moves all bytes
        if args.get("unaligned") and args["size"] >= LARGE and "buffer" in args and has_dma:
            cost = self._costs.staging(args["size"])
            self._found.add(WORDS, args["size"], nanoseconds=cost, args=args, noun="staging copy", hint=True)
