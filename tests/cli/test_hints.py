# SPDX-License-Identifier: Apache-2.0
"""Hints of `fpgart` for mistyped words, and completion in shells."""

from __future__ import annotations

import os
import re
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from processes import ROOT, finished, fpgart, output

from fpgart.cli.information import as_typed
from fpgart.cli.main import cli


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("reprot t.json", "there is no command 'reprot'; did you mean report?"),
        ("./host --size 3", "there is no command './host'; to run a program: fpgart run -- ./host --size 3"),
        ("sh -c true", "there is no command 'sh'; to run a program: fpgart run -- sh -c true"),
        ("boards", "there is no command 'boards': fpgart info lists boards"),
        ("chek t.json", "there is no command 'chek'; did you mean run --check?"),
        ("check", "there is no command 'check': fpgart run --check -- ./my_host looks for mistakes of a host"),
        ("usm", "there is no command 'usm': fpgart run --check usm -- ./my_host looks for mistakes of a host"),
        ("xyzzy", "there is no command 'xyzzy'; fpgart --help lists the commands"),
        ("help xyzzy", "there is no command 'xyzzy'; fpgart --help lists the commands"),
        ("help run more", "'run' has no command 'more'"),
        ("run --trace -- sh -c true", "--trace needs a value before --"),
        ("run --check=usm --board -- sh -c true", "--board needs a value before --"),
        ("run --time modell -- true", "'modell' is not one of 'real', 'model'; did you mean model?"),
        ("run --board a10ref -- true", "nor the path of a file; did you mean a10_ref?"),
        ("run --board usm_s10,hetro -- true", "did you mean hetero?"),
        ("run --board a10 -- true", "did you mean a10_ref?"),
        ("run -board a10_ref -- true", "No such option '-board'; did you mean --board?"),
        ("run -check=usm -- true", "No such option '-check'; did you mean --check?"),
        ("run -x -- true", "No such option '-x'."),
        ("run -b -- true -board", "No such option '-b'."),
        ("aocx k.aocx", "there is no command 'k.aocx'; to see what the file contains: fpgart aocx show k.aocx"),
        ("run --check usm,bufers -- true", "fpga, kernels, all; did you mean buffers?"),
        (
            "run --engine libx.so.2 -- true",
            "nor the path of a driver; the path of a file contains a slash: ./libx.so.2",
        ),
        ("run --engine poclx -- true", "nor the path of a driver; did you mean pocl?"),
        ("run --platform emulater -- true", "did you mean emulator?"),
    ],
)
def test_a_wrong_word_is_answered_with_what_was_meant(words: str, told: str) -> None:
    result = fpgart(*words.split())
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fpgart: ")
    assert result.stderr.endswith(f"{told}\n")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("group", ["board", "aocx"])
def test_a_group_of_commands_without_one_prints_its_help(group: str) -> None:
    result = fpgart(group)
    assert result.returncode == 2
    assert (result.stdout + result.stderr).startswith("Usage: ")
    assert "fpgart: " not in result.stderr


def test_a_value_like_no_other_gets_no_suggestion() -> None:
    assert "did you mean" not in fpgart("run", "--board", "zzzzz", "--", "true").stderr


def test_versions_and_help_have_several_spellings() -> None:
    told = {fpgart(word).stdout for word in ("-V", "--version", "version")}
    told.add(finished(sys.executable, "-m", "fpgart", "version", cwd=ROOT).stdout)
    assert len(told) == 1
    assert told.pop().startswith("fpgart, version ")
    for command in ([], ["run"], ["board"], ["board", "list"]):
        assert fpgart("help", *command).stdout == fpgart(*command, "--help").stdout.replace(
            "python -m fpgart.cli", "fpgart"
        )


@pytest.mark.parametrize(
    "command", [(), ("run",), ("report",), ("diff",), ("replay",), ("board",), ("sdk",), ("clean",)]
)
def test_examples_of_the_help_are_whole_lines(command: tuple[str, ...]) -> None:
    """Each line with an example can be copied: none is broken, which would leave the rest on the next line."""
    told = output(fpgart(*command, "--help", COLUMNS="80"))
    source = re.findall(r"^    (?:    )?((?:fpgart(?! itself)|eval) .*)$", _docstring(command), re.MULTILINE)
    lines = [line.strip() for line in told.splitlines()]
    assert [example for example in source if example not in lines] == []


def _docstring(command: tuple[str, ...]) -> str:
    found: click.Command | None = cli
    for word in command:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return found.callback.__doc__ or ""


def test_the_state_of_a_process_that_is_no_host_ends_at_once() -> None:
    result = fpgart("top", os.getpid())
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"fpgart: no running host answers as process {os.getpid()}\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("run --board a10_ref,he", ["a10_ref,hetero"]),
        ("run --check us", ["usm"]),
        ("run --time m", ["model"]),
        ("dif", ["diff"]),
        ("run --faults wri", ["write"]),
        ("run --faults write:fa", ["write:fail"]),
        ("run --faults read:delay=5ms;kernel:h", ["read:delay=5ms;kernel:hang"]),
        ("run --faults kernel:hang:li", ["kernel:hang:limit="]),
        ("run --faults write:ecc=c", ["write:ecc=correctable"]),
        ("run --faults write:hang:li", []),
        (
            "run --faults api:clCreateBufferW",
            ["api:clCreateBufferWithProperties", "api:clCreateBufferWithPropertiesINTEL"],
        ),
        ("run --faults api:clFinish:CL_OUT_OF_R", ["api:clFinish:CL_OUT_OF_RESOURCES"]),
    ],
)
def test_shells_complete_names(typed: str, completed: list[str]) -> None:
    *words, incomplete = typed.split()
    found = ShellComplete(cli, {}, "fpgart", "_FPGART_COMPLETE").get_completions(words, incomplete)
    assert [each.value for each in found] == completed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ((), ""),
        (True, "1"),
        (False, "0"),
        ((0, 1), "0/1"),
        (("usm", "order"), "usm,order"),
        (5.0, "5"),
        (7, "7"),
    ],
)
def test_defaults_are_shown_as_they_are_typed(value: object, text: str) -> None:
    assert as_typed(value) == text


def test_the_installation_is_shown_without_reprs() -> None:
    lines = [line for line in fpgart("info").stdout.splitlines() if "(not set" in line]
    assert "   FPGART_CHECK = (not set)" in lines
    assert "   FPGART_TIME = (not set; real)" in lines
    assert not [line for line in lines if "'" in line or "True" in line or "False" in line or "()" in line]


def test_a_command_imports_no_modules_of_others() -> None:
    code = "import sys, fpgart.cli.main, fpgart.cli.run_command; print(*sys.modules)"
    imported = output(finished(sys.executable, "-c", code, cwd=ROOT)).split()
    of_others = {"fpgart.cli.information", "fpgart.sdk.aoc", "fpgart.serving.sockets", "fpgart.watch.report", "rich"}
    assert not of_others & set(imported)
