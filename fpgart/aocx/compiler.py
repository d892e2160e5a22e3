# SPDX-License-Identifier: Apache-2.0
"""Compiles OpenCL C into a container, as `aoc` does, with the engine's compiler.

The image for the board (.acl.fpga.bin) is the source with its options and the kernels' interfaces: engines' own
binaries differ from run to run, and the same input shall give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fpgart.aocx import container as sections
from fpgart.aocx.autodiscovery import format as format_autodiscovery
from fpgart.aocx.autodiscovery import to_section
from fpgart.aocx.binary import ProgramBinary
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.interfaces import ACCESS, QUALIFIERS, SPACES
from fpgart.aocx.system import (
    Access,
    AddressSpace,
    Argument,
    Autodiscovery,
    Category,
    DescribedKernel,
    HostPipe,
    Interface,
    Memory,
    TypeQualifier,
)
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError
from fpgart.board.csr import register_bytes
from fpgart.board.description import BoardDescription
from fpgart.board.keystone.addresses import power_of_two_from
from fpgart.engine.interface import BuildFailed, BuiltProgram, Engine, EngineKernel
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, PipeArgument, with_places
from fpgart.kernels.opencl_c import buffer_locations, kernel_attributes, size_of_type

SOURCE_ENGINE = "OpenCL C"
"""The engine of a binary whose payload is source."""
NO_IDENTITY = "0" * 40
POINTER_BYTES, POINTER_ALIGNMENT = 8, 1024
LARGEST_VALUE = 1024
SPACE_OF = {qualifier: space for space, qualifier in SPACES.items()}
ACCESS_OF = {qualifier: access for access, qualifier in ACCESS.items()}


class CompileError(AocxError):
    """Raised with the compiler's log, with file, line and caret."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `aoc`: for the compiler (-I, -D, ...), and those that are only recorded.

    `libraries`: options -l and -L. `emulator`: the container is for any board, as those of -march=emulator are.
    """

    compiler: tuple[str, ...] = ()
    noted: tuple[str, ...] = field(default=())
    emulator: bool = False
    libraries: tuple[str, ...] = ()

    def text(self) -> str:
        return " ".join(self.compiler)

    def recorded(self) -> str:
        """Returns the options as a container records them."""
        return " ".join((*self.compiler, *self.noted, *self.libraries))


def ignore(words: str) -> None:
    """Ignores the words."""


def compile_source(
    source: str, board: BoardDescription, options: Options, engine: Engine, tell: Callable[[str], None] = ignore
) -> Container:
    """Compiles a container for `board`; raises CompileError with the compiler's log; `tell` gets warnings."""
    built = engine.from_source(source)
    build_options = board.build_options(options.text())
    try:
        tell(built.build(build_options))
    except BuildFailed as failed:
        raise CompileError(failed.log) from None
    interfaces = with_places(built.kernels({}), buffer_locations(source, options.text()))
    if not interfaces:
        raise CompileError("error: the source has no kernel")
    sizes = sizes_of_structures(interfaces, source, build_options, engine)
    kernels = describe_kernels(interfaces, built, source, options.text(), sizes)
    name = sections.EMULATOR_BOARD if options.emulator else board.name
    system = Autodiscovery(NO_IDENTITY, name, memories_of(board), kernels, host_pipes=_host_pipes(interfaces.values()))
    if not options.emulator:
        _check_locations(system)
    by_name = [interfaces[name] for name in sorted(interfaces)]
    image = ProgramBinary(
        SOURCE_ENGINE, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE, options.text(), by_name, None, {}, {},
        source.encode(errors="surrogateescape"),
    ).encode()  # fmt: skip
    return _with_identity(system, board, options, source, image)


