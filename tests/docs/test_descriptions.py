# SPDX-License-Identifier: Apache-2.0
"""Every statement of the descriptions (docs/descriptions) has a test that is there, or a row, or a reason."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import generate_descriptions as descriptions  # noqa: E402
from generate_descriptions import (  # noqa: E402
    Breaks,
    Statement,
    StatementError,
    missing,
    statement_of,
    statements_of,
    unfit,
)

ALL: list[Statement] = [statement for each in descriptions.read() for statement in each.statements]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
OURS = re.compile(r"`(fpgart(?:\.\w+)+)`")


def test_each_test_that_a_statement_names_is_there() -> None:
    absent = {(s.identifier, why) for s in ALL for test in s.tests if (why := missing(test)) is not None}
    assert absent == set()


def test_each_change_that_breaks_a_statement_can_be_made() -> None:
    found = {(s.identifier, why) for s in ALL if s.breaks is not None and (why := unfit(s.breaks)) is not None}
    assert found == set()


def test_each_statement_that_tests_show_has_a_change_that_breaks_it_or_a_reason_why_there_is_none() -> None:
    untried = {s.identifier for s in ALL if s.tests and (s.breaks is None) == (not s.unbroken)}
    assert untried == set()


def test_a_change_that_cannot_be_made_is_told() -> None:
    assert unfit(Breaks("no/such.py", "a", "b")) == "there is no no/such.py"
    assert unfit(Breaks("fpgart/version.py", "# no such text", "b")) == (
        "fpgart/version.py has '# no such text' 0 times instead of once"
    )


def test_each_deviation_has_its_row_in_fidelity() -> None:
    rows = descriptions.rows_of_fidelity()
    assert len(rows) == len(set(rows))
    assert {(s.identifier, s.row) for s in ALL if s.row and s.row not in rows} == set()


def test_each_row_that_has_an_identifier_is_the_deviation_of_a_statement() -> None:
    assert set(descriptions.rows_of_fidelity()) - {s.row for s in ALL} == set()


def test_c_programs_that_show_a_statement_are_run_by_a_test() -> None:
    run = (ROOT / "conformance" / "test_c_programs.py").read_text()
    programs = {test.partition("::")[0] for s in ALL for test in s.tests if test.partition("::")[0].endswith(".c")}
    assert {name for name in programs if f'"{Path(name).stem}"' not in run} == set()


def test_the_page_is_up_to_date() -> None:
    made = descriptions.page(descriptions.read())
    assert descriptions.TARGET.read_text() == made, "run scripts/generate_descriptions.py"


WRONG = [
    ({"says": "x"}, "has 0 of holds, deviates, chosen, not_modelled"),
    ({"says": "x", "holds": ["a"], "deviates": "b"}, "has 2 of"),
    ({"holds": ["a"]}, "lacks `says`"),
    ({"says": "x", "holds": ["a"], "held": 1}, "unknown fields"),
    ({"says": "x", "holds": []}, "no test shows"),
    ({"says": "x", "chosen": "y", "breaks": ["a", "b", "c"]}, "is to be broken, but no test shows it"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG)
def test_a_statement_has_words_and_one_state(fields: dict[str, object], words: str) -> None:
    with pytest.raises(StatementError, match=words):
        statement_of("9.x.1", fields)


def test_statements_are_numbered_without_gaps() -> None:
    with pytest.raises(StatementError, match=r"9\.x\.3: is number 2"):
        list(statements_of("9", {"x": {"1": {"says": "x", "holds": ["a"]}, "3": {"says": "y", "holds": ["a"]}}}))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("tests/no_such.py::test_x", "there is no tests/no_such.py"),
        ("tests/board/test_first_fit.py::test_x", "has no test_x"),
        ("tests/board/test_first_fit.py::TestFirstFit", None),
        ("conformance/test_contract.py::TestKernels::test_queries", None),
        ("conformance/test_contract.py::test_queries", "has no test_queries"),
        ("tests/check/test_checks.py::test_each_mistake_is_found[usm_leak]", None),
        ("tests/check/test_checks.py::test_no_such[usm_leak]", "has no test_no_such"),
        ("conformance/c/usm_life.c::queries", None),
        ("conformance/c/usm_life.c::no_such", "has no no_such"),
        ("conformance/c/usm_errors.c::freeing::NULL is nothing to free", None),
        ("conformance/c/usm_errors.c::freeing::no such case", "has no case"),
    ],
)
def test_what_is_no_test_is_told(reference: str, words: str | None) -> None:
    found = missing(reference)
    assert found is None if words is None else words in str(found)


def exists(name: str) -> bool:
    """True if a dotted name leads from a module to an object in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_our_names_in_the_glossary_are_there() -> None:
    names = set(OURS.findall(GLOSSARY))
    assert len(names) > 20
    assert {name for name in names if not exists(name)} == set()


def test_each_row_of_the_glossary_names_something_of_ours() -> None:
    table = [line for line in GLOSSARY.splitlines() if line.startswith("| `")]
    assert [line for line in table if not OURS.search(line)] == []
