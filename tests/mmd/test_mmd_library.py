# SPDX-License-Identifier: Apache-2.0
"""libfpgart_mmd.so: the rules of programs/mmd.c, a program written to aocl_mmd.h alone, and what is told of calls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from c_hosts import gcc
from processes import ROOT, finished, fpgart, output

from fpgart.aocx.compiler import Options, compile_source
from fpgart.aocx.container import BOARD_IMAGE
from fpgart.board.catalogue import describe
from fpgart.engine.choice import choose_engine

LIBRARY = ROOT / "fpgart" / "libfpgart_mmd.so"
PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "mmd.c"
RULES = re.findall(r"RULE\w*\((\w+)\),", PROGRAM.read_text())
SOURCE = """
__kernel void add(__global const volatile int *in, __global int *out, int number)
{
    while (in[get_global_id(0)] < 0)
        ;
    out[get_global_id(0)] = in[get_global_id(0)] + number;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and the image of a kernel."""
    folder = tmp_path_factory.mktemp("mmd")
    gcc("mmd", folder, "-Wno-unused", "-D_GNU_SOURCE", "-ldl")
    container = compile_source(SOURCE, describe("usm_s10"), Options(), choose_engine())
    (folder / "image.bin").write_bytes(container[BOARD_IMAGE])
    return folder


@cache
def vendor_path() -> str:
    return output(fpgart("fcd")).strip()


def run(built: Path, rule: str, **variables: str) -> subprocess.CompletedProcess[str]:
    first = describe("usm_s10").memories[0]
    needed = [hex(first.usable_begin), "usm_s10" if rule == "the_rom_describes_the_memories" else built / "image.bin"]
    environment = os.environ | {"ACL_BOARD_VENDOR_PATH": vendor_path(), "FPGART_BOARD": "usm_s10,usm_s10"} | variables
    command = [str(built / "mmd"), rule, *map(str, needed)]
    return finished(*command, env=environment)


@pytest.mark.parametrize("rule", RULES)
def test_rule_of_the_c_program(built: Path, rule: str) -> None:
    result = run(built, rule)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_the_command_fcd_names_a_folder_whose_file_names_the_library() -> None:
    assert (Path(vendor_path()) / "fpgart.fcd").read_text() == f"{LIBRARY}\n"


def test_refused_calls_are_told_in_words(built: Path) -> None:
    told = run(built, "addresses_that_no_memory_has_are_refused").stderr
    assert "aocl_mmd_write: 16384 bytes at 0xffffffffffffffbf are not in a memory of board 'usm_s10'" in told
    assert "aocl_mmd_write: board 'usm_s10' has no interface 7 for transfers" in told
    assert "aocl_mmd_read: 1 is not the handle of an open board (open: 0)" in told


def test_a_kernel_that_cannot_run_is_told_with_the_argument(built: Path) -> None:
    told = run(built, "a_kernel_that_cannot_run_ends_all_the_same").stderr
    assert re.search(r"kernel 'add' did not run: argument 1 \('out'\): pointer 0x\w+ leads neither", told)


def test_a_list_of_calls_is_the_same_in_each_run(built: Path, tmp_path: Path) -> None:
    lists = []
    for index in range(2):
        file = tmp_path / f"calls{index}"
        run(built, "a_kernel_runs_when_its_start_register_is_written", FPGART_MMD_CALLS=str(file))
        lists.append(file.read_text())
    assert lists[0] == lists[1]
    assert "write handle=0 blocking=yes size=4 interface=0 offset=0x1008 = 0\ninterrupt handle=0\n" in lists[0]


def test_a_list_of_calls_may_be_a_stream(built: Path) -> None:
    told = run(built, "interfaces_differ", FPGART_MMD_CALLS="/dev/stderr").stderr
    assert told.startswith("open name=acl0 = 0\n")


def test_options_name_files_from_the_folder_of_the_first_call(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Path(choose_engine().path)
    monkeypatch.chdir(engine.parent)
    result = run(built, "a_host_may_change_its_folder", FPGART_ENGINE=f"./{engine.name}")
    assert result.returncode == 0, result.stdout + result.stderr


def test_boards_that_are_no_fpgas_are_left_out(built: Path) -> None:
    result = run(built, "names_are_told_before_any_board_is_open", FPGART_BOARD="usm_s10,k2h,usm_s10")
    assert result.returncode == 0, result.stdout
    assert "is not an FPGA board" in result.stderr


def test_a_board_that_does_not_exist_is_told_once(built: Path) -> None:
    result = run(built, "interfaces_differ", FPGART_BOARD="nonsense")
    assert result.returncode == 1
    assert result.stderr.count("fpgart: no board: FPGART_BOARD=nonsense") == 1


def test_exactly_the_functions_of_the_header_are_exported() -> None:
    header = (ROOT / "include/aocl_mmd.h").read_text()
    wanted = set(re.findall(r"AOCL_MMD_CALL [\w *]*?(aocl_mmd_\w+)\(", header))
    listed = output(finished("nm", "-D", "--defined-only", LIBRARY))
    assert {line.split()[-1] for line in listed.splitlines()} == wanted


IN_PYTHON = """
import ctypes, sys
mmd = ctypes.CDLL(sys.argv[1])
board = mmd.aocl_mmd_open(b"acl0")
assert board == 0
ended = []
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
handler = HANDLER(lambda handle, data, operation, status: ended.append((operation, status)))
mmd.aocl_mmd_set_status_handler(board, handler, None)
data, back = ctypes.create_string_buffer(b"seven bytes", 64), ctypes.create_string_buffer(64)
at = ctypes.c_size_t(int(sys.argv[2]))
assert mmd.aocl_mmd_write(board, ctypes.c_void_p(5), ctypes.c_size_t(64), data, 1, at) == 0
while not ended:
    mmd.aocl_mmd_yield(board)
assert ended == [(5, 0)]
assert mmd.aocl_mmd_read(board, None, ctypes.c_size_t(64), back, 1, at) == 0
assert back.raw == data.raw
"""


def test_hosts_may_be_written_in_python() -> None:
    at = describe("usm_s10").memories[0].usable_begin
    command = [sys.executable, "-c", IN_PYTHON, str(LIBRARY), str(at)]
    output(finished(*command))
