# SPDX-License-Identifier: Apache-2.0
"""The folder of compiled programs that two of the compiler modes have.

A program is in <root>/ab/cd/<36 digits>, the SHA-1 of board, options and source: kernels.cl, build.cmd, build.log
and kernels.aocx.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from fpgart.aocx.compiler import CompileError, Options, compile_source
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.base.errors import BuildProgramFailure
from fpgart.base.input_file import LARGEST_CONTAINER, read_input
from fpgart.board.description import BoardDescription
from fpgart.engine.interface import BuildFailed, Engine

DEFAULT_ROOT = "aocl_program_library"


def folder_of(root: str, board: BoardDescription, options: str, source: str) -> Path:
    text = "\0".join((board.name, options, source)).encode(errors="surrogateescape")
    digits = hashlib.sha1(text, usedforsecurity=False).hexdigest()
    return Path(root or DEFAULT_ROOT) / digits[:2] / digits[2:4] / digits[4:]


def create(root: str, board: BoardDescription, options: str, source: str, engine: Engine) -> None:
    """Compiles a program into the library. Raises BuildFailed with the compiler's log."""
    folder = folder_of(root, board, options, source)
    try:
        made = compile_source(source, board, Options(tuple(shlex.split(options))), engine)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernels.cl").write_text(source, errors="surrogateescape")
        (folder / "build.cmd").write_text(f"fpgart aoc kernels.cl -board={board.name} {options}\n")
        (folder / "build.log").write_text("")
        (folder / "kernels.aocx").write_bytes(made.encode())
    except CompileError as error:
        raise BuildFailed(BuildProgramFailure.status, str(error)) from None
    except OSError as error:
        raise BuildFailed(BuildProgramFailure.status, f"the program library: {error}") from None


def load(root: str, board: BoardDescription, options: str, source: str) -> bytes:
    """Returns a program of the library. Raises BuildFailed if it is not there."""
    file = folder_of(root, board, options, source) / "kernels.aocx"
    try:
        data = read_input(file, LARGEST_CONTAINER)
        Container.decode(data)
    except FileNotFoundError:
        raise BuildFailed(
            BuildProgramFailure.status,
            f"{file} is not there: compile the program into the library first (compiler mode 1)",
        ) from None
    except OSError as error:
        raise BuildFailed(BuildProgramFailure.status, f"{file}: {error.strerror}") from None
    except AocxError as error:
        raise BuildFailed(BuildProgramFailure.status, f"{file}: {error}") from None
    return data
