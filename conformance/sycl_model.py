# SPDX-License-Identifier: Apache-2.0
"""Random command groups over one to three devices and the host, against numpy. Run by test_sycl.py."""

from __future__ import annotations

import os
from contextlib import ExitStack

import numpy as np
import pyopencl as cl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fpgart import sycl

EFFORT = int(os.environ.get("FPGART_TEST_EFFORT", "1"))
N = 512
PART = slice(256, 384)
"""It begins where each device allows a sub-buffer to begin."""
SOURCE = """
kernel void affine(global int *x, int a, int b) { x[get_global_id(0)] = x[get_global_id(0)] * a + b; }
kernel void fresh(global int *x, int b) { x[get_global_id(0)] = get_global_id(0) + b; }
kernel void some(global int *x, int b) { if (get_global_id(0) % 3 == 0) x[get_global_id(0)] = b; }
kernel void add(global const int *x, global int *y) { y[get_global_id(0)] += x[get_global_id(0)]; }
"""
AFFINE, FRESH, SOME, ADD = (sycl.Kernel(SOURCE, name) for name in ("affine", "fresh", "some", "add"))
BUFFERS = st.integers(0, 1)
QUEUES = st.integers(0, 2)
VALUES = st.integers(-50, 50)
KINDS = st.sampled_from(["none", "suitable", "read-only", "in pieces"])
INDEX = np.arange(N, dtype=np.int32)
DEVICES = cl.get_platforms()[0].get_devices()
CONTEXTS = [cl.Context([DEVICES[i % len(DEVICES)]]) for i in range(3)]


def memory(kind: str, value: int) -> np.ndarray | None:
    """What a buffer is made over."""
    array = INDEX * 3 + value
    if kind == "none":
        return None
    if kind == "read-only":
        array.flags.writeable = False
    if kind == "in pieces":
        return np.repeat(array, 2)[::2]
    return array


