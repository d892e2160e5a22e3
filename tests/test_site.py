# SPDX-License-Identifier: Apache-2.0
"""The documentation site: every link leads somewhere, every page is in the contents, lessons say what reports say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from c_hosts import plain_environment

pytest.importorskip("sphinx", reason="the extra `site` is not installed")
ROOT = Path(__file__).parents[1]
LESSON = (ROOT / "docs" / "banks.md").read_text()
BOARDS = {"first": "a10_ref", "apart": "a10_ref", "late": "hetero", "early": "hetero"}


def site(target: Path, builder: str = "html", source: Path = ROOT / "docs") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder, str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = site(target)
    assert done.returncode == 0, done.stderr
    return target


def test_every_link_between_pages_leads_somewhere(pages: Path) -> None:
    assert (pages / "index.html").exists()


def test_the_page_of_the_command_has_each_of_its_commands(pages: Path) -> None:
    text = (pages / "cli.html").read_text()
    assert all(f'id="fpgart-{name}"' in text for name in ("run", "report", "doctor", "aoc", "info"))


def test_anchors_in_tables_are_anchors_of_the_page(pages: Path) -> None:
    assert 'id="usm-pointers"' in (pages / "fidelity.html").read_text()


def test_examples_in_docstrings_are_shown_as_code(pages: Path) -> None:
    text = (pages / "api.html").read_text()
    assert '<div class="highlight-python' in text.split('id="module-fpgart.faults"')[1]


def test_a_manual_page_comes_from_the_command(tmp_path: Path) -> None:
    done = site(tmp_path, "man")
    assert done.returncode == 0, done.stderr
    assert "Run any OpenCL program" in (tmp_path / "fpgart.1").read_text().replace("\\-", "-")


def told(way: str, lesson: str) -> list[str]:
    """The lines that the lesson shows of a report: indented, with figures; `...` stands for what differs."""
    part = lesson.split(f"report {way}.json")[1].split("fpgart report")[0]
    found = re.findall(r"^    .*device 0.*$|^ +(?:\.\.\.|set argument|clEnqueue).*$", part, re.MULTILINE)
    return [line.strip() for line in found]


@pytest.mark.parametrize("way", BOARDS)
def test_the_lesson_on_banks_shows_what_the_report_says(way: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (compile_it,) = re.findall(r"^    (gcc .*)$", LESSON, re.MULTILINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        f"{compile_it} -Wall -Werror", shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True
    )
    host = tmp_path / "banks"
    trace = tmp_path / f"{way}.json"
    fpgart = [sys.executable, "-m", "fpgart.cli"]
    run = [*fpgart, "run", "--board", BOARDS[way], "--time", "model", "--trace", str(trace), "--", str(host), way]
    assert subprocess.run(run, capture_output=True, text=True, env=plain_environment()).stdout == "right\n"
    asked = [*fpgart, "report", str(trace)]
    report = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True).stdout
    wanted = told(way, LESSON)
    assert wanted or way == "early"
    for line in wanted:
        assert re.search(".*".join(map(re.escape, line.split("..."))), report), line
    for line in report.splitlines():
        if way == "early":
            assert "->" not in line  # no migration
