# SPDX-License-Identifier: Apache-2.0
"""Runs suites on engines and writes what came of it into docs/engines.md (make engines).

Results are kept in build/engines/results: a run that was interrupted continues where it was. Remove a file there to run
its suite again. docs/engines.json has the last result of each suite from any machine, and the page is made from it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from obtaining import FOLDER, RELEASES, ROOT, Missing
from suites import SUITES, measured

from fpgart.engine.known_faults import FAULTS

RESULTS = FOLDER / "results"
PAGE = ROOT / "docs" / "engines.md"
PUBLISHED = ROOT / "docs" / "engines.json"
BEGIN, END = "<!-- results: make engines writes them -->", "<!-- end of the results -->"
KINDS = ("passed", "failed", "crashed", "hung", "skipped")
PATIENCE_S = 1800


def result_file(engine: str, suite: str, way: str) -> Path:
    return RESULTS / f"{engine}.{suite}.{way}.json"


def run_all(engines: list[str], suites: list[str], patience_s: float) -> None:
    """Runs what has no result yet, the cheap suites first on all engines."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    missing: set[str] = set()
    for suite in suites:
        for engine in engines:
            for way in SUITES[suite].ways:
                file = result_file(engine, suite, way)
                if file.exists() or engine in missing:
                    continue
                try:
                    obtained = RELEASES[engine]()
                except Missing as why:
                    missing.add(engine)
                    print(f"{engine}: left out: {why}", flush=True)
                    continue
                try:
                    outcome, took = measured(SUITES[suite], obtained, way, patience_s)
                except Missing as why:
                    print(f"{engine} {suite} {way}: not run: {why}", flush=True)
                    continue
                today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
                file.write_text(json.dumps({**asdict(outcome), "took": round(took), "date": today}))
                print(f"{engine} {suite} {way}: {cell(json.loads(file.read_text()))}, {took:.0f} s", flush=True)


def published() -> dict[str, Any]:
    """Returns each result of the page, replaced by that of this machine if there is one, by engine, suite and way."""
    known: dict[str, Any] = json.loads(PUBLISHED.read_text()) if PUBLISHED.exists() else {}
    return known | {file.stem: json.loads(file.read_text()) for file in RESULTS.glob("*.json")}


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not run"
    if found["seconds"] is not None:
        return f"{found['seconds']:.2f} s"
    return ", ".join(f"{found[kind]} {kind}" for kind in KINDS if found[kind]) or "nothing ran"


def tables(results: dict[str, Any]) -> str:
    """Results as tables of Markdown."""
    names = list(RELEASES)
    lines = ["| suite | way | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for suite, about in SUITES.items():
        for way in about.ways:
            cells = (cell(results.get(f"{engine}.{suite}.{way}")) for engine in names)
            lines.append(f"| {suite} | {way} | " + " | ".join(cells) + " |")
    dates = sorted(each["date"] for each in results.values())
    period = f", run on {dates[0]}" + (f" to {dates[-1]}" if dates[0] != dates[-1] else "") if dates else ""
    when = f"Made by `make engines`{period}.\n\n"
    faults = ["", "| engine | versions | what happens | what the driver does instead | host |", "|---|---|---|---|---|"]
    for fault in FAULTS:
        first, last = (".".join(map(str, number)) for number in (fault.first, fault.last))
        versions = first if first == last else f"from {first}" if fault.last == (9999,) else f"{first} to {last}"
        faults.append(f"| {fault.engine} | {versions} | {fault.what} | {fault.instead} | {fault.host}.c |")
    return (
        when
        + "\n".join(lines)
        + "\n\n## Known faults\n\nThe table is fpgart/engine/known_faults.py; "
        + ("tests/engine/test_known_faults.py runs each host on the engine alone and on the driver.\n")
        + "\n".join(faults)
    )


def write_page() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    results = published()
    PUBLISHED.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="engines", description=__doc__)
    parser.add_argument("--engines", nargs="*", default=list(RELEASES), choices=list(RELEASES))
    parser.add_argument("--suites", nargs="*", default=list(SUITES), choices=list(SUITES))
    parser.add_argument("--patience", type=float, default=PATIENCE_S, metavar="SECONDS", help="for one process")
    asked = parser.parse_args()
    try:
        run_all(asked.engines or list(RELEASES), asked.suites or list(SUITES), asked.patience)
    except KeyboardInterrupt:
        print("interrupted; call it again to continue", file=sys.stderr)
        return 130
    finally:
        write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
