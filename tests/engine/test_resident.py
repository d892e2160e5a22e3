# SPDX-License-Identifier: Apache-2.0
"""Engines that share no memory with the host: what hosts see is as on others, and what need not move stays."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from struct import Struct
from typing import Any

import pytest
from processes import fpgart

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, DeviceNotAvailable, OutOfResources
from fpgart.engine.choice import engine_on
from fpgart.engine.copying.resident import MirrorStore, ResidentEngine
from fpgart.engine.driver import open_driver
from fpgart.engine.interface import BYTES, NULL, POINTER, BuildFailed, Engine, KernelLaunch, Reach, pack_arguments
from fpgart.engine.opencl_engine.kernel import required_size

SIZES = Struct("9Q")
COUNT = 64
SOURCE = """
kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }
kernel void sum(global const int *a, global const int *b, global int *c)
{ int i = get_global_id(0); c[i] = a[i] + (b ? b[i] : 0); }
"""


@pytest.fixture(scope="module")
def resident(engine: Engine) -> ResidentEngine:
    """The engine of this machine, as if it were on another one."""
    return ResidentEngine("far", open_driver(Path(engine.path)))


class Ints:
    """Numbers in memory of a board, and what moves there through the engine's mirrors."""

    def __init__(self, engine: ResidentEngine, numbers: Any = (), *, resident: bool = True, count: int = COUNT) -> None:
        self.engine = engine
        self.ints = (ctypes.c_int * count)(*numbers)
        self.address = ctypes.addressof(self.ints)
        self.reach = Reach(self.address, 4 * count, resident=resident)
        engine.mirrors.overwrite(self.reach.address, self.reach.end)  # there may have been others here

    @property
    def here(self) -> list[int]:
        """The contents of this process's memory."""
        return list(self.ints)

    def read(self) -> list[int]:
        """Returns the contents as the board's Mmd reads them."""
        self.engine.mirrors.fetch(self.reach.address, self.reach.end)
        return self.here


def launch(engine: ResidentEngine, name: str, *values: Ints | int | None) -> None:
    program = engine.from_source(SOURCE)
    program.build("")
    arguments: list[tuple[int, int, int | bytes]] = []
    reaches = []
    for value in values:
        reaches.append(value.reach if isinstance(value, Ints) else Reach(0, 0))
        if isinstance(value, Ints):
            arguments.append((POINTER, 8, value.address))
        elif value is None:
            arguments.append((NULL, 8, 0))
        else:
            arguments.append((BYTES, 4, value.to_bytes(4, "little")))
    sizes = SIZES.pack(0, 0, 0, COUNT, 1, 1, 1, 1, 1)
    program.kernel(name).launch(KernelLaunch(pack_arguments(arguments), 1, sizes, False, tuple(reaches)))


def test_results_stay_with_the_engine_until_somebody_reads(resident: ResidentEngine) -> None:
    memory = Ints(resident, range(COUNT))
    launch(resident, "add", memory, 1)
    launch(resident, "add", memory, 1)
    assert memory.here == list(range(COUNT))
    assert memory.read() == [number + 2 for number in range(COUNT)]


def test_memory_that_the_host_reaches_is_copied_for_each_launch(resident: ResidentEngine) -> None:
    memory = Ints(resident, range(COUNT), resident=False)
    launch(resident, "add", memory, 1)
    memory.ints[0] = 100
    launch(resident, "add", memory, 1)
    assert memory.here == [101, *(number + 2 for number in range(1, COUNT))]


def test_a_launch_may_have_memory_of_both_kinds_and_null(resident: ResidentEngine) -> None:
    near, far, result = Ints(resident, range(COUNT), resident=False), Ints(resident, [5] * COUNT), Ints(resident)
    launch(resident, "sum", near, far, result)
    assert result.read() == [number + 5 for number in range(COUNT)]
    launch(resident, "sum", near, None, result)
    assert result.read() == list(range(COUNT))


@pytest.mark.parametrize("kept", [True, False])
def test_a_pointer_may_lead_into_the_middle_of_memory(resident: ResidentEngine, kept: bool) -> None:
    memory = Ints(resident, [0] * COUNT, resident=kept)
    memory.address += 4 * 3
    launch_few(resident, memory, COUNT - 3)
    assert memory.read() == [0, 0, 0, *[1] * (COUNT - 3)]


@pytest.mark.parametrize("kept", [True, False])
def test_pointers_into_one_memory_have_a_buffer_each(resident: ResidentEngine, kept: bool) -> None:
    memory, other = Ints(resident, range(2 * COUNT), resident=kept, count=2 * COUNT), Ints(resident)
    other.address, other.reach = memory.address + 4 * COUNT, memory.reach
    for _ in range(2):
        launch(resident, "sum", memory, other, memory)
    assert memory.read() == [3 * number + 2 * COUNT for number in range(COUNT)] + list(range(COUNT, 2 * COUNT))
    launch(resident, "add", memory, 1)
    assert memory.read()[:2] == [2 * COUNT + 1, 2 * COUNT + 4]


