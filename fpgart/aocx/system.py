# SPDX-License-Identifier: Apache-2.0
"""An autodiscovery string as objects: a board's memories and the kernels that were compiled for it.

Sizes and addresses are in bytes. Names have no blanks. An empty name stands for "none".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

NO_LIMIT = 0x7FFFFFFF


class MemoryKind(enum.IntEnum):
    SHARED_VIRTUAL = 0
    SHARED_PHYSICAL = 1
    DEVICE_PRIVATE = 2


class AddressSpace(enum.IntEnum):
    NONE = 0
    LOCAL = 1
    GLOBAL = 2
    CONSTANT = 3


class Category(enum.IntEnum):
    """The way in which a host passes an argument."""

    VALUE = 0
    MEMORY = 1
    SAMPLER = 2


class TypeQualifier(enum.IntFlag):
    NONE = 0
    CONST = 1
    RESTRICT = 2
    VOLATILE = 4
    PIPE = 8


class Access(enum.IntEnum):
    NONE = 0
    READ_ONLY = 1
    WRITE_ONLY = 2
    READ_WRITE = 3


class HostAccess(enum.IntEnum):
    """The host's access to a device global."""

    READ_ONLY = 0
    WRITE_ONLY = 1
    READ_WRITE = 2
    NONE = 3


class Port(enum.IntEnum):
    """The content of a sideband signal of a host pipe."""

    DATA = 0
    START_OF_PACKET = 1
    END_OF_PACKET = 2
    EMPTY = 3


@dataclass(frozen=True, slots=True)
class Interface:
    """One bank's range, `end` exclusive."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Describes a global memory. Only one with several interfaces gives `config_address` and `interleaved`."""

    name: str
    interfaces: tuple[Interface, ...]
    kind: MemoryKind = MemoryKind.DEVICE_PRIVATE
    config_address: int = 0
    interleaved: bool = True
    allocation_types: int = 0
    primary_interface: str = ""
    can_access: tuple[str, ...] = ()
    id: str = ""

    @property
    def banks(self) -> int:
        return len(self.interfaces)

    @property
    def begin(self) -> int:
        return min(interface.begin for interface in self.interfaces)

    @property
    def end(self) -> int:
        return max(interface.end for interface in self.interfaces)


@dataclass(frozen=True, slots=True)
class HostPipe:
    """A pipe between host and board; `width` in bytes, `depth` in packets."""

    name: str
    host_to_device: bool
    device_to_host: bool
    width: int
    depth: int


@dataclass(frozen=True, slots=True)
class DeviceGlobal:
    """A variable of a program that the host can access."""

    name: str
    address: int
    size: int
    host_access: HostAccess = HostAccess.READ_WRITE
    can_skip_programming: bool = False
    in_csr: bool = False
    reset_on_reuse: bool = False


@dataclass(frozen=True, slots=True)
class PipeMapping:
    """The physical pipe or register behind a program-scope pipe."""

    logical_name: str
    physical_name: str
    in_csr: bool
    csr_address: str
    is_read: bool
    is_write: bool
    width: int
    depth: int
    protocol: int = 0
    is_stall_free: bool = False


@dataclass(frozen=True, slots=True)
class Signal:
    """The place of a signal in a packet with sidebands, in bits."""

    port: Port
    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Sideband:
    """The signals of one program-scope pipe, two at least."""

    logical_name: str
    signals: tuple[Signal, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel's argument.

    Only local ones have `local_space` and `local_bytes`; only pipes `host_channel`; `name`, `type_name` and `access`
    are given only if the device has argument information. `stream` names the interface of a streamed argument.
    """

    space: AddressSpace
    category: Category
    size: int
    alignment: int
    buffer_locations: tuple[str, ...] = ()
    local_space: int = 0
    local_bytes: int = 0
    qualifiers: TypeQualifier = TypeQualifier.NONE
    host_channel: str = ""
    name: str = ""
    type_name: str = ""
    access: Access = Access.NONE
    stream: str = ""

    @property
    def buffer_location(self) -> str:
        """The name of the memory of the argument's buffers; the last counts if there are several."""
        return self.buffer_locations[-1] if self.buffer_locations else ""


@dataclass(frozen=True, slots=True)
class PrintfFormat:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class LocalSpace:
    """An on-chip memory of a kernel and the bytes that the kernel itself declares in it."""

    id: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StreamingControl:
    """Names of the interfaces that start a kernel and report its end."""

    start: str
    done: str


@dataclass(frozen=True, slots=True)
class DescribedKernel:
    """A kernel that a host can launch; (0, 0, 0) is no required work-group size."""

    name: str
    arguments: tuple[Argument, ...] = ()
    csr_address: int = 0
    csr_bytes: int = 256
    fast_launch_depth: int = 1
    monitor_address: int = 0
    monitor_bytes: int = 0
    work_group_invariant: bool = False
    work_item_invariant: bool = False
    vector_lanes: int = 1
    profiling_words: int = 0
    printf_formats: tuple[PrintfFormat, ...] = ()
    local_spaces: tuple[LocalSpace, ...] = ()
    required_work_group_size: tuple[int, int, int] = (0, 0, 0)
    max_work_group_sizes: tuple[int, ...] = (NO_LIMIT,)
    max_global_work_dim: int = 3
    uses_global_work_offset: bool = True
    is_sycl: bool = False
    streaming: StreamingControl | None = None


@dataclass(frozen=True, slots=True)
class Autodiscovery:
    """The facts of a container about board and kernels."""

    random_hash: str
    board: str
    memories: tuple[Memory, ...] = ()
    kernels: tuple[DescribedKernel, ...] = ()
    big_endian: bool = False
    host_pipes: tuple[HostPipe, ...] = ()
    has_argument_info: bool = True
    device_globals: tuple[DeviceGlobal, ...] = ()
    cra_ring_root: bool = True
    pipe_mappings: tuple[PipeMapping, ...] = ()
    sidebands: tuple[Sideband, ...] = ()

    def memory(self, name: str) -> Memory | None:
        return next((memory for memory in self.memories if memory.name == name), None)
