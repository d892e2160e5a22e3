# SPDX-License-Identifier: Apache-2.0
"""The table of docs/programs.md: a row for each client, with what became of it when it last ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import measured
from client import FPGART, Client, Outcome

COMMAND = "make clients"
HEAD = ("client", "source", "programs", "changes to the build", "outcome", "engine", "date")
NEVER = "not run on "


@dataclass(frozen=True, slots=True)
class Row:
    """A client, and what became of it by driver; without outcomes it did not run now."""

    client: Client
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    engine: str = ""
    date: str = ""

    def cells(self, earlier: dict[str, list[str]]) -> list[str]:
        """Returns the cells of a row; one that did not run now keeps its last outcome, with its engine and date."""
        client = self.client
        first = [client.name, client.source, client.words, client.changes]
        if self.outcomes:
            return [*first, said(self.outcomes), self.engine, self.date]
        last = earlier.get(client.name)
        known = last is not None and last[1] == client.source and not last[4].startswith(NEVER)
        return [*first, *(last[4:] if last and known else [NEVER + measured.today(), "", ""])]


def said(outcomes: dict[str, Outcome]) -> str:
    """Returns the outcome of a client in words, with the names of up to five checks that failed on fpgart."""
    counts = "; ".join(f"{driver}: {outcome}" for driver, outcome in outcomes.items())
    failed = sorted(outcomes[FPGART].failed)
    names = ", ".join(failed[:5]) + (f" and {len(failed) - 5} others" if len(failed) > 5 else "")
    return f"{counts} ({names})" if failed else counts


def write_rows(page: Path, rows: list[Row]) -> None:
    """Writes the table; rows that did not run now are taken from the page. Raises NoPlace."""
    _, old, _ = measured.between(page, COMMAND)
    earlier = {cells[0]: cells for cells in map(cells_of, old.splitlines()) if len(cells) == len(HEAD)}
    lines = [line(HEAD), line(["---"] * len(HEAD)), *(line(row.cells(earlier)) for row in rows)]
    measured.write(page, COMMAND, f"{measured.machine()}. Each row has the date of its own run.", "\n".join(lines))


def line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def cells_of(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")] if text.startswith("|") else []
