# SPDX-License-Identifier: Apache-2.0
"""The files between OpenCL C and an .aocx: objects (.aoco, one per source) and early containers (.aocr).

An object is a container with the source unchanged, the headers that it includes, the models of its libraries, and its
options; the preprocessor runs again when objects are linked. An early container is an .aocx without the board's image:
kernels and interfaces are known, but cannot run. Both contain all input of the next step, so that one step and three
give the same .aocx.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fpgart.aocx import container as sections
from fpgart.aocx.compiler import Options
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.units import Text, Unit, given_headers, without_copies
from fpgart.base.json_input import parse_json, untyped
from fpgart.kernels.preprocessing.files import Embedded, Input, Inside

STEP = ".acl.fpgart.step"
"""The facts for later steps, as JSON; only files before the last step have it."""
FILES = ".acl.fpgart.files"
"""The files of an object, as JSON."""
OBJECT, EARLY = "object", "early"


@dataclass(frozen=True, slots=True)
class Step:
    """The facts in an object or an early container about its creation; `separate`: the memories of -no-interleaving."""

    kind: str
    board: str
    options: Options
    separate: tuple[str, ...] = ()

    def encode(self) -> bytes:
        told = {"kind": self.kind, "board": self.board, "separate": self.separate, **untyped(self.options)}
        return json.dumps(told, sort_keys=True).encode(errors="surrogateescape")

    @classmethod
    def of(cls, container: Container, file: str) -> Step:
        """Reads them from a container; raises AocxError for a file that no step made."""
        if STEP not in container:
            raise AocxError(f"{file} has no section {STEP}: it is no .aoco or .aocr of this compiler")
        try:
            told = parse_json(container[STEP])
            options = Options(tuple(told["compiler"]), tuple(told["noted"]), told["emulator"], tuple(told["libraries"]))
            return cls(told["kind"], told["board"], options, tuple(told["separate"]))
        except (ValueError, KeyError, TypeError) as error:
            raise AocxError(f"{file} is damaged: section {STEP}: {error}") from None


def object_of(unit: Unit, board: str, separate: tuple[str, ...]) -> Container:
    """Returns the container that `aoc -c` writes for a unit which has its headers in it."""
    files = {"sources": [_told(each) for each in unit.sources], "models": [_told(each) for each in unit.models]}
    return Container(
        {
            sections.BOARD: board.encode(),
            sections.OPTIONS: unit.options.recorded().encode(errors="surrogateescape"),
            FILES: json.dumps(files, sort_keys=True).encode(),
            STEP: Step(OBJECT, board, unit.options, separate).encode(),
        }
    )


def _told(given: Input) -> dict[str, object]:
    assert isinstance(given.headers, Embedded), f"{given.name} has its headers on the disk"
    return {
        "name": given.name,
        "text": given.text,
        "defines": given.defines,
        "headers": dict(given.headers.headers),
        "found": {name: dict(known) for name, known in given.headers.found.items()},
    }


def _read(told: Mapping[str, Any]) -> Input:
    among = Embedded(told["headers"], told["found"], given_headers())
    return Input(told["name"], told["text"], among, tuple(told["defines"]), Inside(among, told["name"]))


def unit_of(container: Container, step: Step, file: str) -> Unit:
    """Returns the sources and library models in an object (.aoco). Raises AocxError if they cannot be read."""
    try:
        files = parse_json(container[FILES])
        sources, models = (tuple(map(_read, files[kind])) for kind in ("sources", "models"))
    except (ValueError, KeyError, TypeError) as error:
        raise AocxError(f"{file} is damaged: section {FILES}: {error}") from None
    return Unit(sources, models, step.options)


def early(made: Container, step: Step) -> Container:
    """Returns the container that `aoc -rtl` writes: all but the board's image."""
    kept = {name: data for name, data in made.sections.items() if name != sections.BOARD_IMAGE}
    return Container({**kept, STEP: step.encode()})


def text_of(container: Container, step: Step) -> Text:
    """Returns the text in an early container."""
    return Text(container[sections.SOURCE].decode(errors="surrogateescape"), step.options)


def joined(named: Sequence[tuple[str, Unit]]) -> Unit:
    """Returns units as one, in their order; raises AocxError for units with different options.

    Macros are not among these: each file keeps its own.
    """
    first_name, first = named[0]
    for name, unit in named:
        if unit.options.compiler != first.options.compiler:
            raise AocxError(
                f"{name} is compiled with '{unit.options.text()}', {first_name} with '{first.options.text()}': "
                f"what is linked together needs the same options"
            )
    noted = dict.fromkeys(option for _, unit in named for option in unit.options.noted)
    libraries = dict.fromkeys(option for _, unit in named for option in unit.options.libraries)
    emulator = any(unit.options.emulator for _, unit in named)
    return Unit(
        tuple(each for _, unit in named for each in unit.sources),
        without_copies(each for _, unit in named for each in unit.models),
        replace(first.options, noted=tuple(noted), emulator=emulator, libraries=tuple(libraries)),
    )
