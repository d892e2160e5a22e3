"""Cables between boards: what kernels see of them (fpgart/channels/links.c, fpgart/cluster/wiring.py)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from struct import pack, unpack
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Machine, listening, machine_of

from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfHostMemory
from fpgart.channels.links import Link
from fpgart.channels.network import Fifo
from fpgart.cluster import topology, wiring
from fpgart.cluster.launcher import Place
from fpgart.cluster.wiring import Wiring, folder_of
from fpgart.engine.interface import Engine
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.model.board_clock import StepTime
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Event

JOBS = count()
CABLE = "0:there->1:here"
SOURCE = """
channel int there __attribute__((io("there")));
channel int here __attribute__((io("here")));
kernel void send(global int *x) { for (int i = 0; i < x[0]; i++) write_channel_intel(there, 3 * i); }
kernel void receive(global int *x) {
    for (int i = 0, n = x[0]; i < n; i++) x[i] = read_channel_intel(here);
}
kernel void try_send(global int *x) {
    int sent = 0;
    while (sent < 1000 && write_channel_nb_intel(there, sent)) sent++;
    x[0] = sent;
}
kernel void wrong_end(global int *x) { write_channel_intel(here, 1); }
kernel void send_wide(global int *x) { x[0] = 0; }
"""
WIDE = """
channel long there __attribute__((io("there")));
kernel void send(global int *x) { write_channel_intel(there, 7); }
"""


class Cluster:
    """Two boards of one process with cables, and what was enqueued on them."""

    def __init__(self, machine: Machine, cables: str, patience_s: float = 30.0) -> None:
        self.machine = machine
        self.job = f"test-{os.getpid()}-{next(JOBS)}"
        found = topology.read(cables, 2)
        self.wiring = Wiring(found, Place(job=self.job), 0, patience_s)
        machine.devices[0].plugs = lambda: self.wiring.plug_in(0)
        machine.devices[1].plugs = lambda: self.wiring.plug_in(1)

    def program(self, source: str = SOURCE) -> Program:
        devices = self.machine.devices
        program = Program(self.machine.context, devices, source=source)
        program.claim(devices)
        program.build(devices, "")
        return program

    def start(self, program: Program, name: str, device: int, data: bytes) -> Callable[[], bytes]:
        """Enqueues a kernel; returns what waits for it and gives its buffer, and raises AssertionError if it failed."""
        machine = self.machine
        buffer = machine.keep(machine.buffer(len(data)))
        machine.write(buffer, data, device=device)
        kernel = Kernel(program, name)
        kernel.set_buffer(0, buffer)
        queue = CommandQueue(machine.context, machine.devices[device])
        event: Event = queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, machine.launch_of(kernel, device))
        queue.flush()

        def result() -> bytes:
            queue.finish()
            assert event.status == 0
            return machine.read(buffer, device=device)

        return result


def test_a_process_ends_well_where_another_one_has_removed_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    job = f"test-{os.getpid()}-{next(JOBS)}"
    made = Wiring(topology.read(CABLE, 2), Place(job=job), 0, 30.0)
    made.plug_in(0)
    folder = folder_of(job)
    shutil.rmtree(folder)

    def is_gone(_: str) -> str:
        raise FileNotFoundError("the folder was removed after it had been created")

    monkeypatch.setattr(wiring, "private_folder", is_gone)
    made.retire()
    made.close()
    assert not folder.exists()


@pytest.fixture
def machine(engine: Engine) -> Iterator[Machine]:
    for made in machine_of("a10_ref", "a10_ref"):
        made.platform._engine = engine
        yield made


@pytest.fixture
def cluster(machine: Machine) -> Iterator[Cluster]:
    yield from cluster_of(machine, CABLE)


def cluster_of(machine: Machine, cables: str, patience_s: float = 30.0) -> Iterator[Cluster]:
    made = Cluster(machine, cables, patience_s)
    yield made
    for device in machine.devices:
        device.stop_networks()
    machine.scheduler.close(5)
    made.wiring.close()
    shutil.rmtree(folder_of(made.job))  # what nobody has read


def test_packets_pass_between_two_boards_in_their_order(cluster: Cluster) -> None:
    program = cluster.program()
    received = cluster.start(program, "receive", 1, pack("i", 1000) + bytes(4 * 999))
    sent = cluster.start(program, "send", 0, pack("i", 1000))
    sent()
    assert unpack("1000i", received()) == tuple(range(0, 3000, 3))


def test_children_of_a_process_do_not_keep_its_ends_of_cables(tmp_path: Path) -> None:
    path = str(tmp_path / "ring")
    ours = Link(path, CABLE, 0, 1.0, writing=True)
    until, done = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(done)
        os.read(until, 1)
        os._exit(0)
    try:
        ours.close()
        Link(path, CABLE, 0, 1.0, writing=True).close()
    finally:
        os.close(done)
        os.close(until)
        os.waitpid(child, 0)


def test_the_writer_waits_for_a_reader_that_is_late(cluster: Cluster) -> None:
    program = cluster.program()
    amount = 50_000  # 200 kB: more than a cable without a depth holds
    sent = cluster.start(program, "send", 0, pack("i", amount))
    received = cluster.start(program, "receive", 1, pack("i", amount) + bytes(4 * (amount - 1)))
    assert unpack(f"{amount}i", received()) == tuple(range(0, 3 * amount, 3))
    sent()


def test_a_cable_holds_as_many_packets_as_its_depth(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(f"cables = [{{cable = '{CABLE}', depth = 5}}]")
    for cluster in cluster_of(machine, str(file)):
        tried = cluster.start(cluster.program(), "try_send", 0, bytes(4))
        assert unpack("i", tried()) == (5,)


def test_a_kernel_that_uses_the_wrong_end_of_a_cable_is_told(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = cluster.start(cluster.program(), "wrong_end", 1, bytes(4))
    with pytest.raises(AssertionError):
        wrong()
    assert "it writes to channel 'here', which is the other end of a cable" in capfd.readouterr().err


def test_packets_of_another_size_are_refused_with_both_sizes(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    sent = cluster.start(cluster.program(WIDE), "send", 0, bytes(4))
    received = cluster.start(cluster.program(), "receive", 1, pack("i", 1))
    sent()
    with pytest.raises(AssertionError):
        received()
    assert "packets of 8 bytes are written, and packets of 4 bytes read" in capfd.readouterr().err


def test_an_other_end_that_nobody_takes_is_missed_after_a_while(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    for cluster in cluster_of(machine, CABLE, patience_s=0.3):
        received = cluster.start(cluster.program(), "receive", 1, pack("i", 1))
        with pytest.raises(AssertionError):
            received()
    assert "cable from 'there' of board 0 to 'here' of board 1: no process has taken its other end" in (
        capfd.readouterr().err
    )


# What watchers and the model of time make of it


def test_launches_tell_what_they_moved(cluster: Cluster) -> None:
    told: list[tuple[str, str, bool, int, int, int]] = []

    def packets_moved(launch: LaunchKernel) -> None:
        for use in launch.uses:
            told.append((launch.kernel.name, use.channel, use.link.writing, use.packets, use.begin, use.end))

    with listening(SimpleNamespace(packets_moved=packets_moved)):
        program = cluster.program()
        for amount in (10, 5):
            received = cluster.start(program, "receive", 1, pack("i", amount) + bytes(4 * (amount - 1)))
            cluster.start(program, "send", 0, pack("i", amount))()
            received()
    assert sorted(told) == [
        ("receive", "here", False, 5, 40, 60),
        ("receive", "here", False, 10, 0, 40),
        ("send", "there", True, 5, 40, 60),
        ("send", "there", True, 10, 0, 40),
    ]


def test_in_simulated_time_a_kernel_lasts_as_long_as_its_packets_are_on_the_cable(engine: Engine) -> None:
    for machine in machine_of("s10_520n", "s10_520n", modelled=True):
        machine.platform._engine = engine
        for cluster in cluster_of(machine, CABLE):
            times: list[tuple[str, int, str]] = []

            def modelled(event: Event, command: object, steps: list[StepTime]) -> None:
                times.extend((step.kernel, step.end - step.begin, step.bound) for step in steps if step.kernel)

            with listening(SimpleNamespace(modelled=modelled)):
                program = cluster.program()
                received = cluster.start(program, "receive", 1, pack("i", 1000) + bytes(4 * 999))
                cluster.start(program, "send", 0, pack("i", 1000))()
                received()
            expected = 520 + 6400  # 1000 words of 256 bits at 40 Gbit/s
            assert sorted(times) == [("receive", expected, "cable in 'here'"), ("send", expected, "cable in 'there'")]


# Between processes

PEER = """
import sys
from fpgart._native import ffi
from fpgart.channels.links import Link
link = Link(sys.argv[1], "cable", 0, 30.0, writing=True)
data = ffi.new("char[4]")
moved = 0
while moved < 12:
    moved += link.put(data, 4, 4, 1000)
