# SPDX-License-Identifier: Apache-2.0
"""Bytes from one block to another, on the same board or on two."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns

from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.host_store import HostStore

CHUNK = 8 << 20


def copy_block(source: Block, from_address: int, target: Block, to_address: int, size: int) -> None:
    """Bytes from one block to another: within a board by its own copy, else through the host.

    Through the host it is 8 MiB at a time, one piece being written while the next one is read. The boards work by
    themselves meanwhile, and the caller yields to them.
    """
    if source.device is target.device:
        source.device.mmd.copy(from_address, to_address, size)
        return
    reader, writer = source.device, target.device
    stores = [HostStore(min(size, CHUNK)) for _ in range(min(2, -(-size // CHUNK)))]
    first = partial(reader.mmd.read, from_address, stores[0].address, min(size, CHUNK))
    wait_for_transfers([(reader, reader.start(first))])
    for index, done in enumerate(range(0, size, CHUNK)):
        full, empty = stores[index % len(stores)], stores[(index + 1) % len(stores)]
        piece, following = min(CHUNK, size - done), min(CHUNK, size - done - CHUNK)
        begun = [(writer, writer.start(partial(writer.mmd.write, full.address, to_address + done, piece)))]
        if following > 0:
            address = from_address + done + CHUNK
            begun.append((reader, reader.start(partial(reader.mmd.read, address, empty.address, following))))
        wait_for_transfers(begun)


def wait_for_transfers(begun: list[tuple[Device, int]]) -> None:
    """Yield to the boards, at least once for each transfer, until all have ended.

    Raises what the first one has failed with, but not before.
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
