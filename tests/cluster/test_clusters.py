"""Hosts whose boards have cables, as users start them (docs/clusters.md)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from c_hosts import host_of
from processes import ROOT, finished

from fpgart.engine.interface import Engine
from fpgart.watch import lanes

EXAMPLE = ROOT / "examples" / "cluster"
JOB = f"test-{os.getpid()}"
MPI_RUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4")


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FPGART")}
    return {**kept, "PYTHONPATH": str(ROOT), **variables}


def run_command(*words: object) -> list[str]:
    return [sys.executable, "-m", "fpgart.cli", "run", *map(str, words)]


def fpgart(*words: object) -> subprocess.CompletedProcess[str]:
    done = processes.fpgart(*words, env=environment())
    assert done.returncode == 0, done.stderr
    return done


def folder_path(job: str) -> Path:
    return Path(f"/dev/shm/fpgart-{os.getuid()}-{job}")


def fpgart_run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return processes.fpgart("run", *words, env=environment(**variables))


@pytest.fixture(scope="module")
def allreduce(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Path:
    """The host of the example."""
    made = tmp_path_factory.mktemp("host") / "allreduce"
    return host_of(EXAMPLE / "allreduce.c", made, "-Wall", "-Wextra", "-Werror")


def test_run_gives_each_process_its_boards() -> None:
    script = "echo boards=$FPGART_BOARD"
    alone = fpgart_run("--board", "s10_520n", "--topology", "ring:3", "--", "sh", "-c", script)
    assert "boards=s10_520n,s10_520n,s10_520n\n" in alone.stdout
    ranked = fpgart_run(
        "--board", "a10_ref,s10_520n", "--topology", "ring", "--", "sh", "-c", script, FPGART_RANK="1/2"
    )
    assert "boards=s10_520n\n" in ranked.stdout


def test_a_topology_that_makes_no_sense_ends_the_run_before_the_host() -> None:
    wrong = fpgart_run("--topology", "hexagon", "--", "echo", "started")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--topology: topology hexagon: shape hexagon: not one of" in wrong.stderr


def test_a_topology_and_a_process_for_the_engine_are_refused_together() -> None:
    wrong = fpgart_run("--topology", "ring:2", "--", "echo", "started", FPGART_ISOLATE="1")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "cables do not reach the board process of FPGART_ISOLATE=1" in wrong.stderr


def test_four_boards_of_one_process_add_up_their_vectors(allreduce: Path) -> None:
    done = fpgart_run("--board", "s10_520n", "--topology", "ring:4", "--", allreduce, EXAMPLE / "allreduce.cl", 1000)
    assert done.stdout == "boards 0 to 3 of 4: 1024 sums, 0 wrong\n", done.stderr


@pytest.fixture(scope="module")
def ranks(allreduce: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Path]]:
    """Returns the output of four processes, and their traces."""
    folder = tmp_path_factory.mktemp("ranks")
    started = [
        subprocess.Popen(
            run_command(
                *("--board", "s10_520n", "--topology", "ring", "--trace", folder / f"{rank}.json", "--"),
                *(allreduce, EXAMPLE / "allreduce.cl", 1000, rank, 4),
            ),
            stdout=subprocess.PIPE,
            text=True,
            env=environment(FPGART_RANK=f"{rank}/4", FPGART_JOB=JOB),
        )
        for rank in range(4)
    ]
    said = [process.communicate()[0] for process in started]
    return said, sorted(folder.iterdir())


def test_four_processes_add_up_their_vectors(ranks: tuple[list[str], list[Path]]) -> None:
    assert ranks[0] == [f"boards {rank} to {rank} of 4: 1024 sums, 0 wrong\n" for rank in range(4)]


def test_processes_leave_nothing_where_they_met(ranks: tuple[list[str], list[Path]]) -> None:
    assert not folder_path(JOB).exists()


def test_traces_of_ranks_become_one_report(ranks: tuple[list[str], list[Path]]) -> None:
    text = fpgart("report", *reversed(ranks[1])).stdout
    assert re.findall(r"rank \d: device \d", text) == [f"rank {rank}: device {rank}" for rank in range(4)]
    assert "device 3: from 'kernel_input_ch1': 192 packets, 6 KiB" in text
    assert "(cable from 'kernel_output_ch0' of board 2 to 'kernel_input_ch1' of board 3)" in text
    assert re.findall(r"device (\d): allreduce: 1 run", text) == ["0", "1", "2", "3"]
    assert len(set(re.findall(r"  buffer (\d+): 4 KiB", text))) == 4


def test_a_merged_trace_has_an_arrow_from_each_writer_to_its_reader(
    ranks: tuple[list[str], list[Path]], tmp_path: Path
) -> None:
    assert fpgart("report", *ranks[1], "--merged", tmp_path / "m.json").stdout == ""
    events = json.loads((tmp_path / "m.json").read_text())
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    arrows: dict[int, dict[str, str]] = {}
    for event in events:
        if event.get("cat") == "packets":
            arrows.setdefault(event["id"], {})[event["ph"]] = names[event["pid"]]
    assert sorted((arrow["s"], arrow["f"]) for arrow in arrows.values()) == [
        (f"rank {rank}: device {rank}: s10_520n", f"rank {(rank + 1) % 4}: device {(rank + 1) % 4}: s10_520n")
        for rank in range(4)
    ]


def test_the_page_has_a_lane_for_each_rank_and_arrows_from_writers_to_readers(
    ranks: tuple[list[str], list[Path]], tmp_path: Path
) -> None:
    fpgart("report", *ranks[1], "--html", tmp_path / "page.html")
    packed = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', (tmp_path / "page.html").read_text()
    )
    assert packed is not None
    real = json.loads(packed[1])["real"]
    groups = list(dict.fromkeys(lane["group"] for lane in real["lanes"]))
    assert groups == [*(f"rank {rank}: host" for rank in range(4)), *(f"device {rank}" for rank in range(4))]
    ends = [(real["lanes"][source], real["lanes"][target]) for source, _, target, _ in real["arrows"]]
    assert {lane["name"] for pair in ends for lane in pair} == {"kernel allreduce"}
    assert sorted((source["group"], target["group"]) for source, target in ends) == [
        (f"device {rank}", f"device {(rank + 1) % 4}") for rank in range(4)
    ]
    assert all(begin <= end for _, begin, _, end in real["arrows"])


def test_levels_of_a_channel_are_those_of_its_device_in_a_merged_trace() -> None:
    named = {
        "name": "process_name",
        "ph": "M",
        "pid": 100_002,
        "tid": 0,
        "args": {"name": "rank 1: device 3: s10_520n"},
    }
    level = {"name": "channel c", "cat": "channel", "ph": "C", "pid": 100_002, "tid": 0, "ts": 1.0}
    (lane,) = lanes.real([named, {**level, "args": {"capacity": 4, "packets": 1}}])
    assert lane.group == "device 3"


def test_processes_on_several_machines_add_up_their_vectors(allreduce: Path, tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    started = [
        subprocess.Popen(
            run_command(
                *("--board", "s10_520n", "--topology", "ring", "--"),
                *(allreduce, EXAMPLE / "allreduce.cl", 100, rank, 2),
            ),
            stdout=subprocess.PIPE,
            text=True,
            env=environment(
                FPGART_RANK=f"{rank}/2", FPGART_JOB=f"{JOB}-far", FPGART_CABLES="zeromq", FPGART_MEETING=str(tmp_path)
            ),
        )
        for rank in range(2)
    ]
    said = [process.communicate()[0] for process in started]
    assert said == [f"boards {rank} to {rank} of 2: 112 sums, 0 wrong\n" for rank in range(2)]
    assert not list(tmp_path.iterdir())
    assert not folder_path(f"{JOB}-far").exists()


@pytest.mark.slow
def test_four_ranks_of_mpi_add_up_their_vectors(tmp_path: Path, engine: Engine) -> None:
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("Open MPI is not installed (Debian: openmpi-bin, libopenmpi-dev)")
    host = tmp_path / "allreduce-mpi"
    subprocess.run(
        [compiler, "-DUSE_MPI", f"-I{ROOT / 'include'}", EXAMPLE / "allreduce.c", "-lOpenCL", "-o", host], check=True
    )
    command = run_command("--board", "s10_520n", "--topology", "ring", "--", host, EXAMPLE / "allreduce.cl", 1000)
    launcher = [f"{MPI_RUN[0]}.openmpi", *MPI_RUN[1:]]
    done = finished(*launcher, *command, env=environment())
    assert sorted(done.stdout.splitlines()) == [
        f"boards {rank} to {rank} of 4: 1024 sums, 0 wrong" for rank in range(4)
    ], done.stderr
