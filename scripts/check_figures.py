# SPDX-License-Identifier: Apache-2.0
"""Does each figure in the documentation name the command that makes it (make docs-check)?

A figure is a number with a unit of time (ns, us, ms, s, minutes, hours) or of a rate (GB/s, Gflops), or a number in a
column of a table that is called "ratio". These have to name a command:

- a table with a cell that consists of figures only (bytes may stand beside them, and "to" or "and" between them);
- prose that says what something takes or costs, or in what time it is done (COST);
- on pages of measurements (MEASUREMENTS), also each other paragraph, list and block of output with a figure.

The line is "Made by `command`", above the figure, under the same heading or a heading above that one. `make` needs a
target of make, other commands a file of the repository or a subcommand of fpgart. Figures from publications are
"Published in", with the source.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASUREMENTS = ("benchmarks.md",)
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"
UNIT = r"(?:ns|us|µs|ms|s|seconds?|minutes?|hours?|[kMG]i?B/s|[GM](?:flops|FLOPS))"
FIGURE = re.compile(rf"(?<![\w.-]){NUMBER} ?{UNIT}(?![\w/])")
BARE_NUMBER = re.compile(NUMBER)
BETWEEN = re.compile(r"[\s()\[\],;:<>=*~+-]|\b(?:to|and|or|about|bytes|[KMG]i?B|%)")
COST = re.compile(
    rf"\b(?:takes?|took|costs?|spends?|in)(?: about| only| another)? {NUMBER}(?: to {NUMBER})? ?{UNIT}(?![\w/])"
)
MADE_BY = re.compile(r"\bMade by `([^`]+)`")
PUBLISHED = re.compile(r"\bPublished in ")


@dataclass(frozen=True)
class Block:
    """Lines without an empty line between them, or a fenced block, and the headings that they are under."""

    line: int
    lines: tuple[str, ...]
    headings: tuple[int, ...]
    """The numbers of the lines of the headings, outermost first."""

    @property
    def is_table(self) -> bool:
        return self.lines[0].lstrip().startswith("|")


def blocks(text: str) -> Iterator[Block]:
    headings: list[tuple[int, int]] = []
    lines: list[str] = []
    begin, fenced = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        heading = None if fenced else re.match(r"(#+) ", line)
        comment = not fenced and line.startswith("<!--")
        if not fenced and (fence or heading or comment or not line.strip()):
            if lines:
                yield Block(begin, tuple(lines), tuple(place for _, place in headings))
            lines = []
        if comment:
            continue
        if heading:
            depth = len(heading[1])
            headings = [above for above in headings if above[0] < depth] + [(depth, number)]
            continue
        if not lines:
            begin = number
        if line.strip() or fenced:
            lines.append(line)
        if fence and fenced:
            yield Block(begin, tuple(lines), tuple(place for _, place in headings))
            lines = []
        fenced = fenced != fence


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_figure_alone(cell: str) -> bool:
    rest = FIGURE.sub("", cell)
    return rest != cell and not BETWEEN.sub("", BARE_NUMBER.sub("", rest))


def has_figures(block: Block, measurements: bool) -> bool:
    if not block.is_table:
        return bool((FIGURE if measurements else COST).search(" ".join(block.lines)))
    head, *rows = map(cells, block.lines)
    ratios = [column for column, name in enumerate(head) if name == "ratio"]
    for row in rows:
        if any(map(is_figure_alone, row)):
            return True
        if any(column < len(row) and BARE_NUMBER.match(row[column]) for column in ratios):
            return True
    return False


def targets(root: Path) -> str:
    """Returns the rules of make."""
    return "".join(path.read_text() for path in (root / "Makefile", *sorted((root / "makefiles").glob("*.mk"))))


def exists(command: str, root: Path) -> bool:
    """True if the repository has the command."""
    words = command.split()
    while words and "=" in words[0]:
        words.pop(0)
    if not words:
        return False
    if words[0] == "make":
        target = next((word for word in words[1:] if "=" not in word), "")
        return bool(re.search(rf"^{re.escape(target)}:", targets(root), re.MULTILINE))
    if words[0] == "fpgart":
        parser = (root / "fpgart" / "cli" / "main.py").read_text()
        return len(words) > 1 and f'"{words[1]}"' in parser
    return any((root / word).is_file() for word in words if "/" in word and not word.startswith("."))


def mistakes(page: Path, root: Path) -> Iterator[str]:
    """Yields a sentence for each figure without a command, and for each command that does not exist."""
    made: list[tuple[int, ...]] = []
    for block in blocks(page.read_text()):
        words = " ".join(block.lines)
        for command in MADE_BY.findall(words):
            if not exists(command, root):
                yield f"{page.name}:{block.line}: `{command}` does not exist"
        if MADE_BY.search(words) or PUBLISHED.search(words):
            made.append(block.headings)
        elif has_figures(block, page.name in MEASUREMENTS) and not any(
            block.headings[: len(headings)] == headings for headings in made
        ):
            yield f"{page.name}:{block.line}: no line above names the command of: {block.lines[0].strip()[:60]}"


def main() -> int:
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [sentence for page in pages for sentence in mistakes(page, ROOT)]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
