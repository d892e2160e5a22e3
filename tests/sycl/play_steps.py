# SPDX-License-Identifier: Apache-2.0
"""fpgart.sycl carries out lists of steps (graph_steps.cpp has their language) and prints the commands of each step.

Standard input and output are JSON: lists of steps in; for each list and each step, lines as execution_graphs.py makes
them of DPC++'s graphs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
import pyopencl as cl

from fpgart import sycl
from fpgart.sycl.commands import (
    AllocaCommand,
    AllocaSubBufCommand,
    Command,
    Context,
    Host,
    MapMemObject,
    MemCpyCommand,
    UnmapMemObject,
)

SIZE = 1024
MEMORY = np.zeros(SIZE, np.int32)
NOTHING = sycl.Kernel("kernel void nothing() {}", "nothing")
DEVICES = cl.get_platforms()[0].get_devices()


class Player:
    """One list of steps. A context is linked if its device shares the host's memory, as `cpu` does."""

    def __init__(self) -> None:
        self.graph = sycl.Graph(lambda context: context.devices[0] != DEVICES[0])
        self.contexts: dict[str, cl.Context] = {}
        self.queues: dict[str, sycl.Queue] = {}
        self.buffers: dict[str, sycl.Buffer] = {}
        self.parts: dict[str, sycl.SubBuffer] = {}
        self.names: dict[int, str] = {}

    def play(self, step: str) -> list[str]:
        """Carries out a step; returns the lines of its commands."""
        before = len(self.graph.commands)
        what, name, *words = step.split()
        getattr(self, what)(name, *words)
        new = self.graph.commands[before:]
        if what == "close":
            return [f"{name}: write back"] if any(isinstance(c, MemCpyCommand | MapMemObject) for c in new) else []
        return [line for command in new for line in self._lines(command)]

    def queue(self, name: str, context: str, device: str) -> None:
        wanted = DEVICES[1 if device == "cpu" else int(device)]
        made = self.contexts.setdefault(context, cl.Context([wanted]))
        self.queues[name] = sycl.Queue(wanted, context=made, graph=self.graph)

    def buffer(self, name: str, kind: str) -> None:
        if kind == "none":
            self.buffers[name] = sycl.Buffer(SIZE, np.int32, graph=self.graph)
        else:
            array = np.zeros(SIZE, np.int32)
            if kind == "unaligned":
                array = np.zeros(4 * SIZE + 1, np.uint8)[1:].view(np.int32)
            array.flags.writeable = kind != "const"
            self.buffers[name] = sycl.Buffer(array, graph=self.graph)
        self.names[self.buffers[name].number] = name

    def part(self, name: str, whole: str, begin: str, size: str) -> None:
        self.parts[name] = sycl.SubBuffer(self.buffers[whole], int(begin), int(size))

    def _accessible(self, name: str) -> sycl.Buffer | sycl.SubBuffer:
        return self.parts.get(name) or self.buffers[name]

    def _accessors(self, handler: sycl.Handler, *uses: str) -> list[sycl.Accessor]:
        found = (use.split(":") for use in uses)
        return [handler.access(self._accessible(name), mode) for name, mode in found]

    def kernel(self, queue: str, *uses: str) -> None:
        def group(handler: sycl.Handler) -> None:
            self._accessors(handler, *uses)
            handler.single_task(NOTHING)

        self.queues[queue].submit(group)

    def task(self, queue: str, *uses: str) -> None:
        def group(handler: sycl.Handler) -> None:
            self._accessors(handler, *uses)
            handler.host_task(lambda: None)

        self.queues[queue].submit(group)

    def copy(self, queue: str, source: str, target: str) -> None:
        self.queues[queue].submit(lambda handler: handler.copy(*self._accessors(handler, source, target)))

    def get(self, queue: str, source: str) -> None:
        self.queues[queue].submit(lambda handler: handler.copy(*self._accessors(handler, source), MEMORY))

    def put(self, queue: str, target: str) -> None:
        self.queues[queue].submit(lambda handler: handler.copy(MEMORY, *self._accessors(handler, target)))

    def fill(self, queue: str, target: str) -> None:
        self.queues[queue].submit(lambda handler: handler.fill(*self._accessors(handler, target), 7))

    def update(self, queue: str, target: str) -> None:
        self.queues[queue].submit(lambda handler: handler.update_host(*self._accessors(handler, target)))

    def host(self, name: str, mode: str) -> None:
        with self._accessible(name).host(mode):
            pass

    def final(self, name: str) -> None:
        self.buffers[name].set_final_data(None)

    def close(self, name: str) -> None:
        if name in self.buffers:
            self.buffers[name].close()

    def _place(self, context: Context) -> str:
        if isinstance(context, Host):
            return "host"
        return next(name for name, made in self.contexts.items() if made == context)

    def _lines(self, command: Command) -> Iterator[str]:
        names = [self.names[number] for number in command.objects]
        place = self._place(command.context)
        match command:
            case AllocaCommand():
                yield f"{names[0]}: allocate {place}" + (" linked" if command.linked else "")
            case AllocaSubBufCommand():
                yield f"{names[0]}: allocate part {place}"
            case MemCpyCommand():
                yield f"{names[0]}: copy {self._place(command.source.context)} {self._place(command.target.context)}"
            case MapMemObject():
                yield f"{names[0]}: map {place}"
            case UnmapMemObject():
                yield f"{names[0]}: unmap {place}"
            case _:
                yield from (f"{name}: run {place}" for name in names)


def played(steps: list[str]) -> list[list[str]]:
    player = Player()
    return [player.play(step) for step in steps]


if __name__ == "__main__":
    json.dump([played(steps) for steps in json.load(sys.stdin)], sys.stdout)
