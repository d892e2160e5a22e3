# SPDX-License-Identifier: Apache-2.0
"""Options in pyproject.toml and fpgart.toml: for the command and for pytest, below the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from c_hosts import plain_environment
from processes import ROOT, finished

from fpgart.base.config import OptionError
from fpgart.cli import settings

OPTIONS = """
board = "a10_ref"
check = ["usm", "order"]
isolate = true
watchdog = 2.5
trace = "traces/t.json"
no-interleaving = "DDR"
"""


def applied(folder: Path, **environment: str) -> dict[str, str]:
    settings.apply(environment, folder)
    return environment


def test_a_table_becomes_variables(tmp_path: Path) -> None:
    (tmp_path / "fpgart.toml").write_text(OPTIONS)
    assert applied(tmp_path) == {
        "FPGART_BOARD": "a10_ref",
        "FPGART_CHECK": "usm,order",
        "FPGART_ISOLATE": "1",
        "FPGART_WATCHDOG": "2.5",
        "FPGART_TRACE": str(tmp_path / "traces" / "t.json"),
        "FPGART_NO_INTERLEAVING": "DDR",
    }


def test_the_nearest_file_counts_and_its_own_goes_before_that_of_all_tools(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.fpgart]\nboard = "far"\n')
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.other]\nboard = "no"\n')
    assert applied(inner) == {"FPGART_BOARD": "far"}
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.fpgart]\nboard = "near"\n')
    assert applied(inner) == {"FPGART_BOARD": "near"}
    (tmp_path / "a" / "fpgart.toml").write_text('board = "own"\n')
    assert applied(inner) == {"FPGART_BOARD": "own"}


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "fpgart.toml").write_text('board = "a10_ref"\ntime = "model"\n')
    environment = {"FPGART_BOARD": "hetero"}
    assert settings.apply(environment, tmp_path) == {"FPGART_TIME": f"{tmp_path / 'fpgart.toml'}: time"}
    assert environment == {"FPGART_BOARD": "hetero", "FPGART_TIME": "model"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('bord = "x"', "there is no option 'bord'; did you mean board?"),
        ("board = {}", "board: a text, a number, true or false, or a list of texts is expected"),
        ("board = [1]", "board: a text, a number, true or false, or a list of texts is expected"),
        ("board", "fpgart.toml: "),
    ],
)
def test_a_wrong_file_is_told(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "fpgart.toml").write_text(text)
    with pytest.raises(OptionError) as error:
        applied(tmp_path)
    assert told in str(error.value)


def test_a_file_that_anybody_may_write_is_ignored_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("fpgart.base.log.note", told.append)
    file = tmp_path / "fpgart.toml"
    file.write_text('board = "a10_ref"\n')
    file.chmod(0o666)
    assert applied(tmp_path) == {}
    assert told == [f"{file} is ignored: another user may have written it"]


def fpgart(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return processes.fpgart(*words, cwd=folder, env=plain_environment(), PYTHONPATH=str(ROOT), **variables)


def test_the_command_takes_the_options_of_its_folder_and_says_where_from(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.fpgart]\nboard = "a10_ref"\ntime = "model"\n')
    shown = ("run", "--", "sh", "-c", "echo $FPGART_BOARD $FPGART_TIME")
    assert fpgart(tmp_path, *shown).stdout == "a10_ref model\n"
    assert fpgart(tmp_path, "run", "--board", "hetero", *shown[1:]).stdout == "hetero model\n"
    lines = fpgart(tmp_path, "info", "--origin", FPGART_LOG="stderr").stdout.splitlines()
    assert f"   FPGART_BOARD = a10_ref  ({tmp_path / 'pyproject.toml'}: board)" in lines
    assert "   FPGART_LOG = stderr  (environment)" in lines
    assert "   FPGART_CHECK = (not set)  (default)" in lines
    (tmp_path / "pyproject.toml").write_text('[tool.fpgart]\nbord = "a10_ref"\n')
    wrong = fpgart(tmp_path, *shown)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.endswith("there is no option 'bord'; did you mean board?\n")


def test_pytest_takes_the_board_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.fpgart]\nboard = "a10_ref"\ntime = "model"\n')
    (tmp_path / "test_it.py").write_text("import os\ndef test_it():\n    assert os.environ['FPGART_TIME'] == 'model'\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FPGART", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider"]
    result = finished(*command, cwd=tmp_path, env=kept)
    assert "fpgart: a10_ref" in result.stdout, result.stdout
    assert "1 passed" in result.stdout
