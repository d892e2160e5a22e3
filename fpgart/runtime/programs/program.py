# SPDX-License-Identifier: Apache-2.0
"""Programs (OpenCL 3.0, 5.8)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Protocol

from fpgart.base import opencl as cl
from fpgart.base.digests import sha1
from fpgart.base.errors import (
    BuildProgramFailure,
    CLError,
    InvalidBinary,
    InvalidKernelName,
    InvalidOperation,
    InvalidProgramExecutable,
    error_of,
)
from fpgart.base.notices import NOTICES
from fpgart.engine.interface import BuildFailed, BuiltProgram, EngineKernel
from fpgart.engine.models import ModelKernel, has_model
from fpgart.kernels.interface import KernelInterface, with_places, without_locations_from
from fpgart.kernels.opencl_c import buffer_locations, kernel_attributes
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import Living
from fpgart.runtime.programs.build import Build, first_error

if TYPE_CHECKING:
    from fpgart.aocx.binary import ProgramBinary
    from fpgart.runtime.programs.context import ProgramContext

NUMBERS = count(1)


class ProgramKernel(Protocol):
    """A kernel that keeps its program from being built anew."""

    @property
    def name(self) -> str: ...


_attributes = lru_cache(maxsize=64)(kernel_attributes)


class Origin:
    """What the binary that a program was loaded from says of it; empty for source and SPIR-V."""

    __slots__ = ("binary", "container", "image", "interleaving", "memories", "options")

    def __init__(
        self,
        container: bytes = b"",
        image: bytes = b"",
        *,
        interleaving: tuple[bool, ...] | None = None,
        binary: ProgramBinary | None = None,
    ) -> None:
        self.container = container
        """The .aocx."""
        self.image = image
        """What of the container a board gets."""
        self.options = ""
        """Those that the container was made with."""
        self.interleaving = interleaving
        """By memory, whether its banks are interleaved; None for binaries that say nothing of that."""
        self.memories: frozenset[str] | None = None
        """Memories that a buffer_location may name; None: any. Others are passed over."""
        self.binary = binary


class Program:
    """Source, intermediate language or binaries, and what was built from them."""

    def __init__(
        self,
        context: ProgramContext,
        devices: list[Device],
        *,
        source: str | None = None,
        il: bytes = b"",
        made: BuiltProgram | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.handle = 0
        self.context = context
        self.devices = devices
        self.source = source
        self.il = il
        self.builds = {device: Build() for device in devices}
        self._kernels: Living[ProgramKernel] = Living()
        self._made = made
        self.origin = origin or Origin()
        binary = self.origin.binary
        self._interfaces: dict[str, KernelInterface] = {}
        self._known: dict[str, KernelInterface] = binary.kernels if binary is not None else {}
        self._locations: dict[str, tuple[str, ...]] = binary.locations if binary is not None else {}
        self._hardware: dict[str, dict[str, tuple[int, ...]]] = binary.hardware if binary is not None else {}
        self._constants: dict[int, bytes] = {}
        self._building = threading.Lock()
        self._identity = ""
        self._number = next(NUMBERS)
        self._others: dict[Device, Program] = {}
        self.end_kernels: Callable[[], bool] = lambda: True
        """Have kernels be made here, after a build; False while kernels live that were not made here."""
        self.linked = False
        """Whether clLinkProgram made it, with success or not."""
        self._parts: tuple[str | None, ...] = ()
        for device in devices:
            if device.memories.keeps_programs:
                device.programs.add(self)

    @property
    def interleaving(self) -> tuple[bool, ...] | None:
        """By memory, whether the binary interleaves its banks; None for programs that say nothing of that."""
        return self.origin.interleaving

    def add(self, other: Program) -> None:
        """What of it is for the devices of another program. Raises InvalidBinary where that has other kernels."""
        if self._kernel_names() != other._kernel_names():
            raise InvalidBinary("the devices' binaries do not have the same kernels")
        self.devices = [*self.devices, *other.devices]
        self.builds |= other.builds
        self._others |= dict.fromkeys(other.devices, other)

    def on(self, device: Device) -> Program:
        """What of it is for a device."""
        return self._others.get(device, self)

    # Building

    @property
    def is_container(self) -> bool:
        """Whether it was loaded from an .aocx."""
        return bool(self.origin.container)

    @property
    def executable(self) -> bool:
        return any(
            build.status == cl.CL_BUILD_SUCCESS and build.kind == cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
            for build in self.builds.values()
        )

    def specialize(self, id: int, value: bytes) -> None:
        """Set a specialisation constant for the builds from now on; raises the engine's error."""
        self._program().specialize(id, value)
        self._constants[id] = value

    def build(self, devices: list[Device], options: str) -> None:
        """Compile and link for `devices`; raises CLError, the log has the compiler's words.

        A container's program has been built; building it again is trivial. Where devices have binaries of their own
        each is built, whichever fail.
        """
        self._build_parts(list({self.on(device): None for device in devices}), devices, options)

    def _build_parts(self, parts: list[Program], devices: list[Device], options: str) -> None:
        """Build one after another what is for these devices."""
        part, *others = parts
        chosen = [device for device in devices if self.on(device) is part]
        try:
            part._build(chosen, options)
        finally:
            self.builds |= {device: part.builds[device] for device in chosen}
            if others:
                self._build_parts(others, devices, options)

    def _build(self, devices: list[Device], options: str) -> None:
        if self.origin.container and self._interfaces:
            for device in devices:
                self.builds[device] = Build(
                    cl.CL_BUILD_SUCCESS, options, "Trivial build", cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
                )
            return
        self._step(
            devices, options, lambda made: self._compile(made, devices, options), cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        )

    def compile(self, devices: list[Device], options: str, headers: dict[str, Program]) -> None:
        """Compile for `devices` with headers that #include finds by name; raises CLError."""
        built = {name: header._program() for name, header in headers.items()}
        self._step(
            devices,
            options,
            lambda made: made.compile(devices[0].board.build_options(options), built),
            cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
        )

    def _compile(self, made: BuiltProgram, devices: list[Device], options: str) -> str:
        """Build as the context's compiler mode says; returns the log. Raises BuildFailed."""
        mode, source = self.context.compiler_mode, self.source
        if mode in (1, 2) and source is not None and not self.origin.container:
            from fpgart.runtime.programs import library

            root, board = self.context.library_root, devices[0].board
            if mode == library.CompilerMode.CREATE_LIBRARY:
                library.create(root, board, options, source, self.context.platform.engine)
            else:
                self.origin.container = library.load(root, board, options, source)
        return made.build(devices[0].board.build_options(options))

    def claim(self, devices: list[Device]) -> None:
        """Mark a build as begun; raises InvalidOperation while one is running or kernels exist."""
        with self._building:
            if any(self.builds[device].status == cl.CL_BUILD_IN_PROGRESS for device in devices):
                raise InvalidOperation("a build of this program is still running")
            if self._kernels or not self.end_kernels():
                raise InvalidOperation("kernels of this program exist; release them before building it again")
            for device in devices:
                self.builds[device] = Build(cl.CL_BUILD_IN_PROGRESS)

    def admit(self, kernel: ProgramKernel) -> None:
        """A kernel was made: no build begins while it lives. Raises InvalidProgramExecutable if one began before."""
        with self._building:
            if not self.executable:
                raise InvalidProgramExecutable(f"the program is being rebuilt while kernel '{kernel.name}' is made")
            self._kernels.add(kernel)

    def _step(self, devices: list[Device], options: str, work: Callable[[BuiltProgram], str], kind: int) -> None:
        """One build step, already claimed, from in progress to success or error."""
        status, log, failure = cl.CL_BUILD_SUCCESS, "", None
        try:
            log = work(self._program(fresh=True))
        except BuildFailed as failed:
            status, log = cl.CL_BUILD_ERROR, failed.log
            failure = error_of(failed.status, f"the program does not build: {first_error(failed.log)}")
        except CLError as error:
            status, log, failure = cl.CL_BUILD_ERROR, str(error), error
        except BaseException:
            status, failure = cl.CL_BUILD_ERROR, BuildProgramFailure("the build failed within the driver")
            raise
        finally:
            # Another thread asks for kernels as soon as a build is a success: nothing of the last one is left then.
            self._interfaces = {}
            self._identity = ""
            for device in devices:
                self.builds[device] = Build(
                    status, options, log, kind if status == cl.CL_BUILD_SUCCESS else cl.CL_PROGRAM_BINARY_TYPE_NONE
                )
        for listener in NOTICES.program_built:
            listener(self, devices)
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # or it and this frame would hold each other, and the program

    def adopt(self, made: BuiltProgram, options: str, log: str, kind: int, parts: list[Program]) -> None:
        """Take over what linking made of `parts`."""
        self.linked = True
        self._made = made
        self._parts = tuple(part.listing for part in parts)
        for part in parts:
            self._locations |= part.locations()
            self._hardware |= part.hardware()
            self._known |= part.known()
        for device in self.devices:
            self.builds[device] = Build(cl.CL_BUILD_SUCCESS, options, log, kind)

    def adopt_failure(self, options: str, log: str) -> None:
        """Linking has failed: there is nothing but the log."""
        self.linked = True
        for device in self.devices:
            self.builds[device] = Build(cl.CL_BUILD_ERROR, options, log)

    def _program(self, *, fresh: bool = False) -> BuiltProgram:
        """What the engine has of this program.

        `fresh`, to build it: not what the engine has made kernels of, which it would not build again.
        """
        if self._made is None or (fresh and self._interfaces and (self.il or self.source is not None)):
            engine = self.context.platform.engine
            self._made = engine.from_il(self.il) if self.il else engine.from_source(self.source or "")
            for id, value in self._constants.items():
                self._made.specialize(id, value)
        return self._made

    @property
    def made(self) -> BuiltProgram:
        """What the engine has of this program."""
        return self._program()

    @property
    def identity(self) -> str:
        """40 hexadecimal digits, the same for programs that a board need not be programmed anew for."""
        if not self._identity:
            build = next((b for b in self.builds.values() if b.kind != cl.CL_PROGRAM_BINARY_TYPE_NONE), Build())
            self._identity = sha1(b"\0".join((self.image(), build.options.encode(errors="replace")))).hexdigest()
        return self._identity

    @identity.setter
    def identity(self, identity: str) -> None:
        self._identity = identity

    def was_loaded_as(self, identity: str) -> bool:
        """Whether that is its identity; one that was never asked for its identity was never loaded."""
        return self._identity == identity

    def image(self) -> bytes:
        """What is loaded onto the board. A binary that the driver made counts as its source, which a host may cache."""
        if self.origin.image:
            return self.origin.image
        if self.origin.binary is not None:
            listing = self.origin.binary.listing
            return self.origin.binary.payload if listing is None else listing.encode(errors="replace")
        return self.il or (self.source or f"linked program {self._number}").encode(errors="replace")

    # Kernels and binaries

    def interfaces(self) -> dict[str, KernelInterface]:
        """The kernels of a built program; raises InvalidProgramExecutable before it is built."""
        if not self.executable:
            raise InvalidProgramExecutable("the program has not been built successfully")
        if not self._interfaces:
            self._interfaces = with_places(self._program().kernels(self.known()), self.locations())
        return self._interfaces

    def _kernel_names(self) -> set[str]:
        """Of the kernels that it has, or will have when it is built."""
        return set(self.interfaces() if self.executable else self.known())

    def known(self) -> dict[str, KernelInterface]:
        """Interfaces that the engine need not or cannot tell: of SPIR-V, and what a binary says of itself."""
        if self.il and not self._known:
            from fpgart.kernels import spirv  # only who has SPIR-V needs it

            self._known = spirv.interfaces(self.il)
            if self.context.platform.personality.ignores_wrong_locations:
                most = max(len(device.board.memories) for device in self.devices)
                self._known = {name: without_locations_from(each, most) for name, each in self._known.items()}
        return self._known

    @property
    def listing(self) -> str | None:
        """All the OpenCL C that it is made of; None where some of it is not known."""
        if self.source is not None:
            return self.source
        if self.origin.binary is not None:
            return self.origin.binary.listing
        return "\n".join(part or "" for part in self._parts) if self._parts and None not in self._parts else None

    def locations(self) -> dict[str, tuple[str, ...]]:
        """By kernel, the buffer_location of each argument, where the source or what was linked has any."""
        if self.source is None:
            return self._locations
        found = buffer_locations(self.source, self.options)
        known = self.origin.memories
        if known is None:
            return found
        return {name: tuple(place if place in known else "" for place in places) for name, places in found.items()}

    def hardware(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """By kernel, the numbers of its attributes for hardware, from the source, what was linked, or a binary."""
        if self.source is None:
            return self._hardware
        options = self.options
        if "__attribute" not in self.source and "__attribute" not in options:
            return {}
        return _attributes(self.source, options)

    @property
    def options(self) -> str:
        """Those of the last build, on any device; a container's own, which building it again does not change."""
        return self.origin.options or next((build.options for build in self.builds.values() if build.options), "")

    def engine_kernel(self, name: str) -> EngineKernel:
        """Raises InvalidKernelName for a name that the program does not have."""
        if name not in self.interfaces():
            known = ", ".join(sorted(self.interfaces())) or "none"
            raise InvalidKernelName(f"the program has no kernel '{name}'; its kernels: {known}")
        found = (
            ModelKernel(self.interfaces()[name], has_model=True) if has_model(name) else self._program().kernel(name)
        )
        if isinstance(found, ModelKernel):
            found.mirrors = self.context.platform.engine.mirrors
        return found

    def binary(self, device: Device) -> bytes:
        """What clCreateProgramWithBinary takes; empty for a device the program is not built for."""
        if device in self._others:
            return self._others[device].binary(device)
        build = self.builds[device]
        if build.kind == cl.CL_PROGRAM_BINARY_TYPE_NONE:
            return b""
        if self.origin.container:
            return self.origin.container
        engine = self.context.platform.engine
        kernels = self.interfaces() if self.executable else self.known()
        from fpgart.aocx.binary import ProgramBinary  # few hosts ask for binaries

        made_with = f"{engine.name} {engine.version}"
        return ProgramBinary(
            made_with, build.kind, build.options, kernels, self._program().binary(), self.listing, self.locations(),
            self.hardware(),
        ).encode()  # fmt: skip
