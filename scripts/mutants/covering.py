# SPDX-License-Identifier: Apache-2.0
"""The blocks of the driver's code that each test enters, and its duration; kept from run to run, by test file.

A test file is measured again when it has changed, or what it shares with others. When only the driver has changed, the
blocks of the old text are looked up in the new one: measuring takes longer than most runs.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import marking
import sandbox

TEXTS = "texts"
"""The folder of the driver's files as they were measured, by their digests."""


@dataclass
class Measured:
    """What the tests of a file entered."""

    digest: str
    """Changes with what it is valid for."""
    ran: dict[str, tuple[str, int]]
    """The driver's files, each with the digest of its text and the number of its first block."""
    seconds: dict[str, float]
    """Of the processor, by test."""
    blocks: dict[str, str]
    """By test: a hexadecimal number that has a bit for each block."""
    inside: list[str]
    """Tests for which no other process ran code of the driver."""


class Covering:
    """The reach of tests, by `tests_of`."""

    def __init__(self, texts: Path) -> None:
        """`texts` is the folder with the sources as they were measured."""
        self.seconds: dict[str, float] = {}
        """Of the processor, by test."""
        self.inside: set[str] = set()
        """Tests for which no other process ran code of the driver."""
        self._texts = texts
        self._entered: list[tuple[dict[str, tuple[str, int]], dict[str, int]]] = []
        self._importers: dict[str, set[str]] = {}
        self._places = cache(self._read_places)

    def add(self, measured: Measured) -> None:
        self.seconds |= measured.seconds
        self.inside.update(measured.inside)
        self._entered.append((measured.ran, {test: int(bits, 16) for test, bits in measured.blocks.items()}))

    def tests_of(self, file: str, first: int, last: int, *, importing: bool) -> dict[str, float]:
        """Returns the tests that enter the blocks of a file's lines, the shortest first.

        For what its import runs (`importing`): all that enter a block of the file, or stand in a test file that imports
        from it, because defaults and constants are read without entering one. For lines that are new since the tests
        were measured, and not beside any block: all that enter a block of the file.
        """
        found = self._importing(file) if importing else set()
        for ran, entered in self._entered:
            digest, begin = ran[file]
            places = self._places(file, digest)
            blocks = places.all if importing else places.blocks(range(first, last + 1))
            mask = sum(1 << begin + block for block in blocks)
            found |= {test for test, bits in entered.items() if bits & mask}
        return {test: self.seconds[test] for test in sorted(found, key=lambda test: (self.seconds[test], test))}

    def _read_places(self, file: str, digest: str) -> Places:
        path, before = Path(file), (self._texts / digest).read_text()
        return Places(marking.marked(file, before, 0)[1], before, path.read_text() if path.exists() else "")

    def _importing(self, file: str) -> set[str]:
        if file not in self._importers:
            package, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
            words = re.compile(rf"^from {package}(\.{name} import | import .*\b{name}\b)", re.MULTILINE)
            named = {test.split("::")[0] for test in self.seconds}
            self._importers[file] = {test_file for test_file in named if words.search(Path(test_file).read_text())}
        return {test for test in self.seconds if test.split("::")[0] in self._importers[file]}


class Places:
    """Where the blocks of a text, which are known by its lines, are in another."""

    def __init__(self, of: dict[int, int], before: str, after: str) -> None:
        self.all = set(of.values())
        self._of: dict[int, set[int]] = {}
        self._changed: set[int] = set()
        matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
        for tag, begin, end, new_begin, new_end in matcher.get_opcodes():
            new = range(new_begin + 1, new_end + 1)  # lines count from 1
            if tag == "equal":
                for line, place in zip(range(begin + 1, end + 1), new, strict=True):
                    self._of[place] = {of[line]} if line in of else set()
            else:  # new lines have the tests of those that they replace, and of the neighbours
                self._changed.update(new)
                beside = {of[line] for line in range(begin, end + 2) if line in of}
                self._of.update(dict.fromkeys(new, beside))

    def blocks(self, lines: Collection[int]) -> set[int]:
        """Returns the blocks of lines of the new text."""
        found = set().union(*(self._of.get(line, ()) for line in lines))
        return found if found or self._changed.isdisjoint(lines) else self.all


def chosen(every: list[str], words: list[str]) -> list[str]:
    """Returns the names that are among the words, or in folders that are; all without words.

    Raises SystemExit for a word that chooses nothing.
    """
    found: set[str] = set()
    for word in words:
        some = {name for name in every if name == word or name.startswith(f"{word.rstrip('/')}/")}
        if not some:
            raise SystemExit(f"there is no {word}")
        found |= some
    return [name for name in every if name in found or not words]


def measure(
    files: Iterable[str],
    folder: Path,
    at_once: int,
    wanted: Iterable[str],
    prepare: Callable[[], None],
    run: Callable[[str, Path], bool],
) -> Covering:
    """Runs the test files that have changed since they were last run; `run` does it for one, in a child.

    It runs those, too, with which one of the `wanted` sources was not measured, as it was not there. `prepare` is
    called before, if there are any. Raises SystemExit when `run` returns False.
    """
    covering, stale, needed = Covering(folder / TEXTS), {}, set(wanted)
    for file in files:
        kept = folder / f"{file.replace('/', '.')}.json"
        known = Measured(**json.loads(kept.read_text())) if kept.exists() else None
        if known and known.digest == version(file) and needed <= known.ran.keys():
            covering.add(known)
        else:
            stale[file] = kept

    if stale:
        (folder / TEXTS).mkdir(parents=True, exist_ok=True)
        prepare()

    def children() -> Iterator[tuple[str, sandbox.Child]]:
        for file, kept in stale.items():
            print(f"measuring {file}", flush=True)

            def work(file: str = file, kept: Path = kept) -> bool:
                return run(file, kept)

            yield file, sandbox.fork(work, kept.with_suffix(".log"))

    for file, status in sandbox.each(children(), at_once):
        kept = stale[file]
        if status:
            raise SystemExit(f"{file} cannot be run, see {kept.with_suffix('.log')}")
        covering.add(Measured(**json.loads(kept.read_text())))
    return covering


def keep(
    kept: Path,
    file: str,
    seconds: dict[str, float],
    entered: dict[str, Collection[int]],
    inside: list[str],
    first_blocks: dict[str, int],
) -> None:
    """Keeps which blocks the tests of a file entered, in files of the driver's whose first blocks are given."""
    texts = kept.parent / TEXTS
    ran = {}
    for name, begin in first_blocks.items():
        text = Path(name).read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        ran[name] = (digest, begin)
        if not (texts / digest).exists():
            new = texts / f"new.{os.getpid()}"
            new.write_bytes(text)
            new.replace(texts / digest)
    blocks = {test: f"{sum(1 << number for number in numbers):x}" for test, numbers in entered.items()}
    kept.write_text(json.dumps(asdict(Measured(version(file), ran, seconds, blocks, inside))))


def sources_of(file: str) -> list[Path]:
    """Returns a test file, the modules that it shares with those beside it, and the programs in C that it names."""
    words = set(re.findall(r"\w+", Path(file).read_text()))
    folder = Path(Path(file).parts[0])
    shared = [path for path in folder.glob("*.py") if not path.name.startswith("test_")]
    return [Path(file), *sorted([*shared, *(path for path in folder.glob("*/*.c") if path.stem in words)])]


def version(file: str) -> str:
    """Changes with the sources of a test file."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources_of(file))).hexdigest()
