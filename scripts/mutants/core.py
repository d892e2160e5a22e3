# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests of core/ notice changes of its C: `make core-mutants`, for a part with FILES="steps wait".

A mutant deletes a statement, negates a condition, or exchanges an operator or a constant. One that
tests/core/test_core.py does not notice has *survived*: it needs a better test, or an explanation in tests/mutants.json.
The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"
TESTS = "tests/core/test_core.py"
OPTIONS = ["-w", f"-I{CORE}", f"-I{ROOT / 'include'}"]
PATIENCE_S = 300
"""A mutant that never ends is ended. The tests take a few seconds."""

FUNCTION = re.compile(r"^\w[^;=]*?(\w+)\([^;]*$")
NO_STATEMENT = (
    "return break continue for if while else do case goto static struct bool void enum const size_t uintptr_t"
)
STATEMENT = re.compile(rf"^\s+(?!\s|{'|'.join(NO_STATEMENT.split())}|u?int\d+_t)[^/{{}}#]*?;$", re.DOTALL)
CONDITION = re.compile(r"\b(?P<word>if|while) \((?P<condition>.*)\)(?P<end>\s*\{?)$", re.DOTALL)
PAIRS = ((" && ", " || "), ("true", "false"), (" == ", " != "), (" <= ", " < "), (" > ", " >= "), ("++", "--"))
EXCHANGES = PAIRS + tuple((new, old) for old, new in PAIRS)


@dataclass(frozen=True)
class Mutant:
    """A change of one file: `before` and `after` are the lines that differ, without their indentation."""

    module: str
    function: str
    line: int
    before: str
    after: str
    code: str

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.module, self.function, self.before, self.after


def pieces(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the simple statements and the heads of compound ones within functions: first and last line, function."""
    function, first, in_comment = "", None, False
    for number, line in enumerate(lines):
        if not line.startswith((" ", "\t")):
            found = FUNCTION.match(line)
            function = found[1] if found else function if line[:1] in ("{", "") else ""
            first = None
            continue
        code = line.strip()
        in_comment = in_comment or code.startswith("/*")
        if in_comment or code.startswith(("#", "*")) or not function:
            in_comment = in_comment and not code.endswith("*/")
            continue
        first = number if first is None else first
        text = "\n".join(lines[first : number + 1])
        ends = code.endswith((";", "{", "}", ":", ")")) or code == "else"
        if ends and text.count("(") == text.count(")"):
            yield first, number, function
            first = None


def changes(piece: str) -> Iterator[str]:
    """Yields what one statement, or the head of one, may become."""
    if STATEMENT.match(piece):
        yield re.match(r"\s*", piece)[0] + ";"  # type: ignore[index]
    if found := CONDITION.search(piece):
        yield f"{piece[: found.start('condition')]}!({found['condition']}){piece[found.end('condition') :]}"
    for old, new in EXCHANGES:
        for place in re.finditer(re.escape(old), piece):
            yield piece[: place.start()] + new + piece[place.end() :]


def mutants_of(file: Path) -> Iterator[Mutant]:
    lines = file.read_text().split("\n")
    for first, last, function in pieces(lines):
        piece = "\n".join(lines[first : last + 1])
        for changed in dict.fromkeys(changes(piece)):
            before, after = (" ".join(text.split()) for text in (piece, changed))
            code = "\n".join([*lines[:first], changed, *lines[last + 1 :]])
            yield Mutant(f"core/{file.name}", function, first + 1, before, after, code)


def judge(mutant: Mutant) -> str:
    """Returns "killed", "survived", or "refused" for a mutant that the compiler does not take."""
    with tempfile.TemporaryDirectory() as made:
        core = shutil.copytree(CORE, Path(made) / "core")
        source = core / Path(mutant.module).name
        source.write_text(mutant.code)
        if subprocess.run(["gcc", *OPTIONS, "-fsyntax-only", source], capture_output=True).returncode:
            return "refused"
        return "survived" if tests_pass(core, Path(made)) else "killed"


def tests_pass(core: Path, folder: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/t", TESTS]
    surroundings = {**os.environ, "FPGART_TEST_CORE": str(core)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as tests:
        try:
            return tests.wait(PATIENCE_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):  # the tests' programs, too
                os.killpg(tests.pid, signal.SIGKILL)


def explained() -> set[tuple[str, ...]]:
    entries = json.loads((ROOT / "tests/mutants.json").read_text())["explained"]
    return {tuple(entry[name] for name in ("module", "function", "before", "after")) for entry in entries}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", help="files of core/ without .c; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many mutants run at once")
    parser.add_argument("--sample", type=int, help="the number of mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1, help="of the choice")
    given = parser.parse_args()
    files = [CORE / f"{name}.c" for name in given.files] or sorted(CORE.glob("*.c"))
    known = explained()
    mutants = [each for file in files for each in mutants_of(file) if each.identity not in known]
    if given.sample is not None:
        mutants = random.Random(given.seed).sample(mutants, min(given.sample, len(mutants)))
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(given.jobs) as jobs:
        for mutant, outcome in zip(mutants, jobs.map(judge, mutants), strict=True):
            counts[outcome] += 1
            if outcome == "survived":
                print(f"survived: {mutant.module}:{mutant.line} {mutant.before}  ->  {mutant.after}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
