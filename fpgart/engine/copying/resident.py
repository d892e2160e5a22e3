# SPDX-License-Identifier: Apache-2.0
"""An engine on a driver that shares no memory with this process, such as PoCL's for devices of other machines.

It keeps the parts of boards' memories that kernels reach from one launch to the next (engine/mirrors.py). Memory that
hosts access by pointers, too, is copied for each launch, because such writes are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, DeviceNotAvailable
from fpgart.engine.copying.own_buffers import OwnBuffersEngine, OwnBuffersKernel, ReachedMemory
from fpgart.engine.driver import Driver
from fpgart.engine.interface import KernelLaunch
from fpgart.engine.mirrors import Mirrors, Stretch
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import DriverProgram


class ResidentEngine(OwnBuffersEngine):
    """An `OwnBuffersEngine` with mirrors of boards' memories."""

    takes_parts = False  # PoCL 7 crashes when launches use buffers and sub-buffers by turns
    needs_for_channels = "They need an engine that shares memory with the host's process, and this one does not."

    def __init__(self, name: str, driver: Driver) -> None:
        driver.on_caller = None  # whose kernels would have to share memory with the host
        super().__init__(name, driver)
        self.mirrors: Mirrors = Mirrors(MirrorStore(self))
        self._device_name = driver.text("clGetDeviceInfo", driver.device, cl.CL_DEVICE_NAME)

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        return ResidentKernel(program, name)

    def keeps(self, region: ReachedMemory) -> bool:
        return region.resident and not region.beside

    @contextmanager
    def in_step(self, regions: list[ReachedMemory]) -> Iterator[None]:
        ranges = [(region.address, region.address + region.size) for region in regions if region.resident]
        with self.mirrors.used_by_host(ranges):
            yield

    @contextmanager
    def keeping(self, regions: list[ReachedMemory]) -> Iterator[dict[int, int]]:
        self.mirrors.release_unused()
        stretches = [
            Stretch(each.address, each.address + each.size, written=each.flags != cl.CL_MEM_READ_ONLY)
            for each in regions
        ]
        with self.mirrors.reached(stretches) as mirrors:
            yield {region.address: mirror.handle for region, mirror in zip(regions, mirrors, strict=True)}

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Checks at the end that the device is still there; raises DeviceNotAvailable if not.

        If a server dies, PoCL ends the commands that run there as if they had succeeded. So the device is queried
        afterwards.
        """
        reason = "it was lost meanwhile"
        try:
            yield
        except CLError as error:
            if not isinstance(error, DeviceNotAvailable) and self._is_there():
                raise
            reason = str(error)
        else:
            if self._is_there():
                return
        raise DeviceNotAvailable(
            f"the engine's device '{self._device_name}' does not answer, and what kernels had written "
            f"there is lost ({reason})"
        )

    def _is_there(self) -> bool:
        return self.driver.device_number(cl.CL_DEVICE_AVAILABLE) != 0

    def create_buffer(self, flags: int, size: int) -> int:
        made = 0
        try:
            with self.answering():
                made = super().create_buffer(flags, size)
        except CLError:
            if made:
                self.driver.function("clReleaseMemObject")(made)
            raise
        return made

    def write_buffer(self, handle: int, offset: int, data: bytes) -> None:
        with self.answering():
            super().write_buffer(handle, offset, data)

    def copy_buffer(self, source: int, source_offset: int, target: int, target_offset: int, size: int) -> None:
        with self.answering():
            super().copy_buffer(source, source_offset, target, target_offset, size)

    def read_buffer(self, handle: int, offset: int, size: int) -> bytes:
        with self.answering():
            return super().read_buffer(handle, offset, size)


class ResidentKernel(OwnBuffersKernel):
    engine: ResidentEngine

    def run(self, launch: KernelLaunch) -> None:
        """Runs until the event has ended: clFinish does not report kernels that fail."""
        queue = self.engine.queues.of_thread()
        with self.engine.answering():
            self._check(
                lib.driver_launch_by_event(queue, self.handle, self.argument_count, *launch.for_driver(), False)
            )


class MirrorStore:
    """The engine's buffers, as the `Store` of its mirrors."""

    def __init__(self, engine: OwnBuffersEngine) -> None:
        self._engine = engine
        self.write, self.read, self.copy = engine.write_buffer, engine.read_buffer, engine.copy_buffer

    def create(self, size: int) -> int:
        return self._engine.create_buffer(cl.CL_MEM_READ_WRITE, size)

    def release(self, handle: int) -> None:
        self._engine.driver.function("clReleaseMemObject")(handle)
