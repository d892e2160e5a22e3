"""The engine's compiler in a process of its own: whatever it does, the build fails and the next one works.

The host, tests/programs/compiling.c, knows nothing of fpgart. Its engine is PoCL with a compiler that misbehaves where
an option says so, tests/programs/misbehaving_engine.c.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from c_hosts import ROOT, build, plain_environment, wrapped_engine
from killing import board_processes
from processes import finished

BUILD_FAILURE, COMPILE_FAILURE, LINK_FAILURE = -11, -15, -17
OLD_WAY = "the engine compiles in the process of the host"
USER = 65534


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("compiling", tmp_path_factory.mktemp("host"))


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No step of a test was done before: the host's kernels have the number of its process, which comes again."""
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that choose the engine."""
    return wrapped_engine("misbehaving", tmp_path_factory.mktemp("engine"))


def run(host: Path, engine: dict[str, str], *steps: object, **variables: str) -> tuple[list[str], str]:
    """The lines that the host prints, and what is on its stderr; it ends by itself."""
    result = finished(host, *map(str, steps), env=plain_environment() | engine | variables)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines(), result.stderr


MISBEHAVIOURS = (
    ("CRASHES", "was killed by SIGSEGV"),
    ("ABORTS", "was killed by SIGABRT"),
    ("EXITS", "exited with status 3"),
    ("EATS", "was killed by SIGABRT; it had used up its memory (FPGART_COMPILE_MEMORY=2147483648)"),
)
STEPS = (
    ("build", BUILD_FAILURE, "built kernel 'twice'"),
    ("compile", COMPILE_FAILURE, "compiled kernel 'twice'"),
    ("link", LINK_FAILURE, "linked a program"),
)


@pytest.mark.parametrize(("step", "status", "what"), STEPS, ids=[step[0] for step in STEPS])
@pytest.mark.parametrize(("act", "words"), MISBEHAVIOURS, ids=[each[0] for each in MISBEHAVIOURS])
def test_a_compiler_that_ends_or_never_ends_fails_the_step_and_the_next_build_works(
    host: Path, engine: dict[str, str], act: str, words: str, step: str, status: int, what: str
) -> None:
    lines, _ = run(host, engine, step, f"-DENGINE_{act}", "build", "")
    assert lines[0].startswith(
        f"{step} {status} error: the compiler of engine 'libpocl-misbehaving.so' (OpenCL 3.0 PoCL"
    )
    assert f"{words}, while it {what}" in lines[0]
    assert lines[1:] == ["build 0 right"]


HANG = """
from fpgart.base import config
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import BuildFailed

engine = choose_engine()
config.COMPILE_TIMEOUT._value = 0.1
try:
    engine.from_source("kernel void twice(global int *x) { x[0] *= 2; }").build("-DENGINE_HANGS")
except BuildFailed as failed:
    print(failed.status, failed.log)
