# SPDX-License-Identifier: Apache-2.0
"""The parts of the page that are HTML: tables and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from fpgart.base.ranges import together
from fpgart.base.sizes import in_words
from fpgart.watch import history
from fpgart.watch.lanes import Lane
from fpgart.watch.report.model import Advice, BufferLife, Copy, Report
from fpgart.watch.report.text import never, places_in_words, run_in_words, saved, without_place
from fpgart.watch.report.trace_events import Args
from fpgart.watch.report.verdict import MOST_ITEMS, folded, verdict
from fpgart.watch.words import times

MOST_ROWS = 1000
"""The most rows of a table; `fpgart report --json` has all."""


def _table(
    name: str, heads: list[str], rows: list[list[str]], numbers: set[int], marks: Sequence[str] | None = None
) -> str:
    """Returns a table of HTML cells, which the page's script sorts and searches.

    Columns in `numbers` are aligned to the right. `marks`: the attributes of each row, to which links lead.
    """
    if not rows:
        return "<p>none</p>"
    side = [' class="n"' if index in numbers else "" for index in range(len(heads))]
    lines = [f'<div class="rows" tabindex="0" role="region" aria-label="{name}"><table id="{name}-table"><thead><tr>']
    lines += [f'<th{s} scope="col">{head}</th>' for s, head in zip(side, heads, strict=True)]
    lines.append("</tr></thead><tbody>")
    for row, mark in zip(rows[:MOST_ROWS], marks or [""] * len(rows), strict=False):
        cells = "".join(f"<td{s}>{cell}</td>" for s, cell in zip(side, row, strict=True))
        lines.append(f"<tr{mark}>{cells}</tr>")
    lines.append("</tbody></table></div>")
    if len(rows) > MOST_ROWS:
        lines.append(f'<p class="note">and {len(rows) - MOST_ROWS} more: see `fpgart report --json`</p>')
    return "\n".join(lines)


def head_of(report: Report) -> str:
    boards = ", ".join(f"device {device}: board '{name}'" for device, name in sorted(report.boards.items()))
    sentences = "<br>".join(map(escape, verdict(report)))
    lines = [f'<p class="verdict" id="verdict">{sentences}</p>']
    lines += [f"<p>{escape(boards or 'no device')}; {times(sum(report.calls.values()), 'call')} "]
    lines.append(f"in {report.microseconds / 1000:.1f} ms</p>")
    told = "<br>".join(f"<code>{escape(words)}</code>" for words in run_in_words(report.run))
    lines += [f'<p class="note run" id="run">{told}</p>'] if told else []
    if not report.whole:
        lines.append('<p class="warn">The trace is incomplete: the process was killed or is still running.</p>')
    for words, number in report.errors.most_common(MOST_ROWS):
        again = f" ({number} times)" if number > 1 else ""
        lines.append(f'<p class="warn">error{again}: {escape(words)}</p>')
    return "\n".join(lines)


def advice_of(report: Report) -> str:
    if not report.advice and not report.heap_advice:
        return "<p>Nothing to avoid was found.</p>"
    all_advice = [item.summed() for item in folded(report.advice)]
    items = [
        f'<li>{escape(advice.words)}: <span class="saved">{saved(advice)}</span>{_places(advice)}</li>'
        for advice in all_advice[:MOST_ROWS]
    ]
    items += [f"<li>{escape(finding.words)}</li>" for finding in report.heap_advice[:MOST_ROWS]]
    first, rest = items[:MOST_ITEMS], items[MOST_ITEMS:]
    shown = f'<ol class="advice">{"".join(first)}</ol>'
    if not rest:
        return shown
    more = f'<ol class="advice" start="{MOST_ITEMS + 1}">{"".join(rest)}</ol>'
    return f"{shown}<details><summary>{len(rest)} more</summary>{more}</details>"


def _places(advice: Advice) -> str:
    return "".join(f"<br><small>{escape(place)}</small>" for place in places_in_words(advice))


def buffers_of(report: Report, *, linked: bool = False) -> str:
    """Returns the table of buffers. `linked`: for the page, whose script follows links between tables and figures."""
    lives = sorted(report.buffers.items(), key=lambda each: each[1].number)
    rows = [_buffer_row(life, linked=linked and key > 0) for key, life in lives]
    marks = [f' id="buffer-{key}"' if linked and key > 0 else "" for key, _ in lives]
    heads = ["number", "kind", "size", "from", "to", "copies", "copied", "places"]
    return _table("buffers", heads, rows, {0, 2, 3, 4, 5, 6}, marks)


def _buffer_row(life: BufferLife, *, linked: bool) -> list[str]:
    number, copies = str(life.number), str(life.copies + life.migrations)
    if linked:
        number = f'<a href="#life-{number}" title="its life, on the figure of the memories">{number}</a>'
        if copies != "0":
            copies = f'<a href="#copies-of-{life.number}" title="its copies">{copies}</a>'
    places = [
        f"{escape(place.words)}, from {place.begin / 1000:.3f} ms "
        + (f"to {place.end / 1000:.3f} ms" if place.end is not None else "to the end")
        for place in life.places
    ]
    return [
        number,
        escape(life.kind) + (f", part of {life.parent}" if life.parent else ""),
        in_words(life.size),
        f"{life.created / 1000:.3f} ms" if life.created is not None else "before",
        f"{life.released / 1000:.3f} ms" if life.released is not None else never(life),
        copies,
        in_words(life.copied_bytes) if life.copied_bytes else "",
        "<br>".join(places) or ("" if life.parent else without_place(life)),
    ]


def copies_of(report: Report, place_of: Callable[[int], str] | None = None) -> str:
    """Returns the table of copies.

    `place_of`: for the page, whose script follows links; returns the place in the host's code for a number.
    """
    rows = [
        [f"{copy.at / 1000:.3f}", str(copy.buffer), in_words(copy.size), escape(copy.what), escape(copy.cause)]
        for copy in report.copies
    ]
    marks = None
    if place_of is not None:
        marks = [f' id="copy-{number}" data-command="{c.command}"' for number, c in enumerate(report.copies, 1)]
        for row, copy in zip(rows, report.copies, strict=True):
            row[1] = f'<a href="#buffer-{copy.buffer}" title="its life">{copy.buffer}</a>' if copy.buffer else ""
            row[4] = _cause(copy, place_of(copy.site))
    return _table("copies", ["at, ms", "buffer", "size", "what", "cause"], rows, {0, 1, 2}, marks)


def _cause(copy: Copy, place: str) -> str:
    """Returns the cause, with the line of the host's code, and a link to the call on the timeline."""
    words = escape(copy.cause) + (f"<br><small>{escape(place)}</small>" if place else "")
    if not copy.command:
        return words
    return f'<a href="#command-{copy.command}" title="the call, on the timeline">{words}</a>'


