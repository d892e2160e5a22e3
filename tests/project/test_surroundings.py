"""Hosts whose process lacks what others have; `python conformance/surroundings.py` tries many more."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from c_hosts import PACKAGE, ROOT, plain_environment, shared_library
from compilation import compiled
from machine import Machine
from processes import finished

from fpgart.base import config
from fpgart.base.memory_limit import limit_of_memory
from fpgart.base.output_file import FIRST_FREE, KeptOutput, open_output
from fpgart.board.mmd import BoardError
from fpgart.board.stretch import Stretch
from fpgart.engine import room
from fpgart.engine.driver import DriverError
from fpgart.engine.interface import Engine

RIGHT, REFUSED = 0, 3


def run(tmp_path: Path, *words: str, limit: str = "", **variables: str) -> tuple[int, str]:
    """Exit status of the host in these surroundings, and what was said; `limit`: as `ulimit` takes it."""
    (tmp_path / "only.icd").write_text(f"{PACKAGE / 'libfpgart.so'}\n")
    log = tmp_path / "log"
    environment = {**plain_environment(), "OCL_ICD_VENDORS": str(tmp_path), "FPGART_LOG": str(log), **variables}
    host = compiled([ROOT / "conformance" / "surroundings" / "host.c"])
    before = ("sh", "-c", f'ulimit {limit} && exec "$0" "$@"') if limit else ()
    result = finished(*before, host, *words, env=environment)
    return result.returncode, result.stderr + (log.read_text() if log.exists() else "")


def test_a_host_without_standard_files_runs(tmp_path: Path, engine: Engine) -> None:
    status, said = run(tmp_path, "standard", "first")
    assert status == RIGHT, said


def test_a_host_that_closes_all_files_after_a_build_runs(tmp_path: Path, engine: Engine) -> None:
    status, said = run(tmp_path, "files", "built")
    assert status == RIGHT, said


def test_a_thread_with_too_small_a_stack_is_told_so(tmp_path: Path) -> None:
    status, said = run(tmp_path, "stack", "first", "64")
    assert status == REFUSED
    assert "bytes of stack left, but calls need at least 131072" in said


@pytest.mark.parametrize("isolate", ["0", "1"])
@pytest.mark.parametrize(
    ("limit", "board", "words"),
    [
        ("-v 200000", "usm_s10", "no platform: no room for another handle: "),
        ("-d 200000", "usm_s10", "no platform: no room for another handle: "),
        ("-v 4000000", "usm_s10", "bytes of address space for the memory of board 'usm_s10' are not available "),
    ],
)
def test_a_process_that_may_not_have_much_memory_is_told_its_limit(
    tmp_path: Path, limit: str, board: str, words: str, isolate: str
) -> None:
    status, said = run(tmp_path, limit=limit, FPGART_BOARD=board, FPGART_ISOLATE=isolate)
    assert status == REFUSED, said
    assert words in said
    assert f"(ulimit {limit.split()[0]}: {limit.split()[1]} KiB)" in said
    assert "Traceback" not in said


def test_a_board_process_without_addresses_for_what_is_shared_is_told_its_limit(tmp_path: Path) -> None:
    status, said = run(tmp_path, limit="-v 4000000", FPGART_BOARD="soc_a10", FPGART_ISOLATE="1")
    assert status == REFUSED, said
    assert "are not free in the board process (ulimit -v: 4000000 KiB)" in said


@pytest.mark.parametrize(("limit", "board"), [("-d 1300000", "usm_s10"), ("-v 2600000", "soc_a10")])
def test_pocl_is_passed_over_where_it_would_not_get_its_memory(
    tmp_path: Path, engine: Engine, limit: str, board: str
) -> None:
    if "libpocl" not in Path(engine.path).name:
        pytest.skip("the engine is another one")
    status, said = run(tmp_path, limit=limit, FPGART_BOARD=board, FPGART_ENGINE="pocl")
    assert status == REFUSED, said
    assert f"may not have as much memory as PoCL needs (ulimit {limit.split()[0]}: {limit.split()[1]} KiB)" in said


def test_a_host_with_few_files_runs_with_its_kernels_in_another_process(tmp_path: Path, engine: Engine) -> None:
    status, said = run(tmp_path, limit="-n 30", FPGART_ISOLATE="1")
    assert status == RIGHT, said


def test_a_system_that_gives_no_memory_file_is_told(tmp_path: Path) -> None:
    status, said = run(tmp_path, "seccomp", "first", "memfd")
    assert status == REFUSED
    assert "the system provides no file for the memory of board 'usm_s10'" in said


def test_a_system_that_lets_no_file_grow_is_told(boards: type[Machine]) -> None:
    machine = boards("a10_small")
    machine.device.mmd.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, lambda number, frame: signals.append(number))
    signals: list[int] = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(BoardError, match=r"no file of \d+ bytes .*: files may have 4096 bytes \(ulimit -f\)"):
            machine.device.mmd.open()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert signals == [], "a host that does not catch SIGXFSZ would have ended"


def test_memory_that_is_shared_has_no_room_where_no_file_may_grow(stretch: Stretch) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        for _ in range(2):
            with pytest.raises(BoardError, match=r"no file of \d+ bytes .*: files may have 1048576 bytes"):
                stretch.allocate(1 << 20)
        kept = stretch.allocate(1 << 16)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert kept == stretch.begin + 4096, "what was refused is free"
    stretch.free(kept)


@pytest.mark.parametrize("most", [30, 64])
def test_a_board_process_starts_where_few_files_may_be_open(most: int) -> None:
    code = (
        "import resource\n"
        "from fpgart.engine.isolated.spawning import spawn\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))\n"
        "spawn()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_board_process_that_gets_no_files_is_told_with_the_limit() -> None:
    code = (
        "import os, resource\n"
        "from fpgart.engine.isolated.spawning import ProcessError, spawn\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
        "for used in range(16):\n"
        "    try: spawn()\n"
        "    except ProcessError as error: print(error)\n"
        "    os.open(os.devnull, os.O_RDONLY)\n"
    )
    said = finished(sys.executable, "-c", code).stdout
    assert said.splitlines(), "no limit was reached"
    assert all(line.endswith("Too many open files (ulimit -n)") for line in said.splitlines())


OTHER_PYTHON = "int PyArg_ValidateKeywordArguments(void *arguments) { return 0; }"


def test_a_process_with_functions_of_another_python_is_told_so_once(tmp_path: Path) -> None:
    library = shared_library(OTHER_PYTHON, tmp_path / "libother.so")
    status, said = run(tmp_path, "nothing", "first", LD_PRELOAD=str(library))
    assert status == REFUSED
    assert said.count(f"this process has another Python in it ({library})") == 1
    assert "start the program with LD_PRELOAD=" in said


def test_few_files_make_the_engine_be_passed_over_in_words(tmp_path: Path) -> None:
    status, said = run(tmp_path, "few-files", "found", "4", FPGART_ENGINE="pocl")
    assert (status, "files can be opened, but PoCL needs" in said) in ((REFUSED, True), (RIGHT, False)), said


# Files of the driver's own


def test_an_open_board_has_no_file_that_a_host_could_close(boards: type[Machine]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    machine = boards("a10_small")
    machine.write(machine.keep(machine.buffer(4096)), b"x" * 4096)
    assert set(os.listdir("/proc/self/fd")) <= before


def test_memory_that_is_given_back_reads_as_zeros(boards: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.WARM_MEMORY, "_value", 0)
    machine = boards("a10_small")
    size = 1 << 20
    buffer = machine.keep(machine.buffer(size))
    machine.write(buffer, b"x" * size)
    machine.device.mmd.unused(machine.bind(buffer), size)
    assert not machine.read(buffer, size - 2 * 4096, 4096).strip(b"\0"), "all whole pages are empty"


def test_a_new_board_keeps_what_buffers_hold_to_the_byte(boards: type[Machine]) -> None:
    machine = boards("a10_small")
    size = 3 << 10
    buffers = [machine.keep(machine.buffer(size)) for _ in range(5)]
    for buffer in buffers:
        machine.write(buffer, b"x" * size)
    machine.device.mmd.renew([(machine.bind(buffers[1]), size), (machine.bind(buffers[3]), size)])
    found = [machine.read(buffer) for buffer in buffers]
    assert found == [bytes(size), b"x" * size, bytes(size), b"x" * size, bytes(size)]


def test_output_files_are_none_of_the_standard_ones(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from fpgart.base.output_file import open_output
os.close(0); os.close(1)
os._exit(open_output({str(tmp_path / "file")!r}))
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode >= FIRST_FREE


def test_what_is_opened_in_place_of_an_output_file_gets_nothing(tmp_path: Path) -> None:
    kept = KeptOutput(open_output(tmp_path / "ours"))
    kept.write(b"first")
    os.close(kept.descriptor)
    other = os.open(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    if other != kept.descriptor:
        os.dup2(other, kept.descriptor)
        os.close(other)
    with pytest.raises(OSError, match="opened another one in its place"):
        kept.write(b"second")
    kept.close()
    assert os.fstat(kept.descriptor).st_size == 0, "the host's file stays open"
    os.close(kept.descriptor)


def test_an_output_file_is_closed(tmp_path: Path) -> None:
    kept = KeptOutput(open_output(tmp_path / "ours"))
    kept.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(kept.descriptor)


@pytest.mark.parametrize(
    ("limited", "sizes", "words"),
    [
        (resource.RLIMIT_AS, (1,), " (ulimit -v: 4 KiB)"),
        (resource.RLIMIT_DATA, (1,), ""),
        (resource.RLIMIT_DATA, (1, 1), " (ulimit -d: 4 KiB)"),
    ],
)
def test_a_limit_on_data_is_told_for_data_alone(
    monkeypatch: pytest.MonkeyPatch, limited: int, sizes: tuple[int, ...], words: str
) -> None:
    limits = {limited: (4096, 4096)}
    unlimited = resource.RLIM_INFINITY, resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda limit: limits.get(limit, unlimited))
    assert limit_of_memory(*sizes) == words


# What the engine needs


def test_pocl_is_passed_over_where_the_machine_is_not_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PROCESSORS", "/dev/null/nowhere")
    with pytest.raises(DriverError, match="PoCL reads the processors of the machine from /dev/null/nowhere"):
        room.check_room(Path("/lib/libpocl.so.2"))


def test_pocl_is_passed_over_where_no_thread_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(room.threading.Thread, "start", refuse)
    with pytest.raises(DriverError, match="the system cannot create any"):
        room.check_room(Path("/lib/libpocl.so.2"))


def test_pocl_is_passed_over_where_it_would_not_get_all_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = room.threading.Thread.start, 0

    def start_two(thread: threading.Thread) -> None:
        nonlocal started
        started += 1
        if started > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "7")
    monkeypatch.setattr(room.threading.Thread, "start", start_two)
    before = set(threading.enumerate())
    with pytest.raises(DriverError, match=r"the system can create only 2 of 21 \(ulimit -u\)"):
        room.check_room(Path("/lib/libpocl.so.2"))
    assert set(threading.enumerate()) <= before, "those of the trial have ended"


def test_pocl_is_passed_over_where_few_files_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FILES", 1 << 30)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    before = set(os.listdir("/proc/self/fd"))
    try:
        with pytest.raises(DriverError, match="fewer than 1073741824 files can be opened"):
            room.check_room(Path("/lib/libpocl.so.2"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert set(os.listdir("/proc/self/fd")) <= before
