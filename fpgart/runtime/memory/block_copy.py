# SPDX-License-Identifier: Apache-2.0
"""Bytes from one block to another, on the same board or on two."""

from __future__ import annotations

from functools import partial

from fpgart.board.mmd import BoardError
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
    reader.mmd.read(from_address, stores[0].address, min(size, CHUNK))
    for index, done in enumerate(range(0, size, CHUNK)):
        full, empty = stores[index % len(stores)], stores[(index + 1) % len(stores)]
        piece, following = min(CHUNK, size - done), min(CHUNK, size - done - CHUNK)
        begun = [(writer, writer.start(partial(writer.mmd.write, full.address, to_address + done, piece)))]
        if following > 0:
            address = from_address + done + CHUNK
            begun.append((reader, reader.start(partial(reader.mmd.read, address, empty.address, following))))
        wait_for_transfers(begun)


def wait_for_transfers(begun: list[tuple[Device, int]]) -> None:
    """Yield to the boards until all their transfers have ended. Raises the first's BoardError, but not before."""
    failure: BoardError | None = None
    while begun:
        for device, operation in list(begun):
            try:
                if not device.has_ended(operation):
                    device.mmd.yield_now()
                    continue
            except BoardError as error:
                failure = failure or error
            begun.remove((device, operation))
    if failure is not None:
        try:
            raise failure
        finally:
            failure = None  # or the error and this frame would hold each other, and the buffers with them