print("ready", flush=True)
if sys.argv[2] != "ends":
    sys.stdin.read()
"""


def peer(path: Path, then: str) -> subprocess.Popen[str]:
    """A process at the other end of a cable, which writes three packets."""
    arguments = [sys.executable, "-c", PEER, str(path), then]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ring(cluster: Cluster) -> Path:
    return folder_of(cluster.job) / "0.ring"


def test_a_kernel_fails_with_words_when_the_process_at_the_other_end_dies(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    process = peer(ring(cluster), "stays")
    received = cluster.start(cluster.program(), "receive", 1, pack("i", 10) + bytes(36))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    with pytest.raises(AssertionError):
        received()
    process.communicate()
    assert "to 'here' of board 1: the process at its other end has ended" in capfd.readouterr().err


def test_what_a_process_wrote_before_it_ended_is_read(cluster: Cluster) -> None:
    process = peer(ring(cluster), "ends")
    process.communicate()
    received = cluster.start(cluster.program(), "receive", 1, pack("i", 3) + bytes(8))
    assert unpack("3i", received()) == (0, 0, 0)


def test_an_end_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    first = Link(str(tmp_path / "r"), "the cable", 0, 1.0, writing=True)
    with pytest.raises(Exception, match="the cable: another process has this end"):
        Link(str(tmp_path / "r"), "the cable", 0, 1.0, writing=True)
    first.close()
    Link(str(tmp_path / "r"), "the cable", 0, 1.0, writing=True).close()


def test_no_file_is_left_once_both_ends_are_taken(tmp_path: Path) -> None:
    ends = [Link(str(tmp_path / "r"), "cable", 0, 1.0, writing=writing) for writing in (True, False)]
    assert not list(tmp_path.iterdir())
    for end in ends:
        end.close()


def test_many_processes_may_take_ends_at_the_same_time(tmp_path: Path) -> None:
    for number in range(50):
        path = str(tmp_path / str(number))
        ends: list[Link] = []
        takers = [
            threading.Thread(target=lambda w=writing, p=path: ends.append(Link(p, "cable", 0, 1.0, writing=w)))
            for writing in (True, False)
        ]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
        assert len(ends) == 2
        assert not list(tmp_path.iterdir())
        for end in ends:
            end.close()


def test_a_pipe_for_which_the_memory_of_the_kernels_process_has_no_room_is_refused() -> None:
    full: Any = SimpleNamespace(allocate=lambda size: 0)
    with pytest.raises(OutOfHostMemory, match="no memory for a pipe of 8 packets of 4 bytes"):
        Fifo("p", 4, 8, hosted=False, memory=full)
