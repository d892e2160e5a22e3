# SPDX-License-Identifier: Apache-2.0
"""The regions through which the last kernel saw memory (66AK2x)."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, LabelSet

from fpgart.watch.page.figures import BUFFER_COLOURS, figure_of
from fpgart.watch.report.trace_events import Args
from fpgart.watch.words import in_words, times


def last_mapping(events: list[Args]) -> tuple[str, Any] | None:
    """A sentence and a figure about the last kernel that saw memory through regions; None for no such kernel."""
    last = next((e["args"] for e in reversed(events) if e.get("cat") == "device" and e["args"].get("regions")), None)
    if last is None:
        return None
    rows: list[tuple[str, int, int, str]] = []
    at = 0
    for region in last["regions"]:
        begin, size = int(region["kernel"], 16), region["size"]
        rows.append(("regions", at, size, f"{in_words(size)} of {region['physical']}, seen at {region['kernel']}"))
        for shown in last["shown"]:
            inside = int(shown["at"], 16) - begin
            if 0 <= inside < size:
                words = f"buffer {shown['buffer']}: {in_words(shown['size'])}, seen at {shown['at']}"
                rows.append(("buffers", at + inside, shown["size"], words))
        at += size
    source = ColumnDataSource(
        {
            "lane": [lane for lane, *_ in rows],
            "left": [begin / 2**20 for _, begin, _, _ in rows],
            "right": [(begin + size) / 2**20 for _, begin, size, _ in rows],
            "words": [words for *_, words in rows],
            "label": [words.partition(",")[0] if size > at / 10 else "" for _, _, size, words in rows],
            "colour": [BUFFER_COLOURS[i % len(BUFFER_COLOURS)] for i in range(len(rows))],
        }
    )
    made = figure_of(150, None, "@words", y_range=["buffers", "regions"], x_axis_label="regions side by side, MiB")
    made.hbar(y="lane", left="left", right="right", height=0.7, source=source, color="colour", line_color="white")
    made.add_layout(
        LabelSet(x="left", y="lane", text="label", source=source, x_offset=4, y_offset=-6, text_font_size="10px")
    )
    return f"kernel '{last['kernel']}' on device {last['device']}, {times(len(last['regions']), 'region')}", made
