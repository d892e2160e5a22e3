"""Recipes of programs that others wrote (clients/recipe.py, clients/hosts.py) and their table (clients/outcomes.py)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from processes import ROOT, finished, output

sys.path[:0] = [str(ROOT / "clients"), str(ROOT / "scripts")]

import measured  # noqa: E402
from client import Client, Missing, Outcome, run  # noqa: E402
from hosts import client_of  # noqa: E402
from outcomes import Row, write_rows  # noqa: E402
from recipe import RecipeError, read, read_all  # noqa: E402

COMMIT = "0" * 40
PLACE = "# Page\n\n<!-- table of: make clients -->\n<!-- end -->\n\nAfter.\n"


def git(folder: Path, *words: str) -> str:
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(folder), *words]
    return output(finished(*command, env=os.environ | names)).strip()


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """The commit of a repository "tiny" in the folder of sources, after which its file changed."""
    tiny = tmp_path / "sources" / "tiny"
    (tiny / "host").mkdir(parents=True)
    (tiny / "more").mkdir()
    git(tiny, "init", "--quiet")
    (tiny / "host" / "data").write_text("42\n")
    (tiny / "more" / "data").write_text("43\n")
    git(tiny, "add", ".")
    git(tiny, "commit", "--quiet", "--message", "first")
    made = git(tiny, "rev-parse", "HEAD")
    (tiny / "host" / "data").write_text("41\n")
    git(tiny, "commit", "--quiet", "--all", "--message", "second")
    return made


def recipe_text(commit: str = COMMIT, host: str = "", head: str = "") -> str:
    """A recipe for the engine, where commands run without `fpgart run`."""
    host = host or 'run.all = { command = "cat data", right = "42" }'
    return (
        f'repository = "someone/tiny"\ncommit = "{commit}"\ndrivers = ["fpgart", "engine"]\n{head}\n'
        f'[host.tiny]\nfolder = "host"\n{host}\n'
    )


def outcome(folder: Path, text: str) -> Outcome:
    (folder / "ours.toml").write_text(text)
    work = folder / "work"
    work.mkdir()
    return client_of(read(folder / "ours.toml"), folder / "sources").run(dict(os.environ), work)


def test_the_commit_of_the_recipe_is_built_and_run_and_not_what_the_folder_has_now(tmp_path: Path, commit: str) -> None:
    host = 'build = ["cp data built"]\nrun.all = { command = "cat built", right = "^42$" }'
    assert outcome(tmp_path, recipe_text(commit, host)).passed == {"tiny all"}


def test_sources_stay_as_they_are(tmp_path: Path, commit: str) -> None:
    outcome(tmp_path, recipe_text(commit, 'build = ["cp data built"]\nrun.all = { command = "rm data", right = "" }'))
    assert git(tmp_path / "sources" / "tiny", "status", "--porcelain") == ""


def test_only_the_folders_that_are_needed_are_checked_out(tmp_path: Path, commit: str) -> None:
    host = 'run.all = { command = "cat ../more/data", right = "43", status = 1 }'
    found = outcome(tmp_path, recipe_text(commit, host, 'folders = ["host"]'))
    assert found.failed.keys() == {"tiny all"}
    assert "No such file" in found.failed["tiny all"]


@pytest.mark.parametrize(
    ("run", "right"),
    [
        ('command = "echo 42", right = "42"', True),
        ('command = "echo 41", right = "42"', False),
        ('command = "echo 42; exit 3", right = "42"', False),
        ('command = "echo 42; exit 3", right = "42", status = 3', True),
        ('command = "echo 42 FAILED", right = "42", wrong = "FAILED"', False),
        ('command = "echo 41; echo 42", right = "^42$"', True),
        ('command = "cat {sources}/tiny/host/data", right = "42"', True),
        ('command = "touch {work}/made && ls {work}", right = "made"', True),
        ('command = "ls {fpgart}", right = "CHANGELOG.md"', True),
        ('command = "test -z \\"$(cat)\\" && echo 42", right = "42"', True),
    ],
)
def test_a_run_is_right_by_its_status_and_its_output(tmp_path: Path, commit: str, run: str, right: bool) -> None:
    assert outcome(tmp_path, recipe_text(commit, f"run.all = {{ {run} }}")).passed == ({"tiny all"} if right else set())


def test_a_program_without_end_is_ended_with_its_children(tmp_path: Path) -> None:
    status, output = run(dict(os.environ), tmp_path, "sh", "-c", "echo begun; cat /dev/zero & cat /dev/zero")
    assert status == -1
    assert output.startswith("begun\n")
    assert output.endswith("\nmore than 50000000 bytes of output")


def test_a_host_that_does_not_build_has_failed_and_does_not_run(tmp_path: Path, commit: str) -> None:
    found = outcome(
        tmp_path, recipe_text(commit, 'build = ["exit 5"]\nrun.all = { command = "echo 42", right = "42" }')
    )
    assert found.failed.keys() == {"tiny: build"}
    assert "`exit 5` ended with status 5" in found.failed["tiny: build"]


def test_variables_of_a_recipe_reach_its_commands(tmp_path: Path, commit: str) -> None:
    host = 'environment = { FILE = "{sources}/tiny/host/data" }\nrun.all = { command = "cat $FILE", right = "42" }'
    assert outcome(tmp_path, recipe_text(commit, host)).passed == {"tiny all"}


def test_a_source_that_is_missing_is_named_with_the_commands_that_bring_it(tmp_path: Path) -> None:
    with pytest.raises(Missing) as missing:
        outcome(tmp_path, recipe_text())
    place = tmp_path / "sources" / "tiny"
    command = f"git clone https://github.com/someone/tiny {place} && git -C {place} checkout {COMMIT}"
    assert command in str(missing.value)


def test_a_commit_that_is_missing_is_no_source(tmp_path: Path, commit: str) -> None:
    with pytest.raises(Missing, match=f"someone/tiny {COMMIT[:7]} is not in"):
        outcome(tmp_path, recipe_text())


def test_a_program_that_is_not_installed_is_named_with_its_package(tmp_path: Path, commit: str) -> None:
    with pytest.raises(Missing, match=r"no-such-command is not installed .*apt install its-package"):
        outcome(tmp_path, recipe_text(commit, head='installed = { no-such-command = "its-package" }'))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("repository =", "Invalid value"),
        ('repository = "tiny"\ncommit = ""', "'tiny' instead of owner/name"),
        ('repository = "a/b"\ncommit = "main"', "'main' instead of 40 hexadecimal digits"),
        ('repository = "a/b"', "'commit' is missing"),
        (recipe_text(head='drivers_ = ["x"]'), "nothing is called 'drivers_'"),
        (recipe_text().replace('"engine"', '"gpu"'), "'drivers' has gpu, not only fpgart and engine"),
        (
            recipe_text(host="bulid = []\nrun.all = { command = '', right = '' }"),
            "host.tiny: nothing is called 'bulid'",
        ),
        (recipe_text(host="build = 'make'\nrun.all = { command = '', right = '' }"), "'make' instead of a list of str"),
        (recipe_text(host="build = []"), "host.tiny: 'run' is missing"),
        (recipe_text(host="run = {}"), "'run' is {} instead of a table of tables"),
        (recipe_text(host="run.all = 'make'"), "run.all is 'make' instead of a table"),
        (recipe_text(host="run.all = { right = '' }"), "run.all: 'command' is missing"),
        (recipe_text(host="run.all = { command = '', right = '(' }"), "'right' is not a regular expression"),
        (recipe_text(host="run.all = { command = '', right = '', status = true }"), "True instead of an integer"),
        (recipe_text(head="also = [{ repository = 'a/b' }]"), "also: 'commit' is missing"),
        (f'repository = "a/b"\ncommit = "{COMMIT}"', "'host' is missing"),
    ],
)
def test_a_recipe_with_a_mistake_is_refused_in_one_line_that_names_it(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(text)
    with pytest.raises(RecipeError) as refused:
        read(path)
    assert str(refused.value).startswith("ours.toml: ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_recipes_of_the_repository_can_be_read() -> None:
    recipes = read_all(ROOT / "clients" / "recipes")
    assert {"clblast", "dace", "clinfo"} <= {recipe.name for recipe in recipes}


def test_recipes_of_others_run_without_the_suites_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(recipe_text())
    listing = [sys.executable, ROOT / "clients" / "run.py", "--recipes", tmp_path, "--list"]
    listed = output(finished(*listing, env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")}))
    assert [line.split()[0] for line in listed.splitlines()] == ["tiny"]


def client(name: str, source: str = "a/b 1234567") -> Client:
    return Client(name, lambda environment, folder: Outcome(), "its programs", source, "`-w`")


def rows_of(page: Path) -> dict[str, list[str]]:
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return {cells[0]: cells[4:] for cells in ([cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:])}


def test_the_table_has_outcomes_failures_included(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PLACE)
    failed = {f"run {number}": "words" for number in range(7)}
    outcomes = {"fpgart": Outcome({"a"}, failed), "pocl": Outcome({"a"}, skipped={"b"})}
    write_rows(page, [Row(client("one"), outcomes, "pocl", "2026-01-02")])
    counts = "fpgart: 1 passed, 7 failed; pocl: 1 passed, 0 failed, 1 skipped"
    said = f"{counts} (run 0, run 1, run 2, run 3, run 4 and 2 others)"
    assert rows_of(page) == {"one": [said, "pocl", "2026-01-02"]}
    assert page.read_text().endswith("\n\n<!-- end -->\n\nAfter.\n")


def test_a_row_that_did_not_run_keeps_its_last_outcome_unless_its_source_is_another(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PLACE)
    ran = {"fpgart": Outcome({"a"})}
    write_rows(page, [Row(client(name), ran, "pocl", "2026-01-02") for name in ("same", "changed")])
    write_rows(page, [Row(client("same")), Row(client("changed", "a/b 7654321")), Row(client("new"))])
    never = [f"not run on {measured.today()}", "", ""]
    assert rows_of(page) == {
        "same": ["fpgart: 1 passed, 0 failed", "pocl", "2026-01-02"],
        "changed": never,
        "new": never,
    }


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    with pytest.raises(measured.NoPlace, match="no place for the table of `make clients`"):
        write_rows(page, [])
