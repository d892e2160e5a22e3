# SPDX-License-Identifier: Apache-2.0
"""A board in software: its memory is one memfd mapped into this process."""

from __future__ import annotations

import os
import threading

from fpgart._native import lib
from fpgart.board.description import BoardDescription
from fpgart.board.first_fit import round_up
from fpgart.board.mmd import BoardError, Traffic

PAGE = 4096
CALLS = ("write", "read", "copy", "program", "host_alloc", "free")


class SimulatedBoard:
    """An `Mmd` whose DRAM costs host memory only where it has been touched."""

    def __init__(self, description: BoardDescription) -> None:
        self.description = description
        self.traffic = {call: Traffic() for call in CALLS}
        self._written = self.traffic["write"]
        self._read = self.traffic["read"]
        self._copied = self.traffic["copy"]
        self._opening = threading.Lock()
        self._base = 0
        self._size = max(memory.end for memory in description.memories)
        self._host_allocations: dict[int, tuple[int, int]] = {}

    def open(self) -> None:
        with self._opening:
            if self._base:
                return
            descriptor = os.memfd_create(f"fpgart-{self.description.name}", os.MFD_CLOEXEC)
            try:
                os.ftruncate(descriptor, self._size)
                base = int(lib.map_file(descriptor, self._size))
            finally:
                os.close(descriptor)
            if not base:
                raise BoardError(
                    f"{self._size} bytes of address space for the memory of board "
                    f"'{self.description.name}' are not to be had (ulimit -v?)"
                )
            self._base = base

    def close(self) -> None:
        with self._opening:
            if self._base:
                lib.unmap(self._base, self._size)
                self._base = 0

    def write(self, host: int, board: int, size: int) -> None:
        lib.copy_bytes(self._base + board, host, size)
        traffic = self._written
        traffic.calls += 1
        traffic.bytes += size

    def read(self, board: int, host: int, size: int) -> None:
        lib.copy_bytes(host, self._base + board, size)
        traffic = self._read
        traffic.calls += 1
        traffic.bytes += size

    def copy(self, source: int, destination: int, size: int) -> None:
        lib.copy_bytes(self._base + destination, self._base + source, size)
        self._copied.add(size)

    def program(self, image: bytes) -> None:
        self.traffic["program"].add(len(image))

    def host_alloc(self, size: int, alignment: int) -> int:
        length = round_up(size, PAGE) + max(0, alignment - PAGE)
        mapping = int(lib.map_anonymous(length))
        if not mapping:
            return 0
        address = round_up(mapping, max(alignment, 1))
        self._host_allocations[address] = mapping, length
        self.traffic["host_alloc"].add(size)
        return address

    def free(self, host: int) -> None:
        mapping, length = self._host_allocations.pop(host)
        lib.unmap(mapping, length)
        self.traffic["free"].add(0)

    def aperture(self, board: int) -> int:
        return self._base + board
