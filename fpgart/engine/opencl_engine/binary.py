# SPDX-License-Identifier: Apache-2.0
"""Binaries of programs of the engine: the engine's own, or objects to be linked.

Programs with channels, pipes or variables have notes about them in front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpgart.base.errors import InvalidBinary
from fpgart.channels.network import table
from fpgart.engine.build_step import Objects
from fpgart.engine.isolated.codec import ProtocolError, decoded, encoded

if TYPE_CHECKING:
    from fpgart.kernels.lowering import Lowered

LOWERED = b"fpgart lowered\0"
OBJECTS = b"fpgart objects\0"


def has_objects(binary: bytes) -> bool:
    return binary.startswith(OBJECTS)


def with_objects(objects: Objects) -> bytes:
    return OBJECTS + encoded(objects)


def objects_in(binary: bytes) -> Objects:
    """Returns the objects of a binary for which has_objects() is true; raises InvalidBinary if it is damaged."""
    try:
        found = decoded(Objects, binary[len(OBJECTS) :])
    except (ProtocolError, UnicodeError) as error:
        raise InvalidBinary(f"the binary is damaged, or of another version of fpgart: {error}") from None
    count = len(found.objects)
    if not all(found.objects) or not count or (count > 1 and not found.is_executable):
        raise InvalidBinary(f"the binary is damaged: it has {count} objects, of which some may be empty")
    return found


def is_lowered(binary: bytes) -> bool:
    """True if the binary has notes."""
    return binary.startswith(LOWERED)


def with_notes(binary: bytes, lowered: Lowered) -> bytes:
    """Returns the driver's binary with notes in front."""
    import json  # few programs have channels, pipes or variables

    return LOWERED + json.dumps(lowered.notes(), sort_keys=True).encode() + b"\0" + binary


def without_notes(binary: bytes) -> tuple[Lowered, bytes]:
    """Returns the notes and the driver's binary; raises InvalidBinary for notes that this process cannot use."""
    from fpgart.base.json_input import parse_json
    from fpgart.kernels.lowering import Lowered

    notes, _, bare = binary[len(LOWERED) :].partition(b"\0")
    try:
        lowered = Lowered.from_notes(parse_json(notes))
    except (TypeError, ValueError) as error:
        raise InvalidBinary(f"the binary is damaged, or of another version of fpgart: {error}") from None
    if lowered.table != table(lowered.table):
        raise InvalidBinary(
            f"the binary needs the table of its channels at {lowered.table:#x}, which this process uses for "
            "something else: build the program from its source"
        )
    return lowered, bare


def merged(parts: list[Lowered]) -> Lowered | None:
    """Returns the notes of a linked program; None if no part has any."""
    if not parts:
        return None
    found = Lowered("", table=parts[0].table)
    for part in parts:
        found.channels += part.channels
        found.hosted += part.hosted
        found.variables += part.variables
        found.pipes |= part.pipes
        found.autorun |= part.autorun
    return found
