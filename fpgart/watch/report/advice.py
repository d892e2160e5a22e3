# SPDX-License-Identifier: Apache-2.0
"""Advice on copies of buffers that the host can avoid."""

from __future__ import annotations

from fpgart.watch.report.model import Advice
from fpgart.watch.report.trace_events import Args
from fpgart.watch.report.usm_advice import THE_ALLOCATION, UsmAdviser

THE_BUFFER = "{buffer}"
MOST_NAMED = 6


def _which(noun: str, numbers: list[int]) -> str:
    """`buffer 1`, or `each of buffers 1, 2, 3`."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"each of {noun}s {', '.join(map(str, numbers[:MOST_NAMED]))}{more}"


def covers(later: Args, earlier: Args) -> bool:
    """Whether a write replaces every byte of an earlier one to the same buffer."""
    begin, other = later.get("offset", 0), earlier.get("offset", 0)
    return bool(begin <= other and other + earlier["size"] <= begin + later["size"])


class Adviser:
    """Finds copies that a host could have avoided, event by event in the order of time."""

    def __init__(self) -> None:
        self._found: dict[str, Advice] = {}
        self._unused_write: dict[int, Args] = {}
        """By buffer, the last write whose bytes no kernel, read or copy has used yet."""
        self._programs: dict[int, list[str]] = {}
        self._memories: dict[int, list[str]] = {}
        """By device, the names of its memories, the default memory first."""
        self._located: set[int] = set()
        """Buffers that were created with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL."""
        self._set: dict[int, list[str]] = {}
        """By buffer without a block, the arguments with a buffer_location that it was set as."""
        self._usm = UsmAdviser(self._add)

    def advice(self) -> list[Advice]:
        """The advice for all events, most bytes first."""
        for words, found in self._found.items():
            found.buffers = list(dict.fromkeys(found.buffers))
            found.words = words.replace(THE_BUFFER, _which("buffer", found.buffers))
            found.words = found.words.replace(THE_ALLOCATION, _which("allocation", found.buffers))
        return sorted(self._found.values(), key=lambda advice: -advice.bytes)

    def _add(self, words: str, size: int, buffer: int | None = None) -> None:
        """Count one copy. The same advice for several buffers is one sentence (THE_BUFFER in `words`)."""
        found = self._found.setdefault(words, Advice(words))
        found.copies += 1
        found.bytes += size
        if buffer is not None and buffer not in found.buffers[-1:]:
            found.buffers.append(buffer)

    def take(self, event: Args) -> None:
        self._usm.take(event)
        category, name, args = event.get("cat"), event["name"], event.get("args", {})
        if category == "fpgart" and name == "board":
            self._memories[args["device"]] = [memory["name"] for memory in args["memories"]]
        elif category == "buffer" and "location" in args:
            self._located.add(args["buffer"])
        elif category == "placing" and "argument" in args:
            self._set.setdefault(args["buffer"], []).append(args["argument"])
        elif category == "device":
            self._operation(name, args)

    def _operation(self, name: str, args: Args) -> None:
        if name == "migration" and not args.get("skipped", True):
            self._migration(args)
        elif name == "transfer" and "buffer" in args:
            self._transfer(args)
        elif name == "kernel":
            for buffer in args["buffers"]:
                self._unused_write.pop(buffer, None)
        elif name == "program":
            self._program(args)

    def _migration(self, args: Args) -> None:
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
        self._add(words, args["size"], buffer)

    def _placing(self, buffer: int, args: Args, *, copied: bool) -> str:
        """How the host gets the buffer into the memory that the launch needs, before it writes the buffer."""
        argument, names = args["reason"], self._memories.get(args["device"], [])
        memory = args["to"].split(", ")[1].rsplit(" at ", 1)[0]
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

    def _transfer(self, args: Args) -> None:
        buffer, command = args["buffer"], args["command"]
        if command == "MAP_BUFFER" and args.get("flags") == "WRITE" and args["size"]:
            self._add(
                f"map {THE_BUFFER} with CL_MAP_WRITE_INVALIDATE_REGION if all of the region is written: "
                "nothing is read then",
                args["size"],
                buffer,
            )
        self._unused_write.pop(args.get("source", 0), None)
        if command in ("WRITE_BUFFER", "COPY_HOST_PTR"):
            earlier = self._unused_write.get(buffer)
            if earlier is not None and covers(args, earlier):
                words = f"{THE_BUFFER} is written again before anything used it: leave the first write out"
                self._add(words, args["size"], buffer)
            self._unused_write[buffer] = args
        else:
            self._unused_write.pop(buffer, None)

    def _program(self, args: Args) -> None:
        history = self._programs.setdefault(args["device"], [])
        if args["program"] in history:
            self._add(
                f"device {args['device']} is programmed anew with a program that it held before: "
                "launch one program's kernels together, or put all kernels into one program",
                args["size"],
            )
        history.append(args["program"])
