"""Figures in the documentation name the command that makes them (scripts/check_figures.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from check_figures import main, mistakes  # noqa: E402

TABLE = "| a | b |\n|---|---|\n| x | 5 us |\n"
MADE = "Made by `make bench` on a day.\n\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text("bench: build\n\techo\n")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "made.py").write_text("")
    return tmp_path


def found(root: Path, text: str, name: str = "page.md") -> list[str]:
    page = root / name
    page.write_text(text)
    return list(mistakes(page, root))


@pytest.mark.parametrize("words", ["It takes about 6 us.", "They cost 3 to 4 ns each.", "Read in 0.03 s."])
def test_prose_that_says_what_something_takes_needs_a_command(root: Path, words: str) -> None:
    assert len(found(root, f"# Page\n\n{words}\n")) == 1
    assert found(root, f"# Page\n\n{MADE}{words}\n") == []


def test_limits_in_prose_are_no_figures(root: Path) -> None:
    assert found(root, "# Page\n\nThe thread waits 2 s at most, and takes the lock every 2 ms.\n") == []


@pytest.mark.parametrize(
    "cell",
    ["5 us", "5us", "1,000 ms", "1.5 GB/s", "0.5 s (1.1), 157 bytes, 3052 KiB", "3 to 4 ns", "709 GFLOPS", "6 minutes"],
)
def test_a_table_with_a_cell_of_figures_needs_a_command(root: Path, cell: str) -> None:
    table = TABLE.replace("5 us", cell)
    assert [sentence.split(": ")[0] for sentence in found(root, f"# Page\n\n{table}")] == ["page.md:3"]
    assert found(root, f"# Page\n\n{MADE}{table}") == []


@pytest.mark.parametrize("cell", ["the call takes 5 us longer", "`delay=5us`", "5", "5 MiB", "v5 s", "5 samples"])
def test_cells_of_words_or_of_other_numbers_are_no_figures(root: Path, cell: str) -> None:
    assert found(root, f"# Page\n\n{TABLE.replace('5 us', cell)}") == []


def test_a_number_in_a_column_of_ratios_is_a_figure(root: Path) -> None:
    assert found(root, "| a | ratio |\n|---|---|\n| x | 1.17 |\n")


def test_a_table_right_below_a_comment_is_a_table(root: Path) -> None:
    assert found(root, f"<!-- begin -->\n{TABLE}<!-- end -->\n")


@pytest.mark.parametrize("text", ["The time was 5 us.", "- The time was 5 us.", "```\nempty kernel   us   5 us\n```"])
def test_pages_of_measurements_need_a_command_for_words_and_output_too(root: Path, text: str) -> None:
    assert found(root, f"{text}\n", "benchmarks.md")
    assert found(root, f"{MADE}{text}\n", "benchmarks.md") == []
    assert found(root, f"{text}\n", "other.md") == []


@pytest.mark.parametrize(
    ("before", "covered"),
    [
        (f"# One\n\n{MADE}", True),
        (f"# One\n\n{MADE}## Two\n\n", True),
        (f"# One\n\n## Two\n\n{MADE}## Three\n\n", False),
        (f"# One\n\n## Two\n\n{MADE}# Three\n\n", False),
    ],
)
def test_a_command_covers_what_is_below_it_under_its_heading(root: Path, before: str, covered: bool) -> None:
    assert (found(root, before + TABLE) == []) == covered


def test_a_command_below_its_table_does_not_count(root: Path) -> None:
    assert found(root, f"{TABLE}\n{MADE}")


@pytest.mark.parametrize(
    ("command", "there"),
    [
        ("make bench", True),
        ("make PAGE= bench", True),
        ("make benches", False),
        ("make", False),
        ("scripts/made.py --write", True),
        (".venv/bin/python scripts/made.py", True),
        (".venv/bin/python scripts/gone.py", False),
        ("a-host-of-mine", False),
    ],
)
def test_the_command_has_to_be_in_the_repository(root: Path, command: str, there: bool) -> None:
    assert (found(root, f"Made by `{command}`.\n\n{TABLE}") == []) == there


def test_published_figures_name_their_source_instead(root: Path) -> None:
    assert found(root, f"Published in a paper.\n\n{TABLE}") == []


def test_every_figure_of_this_documentation_names_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
