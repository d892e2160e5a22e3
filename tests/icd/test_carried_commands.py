# SPDX-License-Identifier: Apache-2.0
"""Commands that C gives to the engine by itself: nobody can tell them from Python's (icd/entry/commands.c)."""

from __future__ import annotations

from pathlib import Path

import pytest
from both_ways import calls_in, output, same_output
from c_hosts import build, gcc, plain_environment, wrapped_engine
from processes import finished, quiet_output


def test_launches_that_c_carries_are_as_those_of_python(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    words = same_output("launches.py", trace).splitlines()
    assert {line.split()[-1] for line in words if line.startswith("launch")} >= {"0", "-34", "-52", "-54"}
    calls = calls_in(trace)
    (in_rows,) = (int(line.split()[1]) for line in words if line.startswith("rows"))
    assert calls.count("clEnqueueNDRangeKernel") == in_rows + sum(line.startswith("launch") for line in words)


def test_launches_on_allocations_that_c_carries_are_as_those_of_python(tmp_path: Path) -> None:
    same_output("usm_launches.py", tmp_path / "trace.json", "--board", "usm_s10")


def test_kernels_of_a_keystone_that_c_carries_run_one_at_a_time_and_as_those_of_python(tmp_path: Path) -> None:
    words = same_output("keystone.py", tmp_path / "trace.json", "--board", "k2h")
    assert words.endswith("one at a time True\n")


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_commands_that_c_carries_may_stand_behind_those_of_python(seed: str, tmp_path: Path) -> None:
    words = same_output("mixed_commands.py", tmp_path / "trace.json", arguments=(seed,))
    assert "-14" in words, "some wait for what fails"


@pytest.mark.parametrize("order", ["in order", "out of order"])
def test_a_queue_that_is_released_before_its_commands_end_leaves_no_memory(order: str) -> None:
    """8,000 commands leave 4 MiB if their ends are not noted."""
    assert int(output("released_queues.py", arguments=(order,))) < 1024, "KiB"


def test_the_last_event_of_a_queue_may_be_released_by_a_thread_without_the_interpreter() -> None:
    assert output("queue_of_event.py") == "ended\n"


def test_who_is_called_back_about_a_command_of_cs_may_say_so_to_python(tmp_path: Path) -> None:
    assert output("seen_later.py", arguments=(str(tmp_path / "trace.json"),)) == "True [0] 5\n"


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("beside_carried", tmp_path_factory.mktemp("host"), "-lpthread")


@pytest.mark.parametrize(
    "part",
    [
        "nested",
        "callback in a callback",
        "written while polled",
        "migrated beside",
        "finished with a mutex",
        "times",
        "buffer of a command",
        "context of an event",
        "context of an event that is never set",
        "context of a seen event that is never set",
        "freed by a queue",
    ],
)
def test_what_happens_beside_commands_that_c_carries(beside: Path, part: str) -> None:
    result = finished(beside, part, env=plain_environment())
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("waits_for_host", tmp_path_factory.mktemp("host"), "-lpthread")


@pytest.mark.parametrize(
    "part",
    [
        "moved",
        "made in C",
        "programmed",
        "polled",
        "polled at once",
        "mapped",
        "failed",
        "released",
        "called back",
        "nested",
        "nested by itself",
        "threads",
        "freed",
        "reached",
        "reached by a clone",
        "never set",
    ],
)
def test_commands_that_wait_for_user_events(waiting: Path, part: str) -> None:
    quiet_output(finished(waiting, part, env=plain_environment()))


def test_a_process_may_exit_behind_commands_that_nobody_has_waited_for(tmp_path: Path) -> None:
    host = build("exit_in_a_row", tmp_path, "-lpthread")
    quiet_output(finished(host))


def test_exit_destroys_what_the_engine_uses_in_a_launch_after_that_has_ended(tmp_path: Path) -> None:
    engine = wrapped_engine("static", tmp_path)
    host = build("exit_beside_launch", tmp_path, "-lpthread")
    result = finished(host, env=plain_environment() | engine)
    assert (result.returncode, result.stderr) == (7, "")


def test_handlers_of_exit_may_use_the_driver_before_the_engine_destroys_its_objects_the_last_first(
    tmp_path: Path,
) -> None:
    engine = wrapped_engine("static", tmp_path)
    host = build("exit_handler", tmp_path)
    result = finished(host, env=plain_environment() | engine)
    assert (result.returncode, result.stdout, result.stderr) == (0, "6\ndestroyed\nthe first destroyed\n", "")


def test_a_library_that_the_engine_closes_destroys_its_objects_then(tmp_path: Path) -> None:
    library = gcc("static_library", tmp_path, "-shared", "-fPIC")
    engine = wrapped_engine("static", tmp_path) | {"STATIC_ENGINE_LIBRARY": str(library)}
    host = build("exit_handler", tmp_path)
    result = finished(host, env=plain_environment() | engine)
    assert (result.returncode, result.stdout, result.stderr) == (0, "closed\n6\ndestroyed\nthe first destroyed\n", "")


def test_launches_that_the_engine_refuses_fail_and_no_others(tmp_path: Path) -> None:
    engine, begun = wrapped_engine("refusing", tmp_path), tmp_path / "begun"
    host = build("refused_launches", tmp_path, "-lpthread")
    refusing = {"REFUSING_WHILE": str(begun), "REFUSING_EACH": "7"}
    result = finished(host, begun, env=plain_environment() | engine | refusing)
    assert result.returncode == 0, result.stdout + result.stderr
    assert int(result.stdout) > 5, "none was refused"


def test_a_launch_without_room_is_refused_each_time_and_no_other_is(tmp_path: Path) -> None:
    host = build("no_room", tmp_path, "-lpthread")
    result = finished(host)
    assert (result.returncode, result.stdout) == (0, "16\n"), result.stderr


@pytest.mark.parametrize("how", ["svm later", "svm first"])
def test_objects_that_c_makes_are_as_those_of_python(how: str, tmp_path: Path) -> None:
    same_output("made_objects.py", tmp_path / "trace.json", arguments=(how,))
