# SPDX-License-Identifier: Apache-2.0
"""Board packages as Intel's SDK has them: a folder with board_env.xml, and below it a board_spec.xml for each board."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fpgart.base import config
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import describe, shipped
from fpgart.board.description import BoardDescription
from fpgart.board.xml_elements import Element, description_in, walk

ROOT_VARIABLE = "AOCL_BOARD_PACKAGE_ROOT"


@dataclass(frozen=True, slots=True)
class BoardPackage:
    """A package's folder, and the file of each of its boards by the board's name."""

    root: Path
    default: str
    boards: dict[str, Path]

    @classmethod
    def read(cls, root: Path) -> BoardPackage:
        """Reads a package; raises BoardSpecError for a folder that is no board package."""
        file = root / "board_env.xml"
        found: list[Element] = []

        def visit(element: Element, around: Sequence[str]) -> None:
            if element.name == "hardware":
                found.append(element)

        walk(description_in(str(file)), str(file), visit)
        if not found:
            raise BoardSpecError(f"{file}: there is no element 'hardware', which says where the boards are")
        hardware = root / found[0].text("dir")
        try:
            boards = {spec.parent.name: spec for spec in sorted(hardware.glob("*/board_spec.xml"))}
        except (OSError, ValueError) as error:  # too long, or with a zero byte
            raise found[0].error("dir", f"no folder of that name can be looked into: {error}") from None
        if not boards:
            raise BoardSpecError(f"{file}: there is no <board>/board_spec.xml in {hardware}")
        return cls(root, found[0].attributes.get("default", "") or next(iter(boards)), boards)


def package_of(given: Path | None) -> BoardPackage | None:
    """Returns the package that -board-package, or else AOCL_BOARD_PACKAGE_ROOT, names; raises BoardSpecError.

    None if none is named, or if the variable names a folder that does not exist: commands without its boards need none.
    """
    if given is not None:
        return BoardPackage.read(given)
    root = os.environ.get(ROOT_VARIABLE)
    if not root or not (Path(root) / "board_env.xml").exists():
        return None
    return BoardPackage.read(Path(root))


def _root_in_words() -> str:
    root = os.environ.get(ROOT_VARIABLE)
    if not root:
        return "which is not set"
    missing = "" if (Path(root) / "board_env.xml").exists() else ", where there is no board_env.xml"
    return f"which is '{root}'{missing}"


def default_board(package: BoardPackage | None) -> str:
    """Returns the board if none is named: the first of FPGART_BOARD, or the package's default."""
    if config.BOARD.is_set or package is None:
        return config.BOARD.value[0]
    return package.default


def describe_board(name: str, package: BoardPackage | None) -> BoardDescription:
    """Returns a board of the package, one that comes with the driver, or one by its file; raises BoardSpecError."""
    if package is not None and name in package.boards:
        return describe(str(package.boards[name]))
    if "/" not in name and not name.endswith(".xml") and name not in shipped():
        known = sorted({*shipped(), *(package.boards if package else ())})
        raise BoardSpecError(
            f"-board={name}: not one of {', '.join(known)}. Name its package with -board-package=FOLDER or "
            f"{ROOT_VARIABLE} ({_root_in_words()}); or the board that takes its place, with FPGART_BOARD or fpgart run "
            f"--board; or compile with -march=emulator, for any board"
        )
    return describe(name)
