# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers from and to host memory that a board's DMA engine does not reach."""

from __future__ import annotations

from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import THE_BUFFER, Found
from fpgart.watch.report.trace_events import Args

LARGE = 64 << 10
"""Bytes of a transfer from which on its host memory is worth a word."""
WORDS = (
    f"align the host memory of transfers of {THE_BUFFER} to 64 bytes (aligned_alloc, or clHostMemAllocINTEL where "
    "the board has it): otherwise the driver of a board copies it first, without its DMA engine"
)


class TransferAdviser:
    """Takes the events of a trace."""

    def __init__(self, found: Found, costs: Costs) -> None:
        self._found = found
        self._costs = costs

    def take(self, event: Args) -> None:
        args = event.get("args", {})
        if event.get("cat") == "mmd" and args.get("unaligned") and args["size"] >= LARGE and "buffer" in args:
            cost = self._costs.staging(args["size"])
            self._found.add(
                WORDS, args["size"], (args["buffer"],), nanoseconds=cost, site=args.get("site", 0), noun="staging copy"
            )

    def finish(self) -> None:
        """All was told transfer by transfer."""
