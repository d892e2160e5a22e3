# SPDX-License-Identifier: Apache-2.0
"""Options that make no sense, relative paths, names that nobody knows: what a user is told before a host starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import processes
import pytest
from c_hosts import plain_environment
from machine import SetOption
from processes import ROOT, finished, output, quiet_output

from fpgart.base import config, option_paths, option_values
from fpgart.base.option_paths import Holds
from fpgart.cli.validation import wrong_options

HOST = """
import os, sys
os.chdir("/")
import numpy as np, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
program = cl.Program(context, "kernel void k(global int *x) { x[get_global_id(0)] += 1; }").build(cache_dir=False)
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
program.k(queue, (64,), None, buffer)
queue.finish()
print(device.name)
"""
SYSTEMS_LOADER = {"LD_PRELOAD": "libOpenCL.so.1"}
"""The one in pyopencl's wheel also finds the driver beside it."""
KERNEL = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }\n"
LOADS_A_CONTAINER = """
import sys, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
program = cl.Program(context, [device], [open(sys.argv[1], "rb").read()]).build()
"""


def fpgart(*words: object, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return processes.fpgart(*words, cwd=cwd, env=plain_environment(), PYTHONPATH=str(ROOT), **variables)


def python_host(body: str, *options: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A pyopencl host that `fpgart run` starts."""
    pytest.importorskip("pyopencl")
    return fpgart("run", *options, "--", sys.executable, "-W", "ignore", "-c", body, cwd=cwd, **variables)


WRONG = [
    (("--board", "usm_s11"), "--board: FPGART_BOARD=usm_s11: not one of "),
    (("--board", "none.xml"), "--board: FPGART_BOARD: "),
    (("--platform", "amd"), "--platform: FPGART_PLATFORM=amd: not one of "),
    (("--engine", "intl"), "--engine: FPGART_ENGINE=intl: not one of auto, "),
    (("--engine", "/nonexistent.so"), "--engine: FPGART_ENGINE=/nonexistent.so: there is no such file"),
    (("--check", "everything"), "--check: FPGART_CHECK=everything: everything is not one of "),
    (
        ("--check", "kernels", "--engine", "pocl"),
        "--check: FPGART_CHECK=kernels needs the engine oclgrind, but FPGART_ENGINE=pocl",
    ),
    (("--watchdog", "soon"), "--watchdog: FPGART_WATCHDOG=soon: a number of seconds from 0 is expected"),
    (
        ("--trace", "/nonexistent/t.json"),
        "--trace: FPGART_TRACE=/nonexistent/t.json: No such file or directory: /nonexistent",
    ),
    (("--trace", "/"), "--trace: FPGART_TRACE=/: this is a folder, not a file"),
    (("--trace", "/proc/t.json"), "--trace: FPGART_TRACE=/proc/t.json: no file can be made in /proc: "),
    (("--capture", "/proc/folder"), "--capture: FPGART_CAPTURE=/proc/folder: no file can be made in /proc: "),
    (("--capture", "/dev/null/folder"), "--capture: FPGART_CAPTURE=/dev/null/folder: Not a directory: /dev/null"),
    (("--capture-kernels", "k:0"), "--capture-kernels: FPGART_CAPTURE_KERNELS=k:0: names are expected"),
    (("--faults", "write:fial"), "--faults: FPGART_FAULTS: 'write:fial': 'fial' is not an effect"),
]


@pytest.mark.parametrize(("words", "told"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_a_host_does_not_start_with_an_option_that_makes_no_sense(words: Sequence[str], told: str) -> None:
    result = fpgart("run", *words, "--", "echo", "started")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"fpgart: {told}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FPGART_WARM_MEMORY", "lots"),
        ("FPGART_EXIT_TIMEOUT", "-1"),
        ("FPGART_FINDINGS", "/nonexistent/f"),
        ("FPGART_LOG", "/nonexistent/log"),
        ("FPGART_SUMMARY", "/nonexistent/summary"),
        ("FPGART_USM_POINTERS", "real"),
        ("FPGART_NO_INTERLEAVING", "DDR9"),
        ("FPGART_MODELS", "/nonexistent/models.py"),
        ("FPGART_TIME", "unreal"),
        ("CL_CONTEXT_COMPILER_MODE_INTELFPGA", "6"),
        ("CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA", "many"),
        ("CL_CONTEXT_OFFLINE_DEVICE_INTELFPGA", "+nothing"),
    ],
)
def test_a_wrong_variable_is_refused_as_an_option_is(name: str, value: str) -> None:
    result = fpgart("run", "--", "echo", "started", **{name: value})
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


def test_all_wrong_options_are_told_at_once() -> None:
    result = fpgart("run", "--board", "usm_s11", "--", "echo", "started", FPGART_WATCHDOG="x", FPGART_TIME="y")
    assert result.returncode == 2
    told = {line.partition("=")[0] for line in result.stderr.splitlines()}
    assert told == {"fpgart: --board: FPGART_BOARD", "fpgart: FPGART_TIME", "fpgart: FPGART_WATCHDOG"}


@pytest.mark.parametrize("command", ["info", "doctor"])
def test_wrong_options_show_in_the_commands_that_inform(command: str) -> None:
    result = fpgart(command, FPGART_WATCHDOG="soon")
    assert result.returncode != 0
    assert "FPGART_WATCHDOG=soon: a number of seconds from 0 is expected" in result.stdout + result.stderr


def test_every_option_is_asked_for_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one that does not take every text refuses this one."""
    takes_all = {
        name
        for name, option in config.OPTIONS.items()
        if option.read in (str, option_values.switch, option_values.presence)
    }
    try:
        for name in config.OPTIONS:
            monkeypatch.setenv(name, ":0-,")
        refused = {wrong.name for wrong in wrong_options()}
    finally:
        monkeypatch.undo()
        for option in config.OPTIONS.values():
            option.forget()
    # modules and functions are the host's, memories those of good boards
    later = {config.MODELS.name, config.WRAPPERS.name, config.NO_INTERLEAVING.name}
    assert set(config.OPTIONS) - takes_all - later <= refused


def test_a_misspelt_option_of_the_command_is_one_sentence_with_the_right_one() -> None:
    result = fpgart("run", "--bord", "usm_s10", "--", "true")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "--bord" in result.stderr
    assert "--board" in result.stderr


def test_what_follows_the_program_is_the_programs() -> None:
    assert fpgart("run", "echo", "--board", "mine").stdout == "--board mine\n"


def test_a_file_that_cannot_be_executed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "host"
    file.write_text("no program")
    result = fpgart("run", "--", file)
    assert (result.returncode, result.stderr) == (
        2,
        f"fpgart: {file}: this file is not executable: chmod +x {file}\n",
    )


def test_a_container_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(KERNEL)
    result = fpgart("aoc", tmp_path / "k.cl", "-o", "/dev/null/x.aocx")
    assert result.returncode != 0
    assert len(result.stderr.splitlines()) == 1
    assert "/dev/null/x.aocx" in result.stderr


# Names of variables


def test_a_misspelt_variable_is_told_once_with_the_nearest_name(tmp_path: Path) -> None:
    result = python_host(HOST, cwd=tmp_path, FPGART_BORAD="hetero")
    assert result.returncode == 0
    assert result.stderr == "fpgart: FPGART_BORAD is not an option: is FPGART_BOARD meant?\n"


def test_the_driver_tells_a_misspelt_variable_where_nobody_else_has(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    folder = fpgart("icd").stdout.strip()
    environment = {**plain_environment(), "OCL_ICD_VENDORS": folder + os.sep, "FPGART_LOGS": "stderr", **SYSTEMS_LOADER}
    look = "import pyopencl; pyopencl.get_platforms()[0].get_devices()"
    result = finished(sys.executable, "-c", look, env=environment)
    assert result.stderr == "fpgart: FPGART_LOGS is not an option: is FPGART_LOG meant?\n"


@pytest.mark.parametrize(
    ("name", "near"),
    [("FPGART_BORAD", "FPGART_BOARD"), ("FPGART_TRACES", "FPGART_TRACE"), ("FPGART_PACKETDEPTH", None)],
)
def test_the_nearest_name_is_proposed_if_any_is_near(name: str, near: str | None) -> None:
    (words,) = config.misspelt([name, "FPGART_BOARD", "PATH"])
    assert words.startswith(f"{name} is not an option: {f'is {near} meant?' if near else '`fpgart info`'}")


# Paths


def test_relative_paths_are_seen_from_where_the_program_is_started(tmp_path: Path) -> None:
    shutil.copy(ROOT / "fpgart" / "board" / "boards" / "hetero.xml", tmp_path / "my.xml")
    options = ("--board", "my.xml", "--trace", "t.json", "--capture", "launches", "--check", "buffers")
    printed = output(
        python_host(HOST, *options, cwd=tmp_path, FPGART_FINDINGS="f", FPGART_SUMMARY="s", FPGART_LOG="log")
    )
    assert "hetero" in printed
    assert {path.name for path in tmp_path.iterdir()} >= {"t.json", "launches", "f", "s"}


def test_the_driver_sees_relative_paths_from_where_it_is_loaded(tmp_path: Path) -> None:
    """Without `fpgart run`; the capture and the summary are written after the host has gone elsewhere."""
    pytest.importorskip("pyopencl")
    first, later = "cl.get_platforms()", "device = first[0].get_devices()[0]"
    body = HOST.replace('os.chdir("/")', "").replace(
        "device = cl.get_platforms()[0].get_devices()[0]", f"first = {first}\nos.chdir('/')\n{later}"
    )
    folder = fpgart("icd").stdout.strip()
    variables = {"OCL_ICD_VENDORS": folder + os.sep, "FPGART_SUMMARY": "s", "FPGART_CAPTURE": "launches"}
    variables |= SYSTEMS_LOADER | {"PYTHONPATH": str(ROOT)}
    host = (sys.executable, "-W", "ignore", "-c", body)
    output(finished(*host, cwd=tmp_path, env=plain_environment(), **variables))
    assert {path.name for path in tmp_path.iterdir()} == {"s", "launches"}


@pytest.mark.parametrize(
    ("text", "holds", "seen"),
    [
        ("t.json", Holds.FILE, "/here/t.json"),
        ("/t.json", Holds.FILE, "/t.json"),
        ("stderr", Holds.FILE_OR_STDERR, "stderr"),
        ("usm_s10,my.xml, ./x", Holds.NAMES, "usm_s10,/here/my.xml,/here/./x"),
        ("+my.xml", Holds.NAMES, "+/here/my.xml"),
        ("package.module,models.py", Holds.NAMES, "package.module,/here/models.py"),
        ("a/b", Holds.NOTHING, "a/b"),
    ],
)
def test_paths_are_told_from_names(text: str, holds: Holds, seen: str) -> None:
    assert option_paths.absolute(text, holds, "/here") == seen


# Traces


def test_the_report_of_a_host_that_loads_a_container_has_its_programming(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(KERNEL)
    assert fpgart("aoc", "k.cl", "-o", "k.aocx", cwd=tmp_path).returncode == 0
    file = tmp_path / "t.json"
    output(python_host(f"import sys; sys.argv[1:] = ['k.aocx']\n{LOADS_A_CONTAINER}", "--trace", file, cwd=tmp_path))
    (made,) = [e["args"] for e in json.loads(file.read_text()) if e["name"] == "program"]
    assert made["command"] == "PROGRAM_DEVICE"
    assert made["program"]
    page = tmp_path / "page.html"
    for form in ((), ("--json",), ("--html", page)):
        output(fpgart("report", file, *form))
    assert "programming: 1 time, 1 program" in fpgart("report", file).stdout


TWO_AT_ONCE_AND_ONE_LATER = 'cd /; "$0" -c "$1" & "$0" -c "$1" & wait; "$0" -c "$1"'


def test_each_process_of_a_run_keeps_its_trace(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    look = "import pyopencl; pyopencl.get_platforms()[0].get_devices()"
    (tmp_path / "t.json").write_text("[\n{of an earlier run")
    result = fpgart(
        "run", "--trace", "t.json", "--", "sh", "-c", TWO_AT_ONCE_AND_ONE_LATER, sys.executable, look, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    names = ["t.2.json", "t.3.json", "t.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    processes = {json.loads((tmp_path / name).read_text())[0]["args"]["process"] for name in names}
    assert len(processes) == 3
    told = sorted(line.rpartition(" ")[2] for line in result.stderr.splitlines())
    assert told == [str(tmp_path / "t.2.json"), str(tmp_path / "t.3.json")]


def test_a_run_overwrites_the_traces_of_earlier_ones(tmp_path: Path) -> None:
    look = "import pyopencl; pyopencl.get_platforms()[0].get_devices()"
    for _ in range(2):
        quiet_output(python_host(look, "--trace", "t.json", cwd=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


# Engines


def test_kernels_are_kept_in_a_private_folder_where_the_users_cannot_be_written(tmp_path: Path) -> None:
    variables = {"HOME": "/dev/null", "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    builds = HOST.partition("queue =")[0]
    output(python_host(builds, "--engine", "pocl", cwd=tmp_path, **variables))
    private = tmp_path / f"fpgart-{os.getuid()}"
    assert private.stat().st_mode & 0o777 == 0o700
    printed = output(fpgart("doctor", **variables))
    assert f"{private} (private, because /dev/null/.cache cannot be written" in printed


def test_a_folder_that_others_can_write_to_is_not_taken_for_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpgart.engine.compiling import cache

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "open"))
    monkeypatch.setattr(cache, "temporary_folders", lambda: iter([str(tmp_path / "open"), str(tmp_path)]))
    (tmp_path / "open" / f"fpgart-{os.getuid()}").mkdir(parents=True)
    (tmp_path / "open" / f"fpgart-{os.getuid()}").chmod(0o777)
    assert cache.cache_folder().folder == str(tmp_path / f"fpgart-{os.getuid()}")


def test_no_engine_names_the_file_that_was_tried_and_what_it_said(tmp_path: Path) -> None:
    file = tmp_path / "engine.so"
    file.write_text("no library")
    body = HOST.partition("queue =")[0]
    result = python_host(body, "--engine", file, "--log", cwd=tmp_path)
    assert result.returncode != 0
    assert f"{file}: " in result.stderr
    assert "is no shared library" in result.stderr


def test_an_engine_that_is_not_installed_comes_with_how_to_get_it(
    set_option: SetOption, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpgart.engine import choice

    set_option(config.ENGINE, "intel")
    monkeypatch.setattr(choice, "of_intel", lambda _: iter(()))
    assert choice.missing() == (
        "FPGART_ENGINE=intel: this engine is not installed; Intel's CPU runtime: pip install 'fpgart[intel]'"
    )
