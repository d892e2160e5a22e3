# SPDX-License-Identifier: Apache-2.0
"""FPGART_CHECK: every mistake of checks/ is found, and nothing where it was put right.

Each function there makes one mistake, unless the host is called with `fixed`.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from c_hosts import CHECKS, Mistake, mistakes, plain_environment
from compilation import compiled
from processes import ROOT, fpgart, output

ALWAYS = "compiled while the host runs"  # true of all hosts that bring source


@pytest.fixture(scope="session")
def aocx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled program."""
    folder = tmp_path_factory.mktemp("aocx")
    source = folder / "kernels.cl"
    source.write_text("kernel void add_one(global int *data) { data[get_global_id(0)] += 1; }\n")
    output(fpgart("aoc", source, cwd=folder, env=plain_environment()))
    return folder / "kernels.aocx"


def found_by(program: Path, *words: object, folder: Path, board: str) -> tuple[list[dict[str, Any]], str]:
    """Returns the findings of all checks in a program, and its stderr."""
    file = folder / "findings"
    result = run("--board", board, "--check", "all", "--", program, *words, FPGART_FINDINGS=str(file))
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else [], result.stderr


each_mistake = pytest.mark.parametrize("mistake", mistakes().values(), ids=mistakes().keys())


@each_mistake
def test_each_mistake_is_found(mistake: Mistake, tmp_path: Path) -> None:
    found, words = found_by(mistake.host(), folder=tmp_path, board=mistake.board)
    rules = {f"{finding['check']}: {finding['rule']}" for finding in found}
    assert mistake.finds in rules, words
    for finding in found:
        assert finding["object"] in words
        assert finding["misused_by"]
        assert "made_at" in finding or not finding["made_by"]
        assert finding["fix"] in words
        sites = [finding[key] for key in ("made_at", "misused_at", "against_at") if key in finding]
        assert sites, finding
        for site in sites:
            assert mistake.name in [frame.get("function") for frame in site["stack"]], site
            assert site["place"] in words


def test_what_a_kernel_has_written_is_judged_once_when_it_has_ended(tmp_path: Path) -> None:
    """Until then nobody knows whether it reads or writes; the host enqueues the other command before or after that."""
    found, words = found_by(mistakes()["order_hidden_write"].host(), folder=tmp_path, board="usm_s10")
    assert [finding["rule"] for finding in found if finding["check"] == "order"] == ["two writes without order"], words


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("buffers_memory_changed", "before that command had copied it to buffer 1 of 4 KiB"),
        ("buffers_memory_freed", "before that command had filled it from buffer 1 of 4 KiB"),
    ],
)
def test_memory_that_the_host_changed_too_early_is_named(mistake: str, words: str, tmp_path: Path) -> None:
    _, told = found_by(mistakes()[mistake].host(), folder=tmp_path, board="usm_s10")
    assert re.search(f"the host changed or freed this memory after the non-blocking clEnqueue.*, {words}", told)


@each_mistake
def test_nothing_is_found_where_it_was_put_right(mistake: Mistake, aocx: Path, tmp_path: Path) -> None:
    found, words = found_by(mistake.host(), "fixed", aocx, folder=tmp_path, board=mistake.board)
    if not mistake.finds.endswith(ALWAYS):
        found = [finding for finding in found if finding["rule"] != ALWAYS]
    assert not found, words


BOARDS = ("usm_s10", "soc_a10")
RIGHT = [
    *itertools.product(("buffer_life", "callbacks_reenter", "threads 320"), BOARDS),
    # More copies to one buffer than are remembered (races.MOST_KEPT); checks cost 0.2 ms for each of 81,920 commands.
    *(pytest.param("threads 5120", board, marks=pytest.mark.slow) for board in BOARDS),
    ("usm_life", "usm_s10"),
]


@pytest.mark.parametrize(("command", "board"), RIGHT)
def test_nothing_is_found_in_hosts_that_are_right(command: str, board: str, tmp_path: Path) -> None:
    name, *words = command.split()
    host = compiled([ROOT / "conformance" / "c" / f"{name}.c"])
    found, said = found_by(host, *words, folder=tmp_path, board=board)
    assert not [finding for finding in found if finding["check"] != "fpga"], said


def run(*words: object, **more: str) -> subprocess.CompletedProcess[str]:
    return fpgart("run", *words, env=plain_environment(), PYTHONPATH=str(ROOT), **more)


def two_writes() -> Path:
    return mistakes()["order_two_writes"].host()


def test_a_run_with_findings_exits_with_3() -> None:
    result = run("--check", "order", "--fail-on-finding", "--", two_writes())
    assert result.returncode == 3
    assert "fpgart: 1 finding in 2 commands; looked at: races between commands" in result.stderr.splitlines()


