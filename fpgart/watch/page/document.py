# SPDX-License-Identifier: Apache-2.0
"""The page: figures, tables, style and script in one file."""

from __future__ import annotations

from html import escape
from typing import Any

from bokeh.document import Document
from bokeh.embed import components
from bokeh.events import DocumentReady
from bokeh.models import Range1d
from bokeh.resources import Resources

from fpgart.watch import history
from fpgart.watch.page.mapping import last_mapping
from fpgart.watch.page.memory import memory_of
from fpgart.watch.page.tables import advice_of, bandwidth_of, buffers_of, copies_of, head_of, navigation
from fpgart.watch.page.timeline import timeline_of
from fpgart.watch.report.model import Report
from fpgart.watch.report.text import as_text
from fpgart.watch.report.trace_events import Args

SCRIPTS = Resources(mode="inline", components=["bokeh", "bokeh-widgets"])
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
    """The page; `report` is that of `events`."""
    end = max(report.microseconds, 0.001)
    shared = Range1d(0, end / 1000, bounds=(0, end / 1000), min_interval=1e-6)
    timeline, line = timeline_of(events, shared)
    blocks = history.boxes(events, end)
    document = Document()
    document.add_root(timeline)
    parts: dict[str, Any] = {"timeline": timeline}
    if blocks:
        parts["memory"], begin = memory_of(blocks, end, shared, [line])
        document.add_root(parts["memory"])
        document.js_on_event(DocumentReady, begin)
    mapping = last_mapping(events)
    if mapping is not None:
        parts["mapping"] = mapping[1]
        document.add_root(mapping[1])
    script, places = components(parts)
    body = [
        f"<h1>{escape(title)}</h1>",
        navigation(bool(blocks)),
        head_of(report),
        '<h2 id="avoid">Copies to avoid</h2>',
        advice_of(report),
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
        buffers_of(report),
        '<h2 id="copies">Copies</h2>',
        copies_of(report),
        '<h2 id="bandwidth">Bandwidth</h2>',
        bandwidth_of(events),
        "<h2>In words</h2>",
        f"<details><summary>what `fpgart report` prints</summary><pre>{escape(as_text(report))}</pre></details>",
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"{SCRIPTS.render()}\n<style>{STYLE}</style>\n</head><body>\n"
        + "\n".join(body)
        + f"\n{script}\n</body></html>\n"
    )
