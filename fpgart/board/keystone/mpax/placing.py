# SPDX-License-Identifier: Apache-2.0
"""Places pieces in the core's address space."""

from __future__ import annotations

from fpgart.board.keystone.mpax.model import Piece


def has_place(piece: Piece, blocks: list[tuple[int, int]]) -> bool:
    """True if a block is large enough for a piece alone."""
    return any(begin + (piece.begin - begin) % piece.step + piece.size <= end for begin, end in blocks)


def place(pieces: tuple[Piece, ...], blocks: list[tuple[int, int]]) -> list[int] | None:
    """Returns addresses for the pieces, beside each other in the blocks; None if there are none.

    Blocks are filled from their begin: for any order of the pieces in a block, the lowest possible address is as good
    as any. So the orders are tried, the largest piece first.
    """
    order = sorted(range(len(pieces)), key=lambda index: -pieces[index].size)
    places = [0] * len(pieces)
    dead: set[tuple[int, int, int]] = set()
    later = [sum(end - begin for begin, end in blocks[index + 1 :]) for index in range(len(blocks))]

    def fill(block: int, position: int, waiting: int, total: int) -> bool:
        """Place the pieces whose bits are in `waiting`, `total` bytes, from a position in a block on."""
        if not waiting:
            return True
        if block == len(blocks):
            return False
        state = block, position, waiting
        end = blocks[block][1]
        if state in dead or total > end - position + later[block]:
            return False
        for index in order:
            if waiting >> index & 1:
                begin, size, step, _ = pieces[index]
                start = position + (begin - position) % step
                if start + size <= end and fill(block, start + size, waiting ^ 1 << index, total - size):
                    places[index] = start
                    return True
        following = blocks[block + 1][0] if block + 1 < len(blocks) else 0
        if fill(block + 1, following, waiting, total):
            return True
        dead.add(state)
        return False

    if not blocks:
        return None if pieces else []
    total = sum(piece.size for piece in pieces)
    return places if fill(0, blocks[0][0], (1 << len(pieces)) - 1, total) else None
