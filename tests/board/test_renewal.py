"""A board that is renewed is as another one of the same kind, but for what is alive on it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from machine import Boards, Machine

from fpgart.base import opencl as cl
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.scheduling.event import COMPLETE, Event

pytestmark = pytest.mark.machine("hetero")

PAGE = 4096


def test_what_was_moved_is_forgotten(machine: Machine) -> None:
    buffer = machine.buffer(PAGE)
    machine.run(_with_argument(machine, buffer))
    machine.read(buffer)
    device = machine.device
    assert device.kernels_run == 1
    assert device.loaded
    device.renew()
    assert machine.calls() == {}
    assert (device.kernels_run, device.kernel_ns, device.loaded) == (0, 0, {})


def test_live_blocks_keep_place_and_contents_to_the_byte_and_the_rest_reads_as_0(machine: Machine) -> None:
    """Blocks begin and end within pages, some with a freed neighbour in the same page."""
    buffers = [machine.buffer(1024) for _ in range(12)]
    for number, buffer in enumerate(buffers):
        machine.write(buffer, bytes([number + 1]) * 1024)
    addresses = [machine.bind(buffer) for buffer in buffers]
    buffer = None
    for number in (9, 5, 4, 0):
        machine.destroy(buffers.pop(number))
    kept = {machine.bind(buffer): machine.read(buffer) for buffer in buffers}
    machine.device.renew()
    assert {machine.bind(buffer): machine.read(buffer) for buffer in buffers} == kept
    for address in sorted(set(addresses) - set(kept)):
        fresh = machine.buffer(1024)
        assert machine.bind(fresh) == address  # first fit takes the hole
        assert machine.read(fresh) == bytes(1024)
        buffers.append(fresh)


def test_a_program_is_loaded_anew(machine: Machine) -> None:
    buffer = machine.buffer(PAGE)
    kernel = _with_argument(machine, buffer)
    machine.run(kernel)
    machine.run(kernel)
    machine.device.renew()
    machine.run(kernel)
    assert machine.device.mmd.traffic["program"].calls == 1


def test_a_simulator_no_longer_knows_its_memories(boards: Boards) -> None:
    machine = boards("hetero", simulator=True)
    buffer = machine.buffer(PAGE)
    machine.run(_with_argument(machine, buffer))
    assert machine.device.knows_memories
    machine.device.renew()
    assert not machine.device.knows_memories


def test_settling_waits_for_what_runs_and_not_for_what_the_host_holds_back(machine: Machine) -> None:
    began, end = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        end.wait()

    gate = Event(machine.context, None, cl.CL_COMMAND_USER, None)
    held = machine.queue.enqueue(cl.CL_COMMAND_NATIVE_KERNEL, HostWork(machine.device, _nothing), (gate,))
    other: Any = type(machine.queue)(machine.context, machine.device)
    running = other.enqueue(cl.CL_COMMAND_NATIVE_KERNEL, HostWork(machine.device, work))
    other.flush()
    began.wait()
    assert not machine.scheduler.settle(0.01)
    end.set()
    assert machine.scheduler.settle(1e6)
    assert running.status == COMPLETE
    assert held.status > COMPLETE
    gate.set_status(COMPLETE)
    assert machine.scheduler.settle(1e6)
    assert held.status == COMPLETE


def _nothing() -> None:
    """Work that is done at once."""


def _with_argument(machine: Machine, buffer: Any) -> Any:
    kernel = machine.kernel(lambda address: None, "", given=[buffer])
    return kernel
