# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers from and to host memory that a board's DMA engine does not reach."""

from __future__ import annotations

from typing import ClassVar

from fpgart.watch.family import is_fpga
from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found
from fpgart.watch.report.trace_events import Args

LARGE = 64 << 10
"""Bytes of a transfer from which on its host memory is worth a word."""
WORDS = (
    "align the host memory of transfers to 64 bytes (aligned_alloc, or clHostMemAllocINTEL where the board has it): "
    "otherwise the driver of a board copies it first, without its DMA engine"
)
"""One hint for all buffers: where an allocator puts arrays may differ from run to run."""


class TransferAdviser:
    """Takes the events of a trace."""

    CATEGORIES: ClassVar[tuple[str, ...]] = ("fpgart", "mmd")

    def __init__(self, found: Found, costs: Costs) -> None:
        self._found = found
        self._costs = costs
        self._dsps: set[int] = set()
        """Boards without such an engine: the host's processor moves all bytes."""

    def take(self, event: Args) -> None:
        args = event.get("args", {})
        if event.get("cat") == "fpgart" and event["name"] == "board" and not is_fpga(args):
            self._dsps.add(args["device"])
        elif args.get("device") in self._dsps:
            return
        if event.get("cat") == "mmd" and args.get("unaligned") and args["size"] >= LARGE and "buffer" in args:
            cost = self._costs.staging(args["size"])
            site = args.get("site", 0)
            operation = args.get("operation", 0)
            self._found.add(
                WORDS, args["size"], nanoseconds=cost, site=site, noun="staging copy", hint=True, operation=operation
            )

    def finish(self) -> None:
        """All was told transfer by transfer."""
