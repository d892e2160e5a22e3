# SPDX-License-Identifier: Apache-2.0
"""A `BuildStep` that the driver does in the calling process.

PoCL's binary of an executable has machine code for each kernel, which takes long to make, and crashes some releases.
Its binary of a compiled object is the intermediate code alone. So clBuildProgram is two steps there: compiling, whose
object another process can load, and linking.

Linking needs PoCL's library of functions, which takes most of the time of a process's first build to read. From 3.1 on
PoCL keeps the result if the intermediate code is built as a program's binary, instead of being linked: the next
process that loads the object does not need the library.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from struct import Struct

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    BuildProgramFailure,
    CLError,
    CompileProgramFailure,
    InvalidBuildOptions,
    InvalidCompilerOptions,
    InvalidLinkerOptions,
    LinkProgramFailure,
    error_of,
)
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import pattern
from fpgart.engine.build_step import BUILD, COMPILE, LINK, BuildStep, ProgramInput
from fpgart.engine.compiling.step_order import one_at_a_time
from fpgart.engine.driver import Driver
from fpgart.engine.interface import BuildFailed
from fpgart.engine.opencl_engine.object_code import intermediate_code

U64 = Struct("Q")
ARG_INFO = "-cl-kernel-arg-info"
NO_FORWARD_PROGRESS = pattern(r"(?<!\S)-cl-no-subgroup-ifp(?!\S)")
"""An option that permits an engine to do less. PoCL before 5.0 does not know it."""
OF_LINKS = pattern(
    r"(?<!\S)-cl-(?:denorms-are-zero|no-signed-zeros|unsafe-math-optimizations|finite-math-only|fast-relaxed-math"
    r"|no-subgroup-ifp)(?!\S)"
)
"""The options that a linker may apply (OpenCL 3.0, 5.8.7.2). PoCL refuses them, except for libraries."""
LINK_LOG_BYTES = 65536
FOR_LAUNCHES = "-cl-denorms-are-zero"
"""An option that PoCL obeys when it launches kernels, and that an object does not contain."""
COMPILED_ALONE = "-D__FPGART_OBJECT"
"""PoCL's cache does not distinguish steps. Without this it may answer with what clBuildProgram made of the same source,
which has PoCL's library in it already; when that is linked again, PoCL crashes at the launch of a kernel."""
ADDED_BY_USER = "POCL_EXTRA_BUILD_FLAGS"
"""A variable with options that PoCL adds to each step; it refuses most of them when it links."""
OF_BUILDING = {
    CompileProgramFailure.status: BuildProgramFailure.status,
    LinkProgramFailure.status: BuildProgramFailure.status,
    InvalidCompilerOptions.status: InvalidBuildOptions.status,
    InvalidLinkerOptions.status: InvalidBuildOptions.status,
}
"""The status of clBuildProgram for the status of a step that is part of it."""


_reading_il = threading.Lock()
"""PoCL reads the specialisation constants of a module with strtok(), whose state belongs to all threads."""


class Result(NamedTuple):
    """The driver's program, the log, and the binary for load() in another process; b"" if there is none."""

    handle: int
    log: str
    binary: bytes = b""


def for_engine(options: str) -> str:
    """Returns the options that a driver gets for those of the host.

    They have the one for the arguments' names and types, which clSetKernelArg needs, and lack one that PoCL refuses.
    """
    taken = NO_FORWARD_PROGRESS.sub("", options)
    return taken if ARG_INFO in taken.split() else f"{taken} {ARG_INFO}".strip()


def is_in_two_steps(driver: Driver, step: BuildStep) -> bool:
    """True if clBuildProgram can be replaced by compiling and linking with the same result."""
    return (
        step.call == BUILD
        and driver.gives_objects
        and bool(step.inputs[0].source)
        and FOR_LAUNCHES not in step.options
        and ADDED_BY_USER not in os.environ
    )


def do(driver: Driver, step: BuildStep) -> Result:
    """Returns the program that the step makes; raises BuildFailed, CLError."""
    if not driver.gives_objects:
        return _do(driver, step)
    contents = (part for each in step.inputs for part in (each.source, each.binary))
    with one_at_a_time("step", (step.options.encode(errors="surrogateescape"), *contents)):
        return _do(driver, step)


