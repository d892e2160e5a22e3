# SPDX-License-Identifier: Apache-2.0
"""Cables whose other end is on another machine: their packets go through ZeroMQ (docs/clusters.md).

Kernels use a ring in shared memory, as for other cables. A `Pump` has its other end in this process: a thread that
sends packets to a socket, or receives them. The reading side binds a port and writes its address, with a key, to a
folder that all machines share; the writing side looks for it there.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from struct import Struct
from time import monotonic, sleep
from typing import Any

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.errors import OutOfResources
from fpgart.channels.links import Link

CHUNK = 65_536
"""The most bytes of packets in a message."""
QUEUED = 2
"""The messages that a socket queues; the next one waits, so that a full ring makes the writer wait."""
SLICE_MS = 100
"""The interval of checks for changes."""
HEARTBEAT_MS = 1_000
LOST_MS = 5_000
"""The time without a heartbeat after which a peer is lost, and the time that an ending process waits for its
messages."""
HEADER = Struct("I")
"""Precedes a message's packets: the bytes of one."""


class Meeting:
    """The folder with the addresses of the reading ends of cables."""

    def __init__(self, folder: str, job: str) -> None:
        self._folder = Path(folder) / f"fpgart-{job}"

    def leave(self, name: str, facts: dict[str, str]) -> None:
        """Writes the address of a cable's reading end atomically. Raises OutOfResources."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._folder, delete=False) as file:
                json.dump(facts, file)
            os.replace(file.name, self._folder / name)
        except OSError as error:
            raise OutOfResources(f"cables need the folder {self._folder}: {error.strerror}") from None

    def find(self, name: str) -> dict[str, str]:
        """Returns the address; {} before it was written."""
        try:
            return dict(json.loads((self._folder / name).read_text()))
        except OSError:
            return {}

    def forget(self, name: str) -> None:
        """Removes an address, and the folder with the last one."""
        try:
            (self._folder / name).unlink(missing_ok=True)
            self._folder.rmdir()
        except OSError:  # others still have addresses there
            return


class Remote:
    """The cables of this process that lead to other machines. `host`: the name by which those reach this machine."""

    def __init__(self, meeting: Meeting, host: str, patience_s: float) -> None:
        """Raises OutOfResources if pyzmq cannot be loaded."""
        try:
            import zmq
        except ImportError as error:
            raise OutOfResources(
                f"cables between machines need ZeroMQ (pip install 'fpgart[cluster]'): {error}"
            ) from None
        self.zmq: Any = zmq
        self.meeting = meeting
        self.host = host
        self.patience_s = patience_s
        try:
            self.context: Any = zmq.Context()
        except zmq.ZMQBaseError as error:
            raise OutOfResources(f"cables between machines: ZeroMQ does not start: {error}") from None
        self._pumps: list[Pump] = []

    def lead_on(self, link: Link, name: str) -> Pump:
        """Starts a pump for a cable; `link` is the end of its ring that kernels of this process do not use.

        The pump closes it behind the last packet; if this raises OutOfResources, it is closed at once.
        """
        try:
            pump = Pump(self, link, name)
        except BaseException:
            link.close()
            raise
        self._pumps.append(pump)
        return pump

    def give_up(self, pump: Pump) -> None:
        """Stops the pump of a cable that no kernel will use."""
        self._pumps.remove(pump)
        pump.retire()

    def retire(self) -> None:
        """Sends the packets that kernels have written, as long as they are received, before the process ends."""
        for pump in self._pumps:
            pump.retire()
        if all(pump.has_ended() for pump in self._pumps):
            self.context.term()


class Pump:
    """Forwards the packets of one direction of a cable, on a thread of its own, until one of its ends is closed."""

    def __init__(self, remote: Remote, link: Link, name: str) -> None:
        self._remote = remote
        self._link = link
        self._name = name
        self._ended = threading.Event()
        self._connected = self._lost = False
        self._waits_since = monotonic()
        with ExitStack() as undo:
            try:
                self._socket = self._new_socket()
                undo.callback(self._socket.close, linger=0)
                self._watch = self._socket.get_monitor_socket()
                undo.callback(self._watch.close)
                undo.callback(self._socket.disable_monitor)
                if link.writing:
                    self._offer()
            except remote.zmq.ZMQBaseError as error:
                raise OutOfResources(f"{link.cable}: ZeroMQ gives it no socket: {error}") from None
            undo.pop_all()
        self._thread = threading.Thread(target=self._run, name=f"cable {name}", daemon=True)
        self._thread.start()

    def retire(self) -> None:
        """Stops once all written packets are sent."""
        self._ended.set()
        self._thread.join(LOST_MS / 1000)

    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    # Sockets

    def _new_socket(self) -> Any:
        zmq = self._remote.zmq
        made = self._remote.context.socket(zmq.PAIR)
        made.set(zmq.LINGER, LOST_MS)
        for option in (zmq.SNDHWM, zmq.RCVHWM):
            made.set(option, QUEUED)
        made.set(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
        made.set(zmq.HEARTBEAT_TIMEOUT, LOST_MS)
        return made

    def _offer(self) -> None:
        """Binds a port that requires the key in the folder."""
        zmq = self._remote.zmq
        public, secret = zmq.curve_keypair()
        self._socket.set(zmq.CURVE_SERVER, 1)
        self._socket.set(zmq.CURVE_SECRETKEY, secret)
        port = self._socket.bind_to_random_port(f"tcp://{'127.0.0.1' if self._remote.host == '127.0.0.1' else '*'}")
        address = f"tcp://{self._remote.host}:{port}"
        self._remote.meeting.leave(self._name, {"address": address, "key": public.decode()})

    def _connect(self, facts: dict[str, str]) -> None:
        zmq = self._remote.zmq
        public, secret = zmq.curve_keypair()
        self._socket.set(zmq.CURVE_PUBLICKEY, public)
        self._socket.set(zmq.CURVE_SECRETKEY, secret)
        self._socket.set(zmq.CURVE_SERVERKEY, facts["key"].encode())
        self._socket.connect(facts["address"])

    def _is_lost(self) -> bool:
        """True if the peer's process or machine is lost, or kernels have waited for it longer than the time limit."""
        from zmq.utils.monitor import recv_monitor_message

        zmq = self._remote.zmq
        while self._watch.poll(0):
            event = recv_monitor_message(self._watch)["event"]
            self._connected = self._connected or event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            self._lost = self._lost or (self._connected and event == zmq.EVENT_DISCONNECTED)
        now = monotonic()
        if self._connected or not self._link.is_awaited:
            self._waits_since = now
        if now - self._waits_since > self._remote.patience_s:
            log.warning(f"{self._link.cable}: no process has taken its other end for {self._remote.patience_s:.0f} s")
            self._lost = True
        return self._lost

    # The thread

    def _run(self) -> None:
        try:
            if self._link.writing:
                self._receive()
            else:
                self._send()
        except self._remote.zmq.ZMQError as error:
            log.warning(f"{self._link.cable}: {error}")
        except (KeyError, ValueError) as error:
            log.warning(f"{self._link.cable}: the file from its other end contains no address: {error}")
        finally:
            self._socket.disable_monitor()
            self._watch.close()
            self._socket.close()
            if self._link.writing:
                self._remote.meeting.forget(self._name)
            self._link.close()  # notifies kernels at its other end

    def _send(self) -> None:
        facts = self._found()
        if not facts:
            return
        self._connect(facts)
        data = ffi.new("char[]", CHUNK)
        while not self._is_lost():
            count = self._link.take(data, SLICE_MS)
            if count > 0 and not self._pass(HEADER.pack(self._link.packet) + bytes(ffi.buffer(data, count))):
                return
            if count < 0 or (count == 0 and self._ended.is_set()):
                return

    def _found(self) -> dict[str, str]:
        """Returns the address of the reading end; {} if the process ends before, or the time limit is exceeded."""
        facts = self._remote.meeting.find(self._name)
        while not facts and not self._is_lost():
            if self._ended.wait(SLICE_MS / 1000) and not self._link.level:
                return {}
            sleep(SLICE_MS / 1000 if self._ended.is_set() else 0)
            facts = self._remote.meeting.find(self._name)
        return facts

    def _pass(self, message: bytes) -> bool:
        """Sends a message once there is room; false if the peer is lost."""
        while not self._socket.poll(SLICE_MS, self._remote.zmq.POLLOUT):
            if self._is_lost():
                return False
        self._socket.send(message)
        return True

    def _receive(self) -> None:
        while not self._ended.is_set():
            if self._socket.poll(SLICE_MS):
                if not self._deliver(self._socket.recv()):
                    return
            elif self._is_lost():
                return

    def _deliver(self, message: bytes) -> bool:
        """Writes a message's packets into the ring; false if it has no reader, or the message is invalid."""
        (packet,) = HEADER.unpack_from(message.ljust(HEADER.size, b"\0"))
        if not 0 < packet <= lib.link_largest_packet() or len(message) > HEADER.size + CHUNK:
            log.warning(f"{self._link.cable}: a message of {len(message)} bytes is invalid for packets of {packet}")
            return False
        data = ffi.from_buffer(message)
        done = HEADER.size
        while done < len(message) and not self._ended.is_set():
            count = self._link.put(data + done, len(message) - done, packet, SLICE_MS)
            if count < 0:
                return False
            done += count
        return True
