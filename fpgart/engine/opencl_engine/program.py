# SPDX-License-Identifier: Apache-2.0
"""Programs of the driver: translated, built, and split into kernels."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, CompileProgramFailure
from fpgart.base.patterns import pattern
from fpgart.channels.interface import KernelNetwork
from fpgart.channels.network import DepthMode, Network
from fpgart.engine.build_step import BUILD, COMPILE, LINK, BuildStep, Objects, ProgramInput
from fpgart.engine.driver import Driver
from fpgart.engine.interface import ONE_WORK_ITEM, BuildFailed, BuiltProgram, KernelLaunch, Plugs, no_plugs
from fpgart.engine.opencl_engine.binary import with_notes, with_objects
from fpgart.engine.opencl_engine.concurrent import ConcurrentKernel
from fpgart.engine.opencl_engine.kernel import DriverKernel, KernelEngine
from fpgart.engine.opencl_engine.object_code import local_variables
from fpgart.engine.opencl_engine.steps import Result, as_building, binary_of, create, release, specialize
from fpgart.engine.opencl_engine.version_refusals import REFUSALS, VersionRefusal
from fpgart.kernels.dialect import Compiler, has_channels, translate
from fpgart.kernels.features import without_features
from fpgart.kernels.interface import KernelInterface
from fpgart.kernels.opencl_c import autorun_units
from fpgart.kernels.signs import DECLARE, LoweringError, PreprocessorError

if TYPE_CHECKING:
    from fpgart.kernels.lowering import Lowered

COMPUTE_ID_BITS = 20
WORDS_REFUSED = pattern(
    r"local address space|'(?:__)?local' variable|in local memory"
    r"|unknown type name 'channel'|'pipe' type qualifier|program scope variable"
)
"""The errors of compilers that refuse local variables outside the outermost block of kernels, channels, pipes, and
program-scope variables. The source showed none where macros, conditions or comments hide them."""
NEEDS_POCL = (
    "They need PoCL as engine, and PoCL's device 'basic' besides 'pthread'. If this process uses PoCL as a platform, "
    "too, start it with `fpgart run`, or set POCL_DEVICES='pthread basic'."
)


class ProgramEngine(KernelEngine, Protocol):
    """The part of the engine that programs use."""

    driver: Driver
    """The driver's device for programs without channels."""
    refusals: set[VersionRefusal]
    """The version refusals that the compiler has shown so far."""

    @property
    def compiler(self) -> Compiler:
        """The properties of the driver's compiler."""

    needs_for_channels: str
    """The sentence for errors if it takes no programs with channels."""

    def do(self, driver: Driver, step: BuildStep) -> Result:
        """Does a step, in the compiler's process if there is one; raises BuildFailed, CLError."""

    def on_driver(self, program: DriverProgram, driver: Driver) -> DriverProgram:
        """Creates the program from the same source for another device of the driver."""

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        """Creates a kernel of a built program."""

    def release_program(self, program: DriverProgram) -> None:
        """Releases the driver's objects of a program."""


def input_of(source: str) -> ProgramInput:
    return ProgramInput(without_features(source).encode(errors="surrogateescape"))


