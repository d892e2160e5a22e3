"""Topologies and the places of processes in them (fpgart/cluster/)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from machine import SetOption

from fpgart.base import config, option_values
from fpgart.board.catalogue import describe
from fpgart.cluster import launcher
from fpgart.cluster.launcher import Place
from fpgart.cluster.topology import Cable, End, Topology, TopologyError, read
from fpgart.cluster.wiring import check_channels, own_boards, share


def cables(text: str, boards: int = 0) -> set[str]:
    """Each direction as `board:channel>board:channel`, of ports only the numbers."""
    found = set()
    for cable in read(text, boards).cables:
        source, target = cable.source, cable.target
        words = f"{source.board}:{source.channel}>{target.board}:{target.channel}"
        found.add(words.replace("kernel_output_ch", "").replace("kernel_input_ch", ""))
    return found


@pytest.mark.parametrize(
    ("text", "boards", "expected"),
    [
        ("ring:1", 4, {"0:0>0:1", "0:1>0:0", "0:2>0:3", "0:3>0:2"}),
        ("ring", 2, {"0:0>1:1", "1:1>0:0", "0:2>1:3", "1:3>0:2", "1:0>0:1", "0:1>1:0", "1:2>0:3", "0:3>1:2"}),
        ("pair", 2, {f"{a}:{port}>{1 - a}:{port}" for a in (0, 1) for port in range(4)}),
        ("loop:1", 9, {"0:0>0:1", "0:1>0:0", "0:2>0:3", "0:3>0:2"}),
        ("clique", 3, {"0:0>1:0", "1:0>0:0", "0:1>2:0", "2:0>0:1", "1:1>2:1", "2:1>1:1"}),
        ("0:ch0-1:ch2", 2, {"0:0>1:2", "1:2>0:0"}),
        ("n00:acl1:ch0-n01:acl0:ch1, n01:acl1:ch3-n01:acl1:ch3", 4, {"1:0>2:1", "2:1>1:0", "3:3>3:3"}),
        ("0:out->1:in", 2, {"0:out>1:in"}),
    ],
)
def test_a_topology_has_these_cables(text: str, boards: int, expected: set[str]) -> None:
    assert cables(text, boards) == expected


def test_each_board_of_a_torus_has_four_neighbours() -> None:
    neighbours: dict[int, set[int]] = {}
    found = read("torus:3x4", 0)
    for cable in found.cables:
        neighbours.setdefault(cable.source.board, set()).add(cable.target.board)
    assert neighbours[5] == {4, 6, 1, 9}
    assert neighbours[11] == {10, 8, 7, 3}
    assert found.boards == 12


def test_a_file_gives_boards_depths_and_names_of_ports(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        "boards = 3\ndepth = 7\nports = {output = 'tx_{}', input = 'rx_{}'}\n"
        "cables = ['0:a-1:b', {cable = '1:x->2:y', depth = 2}]\n"
    )
    assert read(str(file), 1) == Topology(
        3,
        (
            Cable(End(0, "tx_a"), End(1, "rx_b"), 7),
            Cable(End(1, "tx_b"), End(0, "rx_a"), 7),
            Cable(End(1, "x"), End(2, "y"), 2),
        ),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hexagon", "not one of loop, pair, ring, torus, clique"),
        ("torus:4", "rows and columns are expected for 4 boards"),
        ("ring:2x2", "these are too many sizes"),
        ("pair:3", "3 is an odd number of boards"),
        ("0:ch0-", "is not a cable"),
        ("0:ch0-1:ch0,0:ch0-1:ch1", "is already plugged in there"),
        ("0:x->0:x", "is already plugged in there"),
        ("none.toml", "No such file or directory"),
    ],
)
def test_a_text_that_is_no_topology_is_refused_with_words(text: str, words: str) -> None:
    with pytest.raises(TopologyError, match=words):
        read(text, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("boards = 1\ncables = ['0:a->1:b']", "there are boards 0 to 0"),
        ("cable = '0:a-1:b'", "cable: not one of boards"),
        ("boards = 'many'", "boards: many is not a number"),
        ("cables = [['0:a-1:b']]", "a list is not a cable"),
        ("shape = []", "shape a list: not one of loop"),
        ("cables = " + "[" * 5000, "nested too deeply"),
        ("cables = [", "Invalid value|Unclosed array"),
        ("devices = 'all'", "not one of own, machine"),
        ("devices = 'machine'\nshape = 'ring'", "needs the number of all boards"),
        ("ports = {output = 'x'}", "x has no {}"),
        ("boards_per_machine = 1\ncables = ['n0:acl1:ch0-n1:acl0:ch0']", "there is no acl1 then"),
    ],
)
def test_a_file_that_is_no_topology_is_refused_with_words(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text)
    with pytest.raises(TopologyError, match=words):
        read(str(file), 2)


def test_a_yaml_file_is_read_if_pyyaml_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("cables: [{cable: '0:x->1:y', depth: 2}]")
    assert read(str(file), 1) == Topology(2, (Cable(End(0, "x"), End(1, "y"), 2),))
    file.write_text("cables: [")
    with pytest.raises(TopologyError, match="while parsing"):
        read(str(file), 1)
    file.write_text("- 0:a-1:b")
    with pytest.raises(TopologyError, match="a mapping with"):
        read(str(file), 1)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(TopologyError, match=r"pip install 'fpgart\[yaml\]'"):
        read(str(file), 1)


def test_cables_into_channels_that_a_board_does_not_have_are_refused() -> None:
    with pytest.raises(TopologyError, match="a s10_520n has no output 'kernel_output_ch4'; its outputs are kernel_out"):
        check_channels(read("0:ch4-1:ch0", 2), 0, [describe("s10_520n")] * 2)
    check_channels(read("0:ch4-1:ch0", 2), 0, [describe("a10_ref")] * 2)


# Processes


def test_boards_are_divided_among_processes_by_rank() -> None:
    assert share(8, Place(3, 4, 1, 2), shared=False) == range(6, 8)
    assert share(8, Place(3, 4, 1, 2), shared=True) == range(4, 8)
    with pytest.raises(TopologyError, match="3 boards cannot be divided equally among 2 processes"):
        share(3, Place(0, 2, 0, 2), shared=False)


def test_boards_may_be_named_once_all_or_a_processs_own() -> None:
    found, second = read("ring:4", 0), Place(1, 2, 1, 2)
    assert own_boards(["a"], found, second) == ["a", "a"]
    assert own_boards(["a", "b", "c", "d"], found, second) == ["c", "d"]
    assert own_boards(["a", "b"], found, second) == ["a", "b"]
    with pytest.raises(TopologyError, match="3 boards are named, the topology has 4, of which this process sees 2"):
        own_boards(["a", "b", "c"], found, second)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
            "PMIX_NAMESPACE=77",
            Place(3, 4, 1, 2, "77"),
        ),
        (
            "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 SLURM_JOB_ID=5",
            Place(1, 2, 1, 2, "5"),
        ),
        (
            "SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_ID=9 SLURM_STEP_ID=0",
            Place(5, 8, 1, 2, "9-0"),
        ),
        (
            "SLURM_PROCID=5 SLURM_NTASKS=11 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=4(x2),3 SLURM_TASKS_PER_NODE=16 "
            "SLURM_NODEID=1 SLURM_JOB_ID=9 SLURM_STEP_ID=0",
            Place(5, 11, 1, 4, "9-0", 1),
        ),
        (
            "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_TASKS_PER_NODE=1(x2) SLURM_JOB_ID=9 SLURM_STEP_ID=0",
            Place(1, 2, 0, 1, "9-0"),
        ),
        (
            "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=0 SLURM_JOB_ID=5",
            Place(1, 2, 1, 2, "5"),
        ),
    ],
)
def test_the_launchers_variables_say_the_place(variables: str, expected: Place) -> None:
    given = dict(pair.split("=") for pair in variables.split())
    assert launcher.place(given) == expected


@pytest.mark.parametrize("numbers", ["0 0", "2 2", "-1 2"])
def test_what_is_no_rank_is_from_no_launcher(numbers: str) -> None:
    rank, size = numbers.split()
    assert launcher.place({"PMI_RANK": rank, "PMI_SIZE": size}) == Place(job=f"process-{os.getpid()}")


def test_ranks_that_are_not_dealt_out_machine_by_machine_are_told() -> None:
    slurm = {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "9", "SLURM_TASKS_PER_NODE": "2(x2)"}
    by_machine = {"SLURM_PROCID": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "1"}
    in_turns = {"SLURM_PROCID": "1", "SLURM_LOCALID": "0", "SLURM_NODEID": "1"}
    assert not launcher.place({**slurm, **by_machine}).fault
    assert "rank 1 runs on machine 1, and not on machine 0" in launcher.place({**slurm, **in_turns}).fault


def test_the_last_machine_may_have_fewer_processes() -> None:
    assert share(3, Place(2, 3, 0, 2), shared=True) == range(2, 3)


def test_local_ranks_may_have_another_order_than_ranks() -> None:
    assert [Place(rank, 4, local, 4).machine for rank, local in enumerate((0, 2, 1, 3))] == [0, 0, 0, 0]
    assert [Place(rank, 4, local, 2).machine for rank, local in enumerate((1, 0, 1, 0))] == [0, 0, 1, 1]


def test_the_job_of_open_mpi_5_is_a_value_of_fpgart_job() -> None:
    started = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "prterun-vm-14819@1"}
    assert option_values.job(launcher.place(started).job) == "prterun-vm-14819-1"


def test_a_process_without_a_launcher_is_alone() -> None:
    assert launcher.place({}) == Place(job=f"process-{os.getpid()}")


def test_the_rank_that_the_user_gives_goes_before_launchers(set_option: SetOption) -> None:
    set_option(config.RANK, "1/3")
    set_option(config.JOB, "mine")
    assert launcher.place({"PMI_RANK": "0", "PMI_SIZE": "2"}) == Place(1, 3, 1, 3, "mine")
