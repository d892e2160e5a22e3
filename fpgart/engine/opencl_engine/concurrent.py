# SPDX-License-Identifier: Apache-2.0
"""Kernels on the threads that launch them: several launches of one kernel run at the same time."""

from __future__ import annotations

from struct import Struct

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.errors import CLError
from fpgart.base.named_tuples import NamedTuple
from fpgart.channels.interface import KernelNetwork
from fpgart.channels.network import GaveUp, Network
from fpgart.engine.interface import Reach
from fpgart.engine.opencl_engine.kernel import DriverKernel, KernelProgram

ONE_TASK = Struct("9Q").pack(0, 0, 0, 1, 1, 1, 1, 1, 1)


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

    def run_first(self, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        self.run(image, dimensions, sizes, has_local)

    def run(self, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        seat = self._seat()
        result = lib.driver_launch_alone(seat.queue, seat.kernel, self._count, image, dimensions, sizes, has_local)
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

    def launch(
        self,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        reaches: tuple[Reach, ...] = (),
        network: KernelNetwork | None = None,
    ) -> None:
        assert isinstance(network, Network)
        if self.launched:
            self._run(network, image, dimensions, sizes, has_local)
        else:
            with self.engine.at_work():
                self._run(network, image, dimensions, sizes, has_local)

    def _run(
        self,
        network: Network,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        compute_id: int = 0,
        *,
        autorun: bool = False,
    ) -> None:
        """Raises CLError; GaveUp if the kernel was stopped while it waited, which costs its seat."""
        seat = self._seat()
        name = self.name
        c_name = ffi.new("char[]", name.encode())
        result = lib.network_launch(
            network.handle, c_name, compute_id, autorun, seat.queue, seat.kernel, self._count, image, dimensions, sizes,
            has_local,
        )  # fmt: skip
        if int(result) >> 32 == lib.LAUNCH_GAVE_UP:
            raise network.failure(name)
        self._seats.append(seat)
        self._check(result)

    def run_forever(self, network: Network, compute_id: int) -> None:
        """Runs an autorun kernel again and again; returns when the network is stopped."""
        try:
            while not network.stopped:
                self._run(network, b"", 1, ONE_TASK, True, compute_id, autorun=True)
        except GaveUp:
            return
        except CLError as error:
            log.warning(f"autorun kernel '{self.name}' ended: {error}")
