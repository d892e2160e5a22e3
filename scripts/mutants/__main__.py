# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests notice changes of the driver: `make mutants`, for a part with MODULES="board/mmd kernels".

A mutant is run with the tests that reach its lines. Where only a function of Python differs, its code is exchanged in
a process that has collected those tests for which no other process runs the driver: that is quick. What survives there,
and all other mutants, are made in a copy of the tree, build/mutants/copies, and run with all tests that reach them.
One that no test notices has *survived*; it needs a better test, or an explanation in tests/mutants.json. Results are
kept in build/mutants, and a module's as long as its source stays as it is: a run that was broken off goes on where it
was, and a survivor is tried again when the tests that reach it have changed. Which tests reach a line is measured
again when the tests have changed. Without that folder all begins anew.

With --sample only some mutants of each module are run, the same ones for the same --seed and source. With --tests only
some test files are used: that is much quicker for the files of a module's own. What survives these is tried again with
all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import covering
import mutate
import mutate_c
import sandbox
import swapping
import tree_copies
from rich.console import Console
from rich.table import Table

FOLDER = Path("build/mutants")
DATA = Path("tests/mutants.json")
KILLED, TIMEOUT, EXPLAINED, SURVIVED, UNREACHED = "killed", "timeouts", "explained", "survived", "no test"
REFUSED, LEFT_OUT = "refused", "not run"
IDENTITY = ("module", "function", "before", "after")
NOT_MUTATED = ("fpgart/base/opencl.py", "fpgart/version.py")
"""Constants of the standard, which scripts/generate_constants.py writes, and the number of the version."""
C_FILES = ("core/*.c", "icd/entry/*.c", "fpgart/engine/carrier.c")
PARAMETERS = re.compile(r"def |self, |\w+: [^=]+=.*,$")
"""The beginning of lines with a function's parameters, whose defaults are made when the module is imported."""


@dataclass
class Module:
    """The mutants of one module and what became of them, by their keys."""

    name: str
    mutants: list[mutate.Mutant]
    digest: str
    results: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: int = 0
    """The number of mutants that are not in the sample."""

    @property
    def path(self) -> Path:
        return path_of(self.name)

    @property
    def kept(self) -> Path:
        return FOLDER / "results" / f"{self.name.replace('/', '.')}.json"

    def load(self) -> None:
        known = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        if known.get("digest") == self.digest:
            self.results = known["results"]

    def note(self, mutant: mutate.Mutant, outcome: str, tests: str) -> None:
        self.results[mutant.key] = {"outcome": outcome, "tests": tests}
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        new = self.kept.with_suffix(".new")
        new.write_text(json.dumps({"digest": self.digest, "results": self.results}, indent=1))
        new.replace(self.kept)

    def leave(self, sample: list[mutate.Mutant]) -> None:
        """Leaves only these mutants to run."""
        self.left_out += len(self.mutants) - len(sample)
        self.mutants = sample

    def outcome(self, mutant: mutate.Mutant) -> str:
        return self.results[mutant.key]["outcome"]


def path_of(name: str) -> Path:
    return Path(name) if name.endswith(".c") else Path(f"fpgart/{name}.py")


def module_names() -> list[str]:
    """Returns the names of all files that are mutated; the __init__.py of packages only import."""
    paths = [path for path in sorted(Path("fpgart").rglob("*.py")) if path.name != "__init__.py"]
    modules = [str(path.relative_to("fpgart").with_suffix("")) for path in paths if str(path) not in NOT_MUTATED]
    return modules + [str(path) for pattern in C_FILES for path in sorted(Path().glob(pattern))]


def read_module(name: str) -> Module:
    path = path_of(name)
    source = path.read_text()
    mutants_of = mutate_c.mutants_of if path.suffix == ".c" else mutate.mutants_of
    module = Module(name, mutants_of(name, source), hashlib.sha256(source.encode()).hexdigest())
    module.load()
    return module


