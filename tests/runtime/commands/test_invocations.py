# SPDX-License-Identifier: Apache-2.0
"""The invocation of a launch, for boards, engines and watchers (runtime/commands/invocation.py)."""

from __future__ import annotations

import pytest
from machine import Boards, nothing

from fpgart.base import opencl as cl
from fpgart.engine.interface import NOWHERE, Reach
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.memory import svm, usm

SIZE = 4096


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("has_local", [True, False])
def test_an_nd_range_has_a_number_per_dimension_and_a_local_size_if_one_was_given(
    boards: Boards, dimensions: int, has_local: bool
) -> None:
    machine = boards("a10_ref")
    launch = new_launch(machine.kernel(nothing), machine.device, dimensions, (1, 2, 3, 8, 16, 32, 4, 5, 6), has_local)
    offset, whole, local = launch.nd_range()
    assert (offset, whole) == ([1, 2, 3][:dimensions], [8, 16, 32][:dimensions])
    assert local == ([4, 5, 6][:dimensions] if has_local else [])
    assert launch.describe().get("local", []) == local


def test_a_board_has_the_circuit_of_a_kernel_once_if_that_may_wait_for_others(boards: Boards) -> None:
    machine = boards("a10_ref")
    kernel = machine.kernel(nothing)
    assert machine.launch_of(kernel).compute_unit is None
    kernel.engine_kernel.waits_for_others = True
    first, second = machine.launch_of(kernel), machine.launch_of(kernel)
    assert first.compute_unit is second.compute_unit is not None


def test_pointers_reach_their_buffer_or_allocation_and_nothing_else_does(boards: Boards) -> None:
    machine = boards("usm_s10")
    device, flags = machine.device, cl.CL_MEM_READ_ONLY | cl.CL_MEM_HOST_WRITE_ONLY
    buffer = machine.buffer(SIZE, flags)
    part = machine.sub_buffer(buffer, 1024, 100)
    allocation = usm.allocate_device(machine.context, device, SIZE, 0)
    shared = svm.allocate(machine.context, 64, 0)
    given = [buffer, part, allocation.pointer + 8, shared + 8, 0]
    kernel = machine.kernel(nothing, "", "", "", "", "", None, given=given)
    kernel.set_value(5, b"abcd")
    launch = machine.launch_of(kernel)
    block = buffer.settled() or launch.places[0]
    assert allocation.block is not None
    found = launch.reaches()
    behind = block.behind_mmd
    assert [each.resident for each in found] == [behind, behind, allocation.block.behind_mmd, False, False, False]
    assert [each._replace(resident=False) for each in found] == [
        Reach(block.pointer, SIZE, cl.CL_MEM_READ_ONLY),
        Reach(block.pointer + 1024, 100, cl.CL_MEM_READ_ONLY),
        Reach(allocation.address, SIZE),
        Reach(shared, 64),
        NOWHERE,
        NOWHERE,
    ]
    launch.abandon()
    svm.free(machine.context, shared)


def test_an_address_of_nobody_reaches_nothing(boards: Boards) -> None:
    machine = boards("usm_s10")
    launch = machine.launch_of(machine.kernel(nothing, "", given=[4096]))
    assert launch.reaches() == (NOWHERE,)
    launch.abandon()


def test_a_buffer_that_stays_on_the_host_is_reached_there(boards: Boards) -> None:
    machine = boards("usm_s10")
    shared = svm.allocate(machine.context, SIZE, 0)
    buffer = machine.buffer(SIZE, cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_WRITE_ONLY, host_ptr=shared)
    part = machine.sub_buffer(buffer, 1024, 100)
    launch = machine.launch_of(machine.kernel(nothing, "", "", given=[buffer, part]))
    assert launch.reaches() == (
        Reach(shared, SIZE, cl.CL_MEM_WRITE_ONLY),
        Reach(shared + 1024, 100, cl.CL_MEM_WRITE_ONLY),
    )
    assert launch.describe()["buffers"] == []
    launch.abandon()


def test_a_launch_is_told_with_its_image_once_its_buffers_have_places(boards: Boards) -> None:
    """On a simulator they have none until a binary is loaded."""
    machine = boards("hetero", simulator=True)
    buffer = machine.buffer(SIZE)
    kernel = machine.kernel(nothing, "DDR", given=[buffer])
    launch = machine.launch_of(kernel)
    facts = launch.describe()
    assert "image" not in facts
    assert (facts["kernel"], facts["buffers"]) == ("k", [buffer.number])
    assert "allocations" not in facts
    launch.abandon()
    machine.run(kernel)
    placed = machine.launch_of(kernel)
    assert placed.describe()["image"] == placed.invocation_image().hex()
    placed.abandon()
