# SPDX-License-Identifier: Apache-2.0
"""Findings and advice for the programs that show them beside the code: SARIF 2.1.0, and annotations of GitHub."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fpgart.version import __version__
from fpgart.watch.mistake import Mistake, mistake_in
from fpgart.watch.report.model import Report
from fpgart.watch.report.sites import place_of
from fpgart.watch.report.text import saved
from fpgart.watch.report.verdict import folded

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
WARNING, NOTE = "warning", "note"
LEVELS = {WARNING: "warning", NOTE: "notice"}
"""GitHub's names for the levels of SARIF."""
NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on a line of the host; `file` "" and `line` 0 if the line is not known."""

    rule: str
    level: str
    words: str
    file: str = ""
    line: int = 0


def of_findings(lines: Iterable[str]) -> list[Remark]:
    """Returns the remarks in the lines of FPGART_FINDINGS; other lines are ignored."""
    found = []
    for line in lines:
        try:
            facts = json.loads(line)
        except ValueError:  # the last line of a process that was killed
            continue
        file, number = place_of(facts.get("misused_at") or facts.get("made_at") or {})
        found.append(_finding(Mistake(**mistake_in(facts)), file, number))
    return found


def of_report(report: Report) -> list[Remark]:
    """Returns the findings of a traced run and the advice; equal advice is one remark."""
    found = [_finding(each, each.file, each.line) for each in report.findings]
    for item in folded(report.advice):
        places = (place_of(stack) for advice in item.all for stack in advice.stacks)
        file, line = next(places, ("", 0))
        told = item.summed()
        found.append(Remark(f"advice/{_name(told.noun)}", NOTE, f"{told.words}: {saved(told)}", file, line))
    found += [Remark("advice/heap", NOTE, finding.words) for finding in report.heap_advice]
    return found


def _finding(found: Mistake, file: str, line: int) -> Remark:
    words = f"{found.words} ({found.object}). Fix: {found.fix}"
    return Remark(f"{found.check}/{_name(found.rule)}", WARNING, words, file, line)


def _name(words: str) -> str:
    return NO_NAME.sub("-", words.lower()).strip("-")


def as_sarif(remarks: list[Remark]) -> str:
    """Returns a log of one run of the tool fpgart."""
    rules = list(dict.fromkeys(remark.rule for remark in remarks))
    driver = {
        "name": "fpgart",
        "semanticVersion": __version__,
        "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("-", " ").replace("/", ": ")}} for rule in rules
        ],
    }
    results = [_result(remark, rules.index(remark.rule)) for remark in remarks]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(remark: Remark, rule: int) -> dict[str, Any]:
    made: dict[str, Any] = {"ruleId": remark.rule, "ruleIndex": rule, "level": remark.level}
    made["message"] = {"text": remark.words}
    if remark.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(remark.file)}}
        if remark.line:
            place["region"] = {"startLine": remark.line}
        made["locations"] = [{"physicalLocation": place}]
    return made


def _uri(file: str) -> str:
    """Returns a URI relative to this folder, which is that of the repository in a pipeline, if the file is below it."""
    relative = _relative(file)
    return Path(relative).as_uri() if os.path.isabs(relative) else quote(relative)


def _relative(file: str) -> str:
    here = os.getcwd()
    return os.path.relpath(file, here) if os.path.isabs(file) and os.path.commonpath((file, here)) == here else file


def as_github(remarks: list[Remark]) -> str:
    """Returns workflow commands, a line each, which GitHub shows beside the lines of a pull request."""
    lines = []
    for remark in remarks:
        facts = {"title": f"fpgart {remark.rule}"}
        if remark.file:
            facts["file"] = _relative(remark.file)
        if remark.line:
            facts["line"] = str(remark.line)
        told = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in facts.items())
        lines.append(f"::{LEVELS[remark.level]} {told}::{_escaped(remark.words)}\n")
    return "".join(lines)


def _escaped(words: str, more: str = "") -> str:
    """Escapes characters for workflow commands; `more`: characters that end a property."""
    for character in f"%\r\n{more}":
        words = words.replace(character, f"%{ord(character):02X}")
    return words
