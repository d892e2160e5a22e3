# SPDX-License-Identifier: Apache-2.0
"""Programs (OpenCL 3.0, 5.8)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Protocol

from fpgart.base import opencl as cl
from fpgart.base.digests import sha1
from fpgart.base.errors import (
    BuildProgramFailure,
    CLError,
    InvalidKernelDefinition,
    InvalidKernelName,
    InvalidOperation,
    InvalidProgramExecutable,
    error_of,
)
from fpgart.base.notices import NOTICES
from fpgart.engine.interface import BuildFailed, BuiltProgram, EngineKernel
from fpgart.engine.models import ModelKernel, has_model
from fpgart.kernels.interface import KernelInterface, with_places, without_locations_from
from fpgart.kernels.opencl_c import attribute_words, buffer_locations, kernel_attributes
from fpgart.kernels.polling import Polling
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import Living
from fpgart.runtime.programs.build import Build, first_error
from fpgart.runtime.programs.compiler_mode import CompilerMode

if TYPE_CHECKING:
    from fpgart.aocx.binary import ProgramBinary
    from fpgart.runtime.programs.context import ProgramContext

NUMBERS = count(1)


class ProgramKernel(Protocol):
    """A kernel; the program cannot be built again while it exists."""

    @property
    def name(self) -> str: ...


_attributes = lru_cache(maxsize=64)(kernel_attributes)


_attribute_words = lru_cache(maxsize=64)(attribute_words)


@lru_cache(maxsize=64)
def _module_may_poll(il: bytes) -> bool:
    from fpgart.kernels import spirv, spirv_polling  # few hosts need it

    return spirv_polling.may_poll(spirv.Module(il))


@lru_cache(maxsize=64)
def _attributes_in(il: bytes) -> dict[str, dict[str, tuple[int, ...]]]:
    from fpgart.kernels import spirv, spirv_kernels  # few hosts need it

    return spirv_kernels.hardware(spirv.Module(il))


class Origin:
    """The facts in the binary that a program was loaded from; empty for source and SPIR-V."""

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
        """The bytes of the .aocx."""
        self.image = image
        """The part of the container that a board is programmed with."""
        self.options = ""
        """The options that the container was compiled with."""
        self.interleaving = interleaving
        """True, by memory, if the binary interleaves the banks; None if it does not say so."""
        self.memories: frozenset[str] | None = None
        """The memories that a buffer_location may name; others are ignored. None allows any."""
        self.binary = binary


class Program:
    """A program of source, intermediate language or binaries, and the results of building it."""

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
        self._known: dict[str, KernelInterface] = binary.interfaces if binary is not None else {}
        self._locations: dict[str, tuple[str, ...]] = binary.locations if binary is not None else {}
        self._hardware: dict[str, dict[str, tuple[int, ...]]] = binary.hardware if binary is not None else {}
        self.specialized: dict[int, bytes] = {}
        """The values of specialisation constants that the host has set."""
        self._building = threading.Lock()
        self._identity = ""
        self._number = next(NUMBERS)
        self._others: dict[Device, Program] = {}
        self.end_kernels: Callable[[], bool] = lambda: True
        """Has Python make the next kernels after a build. Returns False while kernels exist that C made."""
        self.linked = False
        """True if clLinkProgram created it, also if linking failed."""
        self._parts: tuple[str | None, ...] = ()
        self._modules: tuple[bytes, ...] = ()
        self._parts_may_poll = True
        self._polling: Polling | None = None
        for device in devices:
            if device.memories.keeps_programs:
                device.programs.add(self)

    @property
    def interleaving(self) -> tuple[bool, ...] | None:
        """For each memory, True if the binary interleaves its banks. None if the program does not tell."""
        return self.origin.interleaving

    def add(self, other: Program) -> None:
        """Adds the devices and builds of another program, which may have other kernels."""
        self.devices = [*self.devices, *other.devices]
        self.builds |= other.builds
        self._others |= dict.fromkeys(other.devices, other)

    def on(self, device: Device) -> Program:
        """Returns the program with the binary for a device."""
        return self._others.get(device, self)

    def _split(self, devices: list[Device]) -> None:
        """Has each program of the engine built in one way: with the same options, for boards with the same macros.

        Devices that are built now get programs of their own if others of their program keep what was built for them.
        """
        if self.origin.container or (self.source is None and not self.il):
            return
        if len(devices) == len(self.devices):
            self._others = {}
        groups: dict[tuple[Program, tuple[str, ...]], list[Device]] = {}
        for device in devices:
            groups.setdefault((self.on(device), device.board.macros), []).append(device)
        for (part, _), chosen in reversed(groups.items()):
            rest = [device for device in self.devices if self.on(device) is part and device not in chosen]
            if any(device in devices or self.builds[device].has_result for device in rest):
                own = Program(self.context, chosen, source=self.source, il=self.il)
                own.specialized = dict(self.specialized)
                self._others |= dict.fromkeys(chosen, own)

    def _own_builds(self) -> list[Build]:
        """Returns the builds for the devices that have no program of their own."""
        return [build for device, build in self.builds.items() if device not in self._others]

    def _executables(self) -> list[Program]:
        """Returns the programs that have an executable for some device, this one first."""
        found = {self.on(device): None for device, build in self.builds.items() if build.is_executable}
        return sorted(found, key=lambda part: part is not self)

    # Building

    @property
    def is_container(self) -> bool:
        """True if it was loaded from an .aocx."""
        return bool(self.origin.container)

    @property
    def executable(self) -> bool:
        return any(build.is_executable for build in self.builds.values())

    def check_built(self, device: Device) -> None:
        """Raises InvalidProgramExecutable if it has no executable for a device."""
        build = self.builds.get(device)
        if build is None or not build.is_executable:
            raise InvalidProgramExecutable(f"the program is not built for device {device.id}")

    def specialize(self, id: int, value: bytes) -> None:
        """Sets a specialisation constant for the builds to come. Raises the engine's error."""
        for part in {self: None} | dict.fromkeys(self._others.values()):
            part._program().specialize(id, value)
            part.specialized[id] = value

    def build(self, devices: list[Device], options: str) -> None:
        """Compiles and links for `devices`. Raises CLError; the log has the compiler's messages.

        A container's program is built when it is loaded, so that building it again does nothing. If devices have
        programs of their own, all are built even if some fail.
        """
        self._for_parts(devices, lambda part, chosen: part._build(chosen, options))

    def _for_parts(self, devices: list[Device], work: Callable[[Program, list[Device]], None]) -> None:
        """Does the work for each program of these devices, one after another."""
        part = self.on(devices[0])
        chosen = [device for device in devices if self.on(device) is part]
        others = [device for device in devices if device not in chosen]
        try:
            work(part, chosen)
        finally:
            self.builds |= {device: part.builds[device] for device in chosen}
            if others:
                self._for_parts(others, work)

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
        self.may_poll()  # reads the whole source; beside the compiler's time that is little, beside a launch's much

    def compile(self, devices: list[Device], options: str, headers: dict[str, Program]) -> None:
        """Compiles for `devices`; #include finds the headers by name. Raises CLError."""
        built = {name: header._program() for name, header in headers.items()}
        self._for_parts(devices, lambda part, chosen: part._compile_object(chosen, options, built))

    def _compile_object(self, devices: list[Device], options: str, headers: dict[str, BuiltProgram]) -> None:
        self._step(
            devices,
            options,
            lambda made: made.compile(devices[0].board.build_options(options), headers),
            cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
        )

    def _compile(self, made: BuiltProgram, devices: list[Device], options: str) -> str:
        """Builds as the context's compiler mode says, and returns the log. Raises BuildFailed."""
        mode, source = self.context.compiler_mode, self.source
        if (
            mode in (CompilerMode.CREATE_LIBRARY, CompilerMode.USE_LIBRARY)
            and source is not None
            and not self.origin.container
        ):
            from fpgart.runtime.programs import library

            root, board = self.context.library_root, devices[0].board
            if mode == CompilerMode.CREATE_LIBRARY:
                library.create(root, board, options, source, self.context.platform.engine)
            else:
                self.origin.container = library.load(root, board, options, source)
        return made.build(devices[0].board.build_options(options))

    def claim(self, devices: list[Device]) -> None:
        """Marks a build as begun. Raises InvalidOperation while another one runs or kernels exist."""
        with self._building:
            if any(self.builds[device].status == cl.CL_BUILD_IN_PROGRESS for device in devices):
                raise InvalidOperation("a build of this program is still running")
            if self._kernels or not self.end_kernels():
                raise InvalidOperation("kernels of this program exist; release them before building it again")
            self._split(devices)
            for device in devices:
                self.builds[device] = Build(cl.CL_BUILD_IN_PROGRESS)

    def admit(self, kernel: ProgramKernel) -> None:
        """Registers a new kernel, which keeps builds from beginning. Raises InvalidProgramExecutable during a build."""
        with self._building:
            if not self.executable:
                raise InvalidProgramExecutable(f"the program is being rebuilt while kernel '{kernel.name}' is made")
            self._kernels.add(kernel)

    def a_kernel(self) -> ProgramKernel | None:
        """Returns a kernel of the program, which keeps builds from beginning as long as it lives; None without any."""
        with self._building:
            return self._kernels.newest()

    def _step(self, devices: list[Device], options: str, work: Callable[[BuiltProgram], str], kind: int) -> None:
        """Runs a build step that claim() began, and sets its status to success or error."""
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
            # Another thread may ask for kernels once the status is a success: drop those of the last build before.
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

    def adopt(self, made: BuiltProgram, options: str, log: str, kind: int, parts: Sequence[Program]) -> None:
        """Stores the result of linking `parts`."""
        self.linked = True
        self._made = made
        self._parts = tuple(part.listing for part in parts)
        self._modules = tuple(module for part in parts for module in part.modules)
        self._parts_may_poll = any(part.may_poll() for part in parts)
        for part in parts:  # not in place: what a binary has may be shared (ProgramBinary.decode)
            self._locations = self._locations | part.locations()
            self._hardware = self._hardware | part.hardware()
            self._known = self._known | part.known()
        for device in self.devices:
            self.builds[device] = Build(cl.CL_BUILD_SUCCESS, options, log, kind)

    def adopt_failure(self, options: str, log: str) -> None:
        """Stores the log of linking that failed."""
        self.linked = True
        for device in self.devices:
            self.builds[device] = Build(cl.CL_BUILD_ERROR, options, log)

    def _program(self, *, fresh: bool = False) -> BuiltProgram:
        """Returns the engine's program.

        With `fresh`, for a build, it is a new one if the engine has made kernels of the last one: engines do not build
        that again.
        """
        if self._made is None or (fresh and self._interfaces and (self.il or self.source is not None)):
            engine = self.context.platform.engine
            self._made = engine.from_il(self.il) if self.il else engine.from_source(self.source or "")
            for id, value in self.specialized.items():
                self._made.specialize(id, value)
        return self._made

    @property
    def made(self) -> BuiltProgram:
        return self._program()

    @property
    def identity(self) -> str:
        """40 hexadecimal digits; a board need not be programmed again for a program with the same ones."""
        if not self._identity:
            build = next((b for b in self._own_builds() if b.kind != cl.CL_PROGRAM_BINARY_TYPE_NONE), Build())
            self._identity = sha1(b"\0".join((self.image(), build.options.encode(errors="replace")))).hexdigest()
        return self._identity

    @identity.setter
    def identity(self, identity: str) -> None:
        self._identity = identity

    def was_loaded_as(self, identity: str) -> bool:
        """True if it was loaded with this identity. A program without a computed identity was never loaded."""
        return self._identity == identity

    def may_poll(self, kernel: str = "") -> bool:
        """False if the kernel does not wait for what another command, or the host, writes while it runs.

        Without a name it answers for all kernels.
        """
        if self.linked:
            return self._parts_may_poll
        if self.listing is None:
            return not self.il or _module_may_poll(self.il)
        if self._polling is None or self._polling.options != self.options:
            self._polling = Polling(self.listing, self.options)
        return self._polling.may_include(kernel)

    def image(self) -> bytes:
        """Returns the bytes that a board is programmed with.

        For a binary that the driver made they are its source, so that hosts may cache the binary.
        """
        if self.origin.image:
            return self.origin.image
        if self.origin.binary is not None:
            listing = self.origin.binary.listing
            return self.origin.binary.payload if listing is None else listing.encode(errors="replace")
        return self.il or (self.source or f"linked program {self._number}").encode(errors="replace")

    # Kernels and binaries

    def interfaces(self) -> dict[str, KernelInterface]:
        """Returns the kernels of a built program, on any device. Raises InvalidProgramExecutable before it is built."""
        if not self.executable:
            raise InvalidProgramExecutable("the program has not been built successfully")
        if not self._others:
            return self.own_interfaces()
        found: dict[str, KernelInterface] = {}
        for part in self._executables():
            for name, interface in part.own_interfaces().items():
                found.setdefault(name, interface)
        return found

    def own_interfaces(self) -> dict[str, KernelInterface]:
        """Returns the kernels for the devices that have no program of their own."""
        if not self._interfaces:
            self._interfaces = with_places(self._program().kernels(self.known()), self.locations())
        return self._interfaces

    def has_kernel(self, name: str, device: Device) -> bool:
        """True if the program that was built for a device has a kernel of that name."""
        return name in self.on(device).own_interfaces()

    def is_one_kernel(self, name: str) -> bool:
        """True if a kernel's arguments have the same types on all devices that have it."""
        found = [part.own_interfaces().get(name) for part in self._executables()] if self._others else []
        return len({tuple(each.type_name for each in one.arguments) for one in found if one is not None}) <= 1

    def known(self) -> dict[str, KernelInterface]:
        """Returns the interfaces that do not come from the engine: those in SPIR-V and in the driver's binaries."""
        if self.il and not self._known:
            from fpgart.kernels import spirv, spirv_kernels  # few hosts need it

            self._known = spirv_kernels.interfaces(spirv.Module(self.il))
            if self.context.platform.personality.ignores_wrong_locations:
                most = max(len(device.board.memories) for device in self.devices)
                self._known = {name: without_locations_from(each, most) for name, each in self._known.items()}
        return self._known

    @property
    def listing(self) -> str | None:
        """All OpenCL C of the program; None if part of it is unknown."""
        if self.source is not None:
            return self.source
        if self.origin.binary is not None:
            return self.origin.binary.listing
        return "\n".join(part or "" for part in self._parts) if self._parts and None not in self._parts else None

    @property
    def modules(self) -> tuple[bytes, ...]:
        return (self.il,) if self.il else self._modules

    def locations(self) -> dict[str, tuple[str, ...]]:
        """Returns, by kernel, the buffer_location of each argument, from the source or the linked programs."""
        if self.source is None:
            return self._locations
        found = buffer_locations(self.source, self.options)
        known = self.origin.memories
        if known is None:
            return found
        return {name: tuple(place if place in known else "" for place in places) for name, places in found.items()}

    def attributes_of(self, kernel: str) -> str:
        """Returns the text of a kernel's attributes; "" if the program does not come from source."""
        return _attribute_words(self.source or "", self.options).get(kernel, "")

    def hardware(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Returns, by kernel, the numbers of its hardware attributes.

        They come from the source, from SPIR-V, from linked programs or from a binary.
        """
        if self.il:
            return _attributes_in(self.il)
        if self.source is None:
            return self._hardware
        options = self.options
        if "__attribute" not in self.source and "__attribute" not in options:
            return {}
        return _attributes(self.source, options)

    @property
    def options(self) -> str:
        """The options of the last build, on any device. A container's own ones do not change."""
        return self.origin.options or next((build.options for build in self._own_builds() if build.options), "")

    def engine_kernel(self, name: str) -> EngineKernel:
        """Returns a new kernel of the engine: for the devices without a program of their own, if they have it.

        Raises InvalidKernelName if the program has none of that name, InvalidKernelDefinition if devices differ in it.
        """
        interfaces = self.interfaces()
        if name not in interfaces:
            known = ", ".join(sorted(interfaces)) or "none"
            raise InvalidKernelName(f"the program has no kernel '{name}'; its kernels: {known}")
        if not self.is_one_kernel(name):
            raise InvalidKernelDefinition(f"kernel '{name}' has other arguments on some of the program's devices")
        part = next(part for part in self._executables() if name in part.own_interfaces()) if self._others else self
        found = ModelKernel(interfaces[name], has_model=True) if has_model(name) else part._program().kernel(name)
        if isinstance(found, ModelKernel):
            found.mirrors = self.context.platform.engine.mirrors
        return found

    def binary(self, device: Device) -> bytes:
        """Returns the bytes for clCreateProgramWithBinary; empty for a device that the program is not built for."""
        if device in self._others:
            return self._others[device].binary(device)
        build = self.builds[device]
        if build.kind == cl.CL_PROGRAM_BINARY_TYPE_NONE:
            return b""
        if not build.binary:
            build.binary = self.origin.container or self._made_binary(build)
        return build.binary

    def _made_binary(self, build: Build) -> bytes:
        engine = self.context.platform.engine
        kernels = self.own_interfaces() if build.is_executable else self.known()
        from fpgart.aocx.binary import ProgramBinary  # few hosts ask for binaries

        made_with = f"{engine.name} {engine.version}"
        return ProgramBinary(
            made_with, build.kind, build.options, [*kernels.values()], self.listing, self.locations(), self.hardware(),
            self._program().binary(),
        ).encode()  # fmt: skip