def reach_of_tests(only: list[str], at_once: int, wanted: list[Path]) -> covering.Covering:
    """Finds which tests reach which lines; those of docs/ and of the project test no code of the driver."""
    found = (path for folder in ("tests", "conformance") for path in Path(folder).rglob("test_*.py"))
    every = sorted(str(path) for path in found if path.parts[1] not in ("docs", "project"))
    marked = tree_copies.Copies("marked", at_once, [path_of(name) for name in module_names()])
    files, names = covering.chosen(every, only), map(str, wanted)
    return covering.measure(files, FOLDER / "covering", at_once, names, marked.mark, marked.measure_file)


def tests_for(mutant: mutate.Mutant, module: Module, reached: covering.Covering) -> dict[str, float]:
    importing = mutant.function == "(module)" or PARAMETERS.match(mutant.before) is not None
    return reached.tests_of(str(module.path), mutant.first, mutant.last, importing=importing)


def digest_of(tests: dict[str, float], versions: dict[str, str]) -> str:
    """Changes when other tests reach a mutant, or the same ones have changed."""
    words = sorted(f"{name} {versions[name.split('::')[0]]}" for name in tests)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def check_unchanged(modules: list[Module], reached: covering.Covering, copies: tree_copies.Copies) -> None:
    """Checks that the first module that tests reach passes some of them unchanged, tested as mutants are.

    Raises SystemExit if not.
    """
    for module in modules:
        tests = reached.tests_of(str(module.path), 0, -1, importing=True)
        if tests:
            work = partial(copies.passes, module.path, module.path.read_text(), dict(list(tests.items())[:5]))
            ((_, status),) = sandbox.each(iter([(None, sandbox.fork(work, FOLDER / "unchanged"))]), 1)
            if status:
                raise SystemExit(
                    f"tests of {module.name} fail in a copy without any change, see {FOLDER / 'unchanged'}"
                )
            return