def test_a_run_without_findings_exits_as_its_program() -> None:
    assert run("--check", "order", "--fail-on-finding", "--", two_writes(), "fixed").returncode == 0
    assert run("--fail-on-finding", "--", "sh", "-c", "exit 7").returncode == 7
    assert run("--fail-on-finding", "--", "sh", "-c", "kill -9 $$").returncode == -9
    assert run("--fail-on-finding", "--", "no-such-program").returncode == 2


def test_a_run_without_findings_says_what_was_looked_at() -> None:
    said = run("--check", "order,usm", "--", two_writes(), "fixed").stderr.splitlines()
    assert len(said) == 1
    assert re.fullmatch(r"fpgart: no findings in \d+ commands; looked at: (.*)", said[0])
    assert said[0].endswith("unified shared memory, races between commands")
    assert run("--check", "--", "true").stderr == ""


def test_findings_of_a_programs_children_count() -> None:
    result = run("--check", "order", "--fail-on-finding", "--", "sh", "-c", f"{two_writes()}; exit 0")
    assert result.returncode == 3


def test_only_the_chosen_families_look() -> None:
    assert "[order]" not in run("--check", "usm,fpga", "--", two_writes()).stderr
    assert not run("--", two_writes()).stderr


def test_a_misspelt_family_is_an_error_that_lists_the_right_ones() -> None:
    result = run("--check", "odrer", "--", two_writes())
    assert "FPGART_CHECK=odrer: odrer is not one of usm, buffers, order, fpga, kernels, all" in result.stderr


def test_a_segmentation_fault_of_the_hosts_own_still_ends_it() -> None:
    host = (
        "import ctypes, pyopencl as cl; context = cl.Context(cl.get_platforms()[0].get_devices()); "
        "cl.CommandQueue(context).finish(); ctypes.string_at(8)"
    )
    pytest.importorskip("pyopencl")
    assert run("--check", "all", "--", sys.executable, "-c", host).returncode == -signal.SIGSEGV


SMALL_STACK_HOST = """
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
__attribute__((noinline)) void touch(volatile cl_int *memory)
{
    memory[3] = 1;
}
void run(void)
{
    enum { ROOM = 8192, PAGE = 4096 };
    start_with_usm("kernel void k(global int *x) { *x = 1; }");
    char *area = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = area + PAGE, .ss_size = ROOM};
    must(mprotect(area + PAGE, ROOM, PROT_READ | PROT_WRITE), "mprotect");
    must(sigaltstack(&stack, NULL), "sigaltstack");
    cl_int *memory = allocate(&host, DEVICE, SIZE);
    touch(memory);
    free_memory(&host, memory);
    puts("went on");
}
"""


def test_a_finding_needs_little_of_a_small_signal_stack_and_names_the_function(tmp_path: Path) -> None:
    source = tmp_path / "host.c"
    source.write_text(SMALL_STACK_HOST)
    result = run("--check", "usm", "--", compiled([source], "-I", str(CHECKS), "-DMISTAKE=run", "-rdynamic"))
    assert "went on" in result.stdout, result.stderr
    assert re.search(r"misused by the host \(host-\w+\+0x[0-9a-f]+, touch\)", result.stderr), result.stderr


PAST_THE_END = """
#include "check.h"
void run(void)
{
    start_with_usm("kernel void k(global int *x) { *x = 1; }");
    ((volatile char *)allocate(&host, DEVICE, SIZE))[SIZE] = 1;
}
"""


def test_the_remedy_for_an_access_of_the_host_names_no_work_items(tmp_path: Path) -> None:
    source = tmp_path / "host.c"
    source.write_text(PAST_THE_END)
    result = run("--check", "usm", "--", compiled([source], "-I", str(CHECKS), "-DMISTAKE=run"))
    assert "fix: make it larger, or check the index\n" in result.stderr, result.stderr


def test_a_sigsegv_handler_of_the_host_turns_protection_off(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    host = tmp_path / "host.py"
    host.write_text(
        "import faulthandler\n"
        "import numpy as np, pyopencl as cl\n"
        "from fpgart import usm\n"
        "context = cl.Context(cl.get_platforms()[0].get_devices())\n"
        "queue = cl.CommandQueue(context)\n"
        "data = usm.device_empty(context, 1000, np.int32)\n"
        "faulthandler.enable()\n"
        "usm.memcpy(queue, data, np.arange(1000, dtype=np.int32), blocking=True)\n"
        "assert (data.get(queue) == np.arange(1000)).all()\n"
    )
    result = run("--check", "usm", "--", sys.executable, host)
    assert result.returncode == 0, result.stderr
    assert "installed its own SIGSEGV handler" in result.stderr