def _with_identity(
    system: Autodiscovery, board: BoardDescription, options: Options, source: str, image: bytes
) -> Container:
    recorded = options.recorded()
    text = "\0".join((system.board, recorded, source)).encode(errors="surrogateescape")
    digest = hashlib.sha1(text, usedforsecurity=False).hexdigest()
    made = Container(
        {
            sections.BOARD: system.board.encode(),
            sections.AUTODISCOVERY: to_section(format_autodiscovery(system)),
            sections.RANDOM_HASH: NO_IDENTITY.encode(),
            sections.SOURCE_HASH: digest.encode(),
            sections.BOARD_SPEC: board.text.encode(),
            sections.ARGUMENT_INFO: _argument_info(system).encode(),
            sections.OPTIONS: recorded.encode(errors="surrogateescape"),
            sections.SOURCE: source.encode(errors="surrogateescape"),
            sections.BOARD_IMAGE: image,
        }
    )
    identity = made.identity().encode()
    changed = dict(made.sections)
    changed[sections.RANDOM_HASH] = identity
    changed[sections.AUTODISCOVERY] = changed[sections.AUTODISCOVERY].replace(NO_IDENTITY.encode(), identity)
    return Container(changed)


def memories_of(board: BoardDescription) -> tuple[Memory, ...]:
    """Returns the board's memories for autodiscovery; one whose ports are not described has a single one."""
    return tuple(
        Memory(
            memory.name,
            tuple(Interface(port.address, port.end) for port in memory.interfaces)
            or (Interface(int(memory.begin), int(memory.end)),),
            config_address=memory.config_addr if memory.banks > 1 else 0,
            interleaved=memory.interleaved if memory.banks > 1 else True,
            allocation_types=int(memory.allocation_types),
        )
        for memory in board.memories
    )


def sizes_of_structures(
    interfaces: dict[str, KernelInterface], source: str, build_options: str, engine: Engine
) -> dict[str, int]:
    """Returns the bytes of each type of the kernels' values that is no scalar and no vector.

    Compilers do not report them, and some kernels take values of any size for a structure. So an additional kernel for
    each type has the size as that of its work-groups. The result is empty if the compiler refuses these kernels.
    """
    values = (
        a for interface in interfaces.values() for a in interface.arguments if not SPACE_OF.get(a.address_qualifier)
    )
    names = sorted({a.type_name for a in values if a.pipe is None and a.type_name and not size_of_type(a.type_name)})
    if not names:
        return {}
    added = [
        f"__kernel __attribute__((reqd_work_group_size(sizeof({name}), 1, 1))) void fpgart_size_{index}(void) {{}}"
        for index, name in enumerate(names)
    ]
    asked = engine.from_source("\n".join((source, *added, "")))
    try:
        asked.build(build_options)
        kernels = [asked.kernel(f"fpgart_size_{index}") for index in range(len(names))]
    except (BuildFailed, CLError):
        return {}
    return {name: kernel.interface.required_work_group_size[0] for name, kernel in zip(names, kernels, strict=True)}


def describe_kernels(
    interfaces: dict[str, KernelInterface], built: BuiltProgram, source: str, options: str, sizes: dict[str, int]
) -> tuple[DescribedKernel, ...]:
    """Returns the kernels of a built program for autodiscovery, each with registers of its own.

    `sizes`: those of structures, by the types' names.
    """
    attributes = kernel_attributes(source, options)
    kernels: list[DescribedKernel] = []
    address = 0
    for name, interface in sorted(interfaces.items()):
        kernels.append(_kernel(address, interface, built.kernel(name), attributes.get(name, {}), sizes))
        address += kernels[-1].csr_bytes
    return tuple(kernels)


def _kernel(
    csr_address: int,
    interface: KernelInterface,
    engine_kernel: EngineKernel,
    attributes: dict[str, tuple[int, ...]],
    sizes: dict[str, int],
) -> DescribedKernel:
    single = attributes.get("max_global_work_dim", (3,))[0] == 0
    arguments = tuple(_argument(i, argument, engine_kernel, sizes) for i, argument in enumerate(interface.arguments))
    return DescribedKernel(
        interface.name,
        arguments,
        csr_address=csr_address,
        csr_bytes=register_bytes(sum(argument.size for argument in arguments)),
        work_group_invariant=single,
        vector_lanes=attributes.get("num_simd_work_items", (1,))[0],
        required_work_group_size=interface.required_work_group_size,
        max_work_group_sizes=attributes.get("max_work_group_size", DescribedKernel("").max_work_group_sizes),
        max_global_work_dim=attributes.get("max_global_work_dim", (3,))[0],
        uses_global_work_offset=bool(attributes.get("uses_global_work_offset", (1,))[0]),
    )


