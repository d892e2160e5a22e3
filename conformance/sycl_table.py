# SPDX-License-Identifier: Apache-2.0
"""What commands the accesses of a program make, cell by cell: linked and unlinked. Run by test_sycl.py.

The devices whose allocations may be linked are chosen by the tests, so that the same ones run on any
driver, be there one device or several.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from fpgart import sycl
from fpgart.sycl.commands import (
    AllocaCommand,
    ExecCGCommand,
    MapMemObject,
    MemCpyCommand,
    ReleaseCommand,
    UnmapMemObject,
)

N = 256
BYTES = N * 4
INCREMENT = sycl.Kernel("kernel void increment(global int *x) { x[get_global_id(0)] += 1; }", "increment")
SET = sycl.Kernel("kernel void set(global int *x) { x[get_global_id(0)] = get_global_id(0); }", "set")
LOOK = sycl.Kernel("kernel void look(global const int *x) {}", "look")
KERNELS = {"read": LOOK, "discard_write": SET, "discard_read_write": SET}
MODES_THAT_KEEP = ["read", "write", "read_write"]
MODES_THAT_DISCARD = ["discard_write", "discard_read_write"]


class Program:
    """Queues S and T (their allocations are never linked), U and V (they may be), each with its own context."""

    def __init__(self) -> None:
        devices = cl.get_platforms()[0].get_devices()
        chosen = {name: devices[index % len(devices)] for index, name in enumerate("USTV")}
        contexts = {name: cl.Context([device]) for name, device in chosen.items()}
        self.graph = sycl.Graph(lambda context: context in (contexts["U"], contexts["V"]))
        self.queues = {n: sycl.Queue(chosen[n], context=contexts[n], graph=self.graph) for n in chosen}

    def run(self, queue: str, buffer: sycl.Buffer, mode: str = "read_write") -> None:
        kernel = KERNELS.get(mode, INCREMENT)
        self.queues[queue].submit(lambda h: h.parallel_for(N, kernel, h.access(buffer, mode)))

    def buffer(self, array: np.ndarray | None = None) -> sycl.Buffer:
        return sycl.Buffer(*((N, np.int32) if array is None else (array,)), graph=self.graph)

    def allocations(self) -> list[tuple[str, str, bool]]:
        """Where, what was made, and whether it was made as one of a pair."""
        made = [command for command in self.graph.commands if isinstance(command, AllocaCommand)]
        return [(self.name(c.context), c.result, c.linked is not None) for c in made]

    def moved(self, since: int = 0) -> list[str]:
        """What the commands after the first `since` moved, and which sides they made active."""
        found = []
        for command in self.graph.commands[since:]:
            if isinstance(command, MemCpyCommand):
                found.append(f"{self.name(command.source.context)}->{self.name(command.target.context)}")
            elif isinstance(command, MapMemObject):
                found.append(f"map {self.name(command.context)} {command.mode.value}")
            elif isinstance(command, UnmapMemObject):
                found.append(f"unmap {self.name(command.context)}")
        return found

    def name(self, context: object) -> str:
        return next((name for name, queue in self.queues.items() if queue.context == context), "host")

    @property
    def now(self) -> int:
        return len(self.graph.commands)


@pytest.fixture
def program() -> Program:
    return Program()


def numbers() -> np.ndarray:
    return np.arange(N, dtype=np.int32)


@pytest.fixture
def buffer(program: Program) -> Iterator[sycl.Buffer]:
    """A buffer over the numbers."""
    with program.buffer(numbers()) as made:
        yield made


def must_hold(buffer: sycl.Buffer, numbers: np.ndarray) -> None:
    """The host sees these numbers in the buffer."""
    with buffer.host("read") as view:
        assert (view == numbers).all()


def look(buffer: sycl.Buffer) -> None:
    with buffer.host("read"):
        pass


def read_only() -> np.ndarray:
    array = numbers()
    array.flags.writeable = False
    return array


UNSUITABLE: dict[str, Callable[[], np.ndarray]] = {
    "read-only": read_only,
    "in pieces": lambda: np.repeat(numbers(), 2)[::2],
    "not aligned": lambda: np.frombuffer(bytearray(BYTES + 1), np.uint8, offset=1).view(np.int32),
}


# Nothing before the first access


@pytest.mark.parametrize("array", [None, numbers()], ids=["no memory", "user's memory"])
def test_making_a_buffer_allocates_nothing(program: Program, array: np.ndarray | None) -> None:
    buffer = program.buffer(array)
    assert program.graph.commands == []
    buffer.close()
    assert program.graph.commands == []


def test_memory_is_allocated_once_in_each_context_at_the_first_access_there(program: Program) -> None:
    with program.buffer() as buffer:
        for queue in "SSTTS":
            program.run(queue, buffer)
        assert [where for where, _, _ in program.allocations()] == ["S", "T", "host"]


# Native memory objects


@pytest.mark.parametrize("mode", MODES_THAT_KEEP)
def test_unlinked_memory_is_made_without_host_pointer_and_then_written(
    program: Program, buffer: sycl.Buffer, mode: str
) -> None:
    program.run("S", buffer, mode)
    assert program.allocations() == [("host", "the user's memory", False), ("S", "cl_mem", False)]
    assert program.moved() == ["host->S"]


@pytest.mark.parametrize("mode", MODES_THAT_DISCARD)
def test_unlinked_memory_is_not_written_when_the_first_access_discards(
    program: Program, buffer: sycl.Buffer, mode: str
) -> None:
    program.run("S", buffer, mode)
    assert program.allocations() == [("S", "cl_mem", False)]
    assert program.moved() == []


def test_unlinked_memory_without_host_pointer_is_not_written(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("S", buffer)
        assert program.moved() == []


@pytest.mark.parametrize("mode", MODES_THAT_KEEP + MODES_THAT_DISCARD)
def test_linked_memory_is_made_over_the_users_pointer_whatever_the_first_mode(
    program: Program, buffer: sycl.Buffer, mode: str
) -> None:
    program.run("U", buffer, mode)
    assert program.allocations() == [("U", "cl_mem with USE_HOST_PTR", False)]
    assert program.moved() == []
    with buffer.host("read"):
        assert program.allocations()[1:] == [("host", "the user's memory", True)]


def test_linked_memory_is_made_over_memory_that_was_allocated_for_the_host(program: Program) -> None:
    with program.buffer() as buffer:
        with buffer.host("discard_write") as view:
            view[:] = numbers()
        program.run("U", buffer)
        expected = [("host", "new host memory", False), ("U", "cl_mem with USE_HOST_PTR", True)]
        assert program.allocations() == expected
        assert program.moved() == []
        must_hold(buffer, numbers() + 1)


@pytest.mark.parametrize("kind", UNSUITABLE)
def test_unsuitable_memory_is_copied_when_it_is_first_needed(program: Program, kind: str) -> None:
    array = UNSUITABLE[kind]()
    before = array.copy()
    with program.buffer(array) as buffer:
        program.run("U", buffer)
        expected = [("host", "new host memory", False), ("U", "cl_mem with USE_HOST_PTR", True)]
        assert program.allocations() == expected
        must_hold(buffer, before + 1)
    assert (array == before + array.flags.writeable).all()


# Host allocations


@pytest.mark.parametrize("queue", ["S", None], ids=["a device first", "the host first"])
def test_unlinked_the_host_allocates_without_a_users_pointer(program: Program, queue: str | None) -> None:
    with program.buffer() as buffer:
        if queue:
            program.run(queue, buffer)
        with buffer.host("read_write"):
            assert program.allocations()[-1] == ("host", "new host memory", False)


def test_the_users_memory_is_the_hosts_allocation(program: Program) -> None:
    array = numbers()
    with program.buffer(array) as buffer, buffer.host() as view:
        assert program.allocations() == [("host", "the user's memory", False)]
        assert view.ctypes.data == array.ctypes.data


def test_linked_the_host_does_not_allocate_after_the_device_but_maps(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("U", buffer, "discard_write")
        must_hold(buffer, numbers())
        assert program.allocations() == [("U", "cl_mem", False), ("host", "from mapping", True)]
        assert program.moved() == ["map U read"]


# Which pairs are linked


def test_an_allocation_is_linked_once(program: Program, buffer: sycl.Buffer) -> None:
    for queue in "UV":
        program.run(queue, buffer)
    expected = [
        ("U", "cl_mem with USE_HOST_PTR", False),
        ("V", "cl_mem", False),
        ("host", "the user's memory", True),
    ]
    assert program.allocations() == expected


def test_the_hosts_allocation_of_a_pair_is_not_linked_to_another_device(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    look(buffer)
    program.run("V", buffer)
    expected = [
        ("U", "cl_mem with USE_HOST_PTR", False),
        ("host", "the user's memory", True),
        ("V", "cl_mem", False),
    ]
    assert program.allocations() == expected


def test_allocations_of_different_objects_are_not_linked(program: Program) -> None:
    with program.buffer() as first, program.buffer() as second:
        program.run("U", first)
        with second.host("write"):
            assert [linked for _, _, linked in program.allocations()] == [False, False]


@pytest.mark.parametrize(("linking", "linked"), [("unified", None), ("always", True), ("never", False)])
def test_the_default_criterion_is_host_unified_memory(linking: str, linked: bool | None) -> None:
    for device in cl.get_platforms()[0].get_devices():
        graph = sycl.Graph(linking)
        queue = sycl.Queue(device, graph=graph)
        with sycl.Buffer(N, np.int32, graph=graph) as buffer:
            queue.submit(lambda h: h.parallel_for(N, SET, h.access(buffer, "discard_write")))
            with buffer.host("read"):
                made = [command for command in graph.commands if isinstance(command, AllocaCommand)]
        expected = bool(device.host_unified_memory) if linked is None else linked
        assert [command.linked is not None for command in made] == [False, expected]


# Transfers


def test_unlinked_transfers_are_reads_and_writes(program: Program, buffer: sycl.Buffer) -> None:
    program.run("S", buffer)
    must_hold(buffer, numbers() + 1)
    program.run("S", buffer)
    assert program.moved() == ["host->S", "S->host", "host->S"]


def test_unlinked_devices_meet_through_the_host(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("S", buffer, "discard_write")
        program.run("T", buffer)
        assert program.moved() == ["S->host", "host->T"]


@pytest.mark.parametrize(
    ("mode", "mapped"),
    [(m, m) for m in ("read", "read_write", "discard_write", "discard_read_write")] + [("write", "read_write")],
)
def test_linked_sides_are_switched_by_map_and_unmap(
    program: Program, buffer: sycl.Buffer, mode: str, mapped: str
) -> None:
    """Mapping for writing brings the contents, too: what is not written stays."""
    program.run("U", buffer)
    with buffer.host(mode) as view:
        if mode != "read":
            view[:] = 5
    program.run("U", buffer)
    assert program.moved() == [f"map U {mapped}", "unmap U"]


def test_one_side_of_a_pair_is_active_at_a_time(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    with buffer.host("read"):
        device, host = buffer.record.allocations
        assert (device.active, host.active) == (False, True)
    program.run("U", buffer)
    assert (device.active, host.active) == (True, False)


def test_a_mapping_for_reading_is_renewed_for_writing(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    look(buffer)
    with buffer.host("write") as view:
        view[0] = 100
    program.run("U", buffer)
    assert program.moved() == ["map U read", "unmap U", "map U read_write", "unmap U"]
    with buffer.host("read") as view:
        assert view[:3].tolist() == [101, 3, 4]


def test_from_an_unlinked_to_a_linked_device_map_read_unmap(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    look(buffer)
    program.run("S", buffer)
    program.run("U", buffer, "read")
    look(buffer)
    program.run("S", buffer)
    before = program.now
    program.run("U", buffer)
    assert program.moved(before) == ["unmap U", "map U discard_write", "S->host", "unmap U"]
    must_hold(buffer, numbers() + 4)


def test_from_an_unlinked_to_a_linked_device_that_is_active(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("S", buffer, "discard_write")
        program.run("U", buffer)
        assert program.moved() == ["map U discard_write", "S->host", "unmap U"]
        assert program.allocations()[1:] == [("U", "cl_mem", False), ("host", "from mapping", True)]
        must_hold(buffer, numbers() + 1)


def test_from_a_linked_to_an_unlinked_device_map_write(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    program.run("S", buffer)
    assert program.moved() == ["map U read", "host->S"]
    must_hold(buffer, numbers() + 2)


def test_between_two_devices_that_could_be_linked_one_is(program: Program, buffer: sycl.Buffer) -> None:
    program.run("U", buffer)
    program.run("V", buffer)
    program.run("U", buffer)
    expected = ["map U read", "host->V", "unmap U", "map U discard_write", "V->host", "unmap U"]
    assert program.moved() == expected
    must_hold(buffer, numbers() + 3)


@pytest.mark.parametrize("mode", MODES_THAT_DISCARD)
@pytest.mark.parametrize("queue", ["S", "U"])
def test_contents_that_are_discarded_do_not_move(program: Program, buffer: sycl.Buffer, queue: str, mode: str) -> None:
    program.run("T", buffer)
    before = program.now
    program.run(queue, buffer, mode)
    assert not any("->" in words for words in program.moved(before))


# The end of a buffer


@pytest.mark.parametrize("kind", ["suitable", "in pieces", "not aligned"])
@pytest.mark.parametrize("queue", ["S", "U"])
def test_closing_writes_back_and_waits(program: Program, queue: str, kind: str) -> None:
    array = UNSUITABLE.get(kind, numbers)()
    before = array.copy()
    with program.buffer(array) as buffer:
        program.run(queue, buffer)
    assert (array == before + 1).all()


def test_what_was_only_read_is_not_written_back(program: Program) -> None:
    with program.buffer(numbers()) as buffer:
        program.run("S", buffer, "read")
    assert program.moved() == ["host->S"]


def test_final_data_goes_where_the_program_wants_it(program: Program) -> None:
    array, final = numbers(), np.zeros(N, np.int32)
    with program.buffer(array) as buffer:
        buffer.set_final_data(final)
        program.run("S", buffer)
    assert (final == numbers() + 1).all()


def test_final_data_of_none_is_not_written(program: Program) -> None:
    array = numbers()
    with program.buffer(array) as buffer:
        buffer.set_final_data(None)
        program.run("S", buffer)
    assert program.moved() == ["host->S"]
    assert (array == numbers()).all()


def test_every_allocation_is_released_once_after_the_last_use(program: Program) -> None:
    with program.buffer(numbers()) as buffer:
        for queue in "USU":
            program.run(queue, buffer)
    released = [c.context for c in program.graph.commands if isinstance(c, ReleaseCommand)]
    made = [c.context for c in program.graph.commands if isinstance(c, AllocaCommand)]
    assert len(released) == len(made)
    assert set(released) == set(made)


@pytest.mark.parametrize(("begin", "size"), [(-1, 2), (0, 0), (1, N), (N, 1)])
def test_a_sub_buffer_is_within_its_buffer(program: Program, begin: int, size: int) -> None:
    with program.buffer() as buffer, pytest.raises(sycl.SyclError, match="are no part of a buffer"):
        sycl.SubBuffer(buffer, begin, size)


def test_the_last_reference_closes(program: Program) -> None:
    array = numbers()
    buffer = program.buffer(array)
    program.run("S", buffer)
    del buffer
    gc.collect()
    assert (array == numbers() + 1).all()


# Dependencies, host tasks, mistakes


def test_reads_wait_for_the_last_write_and_writes_for_all_reads(program: Program) -> None:
    with program.buffer() as buffer:
        for mode in ("discard_write", "read", "read", "read_write"):
            program.run("S", buffer, mode)
        groups = [c for c in program.graph.commands if isinstance(c, ExecCGCommand)]
        after = [[groups.index(d) for d in c.after if isinstance(d, ExecCGCommand)] for c in groups]
        assert after == [[], [0], [0], [0, 1, 2]]


@pytest.mark.parametrize("queue", ["S", "U"])
def test_copies_and_fills_of_a_handler_run_on_the_device(program: Program, queue: str) -> None:
    submit = program.queues[queue].submit
    small, large = sycl.Buffer(8, np.int32, graph=program.graph), program.buffer(np.arange(N, dtype=np.int32))
    got = np.full(N + 1, -1, np.int32)
    submit(lambda h: h.copy(np.full(10, 5, np.int32), h.access(small, "discard_write")))
    submit(lambda h: h.copy(h.access(small, "read"), h.access(large, "write")))
    submit(lambda h: h.copy(h.access(large, "read"), got)).wait()
    submit(lambda h: h.fill(h.access(small, "discard_write"), 9))
    with small.host("read") as view:
        assert (view == 9).all()
    assert got.tolist() == [5] * 8 + list(range(8, N)) + [-1]
    groups = [c.what for c in program.graph.commands if isinstance(c, ExecCGCommand)]
    assert groups == ["copy", "copy", "copy", "fill"]


@pytest.mark.parametrize("queue", ["S", "U"])
def test_an_update_of_the_host_is_what_a_host_accessor_would_do(program: Program, queue: str) -> None:
    buffer = program.buffer()
    program.run(queue, buffer, "discard_write")
    before = len(program.graph.commands)
    program.queues[queue].submit(lambda h: h.update_host(h.access(buffer, "read"))).wait()
    moved = MemCpyCommand if queue == "S" else MapMemObject
    assert [type(c) for c in program.graph.commands[before:]] == [AllocaCommand, moved]
    must_hold(buffer, np.arange(N))
    assert len(program.graph.commands) == before + 2, "the contents were there"


def test_a_host_task_sees_and_changes_the_contents(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("U", buffer, "discard_write")

        def group(handler: sycl.Handler) -> None:
            accessor = handler.access(buffer)
            handler.host_task(lambda: np.multiply(accessor.array, 2, out=accessor.array))

        program.queues["S"].submit(group)
        program.run("S", buffer)
        must_hold(buffer, numbers() * 2 + 1)


def test_an_accessor_has_an_array_in_its_host_task_alone(program: Program, buffer: sycl.Buffer) -> None:
    accessors: list[sycl.Accessor] = []

    def refused() -> None:
        with pytest.raises(sycl.SyclError, match="buffer 1 can be accessed on the host in a host task only"):
            _ = accessors[-1].array

    def group(handler: sycl.Handler, action: Callable[[], object]) -> None:
        accessors.append(handler.access(buffer))
        refused()
        action()

    submit = program.queues["S"].submit
    submit(lambda h: group(h, lambda: h.host_task(lambda: accessors[-1].array)))
    refused()
    submit(lambda h: group(h, lambda: h.parallel_for(N, INCREMENT, accessors[-1])))
    refused()


def test_two_accessors_to_one_buffer_are_one_that_does_both(program: Program) -> None:
    add = sycl.Kernel("kernel void add(global int *x, global const int *y) { x[get_global_id(0)] += y[0] + 1; }", "add")
    with program.buffer(np.zeros(N, np.int32)) as buffer:
        program.queues["S"].submit(
            lambda h: h.parallel_for(N, add, h.access(buffer, "discard_write"), h.access(buffer, "read"))
        )
        assert program.moved() == ["host->S"]


def test_an_access_behind_an_open_host_accessor_is_an_error(program: Program, buffer: sycl.Buffer) -> None:
    with buffer.host("read"):
        look(buffer)
        with pytest.raises(sycl.SyclError, match="host accessor of buffer 1 is open"):
            program.run("S", buffer)
        with pytest.raises(sycl.SyclError, match="is open"):
            buffer.close()
    program.run("S", buffer)


def test_host_accessors_for_reading_do_not_write(program: Program) -> None:
    with program.buffer(numbers()) as buffer, buffer.host("read") as view, pytest.raises(ValueError, match="read-only"):
        view[0] = 1


MISTAKES: dict[str, tuple[Callable[[Program, sycl.Buffer], object], str]] = {
    "unknown mode": (lambda p, b: p.run("S", b, "atomic"), "'atomic' is not one of read, write"),
    "no action": (lambda p, b: p.queues["S"].submit(lambda h: h.access(b)), "no action"),
    "two actions": (
        lambda p, b: p.queues["S"].submit(lambda h: (h.host_task(lambda: 0), h.host_task(lambda: 0))),
        "one action",
    ),
    "kernel on the host": (lambda p, b: sycl.Queue(graph=p.graph).submit(lambda h: h.single_task(SET)), "device"),
    "copy of two arrays": (lambda p, b: p.queues["S"].submit(lambda h: h.copy(numbers(), numbers())), "needs a buffer"),
    "copy of a part": (
        lambda p, b: p.queues["S"].submit(lambda h: h.copy(h.access(b, "read"), numbers()[1:])),
        f"{BYTES} bytes cannot be copied from or to {BYTES - 4} bytes",
    ),
    "copy of an array in steps": (
        lambda p, b: p.queues["S"].submit(lambda h: h.copy(np.zeros(2 * N, np.int32)[::2], h.access(b, "write"))),
        "not contiguous",
    ),
    "copy to an array that is read only": (
        lambda p, b: p.queues["S"].submit(lambda h: h.copy(h.access(b, "read"), np.broadcast_to(np.int32(1), N))),
        "not writable",
    ),
    "copy to a buffer that is read": (
        lambda p, b: p.queues["S"].submit(lambda h: h.copy(numbers(), h.access(b, "read"))),
        "mode read does not write",
    ),
    "copy of what is discarded": (
        lambda p, b: p.queues["S"].submit(lambda h: h.copy(h.access(b, "discard_read_write"), numbers())),
        "mode discard_read_write does not read",
    ),
    "fill of an image": (
        lambda p, b: p.queues["S"].submit(
            lambda h: h.fill(h.access(sycl.Image((4, 4), np.uint8, graph=p.graph), "write"), 1)
        ),
        "for buffers",
    ),
    "fill on the host": (
        lambda p, b: sycl.Queue(graph=p.graph).submit(lambda h: h.fill(h.access(b, "write"), 1)),
        "fill needs a device",
    ),
    "another graph": (lambda p, b: sycl.Queue().submit(lambda h: (h.access(b), h.host_task(lambda: 0))), "graph"),
    "closed": (lambda p, b: (b.close(), p.run("S", b)), "buffer 1 is closed"),
    "no build": (
        lambda p, b: p.queues["S"].submit(lambda h: h.single_task(sycl.Kernel("kernel void f() { error }", "f"))),
        "kernel 'f'",
    ),
    "nothing": (lambda p, b: sycl.Buffer((0, 3), np.int32), "no buffer can be made of shape"),
    "linking": (lambda p, b: sycl.Graph("sometimes"), "'sometimes' is not one of unified, never, always"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_in_words(program: Program, mistake: str) -> None:
    action, words = MISTAKES[mistake]
    buffer = program.buffer(numbers())
    with pytest.raises(sycl.SyclError, match=words):
        action(program, buffer)


# To look at


def test_the_graph_is_shown_in_order(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    with program.buffer(numbers()) as buffer:
        program.run("S", buffer)
    program.graph.show()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[str(c.number), c.kind] for c in program.graph.commands]


def test_dot_boxes_linked_pairs_and_marks_the_active_side(program: Program) -> None:
    with program.buffer() as buffer:
        program.run("U", buffer)
        with buffer.host("read"):
            text = program.graph.to_dot()
    assert text.count("subgraph") == 1
    assert next(line for line in text.splitlines() if "subgraph" in line).count("AllocaCommand") == 2
    assert text.count("\\nactive") == 1
    assert text.count("->") >= 4


def test_saving_draws_with_graphviz_or_says_that_it_is_missing(program: Program, tmp_path: Path) -> None:
    with program.buffer(numbers()) as buffer:
        program.run("S", buffer)
    program.graph.save(tmp_path / "x.dot")
    assert (tmp_path / "x.dot").read_text() == program.graph.to_dot()
    if shutil.which("dot"):
        program.graph.save(tmp_path / "x.svg")
        assert "<svg" in (tmp_path / "x.svg").read_text()
    else:
        with pytest.raises(sycl.SyclError, match="Graphviz"):
            program.graph.save(tmp_path / "x.svg")


def test_the_table_compares_bytes_copied(program: Program) -> None:
    def body(graph: sycl.Graph) -> None:
        queue = sycl.Queue(program.queues["U"].device, graph=graph)
        with sycl.Buffer(numbers(), graph=graph) as buffer:
            queue.submit(lambda h: h.parallel_for(N, INCREMENT, h.access(buffer)))

    table = sycl.compare(body, ("never", "always")).splitlines()
    assert table[0].split() == ["never", "always"]
    assert table[1].split() == ["MemCpyCommand", str(2 * BYTES), "bytes", "in", "2", "0", "bytes", "in", "0"]
    assert table[4].split()[:2] == ["all", str(2 * BYTES)]


# Images

INVERT = {
    2: sycl.Kernel(
        "kernel void invert(read_only image2d_t a, write_only image2d_t b) {\n"
        "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
        "    write_imageui(b, at, 255 - read_imageui(a, at));\n"
        "}",
        "invert",
        "-cl-std=CL2.0",
    ),
    3: sycl.Kernel(
        "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
        "kernel void invert(read_only image3d_t a, write_only image3d_t b) {\n"
        "    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
        "    write_imageui(b, at, 255 - read_imageui(a, at));\n"
        "}",
        "invert",
        "-cl-std=CL2.0",
    ),
}
SHAPES = {2: (5, 7, 4), 3: (3, 5, 7, 4)}
NO_IMAGES = "has no .D images: it takes buffers alone"


def pixels(dimensions: int) -> np.ndarray:
    shape = SHAPES[dimensions]
    return np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)


@pytest.mark.parametrize("queue", ["S", "U"], ids=["unlinked", "linked"])
@pytest.mark.parametrize("dimensions", SHAPES)
def test_images_are_where_they_are_accessed(program: Program, dimensions: int, queue: str) -> None:
    data = pixels(dimensions)
    expected, result = 255 - data, np.zeros_like(data)
    used = program.queues[queue]
    size = data.shape[dimensions - 1 :: -1]

    def group(h: sycl.Handler) -> None:
        h.parallel_for(size, INVERT[dimensions], h.access(source, "read"), h.access(target, "discard_write"))

    source = sycl.Image(data, dimensions=dimensions, graph=program.graph)
    target = sycl.Image(result, dimensions=dimensions, graph=program.graph)
    if not used.device.image_support:
        with pytest.raises(sycl.SyclError, match=NO_IMAGES):
            used.submit(group)
        return
    used.submit(group)
    with target.host("read") as seen:
        assert (seen == expected).all()
    kinds = set(program.graph.kinds())
    assert ("MapMemObject" in kinds) == (queue == "U")
    assert ("MemCpyCommand" in kinds) == (queue == "S")
    source.close()
    target.close()
    assert (result == expected).all()


def test_an_image_without_memory_of_the_host_takes_what_a_host_task_writes(program: Program) -> None:
    used = program.queues["U"]
    if not used.device.image_support:
        pytest.skip("the device has no images")
    source, target = (sycl.Image((5, 7, 4), np.uint8, graph=program.graph) for _ in range(2))
    with source.host("discard_write") as array:
        array[:] = pixels(2)
    used.submit(lambda h: h.parallel_for((7, 5), INVERT[2], h.access(source, "read"), h.access(target, "write")))
    with target.host("read") as array:
        assert (array == 255 - pixels(2)).all()


WRONG_IMAGES = [
    (np.zeros(4, np.uint8), 2, "an array of shape (4,) is not an image of 2 dimensions"),
    (np.zeros((4, 4, 3), np.uint8), 2, "a pixel of 3 times uint8 is none of an image"),
    (np.zeros((4, 4), np.float64), 2, "a pixel of 1 times float64 is none of an image"),
    (np.zeros((4, 4), np.uint8), 1, "an image has 2 or 3 dimensions, not 1"),
]


@pytest.mark.parametrize(("array", "dimensions", "words"), WRONG_IMAGES, ids=[words for _, _, words in WRONG_IMAGES])
def test_what_is_no_image_is_refused(array: np.ndarray, dimensions: int, words: str) -> None:
    with pytest.raises(sycl.SyclError) as caught:
        sycl.Image(array, dimensions=dimensions)
    assert words in str(caught.value)
