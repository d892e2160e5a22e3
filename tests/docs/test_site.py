# SPDX-License-Identifier: Apache-2.0
"""The documentation site: every link leads somewhere, every page is in the contents, lessons say what reports say."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from c_hosts import plain_environment
from processes import ROOT, finished, fpgart

pytest.importorskip("sphinx", reason="the extra `site` is not installed")
LESSON = (ROOT / "docs" / "banks.md").read_text()
BOARDS = {"first": "a10_ref", "apart": "a10_ref", "late": "hetero", "early": "hetero"}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder with the pages (`html`) and the manual page (`man`), built once for all processes that test."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):  # one of several processes
        folder = folder.parent
    target = folder / "site"
    with open(folder / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for builder in ("html", "man"):
            if not (target / f"{builder}.log").exists():
                build(target, builder)
    return target


def build(target: Path, builder: str) -> None:
    """Leaves its warnings in a file. The sources are read once for all builders: that is most of the time."""
    read = str(target / "read")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", read, "-b", builder]
    command += [str(ROOT / "docs"), str(target / builder)]
    done = finished(*command)
    words = (done.stderr or f"it ended with {done.returncode}") if done.returncode else ""
    (target / f"{builder}.log").write_text(words)


@pytest.fixture(scope="module")
def pages(built: Path) -> Path:
    return built / "html"


def test_every_link_between_pages_leads_somewhere(built: Path) -> None:
    assert (built / "html.log").read_text() == ""
    assert (built / "html" / "index.html").exists()


def test_the_page_of_the_command_has_each_of_its_commands(pages: Path) -> None:
    text = (pages / "cli.html").read_text()
    assert all(f'id="fpgart-{name}"' in text for name in ("run", "report", "doctor", "aoc", "info"))


def test_anchors_in_tables_are_anchors_of_the_page(pages: Path) -> None:
    assert 'id="usm-pointers"' in (pages / "fidelity.html").read_text()


def test_examples_in_docstrings_are_shown_as_code(pages: Path) -> None:
    text = (pages / "api.html").read_text()
    assert '<div class="highlight-python' in text.split('id="module-fpgart.faults"')[1]


def test_a_manual_page_comes_from_the_command(built: Path) -> None:
    assert (built / "man.log").read_text() == ""
    assert "Run any OpenCL program" in (built / "man" / "fpgart.1").read_text().replace("\\-", "-")


def told(way: str) -> list[str]:
    """The lines that the lesson shows of a report: indented, with figures; `...` stands for what differs."""
    part = LESSON.split(f"report {way}.json")[1].split("fpgart report")[0]
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
    options = ("--board", BOARDS[way], "--time", "model", "--trace", trace)
    assert fpgart("run", *options, "--", host, way, env=plain_environment()).stdout == "right\n"
    report = fpgart("report", trace, cwd=tmp_path).stdout
    wanted = told(way)
    assert wanted or way == "early"
    for line in wanted:
        assert re.search(".*".join(map(re.escape, line.split("..."))), report), line
    for line in report.splitlines():
        if way == "early":
            assert "->" not in line  # no migration
