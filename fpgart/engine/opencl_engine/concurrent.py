# SPDX-License-Identifier: Apache-2.0
"""Kernels on the threads that launch them: several launches of one kernel run at the same time."""

from __future__ import annotations

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.errors import CLError
from fpgart.base.named_tuples import NamedTuple
from fpgart.channels.network import GaveUp, Network
from fpgart.engine.interface import ONE_WORK_ITEM, KernelLaunch
from fpgart.engine.opencl_engine.kernel import DriverKernel, KernelProgram


class Seat(NamedTuple):
    """The driver's objects for one launch at a time: a queue and a kernel object."""

    queue: int
    kernel: int


class SeatedKernel(DriverKernel):
    """A kernel whose launches run on the threads that make them, each with its own `Seat`."""

    def __init__(self, program: KernelProgram, name: str) -> None:
        super().__init__(program, name)
        self.program_handle = program.handle
        self._seats: list[Seat] = []

    def _seat(self) -> Seat:
        try:
            return self._seats.pop()
        except IndexError:
            driver = self.driver
            queue = driver.create("clCreateCommandQueue", driver.context, driver.device, 0)
            name = ffi.new("char[]", self.name.encode())
            try:
                return Seat(queue, driver.create("clCreateKernel", self.program_handle, name))
            except CLError:
                driver.function("clReleaseCommandQueue")(queue)
                raise

    def on_own_thread(self) -> DriverKernel:
        return self

    def run_first(self, launch: KernelLaunch) -> None:
        self.run(launch)

    def run(self, launch: KernelLaunch) -> None:
        seat = self._seat()
        result = lib.driver_launch_alone(seat.queue, seat.kernel, self.argument_count, *launch.for_driver())
        self._seats.append(seat)
        self._check(result)

    def release(self) -> None:
        super().release()
        for seat in self._seats:
            self.driver.function("clReleaseKernel")(seat.kernel)
            self.driver.function("clReleaseCommandQueue")(seat.queue)


class ConcurrentKernel(SeatedKernel):
    """A kernel that may wait for others in a `Network`."""

    waits_for_others = True

    def launch(self, launch: KernelLaunch) -> None:
        if self.launched:
            self._run(launch)
        else:
            with self.engine.at_work():
                self._run(launch)

    def _run(self, launch: KernelLaunch, compute_id: int = 0, *, autorun: bool = False) -> None:
        """Raises CLError; GaveUp if the kernel was stopped while it waited, which costs its seat."""
        network = launch.network
        assert isinstance(network, Network)
        seat = self._seat()
        of_network = network.handle, ffi.new("char[]", self.name.encode()), compute_id, autorun
        result = lib.network_launch(*of_network, seat.queue, seat.kernel, self.argument_count, *launch.for_driver())
        if int(result) >> 32 == lib.LAUNCH_GAVE_UP:
            raise network.failure(self.name)
        self._seats.append(seat)
        self._check(result)

    def run_forever(self, network: Network, compute_id: int) -> None:
        """Runs an autorun kernel again and again; returns when the network is stopped."""
        launch = KernelLaunch(b"", 1, ONE_WORK_ITEM, True, network=network)
        try:
            while not network.stopped:
                self._run(launch, compute_id, autorun=True)
        except GaveUp:
            return
        except CLError as error:
            log.warning(f"autorun kernel '{self.name}' ended: {error}")
