# SPDX-License-Identifier: Apache-2.0
"""Write fpgart/schemas, JSON Schemas of what fpgart writes for programs, from the types in fpgart/watch/report.

python scripts/generate_schemas.py [--check]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fpgart.watch.report import model  # noqa: E402

TARGET = ROOT / "fpgart" / "schemas"
TEXT, NUMBER, INTEGER, FLAG = ({"type": name} for name in ("string", "number", "integer", "boolean"))
PRIMITIVES: dict[Any, Any] = {str: TEXT, float: NUMBER, int: INTEGER, bool: FLAG, object: {}}


def schema(kind: Any) -> dict[str, Any]:
    """Returns the schema of a type that asdict() converts for JSON."""
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return record({each.name: schema(types[each.name]) for each in fields(kind)})
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return {"anyOf": [{"type": "null"} if part is NoneType else schema(part) for part in parts]}
    if origin is list:
        return array(schema(parts[0]))
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [schema(part) for part in parts],
            "items": False,
            "minItems": len(parts),
        }
    if origin is Counter:
        return table(INTEGER)
    if origin is dict:
        return table(schema(parts[1]))
    raise TypeError(kind)


def record(properties: dict[str, Any], optional: tuple[str, ...] = (), *, more: bool = False) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": more}


def table(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def with_device(name: str, kind: Any) -> dict[str, Any]:
    """Entries of what a report has by device and name."""
    made = schema(kind)
    return array(record({"device": INTEGER, name: TEXT, **made["properties"]}))


def report() -> dict[str, Any]:
    """The output of `fpgart report --json`."""
    waits = array(record({"kernel": TEXT, "writing": FLAG, "nanoseconds": INTEGER}))
    channel = {"device": INTEGER, "channel": TEXT, "depth": schema(int | None), "packets": INTEGER, "waits": waits}
    types = get_type_hints(model.Report)
    named = {
        "traffic": with_device("call", model.Traffic),
        "kernels": with_device("kernel", model.KernelRuns),
        "pipes": with_device("pipe", model.DeclaredPipe),
        "cables": with_device("channel", model.CableTraffic),
        "modelled": with_device("what", model.Modelled),
        "buffers": array(schema(model.BufferLife)),
        "modelled_channels": array(record(channel)),
        "untold": array(record({"device": INTEGER, "kernel": TEXT, "why": TEXT})),
        "busy": array(record({"device": INTEGER, "resource": TEXT, "nanoseconds": INTEGER})),
        "verdict": array(TEXT),
    }
    plain = (
        "activities", "savings", "boards", "run", "whole", "unlocked", "microseconds", "calls", "errors", "probes",
        "processes", "copies", "programmed", "programming_microseconds", "skipped_migrations", "modelled_nanoseconds",
        "advice", "findings", "heap_advice",
    )  # fmt: skip
    return record({**named, **{name: schema(types[name]) for name in plain}})


def findings() -> dict[str, Any]:
    """A line of FPGART_FINDINGS."""
    place = record({"call": TEXT, "place": TEXT, "stack": array(table({}))})
    texts = dict.fromkeys(("check", "rule", "object", "made_by", "misused_by", "words", "fix", "against"), TEXT)
    sites = dict.fromkeys(("made_at", "misused_at", "against_at"), place)
    counts = {"count": INTEGER, "bytes": INTEGER, "references": INTEGER}
    return record({**texts, **sites, **counts}, ("against", *sites, *counts))


def diff() -> dict[str, Any]:
    """The output of `fpgart diff --json`."""
    units = {"enum": ["bytes", "nanoseconds", "times"]}
    figure = record({"what": TEXT, "unit": units, "before": INTEGER, "after": INTEGER, "change": TEXT})
    advice = array(schema(model.Advice))
    return record({"figures": array(figure), "new_advice": advice, "followed_advice": advice, "notes": array(TEXT)})


def trace() -> dict[str, Any]:
    """A trace: its events, as chrome://tracing and Perfetto know them; fpgart.watch.trace describes their arguments."""
    event = {
        "name": TEXT, "cat": TEXT, "ph": {"enum": ["X", "i", "C", "M", "s", "f"]}, "pid": INTEGER, "tid": INTEGER,
        "ts": NUMBER, "dur": {"type": "number", "minimum": 0}, "args": table({}), "s": TEXT, "id": INTEGER, "bp": TEXT,
        "bind_id": TEXT, "flow_out": FLAG, "flow_in": FLAG,
    }  # fmt: skip
    return array(record(event, ("cat", "ts", "dur", "args", "s", "id", "bp", "bind_id", "flow_out", "flow_in")))


def texts() -> dict[str, str]:
    """Returns the files, by name."""
    made = {}
    for build in (trace, report, findings, diff):
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": (build.__doc__ or "").rstrip(".")}
        made[f"{build.__name__}.schema.json"] = json.dumps(head | build(), indent=1) + "\n"
    return made


def main() -> None:
    stale = []
    for name, text in texts().items():
        file = TARGET / name
        if sys.argv[1:] != ["--check"]:
            TARGET.mkdir(exist_ok=True)
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what scripts/generate_schemas.py makes; run it")


if __name__ == "__main__":
    main()
