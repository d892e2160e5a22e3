# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs nothing else: no network, no server.

Bokeh draws, on a canvas, so that tens of thousands of boxes stay fluid; its script is part of the file.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import Any

from bokeh.document import Document
from bokeh.embed import components
from bokeh.events import DocumentReady
from bokeh.layouts import column
from bokeh.models import (
    AdaptiveTicker,
    BoxZoomTool,
    ColumnDataSource,
    CustomJS,
    CustomJSTickFormatter,
    Div,
    FixedTicker,
    HoverTool,
    LabelSet,
    PanTool,
    Range1d,
    ResetTool,
    Slider,
    Span,
    WheelZoomTool,
)
from bokeh.plotting import figure
from bokeh.resources import Resources

from fpgart.watch import history
from fpgart.watch.history import Box, Memory
from fpgart.watch.report import Args, BufferLife, Report, as_text, saved
from fpgart.watch.words import in_words, times

MOST_ROWS = 1000
"""Lines of a table; more are counted, and in `fpgart report --json`."""
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
SCRIPTS = Resources(mode="inline", components=["bokeh", "bokeh-widgets"])
BUFFER_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")
LANE = 1.2
"""From one bank's lane to the next; a full lane is 1."""
BYTES = """
const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
const words = n => {
    let unit = 0
    while (n >= 1024 && unit < 4) { n /= 1024; unit++ }
    return +n.toPrecision(4) + " " + units[unit]
}
"""
AT_A_TIME = (
    BYTES
    + """
const t = cb_obj.value, all = boxes.data, shown = {left: [], right: [], y: [], colour: [], words: [], label: []}
const memories = new Map()
for (const name of names) memories.set(name, {used: 0, blocks: [], count: 0})
for (let i = 0; i < all.begin.length; i++) {
    if (all.begin[i] > t || all.end[i] <= t) continue
    const scale = all.scale[i]
    shown.left.push(all.offset[i] / scale); shown.right.push((all.offset[i] + all.size[i]) / scale)
    shown.colour.push(all.colour[i]); shown.words.push(all.words[i]); shown.y.push(all.lane[i])
    shown.label.push(all.size[i] > scale * 0.03 ? all.label[i] : "")
    const memory = memories.get(all.memory[i])
    memory.used += all.size[i]; memory.blocks.push([all.lane[i], all.offset[i], all.size[i]])
}
now.data = shown
for (const mark of marks) mark.location = t
const lines = []
for (const [name, memory] of memories) {
    memory.blocks.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    let lane = null, end = 0, holes = 0, bytes = 0, largest = 0
    for (const [at, offset, size] of memory.blocks) {
        if (at !== lane) { lane = at; end = 0 }
        const hole = offset - end
        if (hole > 0) { holes++; bytes += hole; largest = Math.max(largest, hole) }
        end = offset + size
    }
    lines.push(`${name}: ${memory.blocks.length} blocks, ${words(memory.used)}; ${holes} holes of ${words(bytes)}, ` +
        `the largest ${words(largest)}`)
}
says.text = `at ${t.toFixed(3)} ms<br>` + lines.map(l => l.replace(/&/g, "&amp;").replace(/</g, "&lt;")).join("<br>")
"""
)
STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 1240px; padding: 0 1rem; color: #222 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .6rem; vertical-align: top }
th { border-bottom: 1px solid #888 } tr:nth-child(even) td { background: #f6f6f6 } td.n, th.n { text-align: right }
.advice li { margin: .4rem 0 } .saved { font-weight: 600 } .warn { background: #fff3cd; padding: .5rem .8rem }
nav a { margin-right: 1.2rem } .note { color: #666 } pre { white-space: pre-wrap }
.rows { max-height: 30rem; overflow-y: auto } .rows th { position: sticky; top: 0; background: white }
@media print {
  .rows { max-height: none; overflow: visible }
  nav { display: none }
  body { max-width: none; margin: 0 }
  tr, figure, li { break-inside: avoid } }
"""


def as_html(report: Report, events: list[Args], title: str) -> str:
    """The page; `events` are those that `report` was made from."""
    end = max(report.microseconds, 0.001)
    shared = Range1d(0, end / 1000, bounds=(0, end / 1000), min_interval=1e-6)
    timeline, line = _timeline(events, shared)
    blocks = history.boxes(events, end)
    document = Document()
    document.add_root(timeline)
    parts: dict[str, Any] = {"timeline": timeline}
    if blocks:
        parts["memory"], begin = _memory(blocks, end, shared, [line])
        document.add_root(parts["memory"])
        document.js_on_event(DocumentReady, begin)
    mapping = _last_mapping(events)
    if mapping is not None:
        parts["mapping"] = mapping[1]
        document.add_root(mapping[1])
    script, places = components(parts)
    body = [
        f"<h1>{escape(title)}</h1>",
        _navigation(bool(blocks)),
        _head(report),
        '<h2 id="avoid">Copies to avoid</h2>',
        _advice(report),
        '<h2 id="timeline">Timeline</h2>',
        '<p class="note">Drag to move, wheel to zoom, a box with the tool beside; a click in the legend hides a '
        "kind.</p>",
        places["timeline"],
    ]
    if blocks:
        body += ['<h2 id="memory">Memory</h2>', places["memory"]]
    if mapping is not None:
        body += [f'<h2 id="mapping">Last mapping</h2><p class="note">{escape(mapping[0])}</p>', places["mapping"]]
    body += [
        '<h2 id="buffers">Buffers</h2>',
        _buffers(report),
        '<h2 id="copies">Copies</h2>',
        _copies(report),
        '<h2 id="bandwidth">Bandwidth</h2>',
        _bandwidth(events),
        "<h2>In words</h2>",
        f"<details><summary>what `fpgart report` prints</summary><pre>{escape(as_text(report))}</pre></details>",
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"{SCRIPTS.render()}\n<style>{STYLE}</style>\n</head><body>\n"
        + "\n".join(body)
        + f"\n{script}\n</body></html>\n"
    )


# The figures


def _figure(height: int, shared: Range1d | None, hover: str, **more: Any) -> Any:
    ways = {"dimensions": "width"} if shared is not None else {}
    wheel, pan = WheelZoomTool(**ways), PanTool(**ways)
    tools = [pan, wheel, BoxZoomTool(**ways), ResetTool(), HoverTool(tooltips=hover)]
    if shared is not None:
        more["x_range"] = shared
    made = figure(
        height=height, sizing_mode="stretch_width", tools=tools, toolbar_location="right", min_border_left=260, **more
    )
    made.toolbar.logo = None
    made.toolbar.active_scroll = wheel
    made.toolbar.active_drag = pan
    made.xgrid.grid_line_color = "#eeeeee"
    made.ygrid.grid_line_color = None
    return made


KINDS_OF_LANE = ("queue", "auto_queue", "kernels", "host to", "board to", "within", "shared", "programming")


def _lane_order(lane: str) -> tuple[bool, str, int, str]:
    """The host's threads, then each device: queues, kernels, directions."""
    place, _, kind = lane.partition(": ")
    if place == "host":
        return False, "", 0, lane
    rank = next((rank for rank, start in enumerate(KINDS_OF_LANE) if kind.startswith(start)), len(KINDS_OF_LANE))
    return True, place, rank, kind


def _timeline(events: list[Args], shared: Range1d) -> tuple[Any, Span]:
    """What ran when, a lane per thread, queue and direction; and its mark of the slider's time."""
    found = history.spans(events)
    rows: dict[str, int] = defaultdict(int)
    for span in found:
        rows[span.lane] = max(rows[span.lane], span.row + 1)
    tops: dict[str, int] = {}
    height = 0
    for lane in sorted(rows, key=_lane_order):
        tops[lane] = height
        height += rows[lane]
    made = _figure(
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
    mark = _mark()
    made.add_layout(mark)
    return made, mark


def _mark() -> Span:
    return Span(location=0, dimension="height", line_color="#cc0000", line_dash="dashed")


def _duration(microseconds: float) -> str:
    return f"{microseconds / 1000:.3f} ms" if microseconds >= 1000 else f"{microseconds:.3f} µs"


class _Lanes:
    """Banks that were used, from below; all lanes of a memory have one scale, its fullest bank's."""

    def __init__(self, blocks: list[Box]) -> None:
        self.full: dict[Memory, int] = defaultdict(int)
        banks: set[tuple[Memory, int]] = set()
        for box in blocks:
            self.full[box.memory] = max(self.full[box.memory], box.offset + box.size)
            banks.add((box.memory, box.bank))
        ordered = sorted(banks, key=lambda bank: (bank[0].device, bank[0].begin, bank[1]))
        self.numbers = {bank: number for number, bank in enumerate(ordered)}

    def bottom(self, box: Box) -> float:
        return LANE * self.numbers[box.memory, box.bank]

    def labels(self) -> dict[float, str]:
        return {LANE * number + 0.5: self._label(*bank) for bank, number in self.numbers.items()}

    def _label(self, memory: Memory, bank: int) -> str:
        whole = f" of {in_words(memory.bank_size)}" if memory.size else ""
        return f"{history.bank_in_words(memory, bank)}: 0 to {in_words(self.full[memory])}{whole}"


def _memory(blocks: list[Box], end: float, shared: Range1d, marks: list[Span]) -> tuple[Any, CustomJS]:
    """Blocks over time, how full memories were, and the blocks at the time of a slider; what shows these first."""
    lanes = _Lanes(blocks)
    source = ColumnDataSource(
        {
            "begin": [box.begin / 1000 for box in blocks],
            "end": [box.end / 1000 for box in blocks],
            "bottom": [lanes.bottom(box) + box.offset / lanes.full[box.memory] for box in blocks],
            "top": [lanes.bottom(box) + (box.offset + box.size) / lanes.full[box.memory] for box in blocks],
            "offset": [box.offset for box in blocks],
            "size": [box.size for box in blocks],
            "scale": [lanes.full[box.memory] for box in blocks],
            "lane": [lanes.numbers[box.memory, box.bank] for box in blocks],
            "memory": [str(box.memory) for box in blocks],
            "colour": [BUFFER_COLOURS[box.buffer % len(BUFFER_COLOURS)] for box in blocks],
            "label": [str(box.buffer) for box in blocks],
            "words": [history.box_in_words(box) for box in blocks],
        }
    )
    over_time = _blocks_over_time(source, lanes, shared)
    filling = _filling(blocks, end, shared)
    for each in (over_time, filling):
        marks.append(_mark())
        each.add_layout(marks[-1])
    now = ColumnDataSource({name: [] for name in ("left", "right", "y", "colour", "words", "label")})
    at_a_time = _blocks_at_a_time(now, lanes)
    says = Div(text="", name="says")
    slider = Slider(
        start=0, end=end / 1000, value=0, step=end / 1e6, title="time in ms", sizing_mode="stretch_width", name="time"
    )
    names = list(dict.fromkeys(str(memory) for memory, _ in lanes.numbers))
    show = CustomJS(args={"boxes": source, "now": now, "marks": marks, "says": says, "names": names}, code=AT_A_TIME)
    slider.js_on_change("value", show)
    slider.value = _fullest(blocks, end) / 1000
    begin = CustomJS(args={"slider": slider}, code="slider.properties.value.change.emit()")
    return column(over_time, filling, slider, says, at_a_time, sizing_mode="stretch_width"), begin


def _fullest(blocks: list[Box], end: float) -> float:
    """When most bytes were in use, in microseconds: where a look begins."""
    steps = history.occupancy(blocks, end)
    return steps.at[max(range(len(steps.used)), key=steps.used.__getitem__)]


def _blocks_over_time(source: ColumnDataSource, lanes: _Lanes, shared: Range1d) -> Any:
    made = _figure(
        100 + 70 * min(len(lanes.numbers), 10),
        shared,
        "@words<br>from @begin{0.000} to @end{0.000} ms",
        y_range=Range1d(-0.1, LANE * len(lanes.numbers)),
        x_axis_label="ms",
        title="blocks over time, addresses upwards",
        name="memory",
    )
    made.quad("begin", "end", "top", "bottom", source=source, fill_color="colour", line_color="white", fill_alpha=0.85)
    made.yaxis.ticker = FixedTicker(ticks=list(lanes.labels()))
    made.yaxis.major_label_overrides = lanes.labels()
    return made


def _filling(blocks: list[Box], end: float, shared: Range1d) -> Any:
    made = _figure(
        250 + 12 * len({box.memory for box in blocks}),
        shared,
        "@memory: $name at @at{0.000} ms",
        x_axis_label="ms",
        title="bytes in blocks and in holes",
    )
    by_memory: dict[Memory, list[Box]] = defaultdict(list)
    for box in blocks:
        by_memory[box.memory].append(box)
    for number, (memory, these) in enumerate(by_memory.items()):
        steps = history.occupancy(these, end)
        data = {"at": [at / 1000 for at in steps.at], "memory": [str(memory)] * len(steps.at)}
        colour = BUFFER_COLOURS[number % len(BUFFER_COLOURS)]
        for what, values, dash in (("in blocks", steps.used, "solid"), ("in holes", steps.holes, "dotted")):
            line = {**data, "value": values}
            made.step(
                "at", "value", source=ColumnDataSource(line), mode="after", line_color=colour, line_dash=dash,
                line_width=2, legend_label=f"{memory}: {what}", name=what,
            )  # fmt: skip
    made.yaxis.formatter = CustomJSTickFormatter(code=BYTES + "return words(tick)")
    made.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=[1 << power for power in range(10)])
    made.legend.click_policy = "hide"
    made.legend.ncols = 4
    made.add_layout(made.legend[0], "above")
    return made


def _blocks_at_a_time(now: ColumnDataSource, lanes: _Lanes) -> Any:
    made = _figure(
        110 + 40 * min(len(lanes.numbers), 12),
        None,
        "@words",
        x_range=Range1d(0, 1),
        y_range=Range1d(-0.6, len(lanes.numbers) - 0.4),
        title="blocks at the slider's time, by buffer, addresses to the right",
        name="now",
    )
    made.hbar(
        y="y", left="left", right="right", height=0.8, source=now, fill_color="colour", line_color="white",
        fill_alpha=0.85,
    )  # fmt: skip
    made.add_layout(LabelSet(x="left", y="y", text="label", source=now, x_offset=3, y_offset=-7, text_font_size="11px"))
    made.yaxis.ticker = FixedTicker(ticks=list(range(len(lanes.numbers))))
    made.yaxis.major_label_overrides = dict(enumerate(lanes.labels().values()))
    made.xaxis.visible = False
    return made


# The tables


def _last_mapping(events: list[Args]) -> tuple[str, Any] | None:
    """Which memory the last kernel that had regions was shown where; a sentence and a figure."""
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
    made = _figure(150, None, "@words", y_range=["buffers", "regions"], x_axis_label="regions side by side, MiB")
    made.hbar(y="lane", left="left", right="right", height=0.7, source=source, color="colour", line_color="white")
    made.add_layout(
        LabelSet(x="left", y="lane", text="label", source=source, x_offset=4, y_offset=-6, text_font_size="10px")
    )
    return f"kernel '{last['kernel']}' on device {last['device']}, {times(len(last['regions']), 'region')}", made


def _table(name: str, heads: list[str], rows: list[list[str]], numbers: set[int]) -> str:
    """Cells are HTML; columns in `numbers` are set to the right."""
    if not rows:
        return "<p>none</p>"
    side = [' class="n"' if index in numbers else "" for index in range(len(heads))]
    lines = [f'<div class="rows"><table id="{name}-table"><thead><tr>']
    lines += [f"<th{s}>{head}</th>" for s, head in zip(side, heads, strict=True)]
    lines.append("</tr></thead><tbody>")
    for row in rows[:MOST_ROWS]:
        lines.append("<tr>" + "".join(f"<td{s}>{cell}</td>" for s, cell in zip(side, row, strict=True)) + "</tr>")
    lines.append("</tbody></table></div>")
    if len(rows) > MOST_ROWS:
        lines.append(f'<p class="note">and {len(rows) - MOST_ROWS} more: see `fpgart report --json`</p>')
    return "\n".join(lines)


def _navigation(has_memory: bool) -> str:
    places = ["avoid", "timeline", *(["memory"] if has_memory else []), "buffers", "copies", "bandwidth"]
    return "<nav>" + "".join(f'<a href="#{place}">{place}</a>' for place in places) + "</nav>"


def _head(report: Report) -> str:
    boards = ", ".join(f"device {device}: board '{name}'" for device, name in sorted(report.boards.items()))
    lines = [f"<p>{escape(boards or 'no device')}; {times(sum(report.calls.values()), 'call')} "]
    lines.append(f"in {report.microseconds / 1000:.1f} ms</p>")
    if not report.whole:
        lines.append('<p class="warn">The trace has no end: the process was killed, or still runs.</p>')
    for words, number in report.errors.most_common(MOST_ROWS):
        again = f" ({number} times)" if number > 1 else ""
        lines.append(f'<p class="warn">error{again}: {escape(words)}</p>')
    return "\n".join(lines)


def _advice(report: Report) -> str:
    if not report.advice and not report.heap_advice:
        return "<p>Nothing to avoid was found.</p>"
    items = [
        f'<li>{escape(advice.words)}: <span class="saved">{saved(advice)}</span></li>'
        for advice in report.advice[:MOST_ROWS]
    ]
    items += [f"<li>{escape(finding.words)}</li>" for finding in report.heap_advice[:MOST_ROWS]]
    return f'<ol class="advice">{"".join(items)}</ol>'


def _buffers(report: Report) -> str:
    rows = [_buffer_row(life) for life in sorted(report.buffers.values(), key=lambda life: life.number)]
    heads = ["number", "kind", "size", "from", "to", "copies", "copied", "places"]
    return _table("buffers", heads, rows, {0, 2, 3, 4, 5, 6})


def _buffer_row(life: BufferLife) -> list[str]:
    places = [
        f"{escape(place.words)}, from {place.begin / 1000:.3f} ms "
        + (f"to {place.end / 1000:.3f} ms" if place.end is not None else "to the end")
        for place in life.places
    ]
    return [
        str(life.number),
        escape(life.kind) + (f", part of {life.parent}" if life.parent else ""),
        in_words(life.size),
        f"{life.created / 1000:.3f} ms" if life.created is not None else "before",
        f"{life.released / 1000:.3f} ms" if life.released is not None else "never released",
        str(life.copies + life.migrations),
        in_words(life.copied_bytes) if life.copied_bytes else "",
        "<br>".join(places) or ("" if life.parent else "never on a board"),
    ]


def _copies(report: Report) -> str:
    rows = [
        [f"{copy.at / 1000:.3f}", str(copy.buffer), in_words(copy.size), escape(copy.what), escape(copy.cause)]
        for copy in report.copies
    ]
    return _table("copies", ["at, ms", "buffer", "size", "what", "cause"], rows, {0, 1, 2})


def _bandwidth(events: list[Args]) -> str:
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
        "<p class='note'>Times here are those of the simulation on this machine, not a board's. The board's are limits "
        "from the memory bandwidths in its description (a separate bank has its share; the way to the host is "
        "not counted); kernels are taken to touch each of their buffers' bytes once."
        "</p>"
    )
    return note + _table("bandwidth", heads, rows, {1, 2, 3, 4, 5, 6})