config.COMPILE_TIMEOUT._value = 0.0
program = engine.from_source("kernel void twice(global int *x) { x[0] *= 2; }")
program.build("")
print(*program.kernels({}))
"""
"""Without a limit for the second build, which takes as long as the machine likes."""


def test_a_compiler_that_takes_too_long_is_stopped_and_the_next_build_works(engine: dict[str, str]) -> None:
    result = finished(sys.executable, "-c", HANG, cwd=ROOT, env=plain_environment() | engine)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(
        f"{BUILD_FAILURE} error: the compiler of engine 'libpocl-misbehaving.so' (OpenCL 3.0 PoCL"
    )
    assert lines[0].endswith(
        "took longer than 0.1 s (FPGART_COMPILE_TIMEOUT) and was stopped, while it built kernel 'twice'"
    )
    assert lines[1:] == ["twice"]


def test_a_host_whose_compiler_never_ends_goes_on_after_the_limit(host: Path, engine: dict[str, str]) -> None:
    lines, _ = run(host, engine, "build", "-DENGINE_HANGS", FPGART_COMPILE_TIMEOUT="1")
    assert lines[0].startswith(f"build {BUILD_FAILURE} error: the compiler of engine")


def test_what_a_compiler_prints_reaches_neither_the_output_of_the_host_nor_stops_it(
    host: Path, engine: dict[str, str]
) -> None:
    assert run(host, engine, "build", "-DENGINE_TALKS") == (["build 0 right"], "")


def test_what_a_compiler_printed_before_it_ended_is_in_the_log(host: Path, engine: dict[str, str]) -> None:
    lines, _ = run(host, engine, "build", "-DENGINE_TALKS -DENGINE_EXITS")
    assert "exited with status 3" in lines[0]
    assert "|the engine says line 7|" in lines[0]


BOMBS = {
    "a sum of 20,000 terms": "kernel void bad(global int *x) { x[0] = 1" + " + 1" * 20000 + "; }",
    "brackets 20,000 deep": "kernel void bad(global int *x) { x[0] = " + "(" * 20000 + "1" + ")" * 20000 + "; }",
    "macros that double 40 times": "".join(f"#define M{i + 1} M{i} + M{i}\n" for i in range(40)).join(
        ("#define M0 1\n", "kernel void bad(global int *x) { x[0] = M40; }")
    ),
    "macros that double 40 times in a program with channels": "channel int c;\n#define M0 1\n"
    + "".join(f"#define M{i + 1} M{i} + M{i}\n" for i in range(40))
    + "kernel void bad(global int *x) { write_channel_intel(c, M40); }",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_source_that_is_too_much_for_a_compiler_fails_or_builds_and_the_next_build_works(
    host: Path, tmp_path: Path, bomb: str
) -> None:
    file = tmp_path / "bomb.cl"
    file.write_text(BOMBS[bomb])
    lines, _ = run(host, {}, "source", file, "build", "", FPGART_COMPILE_TIMEOUT="20", FPGART_COMPILE_MEMORY="512M")
    assert lines[0].startswith((f"source {BUILD_FAILURE} ", "source 0"))
    assert lines[1:] == ["build 0 right"]


@contextmanager
def waiting(host: Path, *steps: object, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """The host, stopped at its step `wait`; its output is read from there on."""
    command = [host, *map(str, steps)]
    environment = plain_environment() | variables
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line == "waiting\n":
                break
        yield running


def test_a_compiler_process_that_is_killed_between_two_builds_is_started_anew(host: Path) -> None:
    with waiting(host, "build", "", "wait", "build", "") as running:
        for process in board_processes(running.pid):
            os.kill(process, signal.SIGKILL)
        assert running.communicate("\n") == ("build 0 right\n", "")


def test_a_host_has_no_child_and_its_compiler_process_ends_with_it(host: Path) -> None:
    with waiting(host, "build", "", "wait") as running:
        processes = board_processes(running.pid)
        descriptors = [os.pidfd_open(process) for process in processes]
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
        running.kill()
    assert (len(processes), children) == (2, "")
    for descriptor in descriptors:
        assert ends(descriptor)


def ends(process: int) -> bool:
    """Waits until the process behind a descriptor has ended."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll())


def test_a_host_that_builds_nothing_starts_no_compiler_process(host: Path) -> None:
    with waiting(host, "wait") as running:
        assert board_processes(running.pid) == []
        running.communicate("\n")


