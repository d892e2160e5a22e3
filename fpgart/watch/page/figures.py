# SPDX-License-Identifier: Apache-2.0
"""What all figures of the page have in common."""

from __future__ import annotations

from typing import Any

from bokeh.models import BoxZoomTool, HoverTool, PanTool, Range1d, ResetTool, Span, WheelZoomTool
from bokeh.plotting import figure

BUFFER_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")


def figure_of(height: int, shared: Range1d | None, hover: str, **more: Any) -> Any:
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


def time_mark() -> Span:
    return Span(location=0, dimension="height", line_color="#cc0000", line_dash="dashed")
