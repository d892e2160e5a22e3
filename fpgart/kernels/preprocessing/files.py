# SPDX-License-Identifier: Apache-2.0
"""The files that the preprocessor reads, and the search for headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fpgart.base.input_file import LARGEST_SOURCE, read_text
from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.preprocessing.tokens import Line
from fpgart.kernels.signs import PreprocessorError


@dataclass(eq=False)
class Embedded:
    """The headers in a container: their texts by name, and for each file the header of each #include.

    The key of an #include is its text, `"x.h"` or `<x.h>`.
    """

    headers: Mapping[str, str]
    found: Mapping[str, Mapping[str, str]]
    given: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """Returns the header that a file includes by a name."""
        if name in self.given:
            return name
        known = self.found.get(includer.name, {}) if isinstance(includer, Inside) else {}
        header = known.get(as_written(name, quoted=quoted))
        return None if header is None else Inside(self, header)

    def text(self, place: Place) -> str:
        return self.headers[place.name] if isinstance(place, Inside) else self.given[str(place)]


class Inside(NamedTuple):
    """A file in a container."""

    among: Embedded
    name: str


Place = Path | str | Inside
"""The place of a file: on the disk, among given texts by its name, or in a container."""


class Headers(Protocol):
    """The search for the headers of an input."""

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """Returns the header that a file includes; None if there is none of this name."""

    def text(self, place: Place) -> str:
        """Returns the text of a header; raises OSError."""


def as_written(name: str, *, quoted: bool) -> str:
    """Returns the text of an #include."""
    return f'"{name}"' if quoted else f"<{name}>"


@dataclass(frozen=True, slots=True)
class Input:
    """A file to preprocess; `defines` are NAME or NAME=VALUE. Its own headers are beside `place`."""

    name: str
    text: str
    headers: Headers
    defines: tuple[str, ...] = ()
    place: Place | None = None


@dataclass
class Source:
    """A file and its lines.

    A #line sets `shown`, the name in messages, and `shift`, which is added to line numbers. `reading` is the number of
    the last pass over the file.
    """

    name: str
    place: Place | None
    lines: tuple[Line, ...]
    shown: str = ""
    shift: int = 0
    reading: int = 0

    def refuse(self, number: int, words: str) -> PreprocessorError:
        return PreprocessorError(self.shown, number + self.shift, words)


@dataclass
class Includes:
    """The search for headers in `given`, then beside the file that includes them, then in `folders`."""

    folders: tuple[Path, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, includer: Place | None, *, quoted: bool = True) -> Place | None:
        """Returns the path of a file, or the name of a given text."""
        if name in self.given:
            return name
        beside = (includer.parent,) if quoted and isinstance(includer, Path) else ()
        return next((path for folder in (*beside, *self.folders) if (path := folder / name).is_file()), None)

    def text(self, place: Place) -> str:
        """Returns the text of the file; raises OSError."""
        return read_text(place, LARGEST_SOURCE) if isinstance(place, Path) else self.given[str(place)]