def _argument(index: int, argument: ArgumentInterface, engine_kernel: EngineKernel, sizes: dict[str, int]) -> Argument:
    if argument.pipe is not None:
        return _pipe(argument, argument.pipe)
    space = SPACE_OF.get(argument.address_qualifier, AddressSpace.NONE)
    is_local = space is AddressSpace.LOCAL
    is_pointer = space is not AddressSpace.NONE
    size = 4 if is_local else POINTER_BYTES if is_pointer else sizes.get(argument.type_name, 0)
    size = size or _size_of_value(index, argument, engine_kernel)
    qualifiers = TypeQualifier.NONE
    for qualifier, bit in QUALIFIERS:
        if argument.type_qualifier & bit:
            qualifiers |= qualifier
    return Argument(
        space,
        Category.MEMORY if is_pointer else Category.VALUE,
        size,
        POINTER_ALIGNMENT if is_pointer and not is_local else power_of_two_from(size),
        (argument.buffer_location,) if argument.buffer_location else (),
        local_space=index + 4 if is_local else 0,
        local_bytes=16384 if is_local else 0,
        qualifiers=qualifiers,
        name=argument.name,
        type_name=argument.type_name.replace(" ", ""),
        access=ACCESS_OF.get(argument.access_qualifier, Access.NONE),
    )


def _pipe(argument: ArgumentInterface, pipe: PipeArgument) -> Argument:
    return Argument(
        AddressSpace.NONE,
        Category.MEMORY,
        POINTER_BYTES,
        POINTER_BYTES,
        qualifiers=TypeQualifier.PIPE,
        host_channel=argument.name if pipe.host_accessible else "",
        name=argument.name,
        type_name=pipe.type_name.replace(" ", ""),
        access=Access.WRITE_ONLY if pipe.writes else Access.READ_ONLY,
    )


def _host_pipes(interfaces: Iterable[KernelInterface]) -> tuple[HostPipe, ...]:
    """Returns the pipes between kernels and the host that the kernels' arguments declare."""
    pipes = [(a.name, a.pipe) for i in interfaces for a in i.arguments if a.pipe is not None and a.pipe.host_accessible]
    return tuple(
        HostPipe(name, not pipe.writes, pipe.writes, size_of_type(pipe.type_name), max(pipe.depth, 1))
        for name, pipe in pipes
    )


def _size_of_value(index: int, argument: ArgumentInterface, engine_kernel: EngineKernel) -> int:
    """Returns the bytes of a value: by its type's name or, for structures, by the compiler's kernel."""
    known = size_of_type(argument.type_name)
    if known:
        return known
    return next((size for size in range(1, LARGEST_VALUE + 1) if engine_kernel.accepts(index, size)), 0)


def _check_locations(system: Autodiscovery) -> None:
    for kernel in system.kernels:
        for argument in kernel.arguments:
            if argument.buffer_location and system.memory(argument.buffer_location) is None:
                known = ", ".join(memory.name for memory in system.memories)
                raise CompileError(
                    f"error: argument '{argument.name}' of kernel '{kernel.name}' is to be in memory "
                    f"'{argument.buffer_location}'; board '{system.board}' has {known}"
                )


def _argument_info(system: Autodiscovery) -> str:
    from xml.sax.saxutils import quoteattr  # imports an HTTP client, which those that only read the file need not have

    lines = [f"<board name={quoteattr(system.board)}>"]
    for kernel in system.kernels:
        lines.append(f'  <kernel name={quoteattr(kernel.name)} num_args="{len(kernel.arguments)}">')
        for index, argument in enumerate(kernel.arguments):
            lines.append(
                f'    <argument index="{index}" name={quoteattr(argument.name)} '
                f'opencl_access_type="{int(argument.space)}" type_qualifier="{int(argument.qualifiers)}" '
                f'access_qualifier="{int(argument.access)}" type_name={quoteattr(argument.type_name)}/>'
            )
        lines.append("  </kernel>")
    return "\n".join([*lines, "</board>", ""])
