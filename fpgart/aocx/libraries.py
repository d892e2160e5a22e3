# SPDX-License-Identifier: Apache-2.0
"""Libraries of `aoc -l`: boards have their circuits, simulated boards the models in OpenCL C that they contain.

A library is an archive (`ar`) of objects, one object (ELF) whose sections named `...c_model` are such models, an
object specification (XML) that names their files, or a file of OpenCL C. `aocl library` makes objects of
specifications, and archives of objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.base.input_file import LARGEST_CONTAINER, LARGEST_DESCRIPTION, LARGEST_SOURCE, read_input, read_text
from fpgart.board.xml_elements import BoardSpecError, Element, walk

ARCHIVE = b"!<arch>\n"
ELF = b"\x7fELF"
MEMBER_HEADER = 60
SIZE_FIELD = slice(48, 58)
MODEL = "c_model"
SPECIFICATION = ".comp.spec.xml"


@dataclass(frozen=True, slots=True)
class Model:
    """OpenCL C of a library, and its name in messages."""

    name: str
    text: str


def find_library(name: str, folders: list[Path]) -> Path:
    """Returns the file of `-l name`: the name itself, else in a folder of -L; raises AocxError."""
    for folder in (Path(), *folders):
        for each in (name, f"{name}.aoclib", f"lib{name}.a"):
            if (folder / each).is_file():
                return folder / each
    others = f", nor in {', '.join(map(str, folders))}" if folders else "; -L names no other folder"
    raise AocxError(f"library '{name}' was not found in the working folder{others}")


def models_of(path: Path) -> list[Model]:
    """Returns the models of a library; raises AocxError if it has none, or OSError."""
    found = list(_models(path.name, read_input(path, LARGEST_CONTAINER), path.parent))
    if not found:
        raise AocxError(f"library '{path}' has no model in OpenCL C (a section '{MODEL}'), so it cannot run")
    return found


def packaged(specification: Path) -> Container:
    """Returns an object with a specification and its models; raises AocxError if there is none, or OSError."""
    data = read_input(specification, LARGEST_DESCRIPTION)
    models = list(_specified(specification.name, data, specification.parent))
    if not models:
        raise AocxError(f"object specification '{specification}' names no C_MODEL, so its functions cannot run")
    return Container({SPECIFICATION: data} | {f".{model.name}.{MODEL}": model.text.encode() for model in models})


def archive(members: dict[str, bytes]) -> bytes:
    """Returns an archive (`ar`) of the members by their names; names longer than its header's field are cut."""
    parts = [ARCHIVE]
    for name, data in members.items():
        header = (
            f"{name.encode()[:15].decode(errors='ignore') + '/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
        )
        parts += [header.encode(), data, b"\n" * (len(data) % 2)]
    return b"".join(parts)


def _models(name: str, data: bytes, folder: Path) -> Iterator[Model]:
    if data.startswith(ARCHIVE):
        for member, content in _members(data):
            if content.startswith(ARCHIVE):
                raise AocxError(f"library '{name}' has an archive in it ({member}), which archives of objects have not")
            yield from _models(member, content, folder)
    elif data.startswith(ELF):
        for section, content in Container.decode(data).sections.items():
            if section.endswith(MODEL):
                yield Model(f"{name}{section}", _text(content.rstrip(b"\0")))
    elif data.lstrip().startswith(b"<"):
        yield from _specified(name, data, folder)
    elif name.endswith((".cl", ".c")):
        yield Model(name, _text(data))


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields name and content of each member of an archive."""
    at = len(ARCHIVE)
    while at + MEMBER_HEADER <= len(data):
        header = data[at : at + MEMBER_HEADER]
        try:
            size = int(header[SIZE_FIELD])
        except ValueError:
            raise AocxError(f"the archive is damaged at byte {at}") from None
        begin = at + MEMBER_HEADER
        yield header[:16].decode(errors="replace").strip().rstrip("/"), data[begin : begin + size]
        at = begin + size + size % 2


def _specified(name: str, data: bytes, folder: Path) -> Iterator[Model]:
    """Yields the files that an object specification declares as models."""
    files: list[Element] = []

    def visit(element: Element, around: Sequence[str]) -> None:
        if element.name == "FILE" and around and around[-1] == "C_MODEL":
            files.append(element)

    try:
        walk(data, f"'{name}'", visit)
        paths = [folder / file.text("name") for file in files]
    except BoardSpecError as error:
        raise AocxError(f"object specification {error}") from None
    for path in paths:
        yield Model(path.name, read_text(path, LARGEST_SOURCE))
