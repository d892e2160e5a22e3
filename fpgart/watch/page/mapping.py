# SPDX-License-Identifier: Apache-2.0
"""The regions through which the last kernel saw memory (66AK2x)."""

from __future__ import annotations

from html import escape

from fpgart.base.sizes import in_words
from fpgart.watch.page.colours import buffer_css
from fpgart.watch.report.trace_events import Args
from fpgart.watch.words import times

WIDTH, ROW, GAP = 1000, 34, 8
TEXT_WIDTH = 7
"""The approximate width of a character, in units of the picture."""


def last_mapping(events: list[Args]) -> str:
    """Returns the picture of the last kernel that saw memory through regions; "" if there is none."""
    last = next((e["args"] for e in reversed(events) if e.get("cat") == "device" and e["args"].get("regions")), None)
    if last is None:
        return ""
    rows, total = _rows(last)
    drawn = "".join(_drawn(number, row, total) for number, row in enumerate(rows))
    caption = (
        f"kernel '{last['kernel']}' on device {last['device']}, {times(len(last['regions']), 'region')} side by side"
    )
    return (
        f'<figure><figcaption>{escape(caption)}: regions above, buffers below</figcaption><svg role="img" '
        f'aria-label="{escape(caption)}" viewBox="0 0 {WIDTH} {2 * ROW + GAP}" width="100%">{drawn}</svg>'
        f"<ul>{''.join(f'<li>{escape(words)}</li>' for *_, words in rows)}</ul></figure>"
    )


def _rows(last: Args) -> tuple[list[tuple[int, int, int, str]], int]:
    """Returns row (0: regions), first byte, bytes and words of each part; and the bytes of all regions."""
    found: list[tuple[int, int, int, str]] = []
    at = 0
    for region in last["regions"]:
        begin, size = int(region["kernel"], 16), region["size"]
        found.append((0, at, size, f"{in_words(size)} of {region['physical']}, seen at {region['kernel']}"))
        for shown in last["shown"]:
            inside = int(shown["at"], 16) - begin
            if 0 <= inside < size:
                words = f"buffer {shown['buffer']}: {in_words(shown['size'])}, seen at {shown['at']}"
                found.append((1, at + inside, shown["size"], words))
        at += size
    return found, at


def _drawn(number: int, row: tuple[int, int, int, str], total: int) -> str:
    line, begin, size, words = row
    x, width, y = begin / total * WIDTH, size / total * WIDTH, line * (ROW + GAP)
    label = words.partition(",")[0]
    text = f'<text x="{x + 4:.1f}" y="{y + ROW - 12}">{escape(label)}</text>' if width > len(label) * TEXT_WIDTH else ""
    return (
        f'<g><title>{escape(words)}</title><rect x="{x:.1f}" y="{y}" width="{max(width, 1):.1f}" height="{ROW}" '
        f'style="fill: {buffer_css(number)}; fill-opacity: .35; stroke: {buffer_css(number)}"/>{text}</g>'
    )
