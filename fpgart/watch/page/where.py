# SPDX-License-Identifier: Apache-2.0
"""The bar and the table "Where the time went" at the top of the page, measured here and modelled for the board."""

from __future__ import annotations

from html import escape

from fpgart.watch.page.colours import Colours
from fpgart.watch.report.model import Report
from fpgart.watch.time_use import APART, Part, TimeUse

MOST_PARTS = 40
"""The most rows of the table; the rest takes less time than any of them."""
LEAST_LABELLED = 0.06
"""The least share of a bar that has room for a name. The table has the names of smaller ones."""


def where_the_time_went(real: TimeUse, simulated: TimeUse | None, report: Report, colours: Colours) -> str:
    """Returns bars and table of both timelines."""
    bars = [_bar("real, measured on this computer", real, colours, report.loading)]
    if simulated is not None:
        bars.append(_bar("simulated, modelled for the board", simulated, colours, report.loading))
    note = (
        "Each moment between the first command and the last end counts for one row (time): first for kernels, which "
        f"share it when they run together, then for {report.loading}, copies, the link, and the host. Busy counts a "
        "row also while the time counts for another. "
        "Real times are those of the simulation on this computer, not of a board."
    )
    if simulated is None:
        note += " For those of the board: <code>fpgart run --time model</code>."
    table = _table(real, simulated, report, colours)
    return f'{"".join(bars)}<div class="rows where">{table}</div><p class="note screen">{note}</p>'


def _css(part: Part, colours: Colours) -> str:
    return colours.css(part.name if part.kind == "kernel" else part.kind)


def _bar(title: str, whole: TimeUse, colours: Colours, loading: str) -> str:
    """Returns a bar of commands, without APART, which may take seconds; `loading`: the name of that for programs."""
    use = whole.of_commands()
    parts = [part for part in use.parts if part.own]
    spans = "".join(
        f'<span style="--c: {_css(part, colours)}; flex: {part.own}" '
        f'title="{escape(part.name)}: {_time(part.own)}, {_percent(part.own, use)}">'
        f"{_label(part, use)}</span>"
        for part in parts
    )
    words = ", ".join(f"{part.name} {_percent(part.own, use)}" for part in parts[:6])
    apart = [(loading if part.kind == "program" else part.name, part) for part in whole.parts if part.kind in APART]
    before = "".join(f"; {escape(name)} apart: {_time(part.own)}" for name, part in apart if part.own)
    before += f"; {_time(use.before)} before the first command" if use.before else ""
    return (
        f"<div>{escape(title)}: <b>{_time(use.total)}</b><span class='note'>{before}</span></div>"
        f'<div class="stack" role="img" aria-label="{escape(title)}: {escape(words)}">{spans}</div>'
    )


def _label(part: Part, use: TimeUse) -> str:
    """Returns the text in a part of the bar; style.css cuts it off at the end of the part."""
    if part.own < LEAST_LABELLED * use.total:
        return ""
    return f"{_percent(part.own, use)} {escape(part.name)}"


def _table(real: TimeUse, simulated: TimeUse | None, report: Report, colours: Colours) -> str:
    columns = [real] if simulated is None else [real, simulated]
    found = [{part.name: part for part in (*use.parts, *use.banks)} for use in columns]
    shown: dict[str, Part] = {}
    for use in reversed(columns):
        for part in (*use.parts, *use.banks):
            shown.setdefault(part.name, part)
    rows = [_row(part, columns, found, report, colours) for part in list(shown.values())[:MOST_PARTS]]
    names = ["real (measured)", "simulated (modelled)"][: len(columns)]
    over = "".join(f'<th class="n" colspan="2" scope="colgroup">{name}</th><td class="busy"></td>' for name in names)
    kinds = (("time", "n"), ("share", "n"), ("busy", "n busy"))
    heads = "".join(f'<th class="{kind}" scope="col">{name}</th>' for name, kind in kinds) * len(columns)
    bound = '<th scope="col" class="wide">bound by</th>' if simulated is not None else ""
    return (
        f'<table id="use-table"><thead><tr><td></td>{over}</tr><tr><th scope="col">what</th>{heads}{bound}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _row(part: Part, columns: list[TimeUse], found: list[dict[str, Part]], report: Report, colours: Colours) -> str:
    css = _css(part, colours)
    cells = [f'<th scope="row"><span class="swatch" style="--c: {css}"></span>{escape(part.name)}</th>']
    for use, parts in zip(columns, found, strict=True):
        mine = parts.get(part.name)
        if mine is None:
            cells.append('<td></td><td></td><td class="busy"></td>')
            continue
        own = _time(mine.own) if mine.kind != "bank" else ""
        cells.append(f'<td class="n">{own}</td><td class="n">{_share(mine, use, css)}</td>')
        cells.append(f'<td class="n busy">{_time(mine.busy)}</td>')
    if len(columns) > 1:
        cells.append(f'<td class="wide">{escape(_bound(part, report))}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _share(part: Part, use: TimeUse, css: str) -> str:
    """Returns the share of the time of commands; APART has none."""
    if part.kind in APART:
        return "apart"
    rest = use.of_commands()
    share = part.busy if part.kind == "bank" else part.own
    bar = f'<span class="share" style="--c: {css}; --p: {100 * share / max(rest.total, 1):.1f}"></span>'
    return f"{bar}{_percent(share, rest)}"


def _bound(part: Part, report: Report) -> str:
    """Returns the resources that bound a kernel in the simulated clock, the most frequent first."""
    counts: dict[str, int] = {}
    for (_, name), modelled in report.modelled.items():
        if name == part.name:
            for bound, count in modelled.bounds.items():
                counts[bound] = counts.get(bound, 0) + count
    return ", ".join(sorted(counts, key=lambda bound: (-counts[bound], bound)))


def _time(nanoseconds: int) -> str:
    for unit, name in ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.4g} {name}"
    return f"{nanoseconds} ns"


def _percent(nanoseconds: int, use: TimeUse) -> str:
    return f"{100 * nanoseconds / max(use.total, 1):.1f} %"
