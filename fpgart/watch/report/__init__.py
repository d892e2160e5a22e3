# SPDX-License-Identifier: Apache-2.0
"""The report of a trace: the movements, their causes, and what the host can avoid.

model.py declares the facts. collect.py takes them from the events of a trace, advice.py and its neighbours find what
the host can do better, text.py writes the report.
"""

from fpgart.watch.report.advice import Adviser, covers
from fpgart.watch.report.collect import of, read
from fpgart.watch.report.merge import as_trace, merged, packets
from fpgart.watch.report.model import (
    CERTAIN,
    Advice,
    BufferLife,
    CableTraffic,
    CheckFinding,
    Copy,
    Finding,
    HeldBlock,
    KernelRuns,
    Modelled,
    Report,
    Traffic,
)
from fpgart.watch.report.text import (
    as_json,
    as_text,
    cables_in_words,
    heading,
    modelled_in_words,
    never,
    places_in_words,
    saved,
    skipped_in_words,
)
from fpgart.watch.report.trace_events import (
    Args,
    TraceError,
    events,
    in_order,
    of_fpgart,
    ordered,
    without_collector,
)
from fpgart.watch.report.verdict import verdict

__all__ = [
    "CERTAIN",
    "Advice",
    "Adviser",
    "Args",
    "BufferLife",
    "CableTraffic",
    "CheckFinding",
    "Copy",
    "Finding",
    "HeldBlock",
    "KernelRuns",
    "Modelled",
    "Report",
    "TraceError",
    "Traffic",
    "as_json",
    "as_text",
    "as_trace",
    "cables_in_words",
    "covers",
    "events",
    "heading",
    "in_order",
    "merged",
    "modelled_in_words",
    "never",
    "of",
    "of_fpgart",
    "ordered",
    "packets",
    "places_in_words",
    "read",
    "saved",
    "skipped_in_words",
    "verdict",
    "without_collector",
]