def _do(driver: Driver, step: BuildStep) -> Result:
    if step.call == LINK:
        handle, log = link_inputs(driver, step.options, step.inputs)
    else:
        handle, log = create(driver, step.inputs[0]), ""
    try:
        if is_in_two_steps(driver, step):
            return _compile_and_link(driver, handle, step)
        if step.call == COMPILE:
            log = _compile(driver, handle, step)
        elif step.call == BUILD:
            log = _build(driver, handle, step.options)
        is_object = driver.gives_objects and not step.is_executable
        return Result(handle, log, binary_of(driver, handle) if is_object else b"")
    except BaseException:
        release(driver, handle)
        raise


def load(driver: Driver, step: BuildStep, binary: bytes) -> Result:
    """Returns the program from the binary that another process has made with the step; raises BuildFailed, CLError."""
    loaded = ProgramInput(binary=binary)
    if is_in_two_steps(driver, step):
        with as_building():
            return Result(link_inputs(driver, "", (loaded,))[0], "", binary)
    return Result(create(driver, loaded), "", binary)


def _compile_and_link(driver: Driver, handle: int, step: BuildStep) -> Result:
    """Compiles and links for a step with clBuildProgram. If it succeeds, the program at `handle` is released."""
    with as_building():
        log = _compile(driver, handle, step)
        found = binary_of(driver, handle)
        made, words = link_inputs(driver, "", (ProgramInput(binary=found),))
    release(driver, handle)
    return Result(made, log + words, found)


@contextmanager
def as_building() -> Iterator[None]:
    """Gives failures within the status that clBuildProgram returns for them."""
    try:
        yield
    except BuildFailed as failed:
        raise BuildFailed(OF_BUILDING.get(failed.status, failed.status), failed.log) from None


def create(driver: Driver, given: ProgramInput) -> int:
    """Creates the driver's program of an input; raises CLError."""
    if given.source:
        texts = ffi.new("char *[]", [text := ffi.new("char[]", given.source)])
        made = driver.create("clCreateProgramWithSource", driver.context, 1, texts, ffi.NULL)
        del text
    elif given.il:
        with _reading_il:
            made = driver.create(driver.create_with_il, driver.context, ffi.new("char[]", given.il), len(given.il))
    else:
        sizes = ffi.new("size_t[]", [len(given.binary)])
        data = ffi.new("char *[]", [content := ffi.new("char[]", given.binary)])
        made = driver.create(
            "clCreateProgramWithBinary", driver.context, 1, driver.devices, sizes, data, ffi.new("int *")
        )
        del content
    try:
        for id, value in given.constants:
            specialize(driver, made, id, value)
    except CLError:
        release(driver, made)
        raise
    return made


@contextmanager
def created(driver: Driver, inputs: Sequence[ProgramInput]) -> Iterator[list[int]]:
    """Yields programs of the inputs; those still in the list are released at the end."""
    made: list[int] = []
    try:
        for given in inputs:
            made.append(create(driver, given))
        yield made
    finally:
        for handle in made:
            release(driver, handle)


def specialize(driver: Driver, handle: int, id: int, value: bytes) -> None:
    driver.call("clSetProgramSpecializationConstant", handle, id, len(value), ffi.new("char[]", value))


def release(driver: Driver, handle: int) -> None:
    if handle:
        driver.function("clReleaseProgram")(handle)


def log_of(driver: Driver, handle: int) -> str:
    """Returns the build log of a program; "" if the query fails, because the step's own status says more."""
    try:
        return driver.text("clGetProgramBuildInfo", handle, driver.device, cl.CL_PROGRAM_BUILD_LOG)
    except CLError:
        return ""


def binary_of(driver: Driver, handle: int) -> bytes:
    """Returns the driver's own binary of a program; raises CLError."""
    size = U64.unpack(driver.query("clGetProgramInfo", handle, cl.CL_PROGRAM_BINARY_SIZES)[:8])[0]
    data = ffi.new("char[]", max(size, 1))
    driver.call("clGetProgramInfo", handle, cl.CL_PROGRAM_BINARIES, 8, ffi.new("char *[]", [data]), ffi.NULL)
    return bytes(ffi.buffer(data, size))


