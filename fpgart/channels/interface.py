# SPDX-License-Identifier: Apache-2.0
"""The channels and program-scope variables of a programmed board, as the runtime uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fpgart.base.named_tuples import NamedTuple

if TYPE_CHECKING:
    from fpgart.channels.links import Links


class Channel(Protocol):
    """A channel of a program, which the host has one end of."""

    @property
    def packet(self) -> int:
        """Bytes of a packet."""

    def read(self, address: int, wait_ms: int = 0) -> bool:
        """Move one packet to the host's memory; False if there was none for so long."""

    def write(self, address: int, wait_ms: int = 0) -> bool:
        """Move one packet from the host's memory; False if there was no room for so long."""


class Variable(Protocol):
    """A program-scope variable."""

    @property
    def size(self) -> int:
        """In bytes."""

    def read(self, offset: int, address: int, size: int) -> None:
        """Copy a range of it to the host's memory."""

    def write(self, offset: int, address: int, size: int) -> None:
        """Copy from the host's memory to a range of it."""


class Stall(NamedTuple):
    """A kernel waited for a channel, in nanoseconds of the monotonic clock."""

    kernel: str
    writing: bool
    begin: int
    end: int


class History(NamedTuple):
    """What is remembered of a channel while it is watched; the more happens, the coarser."""

    name: str
    capacity: int
    levels: list[tuple[int, int]]
    """When, in nanoseconds of the monotonic clock, it held how many packets."""
    stalls: list[Stall]


class KernelNetwork(Protocol):
    """What the kernels of a program share on one board."""

    stopped: bool
    began: int
    """When, in nanoseconds of the monotonic clock."""
    autorun: dict[str, int]
    """The kernels that run by themselves, and how many of each."""
    links: Links
    """The cables that its I/O channels lead into."""

    def history(self) -> list[History]:
        """What happened to each channel since the last call, while channels were watched."""

    def stop(self) -> None:
        """Every kernel in it leaves, at once or with its next word to another."""

    def channel(self, name: str) -> Channel | None:
        """None for a name that no kernel has used yet."""

    def variable(self, name: str) -> Variable | None:
        """None for a name that no kernel has used yet."""
