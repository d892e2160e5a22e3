# SPDX-License-Identifier: Apache-2.0
"""The engine that is another OpenCL driver for this machine's CPU.

The board's DRAM is mapped into this process and each supported driver takes any host address as a
kernel argument through clSetKernelArgSVMPointer, so the driver never holds a buffer.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from struct import Struct
from typing import Any

from fpgart import config, log
from fpgart import opencl as cl
from fpgart._native import ffi, lib
from fpgart.engine.dialect import HALF_EXTENSION, Compiler, predefined_macros, translate
from fpgart.engine.driver import Driver, keeping_signal_handlers
from fpgart.engine.features import without_features
from fpgart.engine.interface import (
    ArgumentInterface,
    Batch,
    BuildFailed,
    BuiltProgram,
    EngineKernel,
    KernelInterface,
    PipeArgument,
    Reach,
)
from fpgart.engine.lowering import DECLARE, TABLE, Lowered, LoweringError, has_channels
from fpgart.engine.network import DepthMode, GaveUp, Network, table
from fpgart.engine.opencl_c import kernel_attributes, size_of_type
from fpgart.engine.preprocessing.files import PreprocessorError
from fpgart.errors import (
    BuildProgramFailure,
    CLError,
    CompileProgramFailure,
    InvalidBinary,
    InvalidLinkerOptions,
    InvalidOperation,
    LinkProgramFailure,
    error_of,
)

U32, U64, SIZE3 = Struct("I"), Struct("Q"), Struct("3Q")
ARG_INFO = "-cl-kernel-arg-info"
LINK_LOG_BYTES = 65536
ONE_TASK = Struct("9Q").pack(0, 0, 0, 1, 1, 1, 1, 1, 1)
COMPUTE_ID_BITS = 20
SUBMISSION = Struct("QQ72sIIQ")
LOWERED = b"fpgart lowered\0"
LOCAL_REFUSED = re.compile(r"local address space|'(?:__)?local' variable|in local memory")
"""What compilers say of local variables outside the outermost block of kernels."""
NEEDS_POCL = (
    "They need PoCL as engine, and PoCL's device 'basic' besides 'pthread'. If this process uses PoCL as a platform, "
    "too, start it with `fpgart run`, or set POCL_DEVICES='pthread basic'."
)


class ThreadQueue:
    """A queue of the driver that a thread has until it ends; then another one may have it."""

    __slots__ = ("_free", "handle")

    def __init__(self, handle: int, free: list[int]) -> None:
        self.handle = handle
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.handle)


class OpenCLEngine:
    """An `Engine` on a driver's .so."""

    works_on_own_buffers = False

    def __init__(self, name: str, path: Path, must_build: bool = False) -> None:
        """Raises DriverError when the driver cannot be used; `must_build` as for `Driver`."""
        self.name = name
        self.path = str(path)
        with keeping_signal_handlers(path):
            self.driver = Driver(path, must_build)
        self.version = self.driver.text("clGetPlatformInfo", self.driver.platform, cl.CL_PLATFORM_VERSION)
        self._queues = threading.local()
        self._free_queues: list[int] = []

    def queue(self) -> int:
        """A queue of the driver for this thread alone: finishing it waits for this thread's kernel."""
        found: ThreadQueue | None = getattr(self._queues, "queue", None)
        if found is None:
            self._queues.queue = found = ThreadQueue(self.lend_queue(), self._free_queues)
        return found.handle

    def lend_queue(self) -> int:
        """A queue of the driver until return_queue()."""
        try:
            return self._free_queues.pop()
        except IndexError:
            return int(self.driver.create("clCreateCommandQueue", self.driver.context, self.driver.device, 0))

    def return_queue(self, handle: int) -> None:
        """Nothing is in the queue any more."""
        self._free_queues.append(handle)

    def new_batch(self, most: int) -> KernelBatch:
        """A batch with room for `most` launches."""
        return KernelBatch(self, most)

    def at_work(self) -> AbstractContextManager[None]:
        """Within, the driver may compile; the host's signal handlers stay."""
        return keeping_signal_handlers(self.path)

    def let_go(self, program: Program) -> None:
        """Release what the driver has of a program."""
        program.release()

    def make_kernel(self, program: Program, name: str) -> Kernel:
        kind = ConcurrentKernel if program.lowered else Kernel if program.driver.on_caller else SeatedKernel
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

    def _from_source(self, source: str, driver: Driver) -> Program:
        return Program(self, driver, self.create(source, driver), source)

    def on_driver(self, program: Program, driver: Driver) -> Program:
        """The same source for another device of the engine."""
        return program if program.driver is driver else self._from_source(program.source, driver)

    def from_il(self, il: bytes) -> BuiltProgram:
        if not self.device_info(cl.CL_DEVICE_IL_VERSION).rstrip(b"\0"):
            raise InvalidOperation(f"the engine '{self.name}' takes no intermediate language")
        data = ffi.new("char[]", il)
        made = self.driver.create("clCreateProgramWithIL", self.driver.context, data, len(il))
        return Program(self, self.driver, made)

    def from_binary(self, binary: bytes) -> BuiltProgram:
        driver, lowered = self.driver, None
        if binary.startswith(LOWERED):
            if driver.on_caller is None:
                raise InvalidBinary(f"the binary uses channels or pipes. {NEEDS_POCL}")
            driver = driver.on_caller
            notes, _, binary = binary[len(LOWERED) :].partition(b"\0")
            try:
                lowered = Lowered.from_notes(json.loads(notes))
            except (KeyError, ValueError):
                raise InvalidBinary("the binary was made by another version of fpgart") from None
            if lowered.table != table(lowered.table):
                raise InvalidBinary("the binary has to be built anew: a place in memory that it uses is taken")
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
            raise InvalidBinary(f"the engine '{self.name}' does not take this binary ({error.name})") from None
        return Program(self, driver, made, "", lowered)

    def link(self, options: str, programs: Sequence[BuiltProgram]) -> tuple[BuiltProgram, str]:
        parts = [p for p in programs if isinstance(p, Program)]
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

    def _link(self, options: str, programs: list[Program]) -> tuple[int, Program | None]:
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
        return int(status[0]), Program(self, driver, made, "", joined) if made else None

    def _link_log(self, options: str, programs: list[Program]) -> str:
        """What a driver says of a link that fails, for which it gives no program."""
        driver = programs[0].driver
        handles = ffi.new("uintptr_t[]", [program.handle for program in programs])
        words = options.encode(errors="surrogateescape")
        log = ffi.new("char[]", LINK_LOG_BYTES)
        with self.at_work():
            lib.driver_link_log(driver.context, driver.device, words, len(handles), handles, log, LINK_LOG_BYTES)
        return bytes(ffi.string(log)).decode(errors="replace")


