# SPDX-License-Identifier: Apache-2.0
"""The start of the driver in a C host: with the first call that needs it, unless it cannot start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from both_ways import calls_in
from c_hosts import ROOT, build, plain_environment
from processes import finished, fpgart

PLATFORM_NOT_FOUND = -1001
DEVICE_NOT_FOUND = -1
KEYSTONE = ROOT / "fpgart" / "board" / "keystone" / "boards" / "k2h.xml"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host that lists the platform and then asks for its devices (tests/programs/start.c)."""
    return build("start", tmp_path_factory.mktemp("start"))


def run(host: Path, **options: str) -> subprocess.CompletedProcess[str]:
    return finished(host, env={**plain_environment(), **options})


def state(output: str) -> dict[str, str]:
    """Returns, by step, whether the interpreter ran."""
    return dict(line.split(": ") for line in output.splitlines() if line.startswith("after "))


def texts(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("text ")]


@pytest.mark.parametrize(
    "options",
    [{}, {"FPGART_RUN": "a", "FPGART_BOARD": "hetero,usm_s10"}, {"FPGART_ENGINE": "pocl"}],
    ids=("none", "run", "engine"),
)
def test_a_host_that_lists_platforms_has_no_interpreter_until_it_wants_a_device(
    host: Path, options: dict[str, str]
) -> None:
    result = run(host, **options)
    assert result.stderr == ""
    assert state(result.stdout) == {"after platforms": "waits", "after texts": "waits", "after device": "runs"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"FPGART_BOARD": "hetero,usm_s10"},
        {"FPGART_BOARD": "k2h"},
        {"FPGART_BOARD": "a10_ref,k2h"},
        {"FPGART_BOARD": f" {KEYSTONE} , a10_ref"},
        {"FPGART_PLATFORM": "fpgart"},
        {"FPGART_PLATFORM": "emulator"},
        {"FPGART_PLATFORM": "intel-fpga-emulator"},
        {"CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA": "3"},
        {"CL_CONTEXT_MPSIM_DEVICE_INTELFPGA": "1"},
        {"CL_CONTEXT_MPSIM_DEVICE_INTELFPGA": "2"},
        {"CL_CONFIG_CPU_EMULATE_DEVICES": "2"},
        {"CL_CONTEXT_OFFLINE_DEVICE_INTELFPGA": "+hetero"},
        {"CL_CONTEXT_OFFLINE_DEVICE_INTELFPGA": "k2h", "FPGART_BOARD": "a10_ref"},
        {"FPGART_ENGINE": "/nowhere/libpocl.so"},
        {"FPGART_ENGINE": "no such engine"},
    ],
    ids=lambda options: "-".join(options.values()).replace(str(KEYSTONE), "file") or "none",
)
def test_what_is_said_before_the_start_is_said_after_it(host: Path, options: dict[str, str]) -> None:
    result = run(host, FPGART_RUN="a", **options)
    said = texts(result.stdout)
    assert len(said) == 14
    assert said[:7] == said[7:]
    assert state(result.stdout)["after texts"] == "waits"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"FPGART_BOARD": "usm_s11"}, "not one of "),
        ({"FPGART_PLATFORM": "amd"}, "not one of "),
        ({"FPGART_CAPTURE": "/dev/null/capture"}, "File exists"),
        ({"FPGART_FINDINGS": "/proc/nonexistent/findings", "FPGART_CHECK": "usm"}, "No such file or directory"),
        ({"FPGART_TRACE": "/proc/nonexistent/trace"}, "No such file or directory"),
        ({"FPGART_USE_FILE": "/proc/nonexistent/use"}, "No such file or directory"),
    ],
)
def test_an_option_that_nobody_has_checked_is_checked_before_there_is_a_platform(
    host: Path, options: dict[str, str], told: str
) -> None:
    result = run(host, **options)
    assert result.stdout.splitlines()[0] == f"platforms {PLATFORM_NOT_FOUND} 0"
    name, value = next(iter(options.items()))
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fpgart: no platform: {name}={value}: {told}")


def test_a_start_that_fails_late_is_told_once_and_gives_no_device(host: Path) -> None:
    result = run(host, FPGART_RUN="a", FPGART_BOARD="usm_s11")
    assert "platforms 0 1" in result.stdout
    assert f"device {DEVICE_NOT_FOUND}" in result.stdout
    assert [line.split(":")[:2] for line in result.stderr.splitlines()] == [["fpgart", " no platform"]]


def test_a_trace_has_the_first_call_of_the_host(host: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    run(host, FPGART_RUN="a", FPGART_TRACE=str(trace))
    assert calls_in(trace)[:2] == ["clGetPlatformIDs", "clGetPlatformInfo"]


def test_a_misspelt_option_is_told_of_hosts_that_only_list_platforms_too(host: Path) -> None:
    result = run(host, FPGART_BORD="hetero")
    assert state(result.stdout)["after platforms"] == "runs"
    assert "FPGART_BORD" in result.stderr


def test_first_calls_of_all_chapters_may_come_from_several_threads_at_once() -> None:
    program = ROOT / "tests" / "programs" / "first_calls.py"
    result = fpgart("run", "--", sys.executable, program, env=plain_environment())
    assert result.stderr == ""
    invalid = {"Sampler": -41, "Kernel": -48, "Program": -44, "MemObject": -38, "Pipe": -38, "UserEvent": -58}
    for line in result.stdout.splitlines():
        name, status = line.split()
        expected = next((number for noun, number in invalid.items() if noun in name and "Enqueue" not in name), -36)
        assert (name, int(status)) == (name, expected)
    assert len(result.stdout.splitlines()) == 14


@pytest.mark.parametrize("isolate", ["0", "1"])
def test_a_child_that_is_forked_while_another_thread_starts_the_driver_gets_answers(
    tmp_path: Path, isolate: str
) -> None:
    forking = build("fork_while_starting", tmp_path, "-lpthread", "-ldl", "-rdynamic")
    result = finished(forking, "4", env={**plain_environment(), "FPGART_ISOLATE": isolate})
    children, died = map(int, result.stdout.split())
    assert children > 20
    assert (died, result.returncode) == (0, 0), result.stderr


@pytest.mark.parametrize("board", ["usm_s10", "k2h"])
def test_a_host_ends_without_a_word_while_a_thread_launches_kernels_with_variables(board: str, tmp_path: Path) -> None:
    result = finished(build("exit_beside_variable", tmp_path, "-lpthread"), FPGART_BOARD=board)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
