# SPDX-License-Identifier: Apache-2.0
"""Programs (OpenCL 3.0, 5.8)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha1
from itertools import count
from typing import TYPE_CHECKING, Protocol

from fpgart import opencl as cl
from fpgart.aocx.binary import SIGNATURE, ProgramBinary
from fpgart.aocx.container import BOARD, BOARD_IMAGE, EMULATOR_BOARD, MAGIC, RANDOM_HASH, Container
from fpgart.aocx.errors import AocxError
from fpgart.engine.interface import BuildFailed, BuiltProgram, EngineKernel, KernelInterface, with_places
from fpgart.engine.models import ModelKernel, ModelProgram, has_model
from fpgart.engine.opencl_c import buffer_locations, kernel_attributes
from fpgart.errors import (
    BuildProgramFailure,
    CLError,
    InvalidBinary,
    InvalidKernelName,
    InvalidOperation,
    InvalidProgramExecutable,
    error_of,
)
from fpgart.notices import NOTICES
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import Living
from fpgart.runtime.programs.build import Build, first_error

if TYPE_CHECKING:
    from fpgart.runtime.programs.context import ProgramContext

NUMBERS = count(1)


class ProgramKernel(Protocol):
    """A kernel that keeps its program from being built anew."""

    @property
    def name(self) -> str: ...


_attributes = lru_cache(maxsize=64)(kernel_attributes)


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
    ) -> None:
        self.handle = 0
        self.context = context
        self.devices = devices
        self.source = source
        self.il = il
        self.builds = {device: Build() for device in devices}
        self._kernels: Living[ProgramKernel] = Living()
        self._made = made
        self._interfaces: dict[str, KernelInterface] = {}
        self._known: dict[str, KernelInterface] = {}
        self._constants: dict[int, bytes] = {}
        self._building = threading.Lock()
        self._loaded: ProgramBinary | None = None
        self._identity = ""
        self.interleaving: tuple[bool, ...] | None = None
        """By memory, whether the binary interleaves its banks; None for programs that say nothing of that."""
        self._container = b""
        self._made_with = ""
        """A container's options."""
        self._image = b""
        self._number = next(NUMBERS)
        self._others: dict[Device, Program] = {}
        self._locations: dict[str, tuple[str, ...]] = {}
        self._hardware: dict[str, dict[str, tuple[int, ...]]] = {}
        self._memories: frozenset[str] | None = None
        """Memories that a buffer_location may name; None: any. Others are passed over."""
        self.linked = False
        """Whether clLinkProgram made it, with success or not."""
        self._parts: tuple[str | None, ...] = ()
        for device in devices:
            if device.memories.keeps_programs:
                device.programs.add(self)

    @classmethod
    def from_binary(cls, context: ProgramContext, devices: list[Device], data: bytes) -> Program:
        """Raises InvalidBinary for bytes that are not what clGetProgramInfo gave."""
        if data.startswith(MAGIC):
            return cls._from_container(context, devices, data)
        binary = ProgramBinary.decode(data)
        engine = context.platform.engine
        if binary.engine != f"{engine.name} {engine.version}":
            raise InvalidBinary(
                f"the binary was made with engine '{binary.engine}', this process runs '{engine.name} {engine.version}'"
            )
        program = cls(context, devices, made=engine.from_binary(binary.payload))
        program._loaded = binary
        program._known = binary.kernels
        program._locations, program._hardware = binary.locations, binary.hardware
        for build in program.builds.values():
            build.kind = binary.kind
            build.options = binary.options
        return program

    @classmethod
    def from_binaries(cls, context: ProgramContext, pairs: list[tuple[Device, bytes]]) -> Program:
        """A program with a binary for each device, the same or another. Raises InvalidBinary.

        What is asked of it without naming a device is answered by the first one's binary.
        """
        groups: dict[bytes, list[Device]] = {}
        for device, data in pairs:
            groups.setdefault(data, []).append(device)
        first, *others = [cls.from_binary(context, devices, data) for data, devices in groups.items()]
        for other in others:
            if first._kernel_names() != other._kernel_names():
                raise InvalidBinary("the devices' binaries do not have the same kernels")
            first.devices = [*first.devices, *other.devices]
            first.builds |= other.builds
            first._others |= dict.fromkeys(other.devices, other)
        return first

    def on(self, device: Device) -> Program:
        """What of it is for a device."""
        return self._others.get(device, self)

    @classmethod
    def _from_container(cls, context: ProgramContext, devices: list[Device], data: bytes) -> Program:
        """A program from an .aocx; built at once. Raises InvalidBinary for one that does not fit a device."""
        from fpgart.aocx.checks import check  # only who has an .aocx needs it

        try:
            container = Container.decode(data)
            systems = [check(container, device.board) for device in devices]
        except AocxError as error:
            raise InvalidBinary(str(error)) from None
        interleaving = tuple(memory.banks > 1 and memory.interleaved for memory in systems[0].memories)
        image = container[BOARD_IMAGE]
        if not image.startswith(SIGNATURE):
            program = cls._from_hardware(context, devices, data, container)
            program.interleaving = interleaving
            return program
        binary = ProgramBinary.decode(image)
        program = cls(context, devices, source=binary.payload.decode(errors="surrogateescape"))
        program.interleaving = interleaving
        if container.text(BOARD) == EMULATOR_BOARD:
            program._memories = frozenset(memory.name for memory in systems[0].memories)
        program._container = data
        program._made_with = binary.options
        program._image = image
        program._identity = container.text(RANDOM_HASH)
        program.claim(devices)
        try:
            program.build(devices, binary.options)
        except CLError as error:
            raise InvalidBinary(f"the engine does not accept its source: {error}") from None
        program.interfaces()
        program._identity = container.text(RANDOM_HASH)
        return program

    @classmethod
    def _from_hardware(
        cls, context: ProgramContext, devices: list[Device], data: bytes, container: Container
    ) -> Program:
        """A program for a real board: its kernels' interfaces are known, Python models run them."""
        from fpgart.aocx.interfaces import interfaces_of, value_sizes

        made = ModelProgram(interfaces_of(container), value_sizes(container))
        program = cls(context, devices, made=made)
        program._container = data
        program._image = container[BOARD_IMAGE]
        program._identity = container.text(RANDOM_HASH) if RANDOM_HASH in container else sha1(data).hexdigest()
        for build in program.builds.values():
            build.status, build.kind = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        program.interfaces()
        return program

    # Building

    @property
    def is_container(self) -> bool:
        """Whether it was loaded from an .aocx."""
        return bool(self._container)

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
        if self._container and self._interfaces:
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
        if mode in (1, 2) and source is not None and not self._container:
            from fpgart.runtime.programs import library

            root, board = self.context.library_root, devices[0].board
            if mode == library.CompilerMode.CREATE_LIBRARY:
                library.create(root, board, options, source, self.context.platform.engine)
            else:
                self._container = library.load(root, board, options, source)
        return made.build(devices[0].board.build_options(options))

    def claim(self, devices: list[Device]) -> None:
        """Mark a build as begun; raises InvalidOperation while one is running or kernels exist."""
        with self._building:
            if any(self.builds[device].status == cl.CL_BUILD_IN_PROGRESS for device in devices):
                raise InvalidOperation("a build of this program is still running")
            if self._kernels:
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
            for device in devices:
                self.builds[device] = Build(
                    status, options, log, kind if status == cl.CL_BUILD_SUCCESS else cl.CL_PROGRAM_BINARY_TYPE_NONE
                )
        self._interfaces = {}
        self._identity = ""
        self.context.platform.engine_grew()
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

    def was_loaded_as(self, identity: str) -> bool:
        """Whether that is its identity; one that was never asked for its identity was never loaded."""
        return self._identity == identity

    def image(self) -> bytes:
        """What is loaded onto the board."""
        if self._image:
            return self._image
        if self._loaded is not None:
            return self._loaded.payload
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
            from fpgart.engine import spirv  # only who has SPIR-V needs it

            self._known = spirv.interfaces(self.il)
        return self._known

    @property
    def listing(self) -> str | None:
        """All the OpenCL C that it is made of; None where some of it is not known."""
        if self.source is not None:
            return self.source
        if self._loaded is not None:
            return self._loaded.listing
        return "\n".join(part or "" for part in self._parts) if self._parts and None not in self._parts else None

    def locations(self) -> dict[str, tuple[str, ...]]:
        """By kernel, the buffer_location of each argument, where the source or what was linked has any."""
        if self.source is None:
            return self._locations
        found = buffer_locations(self.source, self.options)
        known = self._memories
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
        return self._made_with or next((build.options for build in self.builds.values() if build.options), "")

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
        if self._container:
            return self._container
        engine = self.context.platform.engine
        kernels = self.interfaces() if self.executable else self.known()
        made_with = f"{engine.name} {engine.version}"
        return ProgramBinary(
            made_with, build.kind, build.options, kernels, self._program().binary(), self.listing, self.locations(),
            self.hardware(),
        ).encode()  # fmt: skip