class Model(RuleBasedStateMachine):
    """Every buffer has a numpy array beside it that says what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: list[sycl.Buffer] = []
        self.expected: list[np.ndarray] = []
        self.arrays: list[np.ndarray | None] = []

    @initialize(
        linking=st.sampled_from(["unified", "never", "always", "one"]),
        count=st.integers(1, 3),
        kinds=st.lists(KINDS, min_size=2, max_size=2),
    )
    def start(self, linking: str, count: int, kinds: list[str]) -> None:
        self.graph = sycl.Graph((lambda context: context is CONTEXTS[0]) if linking == "one" else linking)
        self.queues = [
            sycl.Queue(CONTEXTS[i % count].devices[0], context=CONTEXTS[i % count], graph=self.graph) for i in range(3)
        ]
        for index, kind in enumerate(kinds):
            self.make(kind, index)

    def make(self, kind: str, value: int) -> None:
        array = memory(kind, value)
        if array is None:
            buffer = sycl.Buffer(N, np.int32, graph=self.graph)
            with buffer.host("discard_write") as view:
                view[:] = value
            expected = np.full(N, value, np.int32)
        else:
            buffer, expected = sycl.Buffer(array, graph=self.graph), array.copy()
        self.buffers.append(buffer)
        self.expected.append(expected)
        self.arrays.append(array)

    @rule(index=BUFFERS, queue=QUEUES, a=VALUES, b=VALUES)
    def kernel(self, index: int, queue: int, a: int, b: int) -> None:
        arguments = np.int32(a), np.int32(b)
        self.queues[queue].submit(lambda h: h.parallel_for(N, AFFINE, h.access(self.buffers[index]), *arguments))
        self.expected[index] = (self.expected[index] * arguments[0] + arguments[1]).astype(np.int32)

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES, mode=st.sampled_from(["discard_write", "discard_read_write"]))
    def write_all(self, index: int, queue: int, b: int, mode: str) -> None:
        access = self.buffers[index], mode
        self.queues[queue].submit(lambda h: h.parallel_for(N, FRESH, h.access(*access), np.int32(b)))
        self.expected[index] = INDEX + np.int32(b)

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES)
    def write_some(self, index: int, queue: int, b: int) -> None:
        access = self.buffers[index], "write"
        self.queues[queue].submit(lambda h: h.parallel_for(N, SOME, h.access(*access), np.int32(b)))
        self.expected[index][::3] = b

    def part(self, index: int) -> sycl.SubBuffer:
        return sycl.SubBuffer(self.buffers[index], PART.start, PART.stop - PART.start)

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES, mode=st.sampled_from(["write", "discard_write", "discard_read_write"]))
    def write_part(self, index: int, queue: int, b: int, mode: str) -> None:
        part = self.part(index)
        self.queues[queue].submit(lambda h: h.parallel_for(128, FRESH, h.access(part, mode), np.int32(b)))
        self.expected[index][PART] = INDEX[:128] + np.int32(b)

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES)
    def fill_part_and_copy_it(self, index: int, queue: int, b: int) -> None:
        part, array = self.part(index), np.zeros(128, np.int32)
        self.queues[queue].submit(lambda h: h.fill(h.access(part, "write"), b))
        self.queues[queue].submit(lambda h: h.copy(h.access(part, "read"), array)).wait()
        self.expected[index][PART] = b
        assert (array == b).all()

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES)
    def host_task_with_part(self, index: int, queue: int, b: int) -> None:
        def group(handler: sycl.Handler) -> None:
            accessor = handler.access(self.part(index), "write")
            handler.host_task(lambda: accessor.array.fill(b))

        self.queues[queue].submit(group)
        self.expected[index][PART] = b

    @rule(index=BUFFERS, b=VALUES, mode=st.sampled_from(["write", "discard_write"]))
    def host_write_part(self, index: int, b: int, mode: str) -> None:
        with self.part(index).host(mode) as view:
            assert view.shape == (128,)
            view[:] = b
        self.expected[index][PART] = b

    @rule(first=BUFFERS, queue=QUEUES)
    def between(self, first: int, queue: int) -> None:
        source, target = first, 1 - first
        self.queues[queue].submit(
            lambda h: h.parallel_for(N, ADD, h.access(self.buffers[source], "read"), h.access(self.buffers[target]))
        )
        self.expected[target] = self.expected[target] + self.expected[source]

    @rule(index=BUFFERS, queue=QUEUES, b=VALUES)
    def host_task(self, index: int, queue: int, b: int) -> None:

        def group(handler: sycl.Handler) -> None:
            accessor = handler.access(self.buffers[index], "read_write")
            handler.host_task(lambda: np.add(accessor.array, np.int32(b), out=accessor.array))

        self.queues[queue].submit(group)
        self.expected[index] = self.expected[index] + np.int32(b)

    @rule(index=BUFFERS)
    def look(self, index: int) -> None:
        with self.buffers[index].host("read") as view:
            assert (view == self.expected[index]).all()

    @rule(index=BUFFERS, b=VALUES, mode=st.sampled_from(["write", "read_write"]))
    def host_write(self, index: int, b: int, mode: str) -> None:
        with self.buffers[index].host(mode) as view:
            view[1::2] = b
        self.expected[index][1::2] = b

    @rule(index=BUFFERS, kind=KINDS, value=VALUES)
    def close_and_make_another(self, index: int, kind: str, value: int) -> None:
        buffer, expected, array = (part.pop(index) for part in (self.buffers, self.expected, self.arrays))
        buffer.close()
        if array is not None and array.flags.writeable:
            assert (array == expected).all()
        self.make(kind, value)

    @invariant()
    def one_side_of_a_pair_is_active_and_has_the_contents(self) -> None:
        for buffer in self.buffers:
            for allocation in buffer.record.allocations:
                if allocation.linked is not None:
                    assert allocation.linked.linked is allocation
                    assert allocation.active != allocation.linked.active
            current = buffer.record.current
            assert current is None or current.active

    @invariant()
    def commands_wait_for_earlier_ones_only(self) -> None:
        for command in getattr(self, "graph", sycl.Graph()).commands[-20:]:
            assert all(other.number < command.number for other in command.after)

    def teardown(self) -> None:
        with ExitStack() as closing:
            for buffer in self.buffers:
                closing.callback(buffer.close)


Model.TestCase.settings = settings(
    max_examples=30 * EFFORT, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestModel = Model.TestCase