@pytest.mark.parametrize(
    ("text", "variables", "processes"),
    [
        ("kernel void k(global int *x) { x[0] = 1; }", {}, 0),
        ("kernel void k(global int *x) { x[0] = 1; }", {"POCL_KERNEL_CACHE": "0"}, 2),
        ('#include "other.h"\nkernel void k(global int *x) { x[0] = ONE; }', {}, 2),
    ],
    ids=["a source alone", "nothing is kept", "a source that includes a file"],
)
def test_a_source_that_another_host_has_built_needs_a_compiler_process_only_where_it_may_have_changed(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, variables: dict[str, str], processes: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.h").write_text("#define ONE 1\n")
    Path("k.cl").write_text(text)
    assert run(host, {}, "source", "k.cl", **variables) == (["source 0"], "")
    with waiting(host, "source", "k.cl", "wait", **variables) as running:
        assert len(board_processes(running.pid)) == processes
        running.communicate("\n")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_host_builds_in_folders_whose_names_are_not_ascii_in_any_locale(
    host: Path, tmp_path: Path, locale: str
) -> None:
    folder = tmp_path / "hôte \u4e2d"
    folder.mkdir()
    (folder / "one.h").write_text("#define ONE 1\n")
    source = folder / "noyau é.cl"
    source.write_text('#include "one.h"\nkernel void k(global int *x) { x[0] = ONE; }')
    environment = {**plain_environment(), "LC_ALL": locale}
    result = finished(host, "source", source.name, "build", "-I en-têtes", cwd=folder, env=environment)
    assert result.stdout.splitlines() == ["source 0", "build 0 right"], result.stderr


def test_a_build_that_fails_fails_again(host: Path, tmp_path: Path) -> None:
    file = tmp_path / "k.cl"
    file.write_text("kernel void k(global int *x) { x[0] = nothing; }")
    for _ in range(2):
        lines, _ = run(host, {}, "source", file)
        assert lines[0].startswith(f"source {BUILD_FAILURE} ")
        assert "undeclared identifier 'nothing'" in lines[0]


def test_a_host_may_close_all_its_descriptors_and_open_others(host: Path) -> None:
    assert run(host, {}, "build", "", "close", "build", "") == (["build 0 right"] * 2, "")


@pytest.fixture
def cache() -> Iterator[Path]:
    """A folder for compiled kernels where every user may write."""
    with tempfile.TemporaryDirectory(prefix="fpgart-") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def give(folder: Path, user: int) -> None:
    """Gives a folder and its contents to a user."""
    for each in (folder, *folder.rglob("*")):
        os.chown(each, user, user)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its user")
@pytest.mark.parametrize(
    ("steps", "right"),
    [
        (("user", USER, "build", ""), ["build 0 right"]),
        (("user", USER, "limit", 0, "compile", "", "compile", ""), ["compile 0", "compile 0"]),
    ],
    ids=["processes", "no processes"],
)
def test_a_host_that_changes_its_user_compiles_as_that_user(
    host: Path, cache: Path, steps: tuple[object, ...], right: list[str]
) -> None:
    variables = {"POCL_CACHE_DIR": str(cache / "pocl"), "FPGART_LOG": "stderr"}
    with waiting(host, "build", "", "wait", *steps, **variables) as running:
        give(cache, USER)
        output, words = running.communicate("\n")
    assert output.splitlines() == right, words
    if "limit" in steps:
        assert words.count(OLD_WAY) == 1
        assert "does not start: Resource temporarily unavailable" in words


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root folder")
def test_a_host_in_another_root_folder_does_not_use_a_compiler_that_is_in_the_old_one(host: Path, cache: Path) -> None:
    steps = ("build", "", "chroot", cache, "compile", "", "compile", "")
    lines, words = run(host, {}, *steps, FPGART_LOG="stderr")
    assert [line.split()[0] for line in lines] == ["build", "compile", "compile"]
    assert words.count(OLD_WAY) == 1
    assert "fpgart-board is missing" in words


def test_a_host_without_descriptors_compiles_in_its_own_process_and_says_so_once(host: Path) -> None:
    steps = ("build", "", "descriptors", 3, "close", "compile", "", "compile", "")
    lines, words = run(host, {}, *steps, FPGART_LOG="stderr")
    assert [line.split()[0] for line in lines] == ["build", "compile", "compile"]
    assert words.count(OLD_WAY) == 1
    assert "Too many open files" in words


def test_a_host_that_turns_it_off_has_no_compiler_process(host: Path) -> None:
    with waiting(host, "build", "", "wait", FPGART_COMPILE_APART="0") as running:
        assert board_processes(running.pid) == []
        running.communicate("\n")
