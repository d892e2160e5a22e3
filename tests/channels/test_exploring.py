"""`fpgart channels`: hosts that depend on depths of channels, or on when packets arrive, are found; others are not."""

from __future__ import annotations

import os
from pathlib import Path
from select import select

import pytest
from c_hosts import build, plain_environment
from processes import fpgart

from fpgart.cli.exploring import Explorer


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("channel_orders", tmp_path_factory.mktemp("orders"))


def explored(host: Path, part: str, *options: str) -> tuple[int, list[str]]:
    run = fpgart("channels", "--board", "a10_ref", *options, "--", host, part, env=plain_environment())
    assert run.stderr == ""
    return run.returncode, run.stdout.splitlines()


def test_a_host_that_is_right_is_right_in_all_ways(host: Path) -> None:
    status, lines = explored(host, "right", "--seeds", "2")
    assert status == 0
    assert lines[-1].startswith("no run depended on the depths of channels")


def test_a_host_whose_channels_are_too_shallow_is_told_how_deep_they_have_to_be(host: Path) -> None:
    """Four packets wait in a channel of two."""
    status, lines = explored(host, "depth", "--seeds", "0")
    assert status == 3
    assert lines[0] == "unchanged: exit status 0"
    assert lines[1].startswith("depths of the source: deadlock: kernel ")
    assert lines[2] == "depths of the source, times 2: the same; make its channels that much deeper"


def test_a_host_that_takes_what_is_there_first_depends_on_when_packets_arrive(host: Path) -> None:
    status, lines = explored(host, "order", "--seeds", "4", "--most", "1")
    depends = status == 3 and any("FPGART_CHANNEL_SEED=" in line for line in lines)
    assert depends or "differs from run to run" in lines[1], lines


def test_a_program_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    run = fpgart("channels", "--", tmp_path / "missing")
    assert run.returncode != 0
    assert "missing: no such program" in run.stderr


def test_a_host_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    """Its child has the pipe open for writing as long as it lives."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run = Explorer(("sh", "-c", f"sleep 600 >{pipe} & echo begun; wait"), {}, 2.0).run()
        assert (run.words, run.output) == ("did not end in time", b"begun\n")
        assert select([reader], [], [], 30.0)[0] == [reader], "the child has not ended"
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
