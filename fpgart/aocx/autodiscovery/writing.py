# SPDX-License-Identifier: Apache-2.0
"""Writes the autodiscovery string."""

from __future__ import annotations

from fpgart.aocx.autodiscovery.tokens import TOKEN, VERSION, escape
from fpgart.aocx.errors import AocxError
from fpgart.aocx.system import (
    AddressSpace,
    Argument,
    Autodiscovery,
    DescribedKernel,
    DeviceGlobal,
    HostPipe,
    Memory,
    PipeMapping,
    Sideband,
    TypeQualifier,
)

Field = str | int | bool
SECTION_UNIT = 256
TRAILER = 8


def _name(what: str, name: str, none: str | None = None) -> str:
    """Returns a name as a token; raises AocxError for a name that parse() would read differently."""
    token = name or none
    if not token or not TOKEN.fullmatch(token) or (name and name == none):
        raise AocxError(f"{what} {name!r} cannot be written into an autodiscovery string")
    return token


def _group(fields: list[Field]) -> list[Field]:
    return [len(fields), *fields]


def _counted(groups: list[list[Field]]) -> list[Field]:
    return [len(groups), *(field for group in groups for field in _group(group))]


def _table(items: list[list[Field]]) -> list[Field]:
    return [len(items), len(items[0]) if items else 0, *(field for item in items for field in item)]


def format(system: Autodiscovery) -> str:
    """Returns the string that parse() reads as `system`, with all fields of version 23."""
    fields = [VERSION, *_group(_device(system)), *_counted([_kernel(kernel, system) for kernel in system.kernels])]
    return " ".join(str(int(field)) if isinstance(field, bool) else str(field) for field in fields)


def _device(system: Autodiscovery) -> list[Field]:
    return [
        _name("random hash", system.random_hash),
        _name("board name", system.board),
        system.big_endian,
        *_counted([_memory(memory) for memory in system.memories]),
        *_table([_host_pipe(pipe) for pipe in system.host_pipes]),
        system.has_argument_info,
        *_table([_device_global(variable) for variable in system.device_globals]),
        system.cra_ring_root,
        *_table([_pipe_mapping(mapping) for mapping in system.pipe_mappings]),
        len(system.sidebands),
        *(field for sideband in system.sidebands for field in _sideband(sideband)),
    ]


def _memory(memory: Memory) -> list[Field]:
    several = memory.banks > 1
    return [
        _name("memory", memory.name),
        int(memory.kind),
        memory.banks,
        *((memory.config_address, memory.interleaved) if several else ()),
        2,
        *(bound for interface in memory.interfaces for bound in (interface.begin, interface.end)),
        int(memory.allocation_types),
        _name("primary interface", memory.primary_interface, "-"),
        len(memory.can_access),
        *(_name("memory", name) for name in memory.can_access),
        _name("memory id", memory.id, "-"),
    ]


def _host_pipe(pipe: HostPipe) -> list[Field]:
    return [_name("host pipe", pipe.name), pipe.host_to_device, pipe.device_to_host, pipe.width, pipe.depth]


def _device_global(variable: DeviceGlobal) -> list[Field]:
    return [
        _name("device global", variable.name),
        f"{variable.address:#x}",
        variable.size,
        int(variable.host_access),
        variable.can_skip_programming,
        variable.in_csr,
        variable.reset_on_reuse,
    ]


def _pipe_mapping(mapping: PipeMapping) -> list[Field]:
    return [
        _name("pipe", mapping.logical_name),
        _name("pipe", mapping.physical_name),
        mapping.in_csr,
        _name("CSR address", mapping.csr_address),
        mapping.is_read,
        mapping.is_write,
        mapping.width,
        mapping.depth,
        mapping.protocol,
        mapping.is_stall_free,
    ]


def _sideband(sideband: Sideband) -> list[Field]:
    signals: list[list[Field]] = [[int(s.port), s.offset, s.width] for s in sideband.signals]
    return [_name("pipe", sideband.logical_name), *_table(signals)]


def _kernel(kernel: DescribedKernel, system: Autodiscovery) -> list[Field]:
    streaming = kernel.streaming
    formats: list[list[Field]] = [[f.index, _name("printf format", escape(f.text))] for f in kernel.printf_formats]
    return [
        _name("kernel", kernel.name),
        kernel.csr_address,
        kernel.csr_bytes,
        kernel.fast_launch_depth,
        kernel.monitor_address,
        kernel.monitor_bytes,
        kernel.work_group_invariant,
        kernel.work_item_invariant,
        kernel.vector_lanes,
        kernel.profiling_words,
        *_counted([_argument(argument, system.has_argument_info) for argument in kernel.arguments]),
        *_table(formats),
        *_table([[space.id, space.bytes] for space in kernel.local_spaces]),
        *kernel.required_work_group_size,
        len(kernel.max_work_group_sizes),
        *kernel.max_work_group_sizes,
        kernel.max_global_work_dim,
        kernel.uses_global_work_offset,
        kernel.is_sycl,
        *((True, _name("interface", streaming.start), _name("interface", streaming.done)) if streaming else (False,)),
    ]


def _argument(argument: Argument, has_info: bool) -> list[Field]:
    fields: list[Field] = [
        int(argument.space),
        int(argument.category),
        argument.size,
        argument.alignment,
        len(argument.buffer_locations),
        *(_name("buffer location", name) for name in argument.buffer_locations),
    ]
    if argument.space is AddressSpace.LOCAL:
        fields += [argument.local_space, argument.local_bytes]
    fields.append(int(argument.qualifiers))
    if TypeQualifier.PIPE in argument.qualifiers:
        channel = argument.host_channel
        fields += [True, _name("channel id", channel)] if channel else [False]
    if has_info:
        fields += [_name("argument", argument.name), _name("type", argument.type_name, "0"), int(argument.access)]
    return fields + ([True, _name("interface", argument.stream)] if argument.stream else [False])


def to_section(text: str) -> bytes:
    """Returns the section .acl.autodiscovery of a container for a string.

    It has blanks up to a multiple of 256 bytes. The last eight bytes are the length of the string plus one, in
    upper-case hexadecimal digits.
    """
    data = text.encode(errors="surrogateescape")
    padded = -(-(len(data) + 1 + TRAILER) // SECTION_UNIT) * SECTION_UNIT
    return data.ljust(padded - TRAILER) + b"%08X" % (len(data) + 1)
