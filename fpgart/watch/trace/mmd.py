# SPDX-License-Identifier: Apache-2.0
"""Events of calls through the MMD."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any

from fpgart.board.device_address import DeviceAddress
from fpgart.board.mmd import Around, Mmd
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.watch.trace.timeline import Timeline

DMA_ALIGNMENT = 64
"""Bytes: boards' drivers move host memory at other addresses without their DMA engine."""


class TracedMmd(Around):
    """An Mmd with an event around each call that moves bytes, programs, allocates or frees."""

    def __init__(self, mmd: Mmd, device: int, timeline: Timeline, blocks: AddressRegistry[Block]) -> None:
        super().__init__(mmd)
        self._device = device
        self._timeline = timeline
        self._blocks = blocks
        self.open = mmd.open

    @property
    def in_c(self) -> int:
        return self._mmd.in_c  # C carries launches, and moves no bytes while entry points are watched

    def write(self, host: int, board: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.write(host, board, size)
        self._ended("write", begin, size, host, address=board)

    def read(self, board: int, host: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.read(board, host, size)
        self._ended("read", begin, size, host, address=board)

    def copy(self, source: int, destination: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.copy(source, destination, size)
        self._ended("copy", begin, size, address=destination, source_address=source)

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        begin = monotonic_ns()
        self._mmd.program(image, preserve=preserve)
        self._ended("program", begin, len(image))

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        begin = monotonic_ns()
        made = self._mmd.host_alloc(size, alignment, given)
        self._ended("host_alloc", begin, size)
        return made

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        begin = monotonic_ns()
        made = self._mmd.shared_alloc(size, alignment, given)
        self._ended("shared_alloc", begin, size)
        return made

    def free(self, host: int) -> None:
        begin = monotonic_ns()
        self._mmd.free(host)
        self._ended("free", begin, 0)

    def _ended(self, name: str, begin: int, size: int, host: int = 0, **addresses: int) -> None:
        """Writes the event of a call; `addresses` are the board's, under names that end in address."""
        args: dict[str, Any] = {"device": self._device}
        if host % DMA_ALIGNMENT:
            args["unaligned"] = True
        for key, value in addresses.items():
            args[key], args[f"board_{key}"] = hex(DeviceAddress.of(self._device, value)), hex(value)
            block = self._blocks.find(self._mmd.aperture(value))
            if block is not None:
                args["buffer" if key == "address" else "source"] = block.owner
        args["size"] = size
        args |= self._timeline.of_operation() | self._timeline.of_command()
        self._timeline.emit("mmd", f"aocl_mmd_{name}", begin, monotonic_ns() - begin, args)