def _build(driver: Driver, handle: int, options: str) -> str:
    text = ffi.new("char[]", for_engine(options).encode(errors="surrogateescape"))
    status = int(driver.function("clBuildProgram")(handle, 1, driver.devices, text, ffi.NULL, ffi.NULL))
    return _checked(driver, handle, status)


def _compile(driver: Driver, handle: int, step: BuildStep) -> str:
    options = for_engine(step.options)
    if driver.gives_objects:
        options = f"{options} {COMPILED_ALONE}"
    names = [ffi.new("char[]", name.encode(errors="surrogateescape")) for name, _ in step.headers]
    with created(driver, [header for _, header in step.headers]) as headers:
        status = driver.function("clCompileProgram")(
            handle,
            1,
            driver.devices,
            ffi.new("char[]", options.encode(errors="surrogateescape")),
            len(names),
            ffi.new("uintptr_t[]", headers) if headers else ffi.NULL,
            ffi.new("char *[]", names) if names else ffi.NULL,
            ffi.NULL,
            ffi.NULL,
        )
    return _checked(driver, handle, int(status))


def _checked(driver: Driver, handle: int, status: int) -> str:
    """Returns the log; raises BuildFailed unless the status is CL_SUCCESS."""
    log = log_of(driver, handle)
    if status != cl.CL_SUCCESS:
        raise BuildFailed(status, log)
    return log


def link_inputs(driver: Driver, options: str, inputs: Sequence[ProgramInput]) -> tuple[int, str]:
    """Links the inputs; returns the program and the log. Raises BuildFailed, CLError."""
    if not driver.gives_objects:
        return _link_inputs(driver, options, inputs)
    with one_at_a_time("link", (each.binary for each in inputs)):
        return _link_inputs(driver, options, inputs)


def _link_inputs(driver: Driver, options: str, inputs: Sequence[ProgramInput]) -> tuple[int, str]:
    code = intermediate_code(inputs[0].binary) if driver.keeps_links and len(inputs) == 1 and not options else b""
    if code:
        handle = create(driver, ProgramInput(binary=code))
        try:
            return handle, _build(driver, handle, "")
        except BuildFailed:  # PoCL cannot read a file while another process replaces it; linking reports other errors
            release(driver, handle)
    with created(driver, inputs) as parts:
        return link(driver, options, parts)


def link(driver: Driver, options: str, parts: Sequence[int]) -> tuple[int, str]:
    """Links the parts; returns the program and the log. Raises BuildFailed, CLError.

    PoCL loses the kernels' arguments if it links without ARG_INFO; other drivers do not know this option.
    """
    plain = OF_LINKS.sub("", options)
    told = for_engine(plain)
    status, made = _link(driver, told, parts)
    if status == InvalidLinkerOptions.status:
        told = plain
        status, made = _link(driver, told, parts)
    log = log_of(driver, made) if made else ""
    if status == cl.CL_SUCCESS and made:
        return made, log
    release(driver, made)
    if status == LinkProgramFailure.status:
        raise BuildFailed(status, log if made else _link_log(driver, told, parts))
    raise error_of(status, "the engine could not link")


def _link(driver: Driver, options: str, parts: Sequence[int]) -> tuple[int, int]:
    status = ffi.new("int *")
    made = driver.function("clLinkProgram")(
        driver.context,
        1,
        driver.devices,
        ffi.new("char[]", options.encode(errors="surrogateescape")),
        len(parts),
        ffi.new("uintptr_t[]", parts),
        ffi.NULL,
        ffi.NULL,
        status,
    )
    return int(status[0]), int(made)


def _link_log(driver: Driver, options: str, parts: Sequence[int]) -> str:
    """Returns the log of a link that fails without a program."""
    log = ffi.new("char[]", LINK_LOG_BYTES)
    handles = ffi.new("uintptr_t[]", parts)
    words = options.encode(errors="surrogateescape")
    lib.driver_link_log(driver.context, driver.device, words, len(parts), handles, log, LINK_LOG_BYTES)
    return bytes(ffi.string(log)).decode(errors="replace")
