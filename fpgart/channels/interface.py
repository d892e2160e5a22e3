# SPDX-License-Identifier: Apache-2.0
"""The channels and program-scope variables of a programmed board, as the runtime uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fpgart.base.named_tuples import NamedTuple

if TYPE_CHECKING:
    from fpgart.channels.links import Links


class Channel(Protocol):
    """A channel of a program; the host has one end."""

    @property
    def packet(self) -> int:
        """The bytes of a packet."""

    def read(self, address: int, wait_ms: int = 0) -> bool:
        """Moves one packet to the host's memory; false if there was none for `wait_ms`."""

    def write(self, address: int, wait_ms: int = 0) -> bool:
        """Moves one packet from the host's memory; false if there was no room for `wait_ms`."""


class Variable(Protocol):
    @property
    def size(self) -> int:
        """The size in bytes."""

    def read(self, offset: int, address: int, size: int) -> None:
        """Copies a range of the variable to the host's memory."""

    def write(self, offset: int, address: int, size: int) -> None:
        """Copies from the host's memory to a range of the variable."""


class Stall(NamedTuple):
    """The time that a kernel waited for a channel, in nanoseconds of the monotonic clock."""

    kernel: str
    writing: bool
    begin: int
    end: int


class History(NamedTuple):
    """The levels and stalls of a channel while it was watched; coarser if there are many."""

    name: str
    capacity: int
    levels: list[tuple[int, int]]
    """The number of packets in the channel, by time in nanoseconds of the monotonic clock."""
    stalls: list[Stall]


class KernelNetwork(Protocol):
    """The channels and variables that the kernels of a program share on one board."""

    stopped: bool
    began: int
    """The begin, in nanoseconds of the monotonic clock."""
    autorun: dict[str, int]
    """The autorun kernels, and the number of each."""
    links: Links
    """The cables of its I/O channels."""

    def history(self) -> list[History]:
        """Returns the history of each channel since the last call, while channels were watched."""

    def stop(self) -> None:
        """Makes every kernel of the network end, at once or at its next channel operation."""

    def channel(self, name: str) -> Channel | None:
        """Returns a channel; None for a name that no kernel has used yet."""

    def variable(self, name: str) -> Variable | None:
        """Returns a variable; None for a name that no kernel has used yet."""
