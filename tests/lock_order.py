# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and checks the order in which its processes take the driver's locks in C.

    python tests/lock_order.py COMMAND...

A library that is preloaded (programs/lock_order.c) compares each lock that the driver takes in C with those that the
thread holds; lock_ranks.py has the order. It also reports a lock that has no row, and a thread that holds one while it
sleeps, waits for a condition, or waits for the interpreter's lock. The reports are printed, and the exit status is then
1, else the command's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import lock_ranks

ROOT = Path(__file__).resolve().parent.parent
DRIVER = tuple(sorted((ROOT / "fpgart").glob("*.so")))
IN_C = {lock: rank for lock, rank in lock_ranks.ranks.items() if "/" in lock}
OF_CFFI = {"_cffi_embed_startup_lock"}
"""The interpreter starts while it is held."""
FUNCTION = re.compile(r"^\w[\w *]*?(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
PLACE = re.compile(r"([\w.-]+)\+0x([0-9a-f]+)")


class Symbol(NamedTuple):
    """A function or a variable of a library or program."""

    begin: int
    end: int
    kind: str
    file: str
    """Of a static one; else ""."""
    name: str


@cache
def symbols(library: Path) -> list[Symbol]:
    """Returns the functions and variables of a library or program that is not stripped."""
    said = subprocess.run(["readelf", "-sW", library], capture_output=True, text=True, check=True).stdout
    found = []
    file = ""
    for line in said.partition("'.symtab'")[2].splitlines():
        words = [*line.split(), ""]
        if words[3:4] == ["FILE"]:
            file = words[7]
        elif words[3:4] in (["FUNC"], ["OBJECT"]) and words[6] != "UND":
            begin, size = int(words[1], 16), int(words[2], 0)
            found.append(Symbol(begin, begin + size, words[3], file, words[7].partition(".")[0]))
    return found


def taken_in(lock: str) -> tuple[str, dict[str, set[str]]]:
    """Returns by which symbols a lock is known: their kind, and the names in each source.

    A variable is known by its address, a lock in structures by the functions of the files that take it.
    """
    file, name = lock.split(":")
    path = ROOT / file
    if re.search(rf"^(static )?pthread_\w+_t {name} =", path.read_text(), re.MULTILINE):
        return "OBJECT", {path.name: {name}}
    sources = [path]
    if path.suffix == ".h":
        sources = [each for each in path.parent.glob("*.c") if f"_lock(&{path.stem}->{name})" in each.read_text()]
    return "FUNC", {each.name: set(FUNCTION.findall(each.read_text())) for each in sources}


def is_known_by(symbol: Symbol, kind: str, names: Mapping[str, set[str]]) -> bool:
    """True if a symbol is one of those that taken_in() names."""
    if symbol.kind != kind:
        return False
    if symbol.file:
        return symbol.file in names and (kind == "FUNC" or symbol.name in names[symbol.file])
    return any(symbol.name in each for each in names.values())


def rows(libraries: Sequence[Path], ranks: Mapping[str, int]) -> Iterator[str]:
    """Returns the rows of programs/lock_order.c."""
    known = {lock: taken_in(lock) for lock in ranks}
    for library in libraries:
        for symbol in symbols(library):
            found = {lock: str(ranks[lock]) for lock, by in known.items() if is_known_by(symbol, *by)}
            if symbol.name in OF_CFFI:
                found = {symbol.name: "UNRANKED"}
            for lock, rank in found.items():
                yield f'{{"{library.name}", {symbol.begin}, {symbol.end}, {rank}, "{lock}"}},\n'


def build(into: Path, libraries: Sequence[Path], ranks: Mapping[str, int]) -> Path:
    """Returns the library to preload for these libraries and programs, which it makes in a folder."""
    (into / "lock_rows.h").write_text("".join(rows(libraries, ranks)))
    made = into / "lock_order.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", f"-I{into}"]
    subprocess.run(["gcc", *flags, ROOT / "tests/programs/lock_order.c", "-o", made], check=True)
    return made


def named(report: str, libraries: Sequence[Path]) -> str:
    """Returns a report with functions in place of offsets."""

    def function(place: re.Match[str]) -> str:
        offset = int(place[2], 16) - 1  # a call returns behind it
        of_library = (symbol for library in libraries if library.name == place[1] for symbol in symbols(library))
        return next((f"{s.name}() in {place[1]}" for s in of_library if s.begin <= offset < s.end), place[0])

    return PLACE.sub(function, report)


def reports(found: Path, libraries: Sequence[Path]) -> list[str]:
    """Returns what the processes have reported into a file, each report once."""
    lines = found.read_text().splitlines() if found.exists() else []
    return sorted({named(line, libraries) for line in lines})


def main(
    command: Sequence[str | Path], environment: Mapping[str, str] = os.environ, ranks: Mapping[str, int] = IN_C
) -> int:
    """Runs a command and prints the reports on it; returns its exit status, or 1 if there are any."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found"
        preloaded = f"{build(Path(folder), DRIVER, ranks)} {environment.get('LD_PRELOAD', '')}".strip()
        variables = {**environment, "LD_PRELOAD": preloaded, "LOCK_ORDER_FOUND": str(found)}
        status = subprocess.run(command, env=variables).returncode
        said = reports(found, DRIVER)
    print(*said, sep="\n", end="\n" if said else "", file=sys.stderr)
    return 1 if said else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
