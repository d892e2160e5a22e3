# SPDX-License-Identifier: Apache-2.0
"""The page: figures, tables, style and script in one file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from fpgart.watch import history, lanes, time_use
from fpgart.watch.page import figures
from fpgart.watch.page.colours import Colours
from fpgart.watch.page.mapping import last_mapping
from fpgart.watch.page.tables import advice_of, bandwidth_of, buffers_of, copies_of, head_of, lanes_of, pipes_of
from fpgart.watch.page.where import where_the_time_went
from fpgart.watch.report.merge import packets
from fpgart.watch.report.model import Report
from fpgart.watch.report.text import as_text
from fpgart.watch.report.trace_events import Args

SCRIPTS = ("figures.js", "tables.js", "links.js")
"""In this order: links lead to elements that the other scripts have made."""
KEYS = (
    "Drag, or Shift and the wheel, to move; Ctrl and the wheel, or two fingers, to zoom; Shift and drag to sum up a "
    "range. Keys: arrows left and right (a, d) move, + and - (w, s) zoom, Home shows all, arrows up and down choose a "
    "lane, comma and full stop go from span to span, Enter zooms to a span, [ and ] begin and end a range at it, "
    "Escape leaves both."
)
TIMELINES = {
    "real": ("Real time", "measured on this computer, from the first command on"),
    "simulated": ("Simulated time", "modelled for the described board (docs/time.md)"),
}


@dataclass(slots=True)
class Section:
    """A part of the page that the navigation leads to; `screen`: not on paper."""

    name: str
    title: str
    body: str
    screen: bool = False

    def html(self) -> str:
        kind = ' class="screen"' if self.screen else ""
        heading = f'<h2 id="{self.name}">{self.title}</h2>'
        return f'<section{kind} aria-labelledby="{self.name}">{heading}\n{self.body}</section>'


def as_html(report: Report, events: list[Args], title: str) -> str:
    """Returns the page; `report` is that of `events`."""
    end = round(report.microseconds * 1000)
    real, simulated = lanes.real(events), lanes.simulated(events)
    colours, words = Colours([*real, *simulated], report.loading), figures.Words()
    zero = lanes.first_command(events)
    sent = lanes.arrows(real, packets(events))
    data: dict[str, Any] = {"real": figures.timeline(real, zero, end, colours, words, arrows=sent)}
    modelled = time_use.of_simulated(events, simulated)
    if modelled is not None:
        begin = lanes.first_simulated(events)
        data["simulated"] = figures.timeline(simulated, begin, begin + modelled.total, colours, words, folds=True)
    boxes = history.boxes(events, report.microseconds)
    if boxes:
        data["memory"] = figures.memory(boxes, zero, report.microseconds, words)
    data |= {"colours": [colours.css(key) for key in colours.keys], "words": words.texts()}
    data["kinds"] = [colours.words(key) for key in colours.keys]
    use = time_use.of_real(events, real, end)
    sections = [
        Section("use", "Where the time went", where_the_time_went(use, modelled, report, colours)),
        Section("avoid", "To avoid", advice_of(report)),
        Section("timeline", "Timeline", _timeline(data, colours, report.loading)),
    ]
    if boxes:
        sections.append(Section("memory", "Memory", _memory(data["memory"]["fullest"], data["real"]["end"])))
    mapping = last_mapping(events)
    if mapping:
        sections.append(Section("mapping", "Last mapping", mapping))
    summary = "<summary>what <code>fpgart report</code> prints</summary>"
    printed = f"<details>{summary}<pre>{escape(as_text(report))}</pre></details>"
    sections += [
        Section("lanes", "Lanes", lanes_of(real, simulated), screen=True),
        Section("buffers", "Buffers", buffers_of(report, linked=True), screen=True),
        Section("copies", "Copies", copies_of(report, lanes.sites_of(events).place), screen=True),
        *([Section("pipes", "Pipes", pipes_of(report), screen=True)] if report.pipes else []),
        Section("bandwidth", "Bandwidth", bandwidth_of(events), screen=True),
        Section("words", "In words", printed, screen=True),
    ]
    return _page(title, head_of(report), sections, data)


def _page(title: str, head: str, sections: list[Section], data: dict[str, Any]) -> str:
    links = "".join(f'<a href="#{each.name}">{each.title.lower()}</a>' for each in sections)
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    body = "\n".join(section.html() for section in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">\n'
        f"<style>{_part('style.css')}</style></head><body>\n"
        f"<header><h1>{escape(title)}</h1>"
        '<button id="theme" type="button" class="screen" title="light or dark; auto: as the system has it">'
        f"colours: auto</button></header>\n{head}\n"
        f'<nav aria-label="Parts of the page">{links}</nav>\n<main>{body}</main>\n'
        f'<div id="tip" role="tooltip" hidden></div>\n<script type="application/json" id="data">{packed}</script>\n'
        + "".join(f"<script>{_part(name)}</script>\n" for name in SCRIPTS)
        + "</body></html>\n"
    )


def _part(name: str) -> str:
    return resources.files("fpgart.watch.page").joinpath(name).read_text(encoding="utf-8")


def _timeline(data: dict[str, Any], colours: Colours, loading: str) -> str:
    names = [name for name in TIMELINES if name in data]
    both = len(names) > 1
    choices = [("both", "both"), ("real", "real time"), ("simulated", "simulated time")] if both else []
    which = "".join(
        f'<button type="button" data-show="{name}" aria-pressed="{str(name == "both").lower()}">{words}</button>'
        for name, words in choices
    )
    tools = [
        ("in", "zoom in"),
        ("out", "zoom out"),
        ("all", "from the first command"),
        ("setup", "with the set-up before it"),
    ]
    select = '<button type="button" id="select" aria-pressed="false">select a range</button>'
    buttons = "".join(f'<button type="button" data-do="{name}">{words}</button>' for name, words in tools)
    legend = "".join(
        f'<button type="button" data-colour="{number}" aria-pressed="true" title="show or hide">'
        f'<span class="swatch" style="--c: {colours.css(key)}"></span>{escape(colours.words(key))}</button>'
        for number, key in enumerate(colours.keys)
    )
    switch = f'<span class="group" role="group" aria-label="which time">{which}</span>' if which else ""
    parts = [_figure(name, loading if data[name]["folds"] else "") for name in names]
    return (
        f'<div class="toolbar">{switch}{buttons}{select}</div>'
        f'<div class="legend" role="group" aria-label="kinds">{legend}</div>'
        f'{"".join(parts)}<output id="details" aria-live="polite"></output>'
        f'<output id="range" aria-live="polite"></output><p class="note screen">{KEYS}</p>'
    )


def _figure(name: str, folded: str) -> str:
    """Returns a timeline's figure. `folded`: a note on the part of the axis that is folded, or ""."""
    title, words = TIMELINES[name]
    note = f"; {folded}, which would hide all else, is folded" if folded else ""
    return (
        f'<figure id="{name}-part"><figcaption><b>{title}</b>, {words}{note}</figcaption>'
        f'<canvas id="{name}" tabindex="0" role="application" aria-label="{title}: a timeline; the table of '
        f'lanes has its sums. {KEYS}"></canvas></figure>'
    )


def _memory(first: int, end: int) -> str:
    """Returns the figure of memories. `first`: the slider's first position, in nanoseconds since the first command."""
    return (
        "<figure><figcaption>Blocks over time, addresses upwards, all lanes to one scale; stripes: the memory "
        "interleaves its banks, so that each block lies in all of them. In use: blocks, and holes "
        "between them.</figcaption>"
        '<canvas id="memory-figure" tabindex="0" role="application" aria-label="Memory over time: the table of '
        f'buffers has the same. {KEYS}"></canvas></figure>'
        f'<label for="time" class="screen">what lies where at a time</label><input type="range" id="time" min="0" '
        f'max="{end}" value="{max(first, 0)}" step="{max(end // 10000, 1)}">'
        '<output id="says" aria-live="polite"></output>'
    )
