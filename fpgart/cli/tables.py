# SPDX-License-Identifier: Apache-2.0
"""`fpgart report` on a terminal: the lines of the plain text, with colours, and wrapped at the terminal's width."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from fpgart.watch.report import Report, as_text

WARNINGS = ("  error", "the trace is incomplete")
HANGING = 4
"""The columns by which the further lines of a wrapped line are indented."""


def show(report: Report, console: Console, *, everything: bool = False) -> None:
    """Writes the report to a terminal."""
    for line in as_text(report, everything=everything).splitlines():
        console.print(_line(line, _style(line), console.width))


def _style(line: str) -> str:
    if line.startswith(WARNINGS):
        return "yellow"
    if line in ("to avoid", "findings"):
        return "bold red"
    if line and not line.startswith(" "):
        return "bold"
    return "dim" if line.startswith("    ") else ""


def _line(line: str, style: str, width: int) -> Text | Padding:
    if len(line) <= width:
        return Text(line, style)
    words = line.lstrip()
    indent = len(line) - len(words)
    pieces = Text(words, style).wrap(Console(width=width), max(20, width - indent - HANGING))
    lines = [pieces[0], *(Text(" " * HANGING, style) + piece for piece in pieces[1:])]
    return Padding(Text("\n").join(lines), (0, 0, 0, indent), expand=False)
