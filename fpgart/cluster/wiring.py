# SPDX-License-Identifier: Apache-2.0
"""The ends of cables in this process, and the places at which they are connected to the other ends."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fpgart.base import config
from fpgart.base.errors import OutOfResources
from fpgart.base.output_file import private_folder
from fpgart.board.description import BoardDescription
from fpgart.channels.links import Link, Links
from fpgart.cluster import launcher, topology
from fpgart.cluster.launcher import Place
from fpgart.cluster.topology import Cable, End, Topology, TopologyError

if TYPE_CHECKING:
    from fpgart.cluster.remote import Remote

SHARED_MEMORY = Path("/dev/shm")
BoardKind = TypeVar("BoardKind")


def share(boards: int, place: Place, *, shared: bool) -> range:
    """Returns the numbers of the boards that a process sees: its own, or all of its machine. Raises TopologyError."""
    if boards % place.size:
        raise TopologyError(f"{boards} boards cannot be divided equally among {place.size} processes")
    each = boards // place.size
    if shared:
        first, machine = place.machine * place.local_size * each, place.local_size * each
        return range(first, min(first + machine, boards))
    return range(place.rank * each, (place.rank + 1) * each)


def own_boards(boards: Sequence[BoardKind], found: Topology, place: Place) -> list[BoardKind]:
    """Returns the boards of this process among those of the topology.

    `boards` names all of them, its own, or one kind. Raises TopologyError.
    """
    seen = share(found.boards, place, shared=found.shared)
    if len(boards) == 1:
        return [boards[0]] * len(seen)
    if len(boards) == found.boards:
        return list(boards[seen.start : seen.stop])
    if len(boards) == len(seen):
        return list(boards)
    raise TopologyError(
        f"{len(boards)} boards are named, the topology has {found.boards}, of which this process sees {len(seen)}"
    )


def path_of(job: str) -> Path:
    """Returns the path of the folder that a job's processes on this machine share."""
    parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())
    return parent / f"fpgart-{os.getuid()}-{re.sub(r'[^A-Za-z0-9._-]', '_', job)}"


def folder_of(job: str) -> Path:
    """Returns the folder of a job's processes on this machine; raises OutOfResources unless it is private."""
    folder = path_of(job)
    try:
        return Path(private_folder(str(folder)))
    except OSError as error:
        raise OutOfResources(f"cables of job '{job}' need the folder {folder}: {error.strerror}") from None


class Wiring:
    """The cables of the boards that this process sees, which are `first` and those that follow."""

    def __init__(self, found: Topology, place: Place, first: int, patience_s: float) -> None:
        self._topology = found
        self._place = place
        self._first = first
        self._patience_s = patience_s
        self._ends: dict[int, dict[str, Link]] = {}
        self._remote: Remote | None = None

    def number(self, device: int) -> int:
        """Returns the number in the topology of a device of this process."""
        return self._first + device

    def plug_in(self, device: int) -> Links:
        """Connects the ends of a device's cables, once. Raises OutOfResources if another process has one."""
        if device not in self._ends:
            board = self.number(device)
            taken: dict[str, Link] = {}
            with ExitStack() as undo:
                for index, cable in enumerate(self._topology.cables):
                    for end, writing in ((cable.source, True), (cable.target, False)):
                        if end.board == board:
                            taken[end.channel] = self._take(index, cable, undo, writing=writing)
                undo.pop_all()
            self._ends[device] = taken
        return self._ends[device]

    def _take(self, index: int, cable: Cable, undo: ExitStack, *, writing: bool) -> Link:
        """Opens an end; `undo` gets the function that closes it."""
        folder = folder_of(self._place.job)
        leads_away = self._leads_away(cable.target.board if writing else cable.source.board)
        name = f"{index}.{'out' if writing else 'in'}.ring" if leads_away else f"{index}.ring"
        link = self._link(folder / name, cable, writing=writing)
        undo.callback(link.close)
        if leads_away:
            remote = self._remote = self._remote or self._reach_others()
            pump = remote.lead_on(self._link(folder / name, cable, writing=not writing), f"{index}.json")
            undo.callback(remote.give_up, pump)
        return link

    def _link(self, path: Path, cable: Cable, *, writing: bool) -> Link:
        return Link(str(path), str(cable), cable.depth, self._patience_s, writing=writing)

    def _leads_away(self, board: int) -> bool:
        """True if packets to or from a board go through ZeroMQ."""
        each = self._topology.boards // self._place.size
        rank = board // each
        if config.CABLES.value != "auto":
            return config.CABLES.value == "zeromq" and rank != self._place.rank
        return rank // self._place.local_size != self._place.machine

    def _reach_others(self) -> Remote:
        from fpgart.cluster.remote import Meeting, Remote

        if not config.MEETING.value:
            raise OutOfResources("cables between machines need a folder that all of them see: FPGART_MEETING")
        one_machine = self._place.local_size == self._place.size
        host = config.ADDRESS.value or ("127.0.0.1" if one_machine else socket.getfqdn())
        return Remote(Meeting(config.MEETING.value, self._place.job), host, self._patience_s)

    def retire(self) -> None:
        """Removes the files of cables whose other end was never opened, before the process ends."""
        if self._remote is not None:
            self._remote.retire()
        for links in self._ends.values():
            for link in links.values():
                link.retire()
        if self._ends:
            try:
                path_of(self._place.job).rmdir()
            except OSError:  # others of the job still use it, or have removed it
                return

    def close(self) -> None:
        """Closes all ends, which no kernel uses."""
        for links in self._ends.values():
            for link in links.values():
                link.close()
        self._ends.clear()


def chosen_topology(boards: int) -> tuple[Topology, Place] | None:
    """Returns the topology of FPGART_TOPOLOGY for `boards` per process, and this process's place; None for no topology.

    Raises TopologyError.
    """
    text = config.TOPOLOGY.value
    if not text:
        return None
    if config.kernels_run_apart():
        raise TopologyError(
            f"FPGART_TOPOLOGY={text}: cables do not reach the board process of FPGART_ISOLATE=1, nor a service"
        )
    place = launcher.place()
    if place.fault:
        raise TopologyError(f"FPGART_TOPOLOGY={text}: {place.fault}")
    return topology.read(text, boards * place.size), place


def check_channels(found: Topology, first: int, boards: Sequence[BoardDescription]) -> None:
    """Raises TopologyError for a cable in a channel that its board does not have.

    `boards` are `first` and those that follow; a board whose description names no channels has any.
    """
    for cable in found.cables:
        for end, output in ((cable.source, True), (cable.target, False)):
            index = end.board - first
            if 0 <= index < len(boards) and boards[index].channels:
                _check_end(cable, end, boards[index], output=output)


def _check_end(cable: Cable, end: End, board: BoardDescription, *, output: bool) -> None:
    names = [channel.name for channel in board.channels if channel.output is output]
    if end.channel not in names:
        way = "output" if output else "input"
        raise TopologyError(
            f"{cable}: a {board.name} has no {way} '{end.channel}'; its {way}s are {', '.join(names) or 'none'}"
        )
