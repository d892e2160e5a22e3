# SPDX-License-Identifier: Apache-2.0
"""The C files of icd/entry/ include what they call, and no two subjects need each other. A subject is a .c file with
the header of its name."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

ENTRY = Path(__file__).resolve().parents[2] / "icd" / "entry"
FILES = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in ENTRY.glob("*.[ch]")}
FUNCTION = re.compile(r"\b(fpgart_\w+)\(")


def included(name: str) -> set[str]:
    """Returns the headers of this folder that a file includes."""
    return FILES.keys() & set(re.findall(r'#include "(\w+\.h)"', FILES[name]))


def header_of(name: str) -> str:
    """Returns the name of the header of a .c file."""
    return name.replace(".c", ".h")


def test_each_file_has_a_header() -> None:
    assert {header_of(name) for name in FILES} <= FILES.keys()


def test_no_two_subjects_need_each_other() -> None:
    needed: dict[str, set[str]] = {}
    for name in FILES:
        needed.setdefault(header_of(name), set()).update(included(name) - {header_of(name)})
    TopologicalSorter(needed).prepare()  # raises CycleError


def test_a_file_includes_the_headers_of_the_functions_that_it_calls() -> None:
    declared = {
        function: name for name, text in FILES.items() if name.endswith(".h") for function in FUNCTION.findall(text)
    }
    sources = [name for name in FILES if name.endswith(".c")]
    missing = {
        f"{name} calls {function} of {declared[function]}"
        for name in sources
        for function in set(FUNCTION.findall(FILES[name])) & declared.keys()
        if declared[function] not in included(name) | included(header_of(name))
    }
    assert missing == set()


def test_a_file_includes_no_header_of_which_it_uses_nothing() -> None:
    names = {name: set(re.findall(r"\w+", text.split("#define", 1)[-1])) for name, text in FILES.items()}
    for name, text in FILES.items():
        used = set(re.findall(r"\w+", re.sub(r"#include.*", "", text)))
        for header in included(name) - {header_of(name)}:
            own = {word for word in names[header] if re.match(r"(?i)fpgart_", word)}
            assert used & own, f"{name} uses nothing of {header}"
