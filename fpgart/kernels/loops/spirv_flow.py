# SPDX-License-Identifier: Apache-2.0
"""The control flow of a function of SPIR-V: its loops, and where branches meet again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fpgart.kernels.loops.loop_tree import UncountableError
from fpgart.kernels.spirv_code import FunctionCode

END = 0
"""Stands for the end of a function or of an iteration."""
MOST_BLOCKS = 20_000


@dataclass(slots=True, eq=False)
class FlowLoop:
    """A loop by its blocks."""

    header: int
    latch: int
    blocks: set[int]
    exits: list[tuple[int, int]] = field(default_factory=list)
    """The pairs of blocks within and outside it that a branch connects."""


class Flow:
    """The loops of a function. Raises UncountableError if its control flow is not structured or too large."""

    def __init__(self, function: FunctionCode) -> None:
        if len(function.blocks) > MOST_BLOCKS:
            raise UncountableError(f"more than {MOST_BLOCKS:,} blocks")
        known = function.blocks
        self._targets = {
            label: tuple(target for target in block.targets if target in known) for label, block in known.items()
        }
        self.entry = next(iter(known), END)
        order, back = _search(self.entry, lambda label: self._targets.get(label, ()))
        before: dict[int, list[int]] = {}
        for label in order:
            for target in self._targets.get(label, ()):
                before.setdefault(target, []).append(label)
        loops = [self._loop(latch, header, before) for latch, header in back]
        if len({loop.header for loop in loops}) < len(loops):
            raise UncountableError("a loop has several ends")
        self._innermost: dict[int, FlowLoop] = {}
        for loop in sorted(loops, key=lambda each: -len(each.blocks)):
            self._innermost |= dict.fromkeys(loop.blocks, loop)
            pairs = [(label, target) for label in loop.blocks for target in self._targets.get(label, ())]
            loop.exits = [pair for pair in pairs if pair[1] not in loop.blocks]

    def _loop(self, latch: int, header: int, before: dict[int, list[int]]) -> FlowLoop:
        blocks, waiting = {header}, [latch]
        while waiting:
            label = waiting.pop()
            if label not in blocks:
                blocks.add(label)
                waiting += before.get(label, ())
        if self.entry in blocks and self.entry != header:
            raise UncountableError("goto")
        return FlowLoop(header, latch, blocks)

    def latches(self) -> dict[int, int]:
        """Returns the last block of each loop, by the first."""
        return {loop.header: loop.latch for loop in self._innermost.values()}

    def loop_at(self, label: int, within: FlowLoop | None) -> FlowLoop | None:
        """Returns the loop that begins with a block directly within another loop."""
        loop = self._innermost.get(label)
        return loop if loop is not None and loop is not within and loop.header == label else None

    def is_in(self, label: int, loop: FlowLoop) -> bool:
        """True if no loop within the loop contains the block."""
        return self._innermost.get(label) is loop

    def followers(self, label: int, within: FlowLoop | None) -> tuple[int, ...]:
        """Returns what may follow a block, or the loop that begins there, in an iteration of a loop."""
        inner = self.loop_at(label, within)
        found = tuple(target for _, target in inner.exits) if inner is not None else self._targets.get(label, ())
        if within is None:
            return found or (END,)
        return tuple(each if each in within.blocks and each != within.header else END for each in found) or (END,)

    def meetings(self, start: int, within: FlowLoop | None) -> dict[int, int]:
        """Returns, by block from `start` on, the next one that every way to the end passes."""
        order, back = _search(start, lambda label: self.followers(label, within) if label != END else ())
        if back:
            raise UncountableError("goto")
        depths, found = {END: 0}, {END: END}
        for label in order:
            if label == END:
                continue
            first, *others = self.followers(label, within)
            for other in others:
                while first != other:
                    if depths[first] < depths[other]:
                        other = found[other]
                    else:
                        first = found[first]
            found[label], depths[label] = first, depths[first] + 1
        return found


def _search(start: int, followers: Callable[[int], tuple[int, ...]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Returns the blocks, each behind those that follow it, and the pairs that lead back."""
    order: list[int] = []
    back: list[tuple[int, int]] = []
    open_blocks, seen = {start}, {start}
    stack: list[tuple[int, Iterator[int]]] = [(start, iter(followers(start)))]
    while stack:
        label, rest = stack[-1]
        target = next(rest, None)
        if target is None:
            stack.pop()
            open_blocks.discard(label)
            order.append(label)
        elif target in open_blocks:
            back.append((label, target))
        elif target not in seen:
            seen.add(target)
            open_blocks.add(target)
            stack.append((target, iter(followers(target))))
    return order, list(dict.fromkeys(back))
