# SPDX-License-Identifier: Apache-2.0
"""Advice on what the host can avoid: copies of buffers here, the rest in the neighbours of this module."""

from __future__ import annotations

from fpgart.watch.report.bank_advice import BankAdviser
from fpgart.watch.report.channel_advice import ChannelAdviser
from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import THE_BUFFER, EventTaker, Found, migration_of
from fpgart.watch.report.idle_advice import IdleAdviser
from fpgart.watch.report.launch_advice import LaunchAdviser
from fpgart.watch.report.model import Advice
from fpgart.watch.report.overlap_advice import OverlapAdviser
from fpgart.watch.report.pattern_advice import PatternAdviser
from fpgart.watch.report.place_advice import PlaceAdviser
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.trace_events import SYCL, Args, Take, Takes, taken_by
from fpgart.watch.report.transfer_advice import TransferAdviser
from fpgart.watch.report.usm_advice import UsmAdviser


def covers(later: Args, earlier: Args) -> bool:
    """True if a write replaces every byte of an earlier one to the same buffer."""
    begin, other = later.get("offset", 0), earlier.get("offset", 0)
    return bool(begin <= other and other + earlier["size"] <= begin + later["size"])


AGAIN = {
    True: (
        "device {} is reprogrammed with a program that it held before: launch the kernels of one program together, "
        "or put all kernels into one program",
        "programming",
    ),
    False: (
        "device {} loads a program that it held before: keep the program and its kernels until the last launch",
        "program load",
    ),
}
"""Words and noun of the advice, by whether the board is an FPGA board."""
OTHERS: tuple[type[EventTaker], ...] = (
    UsmAdviser, PlaceAdviser, BankAdviser, LaunchAdviser, TransferAdviser, OverlapAdviser, IdleAdviser, ChannelAdviser,
    PatternAdviser,
)  # fmt: skip


class Adviser:
    """Finds copies that a host could have avoided, event by event in the order of time."""

    def __init__(self, costs: Costs | None = None, sites: Sites | None = None) -> None:
        """`costs` and `sites` are those of the whole trace; without them advice has no times and places."""
        costs, sites = costs or Costs(), sites or Sites()
        self._costs = costs
        self._found = Found()
        self._unused_write: dict[int, Args] = {}
        """The last write of each buffer whose bytes no kernel, read or copy has used yet."""
        self._memories: dict[int, list[str]] = {}
        """The names of each device's memories, the default memory first."""
        self._located: set[int] = set()
        """Buffers that were created with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL."""
        self._set: dict[int, list[str]] = {}
        """The arguments with a buffer_location that each buffer without a block was set as."""
        self._programs: dict[int, list[str]] = {}
        self._others = [made(self._found, costs, sites) for made in OTHERS]

    def advice(self) -> list[Advice]:
        """Returns the advice for all events, by what it saves."""
        for other in self._others:
            other.finish()
        return self._found.advice()

    @property
    def savings(self) -> int:
        """The nanoseconds on the board that all advice saves, once advice() was called."""
        return self._found.savings

    def takers(self, category: str, name: str) -> list[Take]:
        """Returns the functions to call with events of a category and a name, in the order of the calls."""
        return taken_by((*(other.takes() for other in self._others), self._takes()), category, name)

    def _takes(self) -> Takes:
        return {
            "fpgart board": self._board,
            "buffer": self._buffer,
            "placing": self._placed,
            "device migration": self._migration,
            "device transfer": self._transfer,
            "device kernel": self._kernel,
            "device program": self._program,
        }

    def _board(self, event: Args) -> None:
        args = event["args"]
        self._memories[args["device"]] = [memory["name"] for memory in args["memories"]]

    def _buffer(self, event: Args) -> None:
        if "location" in event["args"]:
            self._located.add(event["args"]["buffer"])

    def _placed(self, event: Args) -> None:
        args = event["args"]
        if "argument" in args:
            self._set.setdefault(args["buffer"], []).append(args["argument"])

    def _kernel(self, event: Args) -> None:
        if self._unused_write:
            for buffer in event["args"]["buffers"]:
                self._unused_write.pop(buffer, None)

    def _migration(self, event: Args) -> None:
        args = event["args"]
        if args.get("skipped", True):
            return
        buffer, source, target = args["buffer"], args["from"], args["to"]
        if source == "host" or target == "host" or not args["reason"].startswith("argument"):
            return
        written = self._unused_write.get(buffer)
        if written is None:
            return
        if source.split(",")[0] == target.split(",")[0]:
            words = self._placing(buffer, args, copied=written["command"] == "COPY_HOST_PTR")
        else:
            words = f"write {THE_BUFFER} through a queue of {target.split(',')[0]}, where {args['reason']} needs it"
        cost, operation = self._costs.copy(args["device"], args["size"]), migration_of(args)
        self._found.add(words, args["size"], (buffer,), nanoseconds=cost, args=args, operation=operation)

    def _placing(self, buffer: int, args: Args, *, copied: bool) -> str:
        """Advises how to get the buffer into the memory that the launch needs, before the host writes the buffer."""
        argument, names = args["reason"], self._memories.get(args["device"], [])
        memory = args["to"].split(", ")[1].rsplit(" at ", 1)[0]
        if args.get(SYCL) and memory in names:
            return (
                f"give all accessors to {THE_BUFFER} the property buffer_location<{names.index(memory)}> ({memory}), "
                f"where {argument} needs it"
            )
        if memory in names and (buffer in self._located or memory == names[0]):
            return (
                f"create {THE_BUFFER} with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL {names.index(memory)} ({memory}), "
                f"where {argument} needs it"
            )
        if copied:
            return (
                f"create {THE_BUFFER} without CL_MEM_COPY_HOST_PTR, set {argument}, then write: "
                "it is placed where the kernel needs it"
            )
        if argument in self._set.get(buffer, ()):
            return f"set {argument} to {THE_BUFFER} before its other arguments, and then write the buffer"
        return f"set {argument} to {THE_BUFFER} before writing the buffer"

    def _transfer(self, event: Args) -> None:
        args = event["args"]
        if "buffer" not in args:
            return
        buffer, command = args["buffer"], args["command"]
        if command == "MAP_BUFFER" and args.get("flags") == "WRITE" and args["size"]:
            words = (
                f"map {THE_BUFFER} with CL_MAP_WRITE_INVALIDATE_REGION if the host writes the whole region: "
                "then nothing is read"
            )
            self._transfer_saved(words, args)
        self._unused_write.pop(args.get("source", 0), None)
        if command in ("WRITE_BUFFER", "COPY_HOST_PTR"):
            earlier = self._unused_write.get(buffer)
            if earlier is not None and covers(args, earlier):
                words = f"{THE_BUFFER} is written again before anything used it: omit the first write"
                self._transfer_saved(words, args)
            self._unused_write[buffer] = args
        else:
            self._unused_write.pop(buffer, None)

    def _transfer_saved(self, words: str, args: Args) -> None:
        cost = self._costs.transfer(args["device"], args["size"])
        self._found.add(words, args["size"], (args["buffer"],), nanoseconds=cost, args=args)

    def _program(self, event: Args) -> None:
        args = event["args"]
        history = self._programs.setdefault(args["device"], [])
        if args["program"] in history:
            words, noun = AGAIN[args["device"] not in self._costs.dsps]
            cost = self._costs.programming(args["device"])
            words = words.format(args["device"])
            self._found.add(words, args["size"], nanoseconds=cost, args=args, noun=noun)
        history.append(args["program"])
