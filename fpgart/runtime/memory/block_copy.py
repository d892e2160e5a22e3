# SPDX-License-Identifier: Apache-2.0
"""Copies bytes from one block to another, on the same board or between two."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

from fpgart._native import ffi
from fpgart.base.errors import OutOfHostMemory
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.device import Block, Device

CHUNK = 8 << 20
allocate: Callable[[str, int], object] = ffi.new_allocator(should_clear_after_alloc=False)


def copy_block(source: Block, from_address: int, target: Block, to_address: int, size: int) -> None:
    """Copies bytes from one block to another: on one board by the board itself, between boards through the host.

    Through the host, 8 MiB are written while the next 8 MiB are read. Both boards work asynchronously, and the caller
    yields to them.
    """
    if source.device is target.device:
        source.device.mmd.copy(from_address, to_address, size)
        return
    reader, writer = source.device, target.device
    try:
        stores = [allocate("char[]", min(size, CHUNK)) for _ in range(min(2, -(-size // CHUNK)))]
    except MemoryError:
        raise OutOfHostMemory(f"no host memory for a copy of {size} bytes between boards") from None
    places = [int(ffi.cast("uintptr_t", store)) for store in stores]
    first = reader.start(reader.mmd.read, from_address, places[0], min(size, CHUNK))
    wait_for_transfers([(reader, first)])
    for index, done in enumerate(range(0, size, CHUNK)):
        full, empty = places[index % len(places)], places[(index + 1) % len(places)]
        piece, following = min(CHUNK, size - done), min(CHUNK, size - done - CHUNK)
        begun = [(writer, writer.start(writer.mmd.write, full, to_address + done, piece))]
        if following > 0:
            address = from_address + done + CHUNK
            begun.append((reader, reader.start(reader.mmd.read, address, empty, following)))
        wait_for_transfers(begun)


def wait_for_transfers(begun: list[tuple[Device, int]]) -> None:
    """Yields to the boards, at least once for each transfer, until all transfers have ended.

    Raises the error of the first transfer that failed, after all have ended.
    """
    failure: Exception | None = None
    for device, operation in begun:
        begin, calls, ended = monotonic_ns(), 0, False
        while not ended:
            device.mmd.yield_now()
            calls += 1
            try:
                ended = device.has_ended(operation)
            except Exception as error:
                failure, ended = failure or error, True
        for listener in NOTICES.yielded:
            listener(device, begin, calls)
    if failure is not None:
        try:
            raise failure
        finally:
            failure = None  # or the error and this frame would hold each other, and the buffers with them
