# SPDX-License-Identifier: Apache-2.0
"""The files between OpenCL C and an .aocx: objects (.aoco, one per source) and early containers (.aocr).

An object is a container with the source, its headers in it, and what it is compiled with. An early container is an
.aocx without what the board loads: kernels and interfaces are known, nothing can run yet. Both say all that the next
step needs, so that one step and three give the same .aocx.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from fpgart.aocx import container as sections
from fpgart.aocx.compiler import Options, Unit
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError

STEP = ".acl.fpgart.step"
"""What a later step needs to know, as JSON; only files before the last step have it."""
OBJECT, EARLY = "object", "early"


@dataclass(frozen=True, slots=True)
class Step:
    """What an object or an early container says of how it was made; `separate` is what -no-interleaving named."""

    kind: str
    board: str
    options: Options
    separate: tuple[str, ...] = ()

    def encode(self) -> bytes:
        told = {
            "kind": self.kind,
            "board": self.board,
            "compiler": self.options.compiler,
            "noted": self.options.noted,
            "emulator": self.options.emulator,
            "separate": self.separate,
        }
        return json.dumps(told, sort_keys=True).encode(errors="surrogateescape")

    @classmethod
    def of(cls, container: Container, file: str) -> Step:
        """Raises AocxError for a file that no step made."""
        if STEP not in container:
            raise AocxError(f"{file} has no section {STEP}: it is no .aoco or .aocr of this compiler")
        try:
            told = json.loads(container[STEP])
            options = Options(tuple(told["compiler"]), tuple(told["noted"]), told["emulator"])
            return cls(told["kind"], told["board"], options, tuple(told["separate"]))
        except (ValueError, KeyError, TypeError) as error:
            raise AocxError(f"{file} is damaged: section {STEP}: {error}") from None


def object_of(unit: Unit, board: str, separate: tuple[str, ...]) -> Container:
    """What `aoc -c` writes."""
    return Container(
        {
            sections.BOARD: board.encode(),
            sections.OPTIONS: " ".join((*unit.options.compiler, *unit.options.noted)).encode(),
            sections.SOURCE: unit.source.encode(errors="surrogateescape"),
            STEP: Step(OBJECT, board, unit.options, separate).encode(),
        }
    )


def early(made: Container, step: Step) -> Container:
    """What `aoc -rtl` writes: all of the container but what the board loads."""
    kept = {name: data for name, data in made.sections.items() if name != sections.BOARD_IMAGE}
    return Container({**kept, STEP: step.encode()})


def unit_of(container: Container, step: Step) -> Unit:
    """The source in an object or an early container."""
    return Unit(container[sections.SOURCE].decode(errors="surrogateescape"), step.options)


def joined(named: Sequence[tuple[str, Unit]]) -> Unit:
    """Units as one, in their order; raises AocxError for those that are compiled with different options."""
    first_name, first = named[0]
    for name, unit in named:
        if unit.options.compiler != first.options.compiler:
            raise AocxError(
                f"{name} is compiled with '{unit.options.text()}', {first_name} with '{first.options.text()}': "
                f"what is linked together needs the same options"
            )
    noted = dict.fromkeys(option for _, unit in named for option in unit.options.noted)
    emulator = any(unit.options.emulator for _, unit in named)
    files = {name: text for _, unit in named for name, text in unit.files.items()}
    source = "".join(unit.source for _, unit in named)
    return Unit(source, Options(first.options.compiler, tuple(noted), emulator), files)