class DriverProgram:
    """A `BuiltProgram` of a driver.

    `lowered` is set for programs whose kernels run at the same time; those use the device that runs kernels on the
    calling thread.
    """

    def __init__(
        self,
        engine: ProgramEngine,
        driver: Driver,
        given: ProgramInput,
        *,
        source: str = "",
        lowered: Lowered | None = None,
        objects: Objects | None = None,
        made: Result | None = None,
    ) -> None:
        """Creates a program from the input, from `objects`, or takes one that is `made`. Raises CLError."""
        self.engine = engine
        self.driver = driver
        self._home = driver
        self._given = given
        self.source = source
        self.lowered = lowered
        self.objects = objects
        self._binary = made.binary if made is not None else given.binary
        if objects is not None and not objects.is_executable:
            self._binary = objects.objects[0]
        self.handle = made.handle if made is not None else 0
        self.options = ""
        self._twin: DriverProgram | None = None
        self._kernels: dict[str, DriverKernel] = {}
        self._making = threading.Lock()
        if given.il or given.binary:
            self.handle = create(driver, given)

    def _translate(self, options: str, headers: Mapping[str, str], *, everything: bool) -> str:
        """Creates the driver's program from the source, translated for its compiler; returns the options for it.

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
            self.lowered.autorun = autorun_units(made.bare)
        concurrent = self.engine.driver.on_caller if self.lowered is not None else None
        self.driver = concurrent or self._home
        self._given = input_of(made.text)
        return made.options

    def _do(self, call: str, options: str, headers: tuple[tuple[str, ProgramInput], ...] = ()) -> str:
        """Replaces the driver's program by the result of `call`. No kernel may be in use.

        Returns the log; raises BuildFailed, CLError.
        """
        on_caller = self.driver is self.engine.driver.on_caller
        made = self.engine.do(self.driver, BuildStep(call, (self._given,), options, headers, on_caller))
        self._replace(made)
        self.objects = None
        if made.binary:
            self.objects = Objects((made.binary,), "", call != COMPILE)
        return made.log

    def _replace(self, made: Result) -> None:
        self.engine.release_program(self)
        self._kernels.clear()
        self.handle, self._binary = made.handle, made.binary or self._given.binary

    def _link(self, objects: Objects) -> str:
        """Builds the executable from the objects; returns the log. Raises BuildFailed, CLError."""
        parts = tuple(ProgramInput(binary=each) for each in objects.objects)
        on_caller = self.driver is self.engine.driver.on_caller
        with as_building():
            made = self.engine.do(self.driver, BuildStep(LINK, parts, objects.options, (), on_caller))
        self._replace(made)
        return made.log

    def _with_translation(self, options: str, headers: Mapping[str, str], step: Callable[[str], str]) -> str:
        """Does a step with the source as it stands; if the compiler refuses it, with a full translation.

        A source that is refused in its version of OpenCL C is built for the next version. After the first such refusal,
        programs that may be concerned are built for the next version at once: a refusal may take as long as a
        compilation, and no cache keeps it.
        """
        everything = False
        for refusal in self.engine.refusals:
            if refusal.may_concern.search(self.source):
                options = refusal.newer(options)
        while True:
            try:
                return step(self._translate(options, headers, everything=everything))
            except BuildFailed as failed:
                refused = [each for each in REFUSALS if each.shows(failed.log, options)]
                is_hidden = WORDS_REFUSED.search(failed.log) and not everything
                if not (self.source and (refused or is_hidden)):
                    raise
                everything = everything or bool(is_hidden)
                for each in refused:
                    self.engine.refusals.add(each)
                    options = each.newer(options)

    def build(self, options: str) -> str:
        if self.objects is not None and not self.source:
            return self._link(self.objects)
        return self._with_translation(options, {}, self._build)

    def _build(self, options: str) -> str:
        return self._do(BUILD, options)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        texts = {name: program.source for name, program in headers.items() if isinstance(program, DriverProgram)}
        given = tuple((name, input_of(text)) for name, text in texts.items())
        try:
            return self._with_translation(options, texts, lambda words: self._do(COMPILE, words, given))
        except BuildFailed as failed:  # some drivers return the status of clBuildProgram
            if failed.status == BuildProgramFailure.status:
                raise BuildFailed(CompileProgramFailure.status, failed.log) from None
            raise

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
        """Creates the program for the device that runs kernels on the calling thread; None if there is none."""
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

    def local_variables(self, name: str) -> int:
        return local_variables(self.objects.objects, name) if self.objects is not None else 0

    def network(self, plugs: Plugs = no_plugs) -> KernelNetwork | None:
        if self.lowered is None:
            return None
        chosen = "" if config.CHANNEL_DEPTH.is_set else self.lowered.depths
        depths = DepthMode[(chosen or config.CHANNEL_DEPTH.value).upper()]
        exploring = {"factor": config.CHANNEL_FACTOR.value, "seed": config.CHANNEL_SEED.value}
        links = plugs() if self.lowered.channels else {}
        made = Network(depths, config.DEADLOCK_SECONDS.value, self, links, **exploring)
        if self.lowered.hosted or self.lowered.variables:
            self.kernel(DECLARE).launch(KernelLaunch(b"", 1, ONE_WORK_ITEM, True, network=made))
        for name, units in self.lowered.autorun.items():
            made.autorun[name] = math.prod(units)
            self._start_autorun(made, name, units)
        return made

    def _start_autorun(self, network: Network, name: str, units: tuple[int, ...]) -> None:
        """Starts a thread for each compute unit of an autorun kernel, which runs it again whenever it ends."""
        kernel = self.kernel(name)
        assert isinstance(kernel, ConcurrentKernel)
        for place in itertools.product(*(range(count) for count in units)):
            compute_id = sum(number << COMPUTE_ID_BITS * dimension for dimension, number in enumerate(place))
            threading.Thread(
                target=kernel.run_forever, args=(network, compute_id), name=f"autorun {name}", daemon=True
            ).start()

    def binary(self) -> bytes:
        if self.objects is not None:
            binary = with_objects(self.objects)
        else:
            binary = self.driver_binary()
        return binary if self.lowered is None else with_notes(binary, self.lowered)

    def driver_binary(self) -> bytes:
        """Returns the driver's own binary; raises CLError."""
        if not self._binary:
            self._binary = binary_of(self.driver, self.handle)
        return self._binary

    def specialize(self, id: int, value: bytes) -> None:
        specialize(self.driver, self.handle, id, value)
        constants = dict(self._given.constants) | {id: value}
        self._given = self._given._replace(constants=tuple(constants.items()))

    def release(self) -> None:
        """Releases the driver's objects; nothing may run."""
        for kernel in self._kernels.values():
            kernel.release()
        release(self.driver, self.handle)

    def __del__(self) -> None:
        self.engine.release_program(self)
