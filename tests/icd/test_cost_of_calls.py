# SPDX-License-Identifier: Apache-2.0
"""The cost of frequent calls, counted without a clock, so that it does not depend on the machine and its load.

A change that makes a call cost more fails here; one that makes it cost less lowers its row.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from c_hosts import build, plain_environment
from processes import finished, output

SERIES = 200  # calls, as in the program
MOST_MODULES = 154
"""In the interpreter when a C host has its first device; the interpreter itself and cffi bring 45 along."""


UNCOUNTED = {"futex", "mmap", "munmap", "brk", "rt_sigaction"}


class Most(NamedTuple):
    """For one call: how often it takes the interpreter's lock, what Python allocates, and its system calls.

    A call into Python takes the lock once, and once more when it has let others have it while bytes move or a kernel
    runs. What wakes threads (futex) is not counted, because whether one sleeps depends on when it ran last, nor is what
    makes memory larger or smaller (mmap, brk), which happens now and then, nor is rt_sigaction: the engine handles
    SIGFPE while kernels run, so that its number depends on how often all have ended.

    How many blocks a call allocates depends on the version of Python, and, where the call enqueues several commands, on
    which of them have ended when the next one comes. The row of such a call is therefore what the dearest call takes
    on the Python that allocates most.
    """

    locks: float
    allocations: int
    system_calls: float


MOST = {
    "query": Most(0, 0, 0),
    "query_kernel": Most(0, 0, 0),
    "query_program": Most(0, 0, 0),
    "query_allocation": Most(0, 0, 0),
    "query_counts": Most(0, 0, 0),
    "query_platform": Most(0, 0, 0),
    "set_value": Most(0, 0, 0),
    "set_buffer": Most(0, 0, 0),
    "set_local": Most(0, 0, 0),
    "set_structure_and_null": Most(0, 0, 0),
    "set_large_structure_and_many": Most(0, 0, 2),  # getpid and process_vm_readv
    "set_svm": Most(0, 0, 0),
    "set_usm": Most(0, 0, 0),
    "retain_and_release": Most(0, 0, 0),
    "status_of_ended": Most(0, 0, 0),
    "wait_for_ended": Most(0, 0, 0),
    "enqueue": Most(0, 0, 0),
    "enqueue_no_work_items": Most(0, 0, 0),
    "enqueue_again": Most(0, 0, 0),
    "enqueue_with_pointer": Most(0, 0, 0),
    "enqueue_with_exec_info": Most(0, 0, 0),
    "enqueue_and_drop": Most(0, 0, 0),
    "enqueue_and_replace": Most(0, 0, 0),
    "enqueue_in_turn": Most(0, 0, 0),
    "wait_for_many": Most(0, 0, 0),
    "launch_and_wait": Most(0, 0, 0),
    "launch_again_and_wait": Most(0, 0, 0),
    "launch_and_wait_for_event": Most(0, 0, 0),
    "write_and_wait": Most(0, 0, 0),
    "read_and_wait": Most(0, 0, 0),
    "make_kernel": Most(0, 0, 0),
    "clone_kernel": Most(0, 0, 0),
    "make_all_kernels": Most(0, 0, 0),
    "make_context_and_write": Most(2, 100, 0),
    "make_sub_buffer": Most(0, 0, 0),
    "make_buffer": Most(0, 0, 0),
    "make_buffers_of_sizes": Most(0, 0, 0),
    "make_buffers_beside_pythons": Most(7, 250, 0),
    "make_over_host_memory": Most(0, 0, 0),
    "make_and_map": Most(0, 0, 0),
    "make_queue": Most(0, 0, 0),
    "map_and_unmap": Most(0, 0, 0),
    "transfer_beside": Most(0, 0, 0),
    "transfer_beside_one_that_polls": Most(0, 0, 0),
    "boxes": Most(0, 0, 0),
    "shared_memory": Most(0, 0, 0),
    "migrate_svm": Most(2, 30, 0),
    "unified_memory": Most(0, 0, 0),
    "migrate": Most(0, 0, 0),
    "free_svm": Most(4, 50, 1),
    "make_write_launch_read": Most(0, 0, 0),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host that counts (tests/programs/counts.c)."""
    folder, library = Path(sysconfig.get_config_var("LIBDIR")), sysconfig.get_config_var("LDLIBRARY")
    if not (folder / library).exists():
        folder /= sysconfig.get_config_var("MULTIARCH") or ""
    python = [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l:{library}"]
    headers = f"-I{sysconfig.get_paths()['include']}"
    return build("counts", tmp_path_factory.mktemp("counts"), headers, "-rdynamic", *python, "-ldl")


@pytest.fixture(scope="module")
def counted(program: Path) -> dict[str, list[int]]:
    """Modules at the start; by call, a hundred times its locks and its allocations."""
    return counts(program)


def counts(program: Path, *calls: str, **options: str) -> dict[str, list[int]]:
    """Of these calls, or of all."""
    told = output(finished(program, *calls, env=plain_environment(), **options))
    return {name: [int(number) for number in numbers] for name, *numbers in map(str.split, told.splitlines())}


def test_a_call_takes_the_interpreters_lock_no_more_often_than_its_row_says(counted: dict[str, list[int]]) -> None:
    assert not {call: counted[call][0] / 100 for call in MOST if counted[call][0] > 100 * MOST[call].locks}


def test_python_allocates_no_more_blocks_for_a_call_than_its_row_says(counted: dict[str, list[int]]) -> None:
    assert not {call: counted[call][1] / 100 for call in MOST if counted[call][1] > 100 * MOST[call].allocations}


def test_a_launch_runs_no_python_while_a_trace_is_written(program: Path, tmp_path: Path) -> None:
    launches = ("enqueue_and_drop", "enqueue_and_replace", "enqueue_in_turn")
    found = counts(program, *launches, FPGART_TRACE=str(tmp_path / "trace"))  # no .json: too long for a report
    assert [found[call] for call in launches] == [[0, 0]] * len(launches)


def test_a_buffer_needs_no_python_in_a_context_of_two_boards(program: Path) -> None:
    made = ("make_buffer", "make_buffers_of_sizes")
    found = counts(program, *made, FPGART_BOARD="usm_s10,usm_s10")
    assert [found[call] for call in made] == [[0, 0]] * len(made)


def test_transfers_need_no_python_in_a_host_without_kernels(program: Path) -> None:
    assert counts(program, "without_kernels") == {"write_and_wait": [0, 0], "read_and_wait": [0, 0]}


def test_only_the_first_launch_of_a_kernel_needs_python(program: Path) -> None:
    assert counts(program, "second_launch") == {"second_launch": [0, 0]}


def test_a_start_imports_no_more_modules_than_it_needs(counted: dict[str, list[int]]) -> None:
    assert counted["modules"][0] <= MOST_MODULES


def test_a_start_imports_no_more_modules_where_an_engine_is_named(program: Path) -> None:
    assert counts(program, "query", FPGART_ENGINE="pocl")["modules"][0] <= MOST_MODULES


@pytest.mark.parametrize("module", ["ctypes", "dataclasses", "hashlib", "inspect", "json", "queue"])
def test_a_program_and_a_buffer_need_no_module_that_takes_long_to_import(
    counted: dict[str, list[int]], module: str
) -> None:
    assert counted[f"imported_{module}"] == [0]


@pytest.mark.parametrize("module", ["dataclasses", "inspect"])
def test_a_trace_needs_no_module_that_takes_long_to_import(program: Path, tmp_path: Path, module: str) -> None:
    found = counts(program, "enqueue_and_drop", FPGART_TRACE=str(tmp_path / "trace"))  # no .json: see above
    assert found[f"imported_{module}"] == [0]


@pytest.mark.parametrize("used", ["fpgart.aocx.binary", "fpgart.board.faults"])
def test_binaries_and_faults_need_no_module_that_takes_long_to_import(used: str) -> None:
    code = f"import sys, {used}; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert used in imported
    assert {"dataclasses", "inspect"}.isdisjoint(imported)


def test_a_call_makes_no_more_system_calls_than_its_row_says(program: Path, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "true"], capture_output=True).returncode:
        pytest.skip("strace is not here, or may not watch programs")
    log = tmp_path / "calls"
    subprocess.run([strace, "-o", log, program, "marks"], check=True, env=plain_environment())
    made = system_calls(log.read_text())
    dear = {call: made[call] for call in MOST if made[call].total() > MOST[call].system_calls * SERIES}
    assert not dear


def system_calls(log: str) -> dict[str, Counter[str]]:
    """By call of OpenCL, those of the thread that made it, but for what wakes others."""
    made: dict[str, Counter[str]] = {}
    under_way = ""
    for line in log.splitlines():
        mark = re.match(r'access\("(\w+)", F_OK\)', line)
        if mark:
            under_way = "" if under_way else mark[1]
            made.setdefault(mark[1], Counter())
        elif under_way and (name := line.partition("(")[0]) not in UNCOUNTED:
            made[under_way][name] += 1
    return made
