# SPDX-License-Identifier: Apache-2.0
"""The ends of cables between boards (channels/links.c), to which I/O channels of a `Network` may lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fpgart._native import ffi, lib
from fpgart.base.errors import OutOfResources
from fpgart.base.named_tuples import NamedTuple

WORDS_BYTES = 1024
MOST_USES = 16


class Link:
    """The writing or reading end of one direction of a cable; the other end is in another process, or in this one."""

    __slots__ = ("cable", "handle", "writing")

    def __init__(self, path: str, cable: str, depth: int, patience_s: float, *, writing: bool) -> None:
        """Opens an end of the ring in the file `path`, which both ends name. Raises OutOfResources if it is in use."""
        words = ffi.new("char[]", WORDS_BYTES)
        milliseconds = int(patience_s * 1000)
        handle = lib.link_open(path.encode(), cable.encode(), writing, depth, milliseconds, words, WORDS_BYTES)
        if handle == ffi.NULL:
            raise OutOfResources(ffi.string(words).decode(errors="replace"))
        self.handle: Any = handle
        self.cable = cable
        self.writing = writing

    @property
    def packet(self) -> int:
        """The bytes of a packet at the writing end; 0 before the first one."""
        return int(lib.link_packet(self.handle))

    @property
    def level(self) -> int:
        """The bytes that were written and not read yet."""
        return int(lib.link_level(self.handle))

    @property
    def is_awaited(self) -> bool:
        """True if a kernel at the other end sleeps until packets are moved here."""
        return bool(lib.link_is_awaited(self.handle))

    def take(self, data: Any, wait_ms: int) -> int:
        """Reads the bytes that are there into a C buffer; returns their number, or -1 if no more can come."""
        return int(lib.link_take(self.handle, data, len(data), wait_ms))

    def put(self, data: Any, size: int, packet: int, wait_ms: int) -> int:
        """Writes the bytes that have room from a C buffer; returns their number, or -1 if no reader can come."""
        return int(lib.link_put(self.handle, data, size, packet, wait_ms))

    def retire(self) -> None:
        """Removes the file of a cable whose other end was never opened, unless that would lose packets."""
        lib.link_retire(self.handle)

    def close(self) -> None:
        """Closes the end, which no kernel uses."""
        handle, self.handle = self.handle, ffi.NULL
        if handle != ffi.NULL:
            lib.link_close(handle)


class LinkUse(NamedTuple):
    """A launch's traffic on a cable: positions in the stream of its bytes, times of first and last packet."""

    channel: str
    link: Link
    begin: int
    end: int
    packet: int
    first_ns: int
    last_ns: int

    @property
    def packets(self) -> int:
        return (self.end - self.begin) // self.packet


Links = Mapping[str, Link]
"""Ends of cables, by the names of I/O channels."""


def last_uses(links: Links) -> tuple[LinkUse, ...]:
    """Returns the traffic of this thread's last launch on each cable."""
    found = ffi.new("struct link_use[]", MOST_USES)
    count = lib.network_uses(found, MOST_USES)
    by_handle = {link.handle: (channel, link) for channel, link in links.items()}
    return tuple(
        LinkUse(*by_handle[use.link], use.begin, use.end, use.packet, use.first_ns, use.last_ns)
        for use in found[0:count]
        if use.link in by_handle
    )
