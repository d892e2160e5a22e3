# SPDX-License-Identifier: Apache-2.0
"""Programs of the driver: translated, built, and split into kernels."""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Protocol

from fpgart import config
from fpgart import opencl as cl
from fpgart._native import ffi
from fpgart.engine.dialect import Compiler, translate
from fpgart.engine.driver import Driver
from fpgart.engine.interface import BuildFailed, BuiltProgram, KernelInterface, Plugs, no_plugs
from fpgart.engine.lowering import DECLARE, Lowered, LoweringError, has_channels
from fpgart.engine.network import DepthMode, Network
from fpgart.engine.opencl_c import attributes_in
from fpgart.engine.opencl_engine.binary import with_notes
from fpgart.engine.opencl_engine.concurrent import ONE_TASK, ConcurrentKernel
from fpgart.engine.opencl_engine.kernel import DriverKernel, KernelEngine
from fpgart.engine.preprocessing.files import PreprocessorError
from fpgart.errors import BuildProgramFailure, CompileProgramFailure

U64 = Struct("Q")
ARG_INFO = "-cl-kernel-arg-info"
COMPUTE_ID_BITS = 20
LOCAL_REFUSED = re.compile(r"local address space|'(?:__)?local' variable|in local memory")
"""How compilers refuse local variables outside the outermost block of kernels."""
STATIC_REFUSED = re.compile(r"OpenCL C version 1\.[01] does not support the 'static' storage class")
BEFORE_STATIC = re.compile(r"-cl-std=CL1\.[01]\b")
STATIC = re.compile(r"\b(?:static|inline)\b")
"""What makes functions static, in the source or in the words that it is translated into."""
NEEDS_POCL = (
    "They need PoCL as engine, and PoCL's device 'basic' besides 'pthread'. If this process uses PoCL as a platform, "
    "too, start it with `fpgart run`, or set POCL_DEVICES='pthread basic'."
)


class ProgramEngine(KernelEngine, Protocol):
    """What programs need of their engine."""

    @property
    def driver(self) -> Driver:
        """The driver's device for programs without channels."""

    refuses_static: bool
    """The compiler has refused `static` in a program for OpenCL C before 1.2."""

    @property
    def compiler(self) -> Compiler:
        """What the driver's compiler accepts."""

    @property
    def needs_for_channels(self) -> str:
        """What to say where it takes no programs with channels."""

    def create(self, text: str, driver: Driver) -> int:
        """Create the driver's program of a source."""

    def on_driver(self, program: DriverProgram, driver: Driver) -> DriverProgram:
        """The same source for another device of the driver."""

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        """Create a kernel of a built program."""

    def let_go(self, program: DriverProgram) -> None:
        """Release the driver's objects of a program."""


def with_argument_info(options: str) -> str:
    """Argument information is always asked for: clSetKernelArg needs it."""
    return options if ARG_INFO in options.split() else f"{options} {ARG_INFO}".strip()


