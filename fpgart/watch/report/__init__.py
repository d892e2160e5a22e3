# SPDX-License-Identifier: Apache-2.0
"""The report of a trace: the movements, their causes, and what the host can avoid.

model.py declares the facts. collect.py takes them from the events of a trace, advice.py and its neighbours find what
the host can do better, text.py writes the report.
"""

from fpgart.watch.report.collect import of, read
from fpgart.watch.report.merge import as_trace, merged
from fpgart.watch.report.model import Advice, BufferLife, CheckFinding, Copy, Report
from fpgart.watch.report.text import as_json, as_text
from fpgart.watch.report.trace_events import Args, TraceError, events, in_order, of_fpgart, ordered, without_collector
from fpgart.watch.report.verdict import verdict

__all__ = [
    "Advice",
    "Args",
    "BufferLife",
    "CheckFinding",
    "Copy",
    "Report",
    "TraceError",
    "as_json",
    "as_text",
    "as_trace",
    "events",
    "in_order",
    "merged",
    "of",
    "of_fpgart",
    "ordered",
    "read",
    "verdict",
    "without_collector",
]