def pipes_of(report: Report) -> str:
    rows = [
        [str(device), escape(name), str(pipe.packet), str(pipe.capacity), escape(", ".join(pipe.kernels)) or "none"]
        for (device, name), pipe in sorted(report.pipes.items())
    ]
    return _table("pipes", ["device", "pipe", "bytes of a packet", "packets", "kernels"], rows, {0, 2, 3})


def bandwidth_of(events: list[Args]) -> str:
    rows = []
    for use in history.uses(events):
        here = f"{use.bytes / use.microseconds / 1000:.3f} GB/s" if use.microseconds else ""
        least = "not known" if use.unknown else f"{use.least_microseconds / 1000:.3f} ms"
        at_most = ""
        if not use.unknown and use.least_microseconds:
            at_most = f"{use.bytes / use.least_microseconds / 1000:.3f} GB/s"
        took = f"{use.microseconds / 1000:.3f} ms"
        rows.append([escape(use.what), str(use.times), in_words(use.bytes), took, here, at_most, least])
    heads = ["what", "times", "bytes", "time here", "rate here", "board's memory at most", "least time there"]
    note = (
        "<p class='note'>Times here are those of the simulation on this computer, not of a board. The last columns are "
        "limits from the memory bandwidths in the description of the board (each separate bank has its share; the link "
        "to the host is not counted). Kernels are assumed to access each byte of their buffers once."
        "</p>"
    )
    return note + _table("bandwidth", heads, rows, {1, 2, 3, 4, 5, 6})


def lanes_of(real: list[Lane], simulated: list[Lane]) -> str:
    """Returns the timelines as a table: for readers without a picture, and for sums."""
    rows = [
        row
        for time, lanes in (("real", real), ("simulated", simulated))
        for lane in lanes
        if (row := _lane_row(time, lane))
    ]
    return _table("lanes", ["time", "where", "lane", "times", "busy", "longest"], rows, {3, 4, 5})


def _lane_row(time: str, lane: Lane) -> list[str]:
    busy = together([(span.begin, span.end) for span in lane.spans])
    longest = max((span.end - span.begin for span in lane.spans), default=0)
    found = [time, escape(lane.group), escape(lane.name), str(len(lane.spans))]
    return [*found, f"{busy / 1e6:.3f} ms", f"{longest / 1e6:.3f} ms"]