class DriverProgram:
    """A `BuiltProgram` of a driver.

    `lowered` is there for programs whose kernels run beside each other; those are on a device that runs them on
    our threads.
    """

    def __init__(
        self, engine: ProgramEngine, driver: Driver, handle: int, source: str = "", lowered: Lowered | None = None
    ) -> None:
        self.engine = engine
        self.driver = driver
        self._home = driver
        self.handle = handle
        self.source = source
        self.lowered = lowered
        self.options = ""
        self._twin: DriverProgram | None = None
        self._kernels: dict[str, DriverKernel] = {}
        self._making = threading.Lock()

    def log(self) -> str:
        driver = self.driver
        return driver.text("clGetProgramBuildInfo", self.handle, driver.device, cl.CL_PROGRAM_BUILD_LOG)

    def _translate(self, options: str, headers: Mapping[str, str], *, everything: bool = False) -> str:
        """Have the driver's program be the source in words that its compiler takes; returns the options for it.

        Raises BuildFailed.
        """
        self.options = options
        if not self.source:
            return options
        try:
            made = translate(self.source, options, headers, self.engine.compiler, everything=everything)
            if self.engine.compiler.table is None and has_channels(made.bare):
                raise LoweringError(f"the program uses channels or pipes. {self.engine.needs_for_channels}")
        except (LoweringError, PreprocessorError, OSError) as error:
            raise BuildFailed(BuildProgramFailure.status, f"error: {error}") from None
        self.lowered = made.lowered
        if self.lowered is not None:
            self.lowered.autorun = {
                name: attributes.get("num_compute_units", (1,))
                for name, attributes in attributes_in(made.bare).items()
                if "autorun" in attributes
            }
        concurrent = self.engine.driver.on_caller if self.lowered is not None else None
        self._replace(concurrent or self._home, made.text)
        return made.options

    def _replace(self, driver: Driver, text: str) -> None:
        """Have the driver make a new program, of this text; no kernel is in use."""
        made = self.engine.create(text, driver)
        self.engine.let_go(self)
        self._kernels.clear()
        self.driver, self.handle = driver, made

    def _in_other_words(self, options: str, headers: Mapping[str, str], step: Callable[[str], str]) -> str:
        """Do a step with the source as the compiler takes it: what it refuses as it stands, in all our words.

        `static`, which OpenCL C has from 1.2 on, is taken in programs for older ones, too: hosts such as CLBlast ask
        for 1.1 and use it. Once it was refused, programs that may have it are built for 1.2 at once: a refusal takes as
        long as a compilation, and no cache keeps it.
        """
        everything = False
        if self.engine.refuses_static and STATIC.search(self.source):
            options = BEFORE_STATIC.sub("-cl-std=CL1.2", options)
        while True:
            try:
                return step(self._translate(options, headers, everything=everything))
            except BuildFailed as failed:
                has_static = STATIC_REFUSED.search(failed.log) and BEFORE_STATIC.search(options)
                has_local = LOCAL_REFUSED.search(failed.log) and not everything
                if not (self.source and (has_static or has_local)):
                    raise
                everything = everything or bool(has_local)
                if has_static:
                    self.engine.refuses_static = True
                    options = BEFORE_STATIC.sub("-cl-std=CL1.2", options)

    def build(self, options: str) -> str:
        return self._in_other_words(options, {}, self._build)

    def _build(self, options: str) -> str:
        text = ffi.new("char[]", with_argument_info(options).encode(errors="surrogateescape"))
        return self._step("clBuildProgram", self.handle, 1, self.driver.devices, text, ffi.NULL, ffi.NULL)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        texts = {name: program.source for name, program in headers.items() if isinstance(program, DriverProgram)}
        try:
            return self._in_other_words(options, texts, lambda words: self._compile(words, headers))
        except BuildFailed as failed:  # some drivers answer as for clBuildProgram
            if failed.status == BuildProgramFailure.status:
                raise BuildFailed(CompileProgramFailure.status, failed.log) from None
            raise

    def _compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        names = [ffi.new("char[]", name.encode()) for name in headers]
        parts = [self.engine.on_driver(p, self.driver) for p in headers.values() if isinstance(p, DriverProgram)]
        return self._step(
            "clCompileProgram",
            self.handle,
            1,
            self.driver.devices,
            ffi.new("char[]", with_argument_info(options).encode(errors="surrogateescape")),
            len(names),
            ffi.new("uintptr_t[]", [part.handle for part in parts]) if parts else ffi.NULL,
            ffi.new("char *[]", names) if names else ffi.NULL,
            ffi.NULL,
            ffi.NULL,
        )

    def _step(self, name: str, *arguments: Any) -> str:
        with self.engine.at_work():
            status = int(self.driver.function(name)(*arguments))
        log = self.log()
        if status != cl.CL_SUCCESS:
            raise BuildFailed(status, log)
        return log

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        answer = self.driver.query("clGetProgramInfo", self.handle, cl.CL_PROGRAM_KERNEL_NAMES)
        names = answer.rstrip(b"\0").decode(errors="replace")
        found = (name for name in names.split(";") if name and name != DECLARE)
        return {name: known.get(name) or self.kernel(name).interface for name in found}

    def kernel(self, name: str) -> DriverKernel:
        with self._making:
            found = self._kernels.get(name)
            if found is None:
                found = self._kernels[name] = self.engine.make_kernel(self, name)
            return found

    def twin(self) -> DriverProgram | None:
        """The same program for the device that runs kernels on our threads; None if there is no such device."""
        driver = self.driver.on_caller
        if driver is None or not self.source:
            return None
        with self._making:
            if self._twin is None:
                made = self.engine.on_driver(self, driver)
                made.build(self.options)
                self._twin = made
            return self._twin

    def twin_kernel(self, name: str) -> DriverKernel | None:
        twin = self.twin()
        return twin.kernel(name) if twin is not None else None

    def network(self, plugs: Plugs = no_plugs) -> Network | None:
        if self.lowered is None:
            return None
        chosen = "" if config.CHANNEL_DEPTH.is_set else self.lowered.depths
        depths = DepthMode[(chosen or config.CHANNEL_DEPTH.value).upper()]
        exploring = {"factor": config.CHANNEL_FACTOR.value, "seed": config.CHANNEL_SEED.value}
        links = plugs() if self.lowered.channels else {}
        made = Network(depths, config.DEADLOCK_SECONDS.value, self, links, **exploring)
        if self.lowered.hosted or self.lowered.variables:
            self.kernel(DECLARE).launch(b"", 1, ONE_TASK, True, network=made)
        for name, units in self.lowered.autorun.items():
            made.autorun[name] = math.prod(units)
            self._start_autorun(made, name, units)
        return made

    def _start_autorun(self, network: Network, name: str, units: tuple[int, ...]) -> None:
        """An autorun kernel begins again whenever it ends; one thread for each of its compute units."""
        kernel = self.kernel(name)
        assert isinstance(kernel, ConcurrentKernel)
        for place in itertools.product(*(range(count) for count in units)):
            compute_id = sum(number << COMPUTE_ID_BITS * dimension for dimension, number in enumerate(place))
            threading.Thread(
                target=kernel.run_forever, args=(network, compute_id), name=f"autorun {name}", daemon=True
            ).start()

    def binary(self) -> bytes:
        driver = self.driver
        size = U64.unpack(driver.query("clGetProgramInfo", self.handle, cl.CL_PROGRAM_BINARY_SIZES)[:8])[0]
        data = ffi.new("char[]", max(size, 1))
        driver.call("clGetProgramInfo", self.handle, cl.CL_PROGRAM_BINARIES, 8, ffi.new("char *[]", [data]), ffi.NULL)
        binary = bytes(ffi.buffer(data, size))
        return binary if self.lowered is None else with_notes(binary, self.lowered)

    def specialize(self, id: int, value: bytes) -> None:
        self.driver.call("clSetProgramSpecializationConstant", self.handle, id, len(value), ffi.new("char[]", value))

    def release(self) -> None:
        """Give the driver's objects back; nothing may run."""
        for kernel in self._kernels.values():
            kernel.release()
        self.driver.function("clReleaseProgram")(self.handle)

    def __del__(self) -> None:
        self.engine.let_go(self)