def explain(modules: list[Module], entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Notes which mutants are explained; they are not run. Returns the entries that fit none.

    An entry's `number` says which it is of several mutants of a function with the same words, from 1.
    """
    left = {(*(entry[name] for name in IDENTITY), entry.get("number", 1)): entry for entry in entries}
    for module in modules:
        for mutant in module.mutants:
            if left.pop(mutant.identity, None):
                module.note(mutant, EXPLAINED, "")
            elif module.results.get(mutant.key, {}).get("outcome") == EXPLAINED:
                del module.results[mutant.key]
    names = {module.name for module in modules}
    return [entry for entry in left.values() if entry["module"] in names]


OUTCOMES = {0: SURVIVED, -24: TIMEOUT, -14: TIMEOUT, sandbox.REFUSED: REFUSED}
"""By the exit status of the tests; others are KILLED."""


@dataclass
class Work:
    """A mutant that has no result yet, and the tests that reach it."""

    module: Module
    mutant: mutate.Mutant
    tests: dict[str, float]
    digest: str

    def note(self, status: int) -> None:
        """Records its outcome, by the exit status of its tests."""
        outcome = OUTCOMES.get(status, KILLED)
        self.module.note(self.mutant, outcome, self.digest)
        if outcome == SURVIVED:
            print(f"survived: {self.module.path}:{self.mutant.first} {self.mutant.key}", flush=True)


def unjudged(modules: list[Module], reached: covering.Covering) -> list[Work]:
    """Returns the mutants that have to be run; records those that no test reaches."""
    files = {name.split("::")[0] for name in reached.seconds}
    versions = {file: covering.version(file) for file in files}
    left = []
    for module in modules:
        for mutant in module.mutants:
            tests = tests_for(mutant, module, reached)
            digest = digest_of(tests, versions)
            known = module.results.get(mutant.key)
            if known is None or (known["outcome"] in (SURVIVED, UNREACHED) and known["tests"] != digest):
                if tests:
                    left.append(Work(module, mutant, tests, digest))
                else:
                    module.note(mutant, UNREACHED, digest)
    return left


def judge(left: list[Work], inside: set[str], at_once: int, copies: tree_copies.Copies) -> None:
    """Runs what has no result yet: first what can be exchanged, with the tests `inside` this process, then the rest."""
    done = 0

    def note(work: Work, status: int) -> None:
        nonlocal done
        done += 1
        work.note(status)
        if done % 25 == 0:
            print(f"[{done}/{len(left)}]", flush=True)

    sources = {work.module.name: work.module.path.read_text() for work in left}
    others, trials, tried = [], [], []
    for work in left:
        tests = {name: seconds for name, seconds in work.tests.items() if name in inside}
        swap = None
        if tests and work.module.path.suffix == ".py":
            swap = swapping.swap_of(work.module.path, sources[work.module.name], work.mutant.code)
        if swap is None:
            others.append(work)
        else:
            trials.append(sandbox.Trial(swap, tests))
            tried.append(work)
    if trials:
        for number, status in sandbox.try_swaps(trials, FOLDER, at_once):
            if status:
                note(tried[number], status)
            else:
                others.append(tried[number])

    def children() -> Iterator[tuple[Work, sandbox.Child]]:
        for number, work in enumerate(others):
            run = partial(copies.passes, work.module.path, work.mutant.code, work.tests)
            yield work, sandbox.fork(run, FOLDER / f"output.{number % 64}")

    for work, status in sandbox.each(children(), at_once):
        note(work, status)


def report(modules: list[Module], idle: list[dict[str, Any]]) -> int:
    """Prints the table, what survived, and the explanations of nothing (`idle`); returns how many survived."""
    columns = [name for name in _COLUMNS if name != LEFT_OUT or any(module.left_out for module in modules)]
    table = Table("module", *columns)
    totals: Counter[str] = Counter()
    for module in modules:
        counts: Counter[str] = Counter({"mutants": len(module.mutants), LEFT_OUT: module.left_out})
        for mutant in module.mutants:
            if module.outcome(mutant) == REFUSED:
                counts["mutants"] -= 1
                continue
            outcome = SURVIVED if module.outcome(mutant) == UNREACHED else module.outcome(mutant)
            counts[outcome] += 1
            if outcome == SURVIVED:
                reached = "" if module.outcome(mutant) == SURVIVED else ", which no test reaches"
                print(f"survived: {module.path}:{mutant.first} in {mutant.function}{reached}")
                print(f"    - {mutant.before}\n    + {mutant.after}")
        totals += counts
        table.add_row(module.name, *(str(counts[name]) for name in columns))
    table.add_row("all", *(str(totals[name]) for name in columns))
    for entry in idle:
        print(f"explained in {DATA}, but there is no such mutant: {entry}")
    Console(width=100).print(table)
    return totals[SURVIVED]


_COLUMNS = ("mutants", LEFT_OUT, KILLED, TIMEOUT, EXPLAINED, SURVIVED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="as runtime/scheduling/order, or a room; all when none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="how many at once")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many mutants of each module, at random")
    parser.add_argument("--seed", type=int, default=1, help="which ones --sample chooses (default: 1)")
    parser.add_argument(
        "--tests", nargs="+", default=[], metavar="FILE", help="only these files of tests, or those in these folders"
    )
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("broken off"))
    modules = [read_module(name) for name in covering.chosen(module_names(), chosen.modules)]
    sandbox.warm_up()
    idle = explain(modules, json.loads(DATA.read_text()))
    if chosen.sample is not None:
        for module in modules:
            module.leave(mutate.sample(module.mutants, chosen.sample, chosen.seed))
    copies = tree_copies.Copies("copies", chosen.jobs)
    reached = reach_of_tests(chosen.tests, chosen.jobs, [module.path for module in modules])
    copies.make()
    check_unchanged(modules, reached, copies)
    judge(unjudged(modules, reached), reached.inside, chosen.jobs, copies)
    return 1 if report(modules, idle) else 0


if __name__ == "__main__":
    raise SystemExit(main())
