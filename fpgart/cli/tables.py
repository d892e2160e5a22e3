# SPDX-License-Identifier: Apache-2.0
"""`fpgart report` on a terminal: the same facts as in plain text, as tables with colours."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fpgart.watch.report import (
    BufferLife,
    Report,
    cables_in_words,
    heading,
    modelled_in_words,
    never,
    places_in_words,
    saved,
    skipped_in_words,
)
from fpgart.watch.words import in_words, times

MOST_ROWS = 40
"""Rows of a table; the plain text (into a pipe) and --html have all."""


def show(report: Report, console: Console) -> None:
    """Write the report to a terminal; what costs most comes last, where it is seen first."""
    for number, line in enumerate(heading(report)):
        console.print(escape(line), style="bold" if number == 0 else "yellow", highlight=False)
    for table in (_traffic(report), _kernels(report), _buffers(report), _copies(report)):
        if table.row_count:
            console.print()
            console.print(table)
    for line in (*cables_in_words(report), *modelled_in_words(report)):
        console.print(escape(line), highlight=False)
    console.print(f"\n{skipped_in_words(report.skipped_migrations)}: the buffer was already in place", style="dim")
    _advice(report, console)


def _table(title: str, *columns: str) -> Table:
    """Columns whose names begin with > are numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return made


def _more(table: Table, count: int) -> None:
    if count > MOST_ROWS:
        table.add_row(*[""] * (len(table.columns) - 1), f"and {count - MOST_ROWS} more", style="dim")


def _traffic(report: Report) -> Table:
    made = _table("traffic", ">device", "call", ">calls", ">bytes", ">ms")
    for (device, name), traffic in sorted(report.traffic.items()):
        row = (
            str(device),
            report.movement(device, name),
            str(traffic.calls),
            in_words(traffic.bytes),
            f"{traffic.microseconds / 1000:.3f}",
        )
        made.add_row(*row)
    return made


def _kernels(report: Report) -> Table:
    made = _table("kernels", ">device", "kernel", ">runs", ">ms")
    for (device, name), kernel in sorted(report.kernels.items(), key=lambda item: -item[1].microseconds)[:MOST_ROWS]:
        made.add_row(str(device), escape(name), str(kernel.launches), f"{kernel.microseconds / 1000:.3f}")
    _more(made, len(report.kernels))
    return made


def _buffers(report: Report) -> Table:
    made = _table("buffers", ">number", "kind", ">size", ">from ms", ">to ms", ">copies", ">copied", "place")
    lives = sorted(report.buffers.values(), key=lambda life: (-life.copied_bytes, life.number))
    for life in lives[:MOST_ROWS]:
        made.add_row(*_buffer(life), style="yellow" if life.released is None else None)
    _more(made, len(lives))
    return made


def _buffer(life: BufferLife) -> tuple[str, ...]:
    place = life.places[-1].words if life.places else ""
    if len(life.places) > 1:
        place += f" ({times(len(life.places), 'place')} in all)"
    place = "; ".join((place, *life.banks))
    return (
        str(life.number),
        f"part of {life.parent}" if life.parent else life.kind,
        in_words(life.size),
        f"{life.created / 1000:.3f}" if life.created is not None else "before",
        f"{life.released / 1000:.3f}" if life.released is not None else never(life).removesuffix(" released"),
        str(life.copies) if life.copies else "",
        in_words(life.copied_bytes) if life.copies else "",
        escape(place),
    )


def _copies(report: Report) -> Table:
    made = _table("largest copies", ">at ms", ">buffer", ">size", "what", "cause")
    for copy in sorted(report.copies, key=lambda copy: (-copy.size, copy.at))[:MOST_ROWS]:
        row = f"{copy.at / 1000:.3f}", str(copy.buffer), in_words(copy.size), escape(copy.what), escape(copy.cause)
        made.add_row(*row)
    _more(made, len(report.copies))
    return made


def _advice(report: Report, console: Console) -> None:
    words = [
        "\n    ".join((f"{escape(a.words)}: [bold]{saved(a)}[/]", *map(escape, places_in_words(a))))
        for a in report.advice
    ]
    words += [escape(finding.words) for finding in report.heap_advice]
    console.print()
    if not words:
        console.print("nothing to avoid", style="green")
        return
    console.print("to avoid", style="bold red")
    for number, each in enumerate(words, 1):
        console.print(f" {number}. {each}", highlight=False)
