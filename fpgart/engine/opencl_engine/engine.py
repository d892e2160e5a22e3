# SPDX-License-Identifier: Apache-2.0
"""An `Engine` on a driver's .so: makes programs, links them, answers for the device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from fpgart import opencl as cl
from fpgart._native import ffi, lib
from fpgart.engine.dialect import HALF_EXTENSION, Compiler, predefined_macros
from fpgart.engine.driver import Driver, keeping_signal_handlers
from fpgart.engine.features import without_features
from fpgart.engine.interface import BuildFailed, BuiltProgram, SharedMemory
from fpgart.engine.lowering import TABLE
from fpgart.engine.mirrors import Mirrors
from fpgart.engine.network import table
from fpgart.engine.opencl_engine.binary import is_lowered, merged, without_notes
from fpgart.engine.opencl_engine.concurrent import ConcurrentKernel, SeatedKernel
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import NEEDS_POCL, DriverProgram, with_argument_info
from fpgart.engine.opencl_engine.queues import Queues
from fpgart.errors import (
    CLError,
    InvalidBinary,
    InvalidLinkerOptions,
    InvalidOperation,
    LinkProgramFailure,
    error_of,
)

LINK_LOG_BYTES = 65536


class OpenCLEngine:
    """An `Engine` on a driver's .so."""

    works_on_own_buffers = False
    memory: SharedMemory | None = None
    mirrors: Mirrors | None = None
    needs_for_channels = NEEDS_POCL
    refuses_static = False

    def __init__(self, name: str, driver: Driver) -> None:
        self.name = name
        self.path = str(driver.path)
        self.driver = driver
        self.version = self.driver.text("clGetPlatformInfo", self.driver.platform, cl.CL_PLATFORM_VERSION)
        self.queues = Queues(self.driver)

    def at_work(self) -> AbstractContextManager[None]:
        """Within, the driver may compile; the host's signal handlers stay."""
        return keeping_signal_handlers(self.path)

    def let_go(self, program: DriverProgram) -> None:
        """Release what the driver has of a program."""
        program.release()

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        kind = ConcurrentKernel if program.lowered else DriverKernel if program.driver.on_caller else SeatedKernel
        return kind(program, name)

    def device_info(self, query: int) -> bytes:
        return self.driver.query_or(b"", "clGetDeviceInfo", self.driver.device, query)

    @cached_property
    def compiler(self) -> Compiler:
        """What programs have to be put into the words of."""
        extensions = self.device_info(cl.CL_DEVICE_EXTENSIONS).rstrip(b"\0").decode(errors="replace")
        version = self.device_info(cl.CL_DEVICE_VERSION).rstrip(b"\0").decode(errors="replace")
        return Compiler(
            lambda options: predefined_macros(version, extensions, options),
            table(TABLE) if self.driver.on_caller else None,
            HALF_EXTENSION in extensions.split(),
        )

    def from_source(self, source: str) -> BuiltProgram:
        return self._from_source(source, self.driver)

    def create(self, text: str, driver: Driver) -> int:
        """The driver's own program of this source."""
        encoded = without_features(text).encode(errors="surrogateescape")
        texts = ffi.new("char *[]", [c_text := ffi.new("char[]", encoded)])
        made = driver.create("clCreateProgramWithSource", driver.context, 1, texts, ffi.NULL)
        del c_text
        return made

    def _from_source(self, source: str, driver: Driver) -> DriverProgram:
        return DriverProgram(self, driver, self.create(source, driver), source)

    def on_driver(self, program: DriverProgram, driver: Driver) -> DriverProgram:
        """The same source for another device of the engine."""
        return program if program.driver is driver else self._from_source(program.source, driver)

    def from_il(self, il: bytes) -> BuiltProgram:
        if not self.device_info(cl.CL_DEVICE_IL_VERSION).rstrip(b"\0"):
            raise InvalidOperation(f"the engine '{self.name}' does not accept intermediate language")
        data = ffi.new("char[]", il)
        made = self.driver.create("clCreateProgramWithIL", self.driver.context, data, len(il))
        return DriverProgram(self, self.driver, made)

    def from_binary(self, binary: bytes) -> BuiltProgram:
        driver, lowered = self.driver, None
        if is_lowered(binary):
            if driver.on_caller is None:
                raise InvalidBinary(f"the binary uses channels or pipes. {self.needs_for_channels}")
            driver = driver.on_caller
            lowered, binary = without_notes(binary)
        data = ffi.new("char[]", binary)
        state = ffi.new("int *")
        try:
            made = driver.create(
                "clCreateProgramWithBinary",
                driver.context,
                1,
                driver.devices,
                ffi.new("size_t[]", [len(binary)]),
                ffi.new("char *[]", [data]),
                state,
            )
        except CLError as error:
            raise InvalidBinary(f"the engine '{self.name}' does not accept this binary ({error.name})") from None
        return DriverProgram(self, driver, made, "", lowered)

    def link(self, options: str, programs: Sequence[BuiltProgram]) -> tuple[BuiltProgram, str]:
        parts = [p for p in programs if isinstance(p, DriverProgram)]
        if len({part.driver for part in parts}) > 1:
            raise BuildFailed(LinkProgramFailure.status, "programs with and without channels cannot be linked")
        # PoCL forgets the kernels' arguments if it is not told so when linking; others know no such option.
        told = with_argument_info(options)
        status, program = self._link(told, parts)
        if status == InvalidLinkerOptions.status:
            told = options
            status, program = self._link(told, parts)
        if status == LinkProgramFailure.status:
            raise BuildFailed(status, program.log() if program else self._link_log(told, parts))
        if status != cl.CL_SUCCESS or program is None:
            raise error_of(status, "the engine could not link")
        return program, program.log()

    def _link(self, options: str, programs: list[DriverProgram]) -> tuple[int, DriverProgram | None]:
        driver = programs[0].driver
        handles = ffi.new("uintptr_t[]", [program.handle for program in programs])
        status = ffi.new("int *")
        with self.at_work():
            made = int(
                driver.function("clLinkProgram")(
                    driver.context,
                    1,
                    driver.devices,
                    ffi.new("char[]", options.encode(errors="surrogateescape")),
                    len(handles),
                    handles,
                    ffi.NULL,
                    ffi.NULL,
                    status,
                )
            )
        joined = merged([p.lowered for p in programs if p.lowered])
        return int(status[0]), DriverProgram(self, driver, made, "", joined) if made else None

    def _link_log(self, options: str, programs: list[DriverProgram]) -> str:
        """What a driver says of a link that fails, for which it gives no program."""
        driver = programs[0].driver
        handles = ffi.new("uintptr_t[]", [program.handle for program in programs])
        words = options.encode(errors="surrogateescape")
        log = ffi.new("char[]", LINK_LOG_BYTES)
        with self.at_work():
            lib.driver_link_log(driver.context, driver.device, words, len(handles), handles, log, LINK_LOG_BYTES)
        return bytes(ffi.string(log)).decode(errors="replace")
