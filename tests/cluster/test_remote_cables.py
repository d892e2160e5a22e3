"""Cables between machines (fpgart/cluster/remote.py), here on one machine: what kernels would see at both ends."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fpgart._native import ffi
from machine import SetOption

from fpgart.base import config
from fpgart.base.errors import OutOfResources
from fpgart.channels.links import Link
from fpgart.cluster import topology
from fpgart.cluster.launcher import Place
from fpgart.cluster.remote import Meeting, Remote
from fpgart.cluster.wiring import Wiring, folder_of

pytest.importorskip("zmq")


class Side:
    """A machine with one end of a cable, which a kernel would have."""

    def __init__(self, folder: Path, writing: bool, patience_s: float = 1e6) -> None:
        self.remote = Remote(Meeting(str(folder), "job"), "127.0.0.1", patience_s)
        path = str(folder / ("out" if writing else "in"))
        self.link = Link(path, "the cable", 0, patience_s, writing=writing)
        self.remote.lead_on(Link(path, "the cable", 0, patience_s, writing=not writing), "0.json")

    def close(self) -> None:
        self.remote.retire()
        self.link.close()


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    both = Side(tmp_path, True), Side(tmp_path, False)
    yield both
    for side in both:
        side.close()


def until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.01)


def write(link: Link, data: bytes, packet: int) -> None:
    """Writes all bytes."""
    source, done = ffi.from_buffer(data), 0
    while done < len(data):
        count = link.put(source + done, len(data) - done, packet, 250)
        assert count >= 0
        done += count


def read(link: Link, size: int) -> bytes:
    """Reads so many bytes, or all that come."""
    found, data = b"", ffi.new("char[]", 4096)
    while len(found) < size:
        count = link.take(data, 100)
        if count < 0:
            return found
        found += bytes(ffi.buffer(data, count))
    return found


def test_packets_arrive_whole_and_in_their_order(sides: tuple[Side, Side]) -> None:
    data = b"".join(number.to_bytes(8, "little") for number in range(5000))
    write(sides[0].link, data, 8)
    assert read(sides[1].link, len(data)) == data
    assert sides[1].link.packet == 8


def test_a_writer_waits_when_nobody_reads(sides: tuple[Side, Side]) -> None:
    """It gets rid of less than the data, however often it tries."""
    data, written, tries = bytes(64 << 20), 0, 0
    while tries < 5:
        count = sides[0].link.put(ffi.from_buffer(data) + written, len(data) - written, 1024, 50)
        written, tries = written + count, 0 if count else tries + 1
        assert written < len(data)
    assert len(read(sides[1].link, written)) == written


def test_what_was_written_before_the_process_ended_arrives(sides: tuple[Side, Side]) -> None:
    write(sides[0].link, b"12345678" * 100, 8)
    sides[0].close()
    assert read(sides[1].link, 1 << 20) == b"12345678" * 100


def test_a_writer_learns_that_the_reader_is_gone(sides: tuple[Side, Side]) -> None:
    write(sides[0].link, b"1234", 4)
    assert read(sides[1].link, 4) == b"1234"
    sides[1].close()
    packet = ffi.from_buffer(bytes(4096))
    until(lambda: sides[0].link.put(packet, 4096, 4096, 100) < 0)


def test_a_reader_that_waits_for_nobody_gives_up_in_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    side = Side(tmp_path, False, patience_s=0.3)
    assert read(side.link, 4) == b""
    assert "the cable: no process has taken its other end for 0 s" in capfd.readouterr().err
    side.close()


@pytest.mark.parametrize("message", [b"", struct.pack("I", 0) + b"1234", struct.pack("I", 1 << 20) + bytes(1 << 20)])
def test_what_is_no_message_of_packets_ends_the_cable_and_no_more(
    tmp_path: Path, message: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    side = Side(tmp_path, False)
    assert not side.remote._pumps[0]._deliver(message)
    assert "the cable: a message of" in capfd.readouterr().err
    assert side.link.level == 0
    side.close()


def test_the_folder_is_left_as_it_was(tmp_path: Path) -> None:
    for side in (Side(tmp_path, True), Side(tmp_path, False)):
        side.close()
    assert not list(tmp_path.iterdir())


def test_cables_between_machines_need_a_folder_where_they_meet(set_option: SetOption) -> None:
    set_option(config.MEETING, None)
    wiring = Wiring(topology.read("0:out->1:in", 2), Place(0, 2, 0, 1, "job-without-folder"), 0, 1.0)
    with pytest.raises(OutOfResources, match="cables between machines need a folder that all of them see"):
        wiring.plug_in(0)


@pytest.fixture
def meeting(tmp_path: Path, set_option: SetOption) -> Path:
    """FPGART_MEETING, a folder of its own."""
    set_option(config.MEETING, str(tmp_path))
    set_option(config.ADDRESS, "127.0.0.1")
    return tmp_path


def left(meeting: Path) -> list[str]:
    """Returns the threads and addresses that a failed wiring still has."""
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("cable ")]
    return [*threads, *(path.name for path in meeting.rglob("*.json"))]


def test_ends_that_were_taken_are_given_back_where_a_later_one_is_not_to_be_had(meeting: Path) -> None:
    cables = topology.read("1:out->0:in,0:back->1:forth", 2)
    wiring = Wiring(cables, Place(0, 2, 0, 1, "job-half"), 0, 30.0)
    ring = folder_of("job-half") / "1.out.ring"
    other = Link(str(ring), "the cable", 0, 30.0, writing=True)
    with pytest.raises(OutOfResources):
        wiring.plug_in(0)
    assert left(meeting) == []
    other.close()
    assert sorted(wiring.plug_in(0)) == ["back", "in"]
    wiring.retire()
    wiring.close()


def test_a_socket_that_is_not_to_be_had_fails_with_words(meeting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zmq

    def refuse(*_: object) -> None:
        raise zmq.ZMQBindError("no port is free")

    wiring = Wiring(topology.read("1:out->0:in", 2), Place(0, 2, 0, 1, "job-no-port"), 0, 30.0)
    remote = Remote(Meeting(str(meeting), "job-no-port"), "127.0.0.1", 30.0)
    ring = str(meeting / "ring")
    with monkeypatch.context() as patched:
        patched.setattr(zmq.Socket, "bind_to_random_port", refuse)
        with pytest.raises(OutOfResources, match="ZeroMQ gives it no socket: no port is free"):
            wiring.plug_in(0)
        with pytest.raises(OutOfResources):
            remote.lead_on(Link(ring, "the cable", 0, 30.0, writing=True), "0.json")
    Link(ring, "the cable", 0, 30.0, writing=True).close()
    remote.retire()
    assert left(meeting) == []
    assert list(wiring.plug_in(0)) == ["in"]
    wiring.retire()
    wiring.close()
