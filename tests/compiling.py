# SPDX-License-Identifier: Apache-2.0
"""Compiles a file into a container, as `aoc` does in one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fpgart.aocx.compiler import Options, ignore
from fpgart.aocx.container import Container
from fpgart.aocx.units import compile_text, preprocessed, read_unit
from fpgart.board.description import BoardDescription
from fpgart.engine.interface import Engine


def compile_file(
    path: Path, board: BoardDescription, options: Options, engine: Engine, tell: Callable[[str], None] = ignore
) -> Container:
    """Returns the container of one file; raises CompileError, with source lines, AocxError or OSError."""
    return compile_text(preprocessed(read_unit([path], options), board, engine), board, engine, tell)
