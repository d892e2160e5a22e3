# SPDX-License-Identifier: Apache-2.0
"""An `Engine` on a driver's .so: it creates and links programs, and queries the device."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidBinary, InvalidOperation, LinkProgramFailure
from fpgart.base.shared_memory import SharedMemory
from fpgart.channels.network import table
from fpgart.engine.build_step import BUILD, LINK, BuildStep, Objects, ProgramInput, StepDone
from fpgart.engine.compiling.compiler_process import CompilerEnded, CompilerProcess
from fpgart.engine.driver import Driver, keeping_signal_handlers
from fpgart.engine.interface import BuildFailed, BuiltProgram, Carrier
from fpgart.engine.mirrors import Mirrors
from fpgart.engine.opencl_engine.binary import has_objects, is_lowered, merged, objects_in, without_notes
from fpgart.engine.opencl_engine.concurrent import ConcurrentKernel, SeatedKernel
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import NEEDS_POCL, DriverProgram, input_of
from fpgart.engine.opencl_engine.queues import Queues
from fpgart.engine.opencl_engine.steps import Result, do, link, load, release
from fpgart.engine.opencl_engine.version_refusals import VersionRefusal
from fpgart.kernels.dialect import HALF_EXTENSION, Compiler, predefined_macros
from fpgart.kernels.signs import TABLE

if TYPE_CHECKING:
    from fpgart.kernels.lowering import Lowered

EMPTY = input_of("kernel void nothing(void) {}\n")


class OpenCLEngine:
    """An `Engine` on a driver's .so."""

    works_on_own_buffers = False
    memory: SharedMemory | None = None
    mirrors: Mirrors | None = None
    needs_for_channels = NEEDS_POCL

    def __init__(self, name: str, driver: Driver) -> None:
        self.refusals: set[VersionRefusal] = set()
        self.compiler_process: CompilerProcess | None = None
        """The process that compiles and links programs; None for this process."""
        self.name = name
        self.path = str(driver.path)
        self.driver = driver
        self.version = self.driver.text("clGetPlatformInfo", self.driver.platform, cl.CL_PLATFORM_VERSION)
        self.queues = Queues(self.driver)
        self._beginning = threading.Lock()
        self._is_cold = True

    def at_work(self) -> AbstractContextManager[None]:
        """Returns a context in which the driver may compile; the host's signal handlers stay."""
        return keeping_signal_handlers(self.path)

    def release_program(self, program: DriverProgram) -> None:
        """Releases the driver's objects of a program."""
        program.release()

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        kind = ConcurrentKernel if program.lowered else DriverKernel if program.driver.on_caller else SeatedKernel
        return kind(program, name)

    def carrier(self) -> Carrier | None:
        if self.__class__ is not OpenCLEngine or not lib.carrier_can(self.driver.device):
            return None
        functions = int(ffi.cast("uintptr_t", lib.carrier_functions()))
        return Carrier(functions, self.driver.context, self.driver.device, [])

    def device_info(self, query: int) -> bytes:
        return self.driver.query_or(b"", "clGetDeviceInfo", self.driver.device, query)

    @cached_property
    def compiler(self) -> Compiler:
        """The properties of the driver's compiler that the translation of sources depends on."""
        extensions = self.device_info(cl.CL_DEVICE_EXTENSIONS).rstrip(b"\0").decode(errors="replace")
        version = self.device_info(cl.CL_DEVICE_VERSION).rstrip(b"\0").decode(errors="replace")
        return Compiler(
            lambda options: predefined_macros(version, extensions, options),
            table(TABLE) if self.driver.on_caller else None,
            HALF_EXTENSION in extensions.split(),
        )

    def from_source(self, source: str) -> BuiltProgram:
        return self._from_source(source, self.driver)

    def do(self, driver: Driver, step: BuildStep) -> Result:
        """Does a step where it can neither end nor stop the host, if that is possible; raises BuildFailed, CLError."""
        apart = self._do_apart(driver, step)
        with self.at_work():
            if apart is None:
                return do(driver, step)
            made = load(driver, step, apart.binary) if apart.binary else do(driver, step)
        return made._replace(log=apart.log)

    def _do_apart(self, driver: Driver, step: BuildStep) -> StepDone | None:
        """Returns the result of a step in another process; None if there is none. Raises BuildFailed, CLError."""
        if self.compiler_process is None:
            return None
        known = self.compiler_process.find(step)
        if known is not None:
            return known
        with self._warming_up(driver):
            return self.compiler_process.do(step)

    @contextmanager
    def _warming_up(self, driver: Driver) -> Iterator[None]:
        """Loads the compiler of a driver that links what another process compiles meanwhile, the first time."""
        with self._beginning:
            loads_compiler = driver.gives_objects and not driver.keeps_links
            is_cold, self._is_cold = self._is_cold and loads_compiler, False
        if not is_cold:
            yield
            return
        thread = threading.Thread(target=self._warm_up, args=(driver,), name="fpgart engine")
        with suppress(RuntimeError):  # without threads the first step takes longer
            thread.start()
        try:
            yield
        finally:
            if thread.ident is not None:
                thread.join()

    def _warm_up(self, driver: Driver) -> None:
        step = BuildStep(BUILD, (EMPTY,), "")
        with self.at_work(), suppress(CLError, BuildFailed):  # an engine that cannot do this fails the step itself
            release(driver, do(driver, step).handle)

    def _from_source(self, source: str, driver: Driver) -> DriverProgram:
        return DriverProgram(self, driver, input_of(source), source=source)

    def on_driver(self, program: DriverProgram, driver: Driver) -> DriverProgram:
        """Creates the program from the same source for another device of the engine."""
        return program if program.driver is driver else self._from_source(program.source, driver)

    def from_il(self, il: bytes) -> BuiltProgram:
        if not self.device_info(cl.CL_DEVICE_IL_VERSION).rstrip(b"\0"):
            raise InvalidOperation(f"the engine '{self.name}' does not accept intermediate language")
        return self.new_program(self.driver, ProgramInput(il=il))

    def from_binary(self, binary: bytes) -> BuiltProgram:
        driver, lowered = self.driver, None
        if is_lowered(binary):
            if driver.on_caller is None:
                raise InvalidBinary(f"the binary uses channels or pipes. {self.needs_for_channels}")
            driver = driver.on_caller
            lowered, binary = without_notes(binary)
        if has_objects(binary):
            return DriverProgram(self, driver, ProgramInput(), lowered=lowered, objects=objects_in(binary))
        try:
            return self.new_program(driver, ProgramInput(binary=binary), lowered)
        except CLError as error:
            raise InvalidBinary(f"the engine '{self.name}' does not accept this binary ({error.name})") from None

    def new_program(self, driver: Driver, given: ProgramInput, lowered: Lowered | None = None) -> DriverProgram:
        """Creates a program from intermediate language or a binary; raises CLError."""
        return DriverProgram(self, driver, given, lowered=lowered)

    def link(self, options: str, programs: Sequence[BuiltProgram]) -> tuple[BuiltProgram, str]:
        parts = [p for p in programs if isinstance(p, DriverProgram)]
        if len({part.driver for part in parts}) > 1:
            raise BuildFailed(LinkProgramFailure.status, "programs with and without channels cannot be linked")
        driver = parts[0].driver
        joined = merged([p.lowered for p in parts if p.lowered])
        objects = tuple(part.driver_binary() for part in parts)
        inputs = tuple(ProgramInput(binary=each) for each in objects)
        step = BuildStep(LINK, inputs, options, on_caller=driver is self.driver.on_caller)
        if not driver.gives_objects:
            made = self._link_twice(driver, step, [part.handle for part in parts])
            return DriverProgram(self, driver, ProgramInput(), lowered=joined, made=made), made.log
        made = self.do(driver, step)
        kept = Objects(objects if step.is_executable else (made.binary,), options, step.is_executable)
        return DriverProgram(self, driver, ProgramInput(), lowered=joined, objects=kept, made=made), made.log

    def _link_twice(self, driver: Driver, step: BuildStep, parts: Sequence[int]) -> Result:
        """Links the objects of the step in another process, then the programs here, which have all that linking needs.

        Raises BuildFailed, CLError.
        """
        try:
            self._do_apart(driver, step)
        except CompilerEnded:
            raise
        except (BuildFailed, CLError) as error:
            log.note(f"the compiler process could not link, which is done in this process: {error}")
        with self.at_work():
            return Result(*link(driver, step.options, parts))