def launch_few(engine: ResidentEngine, memory: Ints, count: int) -> None:
    program = engine.from_source(SOURCE)
    program.build("")
    image = pack_arguments([(POINTER, 8, memory.address), (BYTES, 4, bytes([1, 0, 0, 0]))])
    sizes = SIZES.pack(0, 0, 0, count, 1, 1, 1, 1, 1)
    program.kernel("add").launch(KernelLaunch(image, 1, sizes, False, (memory.reach, Reach(0, 0))))


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ("__attribute__((reqd_work_group_size(4, 2, 1 )))", (4, 2, 1)),
        ("work_group_size_hint(8,1,1) reqd_work_group_size(16,1,1)", (16, 1, 1)),
        ("work_group_size_hint(8,1,1)", (0, 0, 0)),
    ],
)
def test_the_required_group_size_is_read_in_the_attributes_where_a_driver_says_it_there_alone(
    attributes: str, size: tuple[int, int, int]
) -> None:
    assert required_size(attributes) == size


def test_programs_with_channels_are_refused_with_a_reason(resident: ResidentEngine) -> None:
    source = "channel int c; kernel void k() { write_channel_intel(c, 1); }"
    program = resident.from_source("#pragma OPENCL EXTENSION cl_intel_channels : enable\n" + source)
    with pytest.raises(BuildFailed, match=r"channels or pipes\. They need an engine that shares memory"):
        program.build("")


