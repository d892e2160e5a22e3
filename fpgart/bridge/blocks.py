# SPDX-License-Identifier: Apache-2.0
"""Blocks of a board's memory that C gives to the buffers that it creates (icd/entry/blocks.c)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from _fpgart_icd import lib

from fpgart.base.notices import NOTICES

if TYPE_CHECKING:
    from fpgart.runtime.memory.device import Block, Device

MOST_SIZES = 64
"""The number of sizes that are remembered."""


class Spares:
    """The blocks of one board that C has, by their addresses: spare ones, and those of buffers that C created."""

    __slots__ = ("_board", "_device", "_sizes", "blocks")

    def __init__(self, device: Device, board: int) -> None:
        self._device = device
        self._board = board
        self._sizes: OrderedDict[int, None] = OrderedDict()
        self.blocks: dict[int, Block] = {}

    def keep(self, block: Block, locations: int) -> bool:
        """Gives C a spare block if the size of `block` has come before. Returns False if it has not.

        `block` is freed, and C gets the range that first fit returns for that size. `locations`: the memories that it
        counts for.
        """
        device, size = self._device, block.range.size
        if not block.address or NOTICES.block_reserved or NOTICES.block_freed or not self._recurs(size):
            return False
        device.give_back(block)
        again = device.allocate_beside_spares(size, None, 0, block.owner)
        if again is None or again.range != block.range:
            self.changed()
        if again is None:  # another thread has allocated it
            return True
        self.blocks[again.address] = again
        if not lib.fpgart_block_spare(self._board, again.address, size, again.pointer, locations):
            self.take(again.address).release()
        return True

    def _recurs(self, size: int) -> bool:
        if size in self._sizes:
            self._sizes.move_to_end(size)
            return True
        self._sizes[size] = None
        if len(self._sizes) > MOST_SIZES:
            self._sizes.popitem(last=False)
        return False

    def changed(self) -> None:
        """Tells C that memory was freed: first fit may return other ranges than the spare ones."""
        lib.fpgart_memory_changed(self._board)

    def take(self, address: int) -> Block:
        """Returns a block that C has given up."""
        return self.blocks.pop(address)

    def free(self, size: int) -> None:
        """Frees the block that first fit would return for `size`; if none is, or for 0, all that no buffer has."""
        if size and (address := int(lib.fpgart_take_spare(self._board, size))):
            self._device.give_back(self.take(address))
            return
        while address := int(lib.fpgart_take_spare(self._board, 0)):
            self.take(address).release()