def with_argument_info(options: str) -> str:
    """Argument information is always asked for: clSetKernelArg needs it."""
    return options if ARG_INFO in options.split() else f"{options} {ARG_INFO}".strip()


def merged(parts: list[Lowered]) -> Lowered | None:
    """What is known of the parts of a linked program."""
    if not parts:
        return None
    found = Lowered("", table=parts[0].table)
    for part in parts:
        found.channels += part.channels
        found.hosted += part.hosted
        found.variables += part.variables
        found.pipes |= part.pipes
        found.autorun |= part.autorun
    return found


class Program:
    """A `BuiltProgram` of a driver.

    `lowered` is there for programs whose kernels run beside each other; those are on a device that runs them on
    our threads.
    """

    def __init__(
        self, engine: OpenCLEngine, driver: Driver, handle: int, source: str = "", lowered: Lowered | None = None
    ) -> None:
        self.engine = engine
        self.driver = driver
        self._home = driver
        self.handle = handle
        self.source = source
        self.lowered = lowered
        self.options = ""
        self._twin: Program | None = None
        self._kernels: dict[str, Kernel] = {}
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
                raise LoweringError(f"the program uses channels or pipes. {NEEDS_POCL}")
        except (LoweringError, PreprocessorError, OSError) as error:
            raise BuildFailed(BuildProgramFailure.status, f"error: {error}") from None
        self.lowered = made.lowered
        if self.lowered is not None:
            self.lowered.autorun = {
                name: attributes.get("num_compute_units", (1,))
                for name, attributes in kernel_attributes(made.bare).items()
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
        """Do a step with the source as the compiler takes it: what it refuses as it stands, in all our words."""
        try:
            return step(self._translate(options, headers))
        except BuildFailed as failed:
            if not (self.source and LOCAL_REFUSED.search(failed.log)):
                raise
        return step(self._translate(options, headers, everything=True))

    def build(self, options: str) -> str:
        return self._in_other_words(options, {}, self._build)

    def _build(self, options: str) -> str:
        text = ffi.new("char[]", with_argument_info(options).encode(errors="surrogateescape"))
        return self._step("clBuildProgram", self.handle, 1, self.driver.devices, text, ffi.NULL, ffi.NULL)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        texts = {name: program.source for name, program in headers.items() if isinstance(program, Program)}
        try:
            return self._in_other_words(options, texts, lambda words: self._compile(words, headers))
        except BuildFailed as failed:  # some drivers answer as for clBuildProgram
            if failed.status == BuildProgramFailure.status:
                raise BuildFailed(CompileProgramFailure.status, failed.log) from None
            raise

    def _compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        names = [ffi.new("char[]", name.encode()) for name in headers]
        parts = [self.engine.on_driver(p, self.driver) for p in headers.values() if isinstance(p, Program)]
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

    def kernel(self, name: str) -> Kernel:
        with self._making:
            found = self._kernels.get(name)
            if found is None:
                found = self._kernels[name] = self.engine.make_kernel(self, name)
            return found

    def twin(self) -> Program | None:
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

    def network(self) -> Network | None:
        if self.lowered is None:
            return None
        chosen = "" if config.CHANNEL_DEPTH.is_set else self.lowered.depths
        depths = DepthMode[(chosen or config.CHANNEL_DEPTH.value).upper()]
        made = Network(depths, config.DEADLOCK_SECONDS.value, self)
        if self.lowered.hosted or self.lowered.variables:
            self.kernel(DECLARE).launch(b"", 1, ONE_TASK, True, network=made)
        for name, units in self.lowered.autorun.items():
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
        if self.lowered is not None:
            return LOWERED + json.dumps(self.lowered.notes(), sort_keys=True).encode() + b"\0" + binary
        return binary

    def specialize(self, id: int, value: bytes) -> None:
        self.driver.call("clSetProgramSpecializationConstant", self.handle, id, len(value), ffi.new("char[]", value))

    def release(self) -> None:
        """Give the driver's objects back; nothing may run."""
        for kernel in self._kernels.values():
            kernel.release()
        self.driver.function("clReleaseProgram")(self.handle)

    def __del__(self) -> None:
        self.engine.let_go(self)


class Kernel:
    """An `EngineKernel`: one kernel object of the driver, shared by all launches.

    It does not keep its program alive; the runtime's kernel does.
    """

    wants_reaches = False

    def __init__(self, program: Program, name: str) -> None:
        self.engine = program.engine
        self.driver = program.driver
        self.pipes = program.lowered.pipes.get(name, {}) if program.lowered else {}
        self._program = weakref.ref(program)
        self.handle = self.driver.create("clCreateKernel", program.handle, ffi.new("char[]", name.encode()))
        self._accepted: dict[int, int] = {}
        self.new_batch: Callable[[int], Batch] | None = self.engine.new_batch
        self.launched = False
        self.last_ns = 0
        self.waits_for_others = False
        self._name = name
        self._count = int(U32.unpack(self.driver.query("clGetKernelInfo", self.handle, cl.CL_KERNEL_NUM_ARGS))[0])

    def release(self) -> None:
        """Give the driver's objects back; nothing may run."""
        self.driver.function("clReleaseKernel")(self.handle)

    @cached_property
    def interface(self) -> KernelInterface:
        """What the driver says; of kernels that do not come from OpenCL C it says less than SPIR-V does."""
        driver = self.driver
        required = driver.query_or(
            bytes(24),
            "clGetKernelWorkGroupInfo",
            self.handle,
            driver.device,
            cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
        )
        return KernelInterface(
            self._name,
            tuple(self._argument(index) for index in range(self._count)),
            driver.text("clGetKernelInfo", self.handle, cl.CL_KERNEL_ATTRIBUTES),
            SIZE3.unpack(required),
        )

    def _argument(self, index: int) -> ArgumentInterface:
        driver = self.driver

        def number(query: int, unit: Struct, default: int) -> int:
            answer = driver.query_or(b"", "clGetKernelArgInfo", self.handle, index, query)
            return int(unit.unpack(answer[: unit.size])[0]) if len(answer) >= unit.size else default

        name = driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_NAME)
        if index in self.pipes:
            return pipe_interface(name, self.pipes[index])
        return ArgumentInterface(
            name,
            driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_TYPE_NAME),
            number(cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ADDRESS_PRIVATE),
            number(cl.CL_KERNEL_ARG_ACCESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ACCESS_NONE),
            number(cl.CL_KERNEL_ARG_TYPE_QUALIFIER, U64, cl.CL_KERNEL_ARG_TYPE_NONE),
        )

    def on_own_thread(self) -> Kernel:
        program = self._program()
        twin = program.twin() if program is not None else None
        return self if twin is None else twin.kernel(self._name)

    def accepts(self, index: int, size: int) -> bool:
        if self._accepted.get(index) == size:
            return True
        known = size_of_type(self.interface.arguments[index].type_name)
        if known and size != known:
            return False
        if not 0 < size <= 1 << 16:
            return False
        status = lib.driver_try_argument(self.handle, index, size, ffi.new("char[]", size))
        if status == cl.CL_SUCCESS:
            self._accepted[index] = size
        return bool(status == cl.CL_SUCCESS)

    def work_group_info(self, query: int) -> bytes:
        driver = self.driver
        return driver.query("clGetKernelWorkGroupInfo", self.handle, driver.device, query)

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        driver = self.driver
        value, size = ffi.new("char[]", max(length, 1)), ffi.new("size_t *")
        given = ffi.new("size_t[]", list(sizes)) if sizes else ffi.NULL
        driver.call(
            "clGetKernelSubGroupInfo",
            self.handle,
            driver.device,
            query,
            8 * len(sizes),
            given,
            length,
            value,
            size,
        )
        return bytes(ffi.buffer(value, min(int(size[0]), length)))

    def launch(
        self,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        reaches: tuple[Reach, ...] = (),
        network: Network | None = None,
    ) -> None:
        if self.launched:
            self.run(image, dimensions, sizes, has_local)
        else:  # drivers compile for good at the first launch
            with self.engine.at_work():
                self.run(image, dimensions, sizes, has_local)

    def run(self, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        """Run on the very addresses that are in `image`; raises CLError."""
        self._check(
            lib.driver_launch(self.engine.queue(), self.handle, self._count, image, dimensions, sizes, has_local)
        )

    def entry(self, number: int, image: int, dimensions: int, sizes: bytes, has_local: bool) -> bytes:
        """A launch in a batch; `number`: of the kernel there, `image`: where its arguments begin."""
        return SUBMISSION.pack(number, image, sizes, self._count, dimensions, has_local)

    def _check(self, result: int) -> None:
        if result & 0xFFFFFFFF:
            raise self.failure(result)

    def failure(self, result: int) -> CLError:
        """What the result of a launch that went wrong says."""
        status, place = int(ffi.cast("int32_t", result)), int(result) >> 32
        where = {-1: "enqueueing the kernel", -2: "the kernel"}.get(place, f"argument {place}")
        return error_of(status, f"kernel '{self._name}' failed on the engine, in {where}")


class KernelBatch:
    """A `Batch`: kernels in a queue of the driver that nobody else uses meanwhile."""

    __slots__ = ("_added", "_engine", "_events", "_queue", "_statuses", "_submitted", "_told")

    def __init__(self, engine: OpenCLEngine, most: int) -> None:
        self._engine = engine
        self._queue = engine.lend_queue()
        self._added: list[tuple[Kernel, bytes, int, bytes, bool]] = []
        self._events = ffi.new("uintptr_t[]", most)
        self._statuses = ffi.new("int32_t[]", most)
        self._submitted = self._told = 0

    def add(self, kernel: EngineKernel, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        assert isinstance(kernel, Kernel)
        self._added.append((kernel, image, dimensions, sizes, has_local))

    def submit(self) -> tuple[int, CLError | None]:
        added, self._added = self._added, []
        kernels, launches = _laid_out(added)
        return self.submit_laid_out(kernels, launches, 0, len(added))

    def submit_laid_out(
        self, kernels: Sequence[EngineKernel], launches: bytes, begin: int, end: int
    ) -> tuple[int, CLError | None]:
        ours = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
        handles = ffi.new("uintptr_t[]", [kernel.handle for kernel in ours])
        events, result = self._events + self._submitted, ffi.new("int64_t *")
        done = int(lib.driver_submit(self._queue, handles, launches, begin, end, events, result))
        self._submitted += done
        if begin + done == end:
            return done, None
        (number,) = U64.unpack_from(launches, (begin + done) * SUBMISSION.size)
        return done, ours[number].failure(int(result[0]))

    def wait(self) -> list[int]:
        told = self._told
        count = int(lib.driver_await(self._events + told, self._submitted - told, self._statuses))
        self._told += count
        return list(ffi.unpack(self._statuses, count))

    def __del__(self) -> None:
        if self._told == self._submitted:
            self._engine.return_queue(self._queue)


def _laid_out(launches: list[tuple[Kernel, bytes, int, bytes, bool]]) -> tuple[list[EngineKernel], bytes]:
    """Their kernels, and `struct submission` of each (engine/calls.h) with all arguments behind."""
    kernels: dict[EngineKernel, int] = {}
    entries, images, end = [], [], SUBMISSION.size * len(launches)
    for kernel, image, dimensions, sizes, has_local in launches:
        number = kernels.setdefault(kernel, len(kernels))
        entries.append(kernel.entry(number, end, dimensions, sizes, has_local))
        images.append(image)
        end += len(image)
    return list(kernels), b"".join(entries + images)


@dataclass(slots=True)
class Seat:
    """What one launch needs for itself: a queue and a kernel object of the driver."""

    queue: int
    kernel: int


class SeatedKernel(Kernel):
    """A kernel whose launches run on the threads that make them, each with its own `Seat`."""

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(program, name)
        self.new_batch = None
        self.program_handle = program.handle
        self._seats: list[Seat] = []

    def _seat(self) -> Seat:
        try:
            return self._seats.pop()
        except IndexError:
            driver = self.driver
            queue = driver.create("clCreateCommandQueue", driver.context, driver.device, 0)
            name = ffi.new("char[]", self._name.encode())
            return Seat(queue, driver.create("clCreateKernel", self.program_handle, name))

    def on_own_thread(self) -> Kernel:
        return self

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

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(program, name)
        self.waits_for_others = True

    def launch(
        self,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        reaches: tuple[Reach, ...] = (),
        network: Network | None = None,
    ) -> None:
        assert network is not None
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
        """Raises CLError; GaveUp when the kernel was made to leave, which costs its seat."""
        seat = self._seat()
        name = self._name
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
        """As an autorun kernel; returns when the network is stopped."""
        try:
            while not network.stopped:
                self._run(network, b"", 1, ONE_TASK, True, compute_id, autorun=True)
        except GaveUp:
            return
        except CLError as error:
            log.warning(f"autorun kernel '{self._name}' ended: {error}")


def pipe_interface(name: str, pipe: PipeArgument) -> ArgumentInterface:
    """A pipe argument as the host sees it; the engine has a pointer there."""
    return ArgumentInterface(
        name,
        pipe.type_name,
        cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
        cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY if pipe.writes else cl.CL_KERNEL_ARG_ACCESS_READ_ONLY,
        cl.CL_KERNEL_ARG_TYPE_PIPE,
        pipe=pipe,
    )
