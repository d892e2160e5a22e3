# SPDX-License-Identifier: Apache-2.0
"""The report as a piece of HTML for a notebook: tables, and the memories as a picture; no script, no Bokeh."""

from __future__ import annotations

from html import escape

from fpgart.base.sizes import in_words
from fpgart.watch import history
from fpgart.watch.history import Box, Memory
from fpgart.watch.page.tables import advice_of, buffers_of, copies_of, head_of
from fpgart.watch.report.model import Report
from fpgart.watch.report.text import as_text
from fpgart.watch.report.trace_events import Args

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")
WIDTH, LANE, GAP = 1000.0, 70.0, 18.0
"""The picture's sizes, in its own units: a lane per bank, with a line of words above."""
MOST_BOXES = 2000
"""The most blocks in the picture; notebooks keep it in their file."""
STYLE = """
.fpgart { font: 13px/1.4 system-ui, sans-serif } .fpgart h4 { margin: .8em 0 .2em }
.fpgart .warn { background: #fff3cd; color: #222; padding: .3em .6em } .fpgart .saved { font-weight: 600 }
.fpgart .rows { max-height: 20em; overflow-y: auto } .fpgart svg { width: 100%; max-width: 1000px }
.fpgart td, .fpgart th { text-align: left } .fpgart .n { text-align: right }
"""


def as_fragment(report: Report, events: list[Args]) -> str:
    """Returns the piece of HTML; `report` is that of `events`."""
    end = max(report.microseconds, 0.001)
    parts = [
        f'<div class="fpgart"><style>{STYLE}</style>',
        head_of(report),
        "<h4>Copies to avoid</h4>",
        advice_of(report),
        "<h4>Memory</h4>",
        memory_map(history.boxes(events, end), end),
        "<h4>Buffers</h4>",
        buffers_of(report),
        "<h4>Copies</h4>",
        copies_of(report),
        f"<details><summary>in words</summary><pre>{escape(as_text(report))}</pre></details></div>",
    ]
    return "\n".join(parts)


def memory_map(boxes: list[Box], end: float) -> str:
    """Returns a picture of buffers: upwards from the bank's first byte, and to the right over `end` microseconds."""
    if not boxes:
        return "<p>no buffer was in a board's memory</p>"
    banks: dict[tuple[Memory, int], list[Box]] = {}
    for box in sorted(boxes, key=lambda box: (box.memory.device, box.memory.begin, box.bank)):
        banks.setdefault((box.memory, box.bank), []).append(box)
    height = len(banks) * (LANE + GAP)
    lines = [f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg" font-size="11">']
    room = MOST_BOXES
    for number, ((memory, bank), found) in enumerate(banks.items()):
        lines += _lane(number * (LANE + GAP), memory, bank, found[: max(room, 0)], end)
        room -= len(found)
    lines.append("</svg>")
    if room < 0:
        lines.append(f"<p>and {-room} more blocks: see `fpgart report --html`</p>")
    return "\n".join(lines)


def _lane(top: float, memory: Memory, bank: int, boxes: list[Box], end: float) -> list[str]:
    full = max((box.offset + box.size for box in boxes), default=1)
    words = f"{history.bank_in_words(memory, bank)}: 0 to {in_words(full)}; {end / 1000:.3f} ms"
    lines = [
        f'<text x="0" y="{top + GAP - 5:.1f}" fill="currentColor">{escape(words)}</text>',
        f'<rect x="0" y="{top + GAP:.1f}" width="{WIDTH:.0f}" height="{LANE:.0f}" fill="#8882"/>',
    ]
    for box in boxes:
        left, width = box.begin / end * WIDTH, max((box.end - box.begin) / end * WIDTH, 1.0)
        tall = max(box.size / full * LANE, 1.0)
        upper = top + GAP + LANE - box.offset / full * LANE - tall
        colour = COLOURS[box.buffer % len(COLOURS)]
        lines.append(
            f'<rect x="{left:.1f}" y="{upper:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{colour}" '
            f'stroke="white" stroke-width=".5"><title>{escape(history.box_in_words(box))}</title></rect>'
        )
    return lines