def test_a_driver_without_shared_memory_is_a_resident_engine(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = open_driver(Path(engine.path))
    assert not engine_on("near", driver).works_on_own_buffers
    monkeypatch.setattr(type(driver), "shares_memory", False)
    assert isinstance(engine_on("far", driver), ResidentEngine)


def test_a_device_that_is_gone_is_told_with_words(resident: ResidentEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Ints(resident)
    launch(resident, "add", memory, 1)

    def gone(name: str, *arguments: object) -> None:
        raise DeviceNotAvailable(f"the engine's {name} failed")

    with monkeypatch.context() as patched:
        patched.setattr(resident.driver, "call", gone)
        with pytest.raises(DeviceNotAvailable, match=r"does not answer, and what .* is lost .*ReadBuffer"):
            memory.read()
    assert memory.read() == [1] * COUNT


def test_whatever_fails_once_the_device_is_gone_says_so(
    resident: ResidentEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> None:
        raise OutOfResources("the engine's clEnqueueReadBuffer failed")

    memory = Ints(resident)
    launch(resident, "add", memory, 1)
    with monkeypatch.context() as patched:
        patched.setattr(resident.driver, "call", refused)
        with pytest.raises(OutOfResources, match="ReadBuffer failed"):
            memory.read()
        patched.setattr(resident.driver, "device_number", lambda query: int(query != cl.CL_DEVICE_AVAILABLE))
        with pytest.raises(DeviceNotAvailable, match=r"does not answer.*ReadBuffer failed"):
            memory.read()


@pytest.fixture
def released(resident: ResidentEngine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The buffers that are released; the engine's driver makes one with the handle 77."""
    found: list[int] = []
    others = resident.driver.function
    monkeypatch.setattr(resident.driver, "create", lambda *_: 77)
    monkeypatch.setattr(
        resident.driver, "function", lambda name: found.append if name == "clReleaseMemObject" else others(name)
    )
    return found


def test_a_buffer_on_a_device_that_is_gone_is_released(
    resident: ResidentEngine, released: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident.driver, "device_number", lambda query: 0)
    with pytest.raises(DeviceNotAvailable):
        resident.create_buffer(cl.CL_MEM_READ_WRITE, 64)
    assert released == [77]


def test_a_buffer_that_was_not_created_is_not_released(resident: ResidentEngine, released: list[int]) -> None:
    with pytest.raises(OutOfResources):
        resident.create_buffer(cl.CL_MEM_READ_WRITE, resident.largest + 1)
    assert released == []


def test_a_buffer_that_no_mirror_needs_is_released(resident: ResidentEngine, released: list[int]) -> None:
    store = MirrorStore(resident)
    store.release(store.create(64))
    assert released == [77]


def test_a_launch_that_the_engine_refuses_says_so_and_changes_nothing(resident: ResidentEngine) -> None:
    memory = Ints(resident, range(COUNT))
    program = resident.from_source(SOURCE)
    program.build("")
    arguments = pack_arguments([(POINTER, 8, memory.address), (BYTES, 4, (1).to_bytes(4, "little"))])
    most = resident.driver.device_number(cl.CL_DEVICE_MAX_WORK_GROUP_SIZE)
    sizes = SIZES.pack(0, 0, 0, 2 * most, 1, 1, 2 * most, 1, 1)
    with pytest.raises(CLError, match="kernel 'add'"):
        program.kernel("add").launch(KernelLaunch(arguments, 1, sizes, True, (memory.reach, Reach(0, 0))))
    assert memory.read() == list(range(COUNT))


HOST = """
import numpy as np, pyopencl as cl
from pyopencl import mem_flags as mf
devices = cl.get_platforms()[0].get_devices()
context = cl.Context(devices)
one, two = (cl.CommandQueue(context, device) for device in devices)
program = cl.Program(context, '''
kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }
kernel void sum(global const int *a, global const int *b, global int *c)
{ int i = get_global_id(0); c[i] = a[i] + b[i]; }''').build(cache_dir=False)
numbers = np.arange(1024, dtype=np.int32)
add, sum = program.add, program.sum

def contents(queue, buffer):
    found = np.empty(buffer.size // 4, np.int32)
    cl.enqueue_copy(queue, found, buffer)
    return found

def equal(found, expected):
    assert (found == expected).all(), (found, expected)

# writes, launches and reads, of wholes and of parts
a = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=numbers)
add(one, (1024,), None, a, np.int32(1))
cl.enqueue_copy(one, a, np.full(10, -5, np.int32), dst_offset=400)
add(one, (1024,), None, a, np.int32(1))
expected = numbers + 2
expected[100:110] = -4
part = np.empty(20, np.int32)
cl.enqueue_copy(one, part, a, src_offset=4 * 95)
equal(part, expected[95:115])
equal(contents(one, a), expected)

# maps
add(one, (1024,), None, a, np.int32(1))
found, event = cl.enqueue_map_buffer(one, a, cl.map_flags.READ | cl.map_flags.WRITE, 0, 1024, np.int32)
equal(found, expected + 1)
found[7] = 77
found.base.release(one)
add(one, (1024,), None, a, np.int32(1))
expected += 2
expected[7] = 78
equal(contents(one, a), expected)

# sub-buffers, beside each other and of a parent that is used, too
low, high = a.get_sub_region(0, 2048), a.get_sub_region(2048, 2048)
add(one, (512,), None, low, np.int32(10))
sum(one, (512,), None, low, high, high)
expected[:512] += 10
expected[512:] += expected[:512]
add(one, (1024,), None, a, np.int32(1))
equal(contents(one, high), expected[512:] + 1)
equal(contents(one, a), expected + 1)

# copies, fills, and the other board
b = cl.Buffer(context, mf.READ_WRITE, 4096)
cl.enqueue_copy(one, b, a)
cl.enqueue_fill_buffer(one, a, np.int32(3), 0, 4000)
add(one, (1024,), None, a, np.int32(1))
after = np.append(np.full(1000, 4, np.int32), expected[1000:] + 2)
equal(contents(one, a), after)
one.finish()
add(two, (1024,), None, b, np.int32(1))
sum(two, (1024,), None, a, b, b)
two.finish()
equal(contents(one, b), after + expected + 2)
cl.enqueue_migrate_mem_objects(two, [b], cl.mem_migration_flags.HOST)
add(one, (1024,), None, b, np.int32(1))
one.finish()
equal(contents(two, b), after + expected + 3)

# the host's own memory
own = numbers.copy()
c = cl.Buffer(context, mf.READ_WRITE | mf.USE_HOST_PTR, hostbuf=own)
add(one, (1024,), None, c, np.int32(1))
found, event = cl.enqueue_map_buffer(one, c, cl.map_flags.READ, 0, 1024, np.int32)
equal(found, numbers + 1)
found.base.release(one)

# buffers that come and go
for number in range(20):
    fresh = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=np.full(1024, number, np.int32))
    add(one, (1024,), None, fresh, np.int32(number))
    equal(contents(one, fresh), 2 * number)
    fresh.release()
print("all equal")
"""


def test_hosts_see_the_same_as_with_an_engine_that_shares_memory() -> None:
    pytest.importorskip("pyopencl")
    host = ("--board", "usm_s10,usm_s10", "--", sys.executable, "-c", HOST)
    result = fpgart("run", *host, FPGART_ENGINE_BUFFERS="own")
    assert (result.returncode, result.stdout) == (0, "all equal\n"), result.stderr


def test_an_engine_on_buffers_of_its_own_is_not_isolated() -> None:
    pytest.importorskip("pyopencl")
    host = ("--isolate", "--board", "usm_s10,usm_s10", "--", sys.executable, "-c", HOST)
    result = fpgart("run", *host, FPGART_ENGINE_BUFFERS="own")
    assert result.returncode == 1
    assert "works on buffers of its own; it runs only in the host's process" in result.stderr
