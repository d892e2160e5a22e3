# SPDX-License-Identifier: Apache-2.0
"""Memory: which block was where, and how full the memories were."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from bokeh.layouts import column
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSTickFormatter,
    Div,
    FixedTicker,
    LabelSet,
    Range1d,
    Slider,
    Span,
)

from fpgart.watch import history
from fpgart.watch.history import Box, Memory
from fpgart.watch.page.figures import BUFFER_COLOURS, figure_of, time_mark
from fpgart.watch.words import in_words

LANE = 1.2
"""The distance between two lanes; a full lane is 1 high."""
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


class _Lanes:
    """A lane per bank in use, from below; all lanes of a memory have the scale of its fullest bank."""

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


def memory_of(blocks: list[Box], end: float, shared: Range1d, marks: list[Span]) -> tuple[Any, CustomJS]:
    """The figures, and the callback that draws the blocks at the slider's first time."""
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
        marks.append(time_mark())
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
    """The slider's first time: when most bytes were in use, in microseconds."""
    steps = history.occupancy(blocks, end)
    return steps.at[max(range(len(steps.used)), key=steps.used.__getitem__)]


def _blocks_over_time(source: ColumnDataSource, lanes: _Lanes, shared: Range1d) -> Any:
    made = figure_of(
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
    made = figure_of(
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
    made = figure_of(
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
