# SPDX-License-Identifier: Apache-2.0
"""The timeline: what ran when."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from bokeh.models import ColumnDataSource, FixedTicker, Range1d, Span

from fpgart.watch import history
from fpgart.watch.page.figures import figure_of, time_mark
from fpgart.watch.report.trace_events import Args

COLOURS = {
    "call": "#8c8c8c",
    "host to board": "#2f7ebc",
    "board to host": "#3a9e6f",
    "within the board": "#b07aa1",
    "programming": "#c44e52",
    "transfer": "#76a5cf",
    "migration": "#e0912f",
    "program": "#d98880",
    "kernel": "#5b4a9e",
}
KINDS_OF_LANE = ("queue", "auto_queue", "kernels", "host to", "board to", "within", "shared", "programming")


def _lane_order(lane: str) -> tuple[bool, str, int, str]:
    """The host's threads, then each device: queues, kernels, directions."""
    place, _, kind = lane.partition(": ")
    if place == "host":
        return False, "", 0, lane
    rank = next((rank for rank, start in enumerate(KINDS_OF_LANE) if kind.startswith(start)), len(KINDS_OF_LANE))
    return True, place, rank, kind


def timeline_of(events: list[Args], shared: Range1d) -> tuple[Any, Span]:
    """The figure, with a lane per thread, queue and direction; and the line that marks the slider's time."""
    found = history.spans(events)
    rows: dict[str, int] = defaultdict(int)
    for span in found:
        rows[span.lane] = max(rows[span.lane], span.row + 1)
    tops: dict[str, int] = {}
    height = 0
    for lane in sorted(rows, key=_lane_order):
        tops[lane] = height
        height += rows[lane]
    made = figure_of(
        90 + 26 * max(height, 4),
        shared,
        "<b>@name</b> at @left{0.000} ms, @took<br>@words",
        y_range=Range1d(max(height, 1), 0),
        x_axis_label="ms",
        name="timeline",
    )
    by_kind = defaultdict(list)
    for span in found:
        by_kind[span.kind].append(span)
    for kind, colour in COLOURS.items():
        these = by_kind.get(kind)
        if not these:
            continue
        source = ColumnDataSource(
            {
                "left": [span.begin / 1000 for span in these],
                "right": [span.end / 1000 for span in these],
                "top": [tops[span.lane] + span.row + 0.1 for span in these],
                "bottom": [tops[span.lane] + span.row + 0.9 for span in these],
                "name": [span.name for span in these],
                "took": [_duration(span.end - span.begin) for span in these],
                "words": [span.words for span in these],
            }
        )
        made.quad(
            "left", "right", "top", "bottom", source=source, fill_color=colour, line_color=colour, legend_label=kind
        )
    ticks = {tops[lane] + rows[lane] / 2: lane for lane in tops}
    made.yaxis.ticker = FixedTicker(ticks=list(ticks))
    made.yaxis.major_label_overrides = ticks
    for lane in list(tops)[1:]:
        made.add_layout(Span(location=tops[lane], dimension="width", line_color="#dddddd"))
    if found:
        made.legend.click_policy = "hide"
        made.legend.orientation = "horizontal"
        made.add_layout(made.legend[0], "above")
    mark = time_mark()
    made.add_layout(mark)
    return made, mark


def _duration(microseconds: float) -> str:
    return f"{microseconds / 1000:.3f} ms" if microseconds >= 1000 else f"{microseconds:.3f} µs"
