# SPDX-License-Identifier: Apache-2.0
"""The autodiscovery string, version 23: tokens divided by blanks that describe board and kernels.

Many groups begin with the number of tokens that follow, so that readers can skip what newer compilers
append. A count belongs to the group around it; the tokens of a group belong to all groups around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fpgart.aocx.errors import AocxError
from fpgart.aocx.system import (
    Access,
    AddressSpace,
    Argument,
    Autodiscovery,
    Category,
    DeviceGlobal,
    HostAccess,
    HostPipe,
    Interface,
    Kernel,
    LocalSpace,
    Memory,
    MemoryKind,
    PipeMapping,
    Port,
    PrintfFormat,
    Sideband,
    Signal,
    StreamingControl,
    TypeQualifier,
)

VERSION = 23
SECTION_UNIT = 256
TRAILER = 8
T = TypeVar("T")
BLANKS = " \t\n\v\f\r"
TOKEN = re.compile(rf"[^{BLANKS}\0]+")
NUMBER = re.compile(r"[+-]?[0-9]+")
HEX = re.compile(r"(0[xX])?[0-9a-fA-F]+")
ESCAPE = re.compile(r"\\(\\|[0-9a-fA-F]{2})")
INT32, UINT32, UINT64 = 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1
HASH_LENGTH = 40


class AutodiscoveryError(AocxError):
    """The string cannot be read: `position` is the offset of the token in it, `field` what it should be."""

    def __init__(self, field: str, position: int, problem: str) -> None:
        super().__init__(f"autodiscovery, {field}, at byte {position}: {problem}")
        self.field = field
        self.position = position


class Reader:
    """Takes tokens one by one and knows the groups that it is in."""

    def __init__(self, text: str) -> None:
        self._tokens = [(match.group(), match.start()) for match in TOKEN.finditer(text)]
        self._length = len(text)
        self._next = 0
        self._ends = [len(self._tokens)]
        self._places: list[str] = []

    def error(self, field: str, problem: str, back: int = 0) -> AutodiscoveryError:
        """`back` tokens before the next one lies what is wrong."""
        index = self._next - back
        position = self._tokens[index][1] if index < len(self._tokens) else self._length
        return AutodiscoveryError(", ".join([*self._places, field]), position, problem)

    @property
    def more(self) -> bool:
        """Whether the group has tokens left."""
        return self._next < self._ends[-1]

    def text(self, field: str) -> str:
        if self._next >= len(self._tokens):
            raise self.error(field, "the string ends here")
        if not self.more:
            raise self.error(field, "the field count before this group leaves no room for it")
        self._next += 1
        return self._tokens[self._next - 1][0]

    def name(self, field: str, none: str = "-") -> str:
        """A name; `none` is how an absent one is written."""
        token = self.text(field)
        return "" if token == none else token

    def number(self, field: str, maximum: int = UINT32, minimum: int = 0) -> int:
        token = self.text(field)
        if not NUMBER.fullmatch(token) or len(token) > 24:
            raise self.error(field, f"{token!r:.40} is no number", 1)
        value = int(token)
        if not minimum <= value <= maximum:
            raise self.error(field, f"{value} is not within {minimum}..{maximum}", 1)
        return value

    def hexadecimal(self, field: str) -> int:
        token = self.text(field)
        if not HEX.fullmatch(token) or int(token, 16) > UINT64:
            raise self.error(field, f"{token!r:.40} is no hexadecimal number of 64 bits", 1)
        return int(token, 16)

    def flag(self, field: str) -> bool:
        return bool(self.number(field, INT32))

    def choice(self, field: str, kind: Callable[[int], T]) -> T:
        value = self.number(field)
        try:
            return kind(value)
        except ValueError:
            raise self.error(field, f"{value} is none of the kinds known here", 1) from None

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        self._places.append(name)
        yield
        self._places.pop()

    @contextmanager
    def fields(self, count: int) -> Iterator[None]:
        """A group of `count` tokens; what is left of it at the end is skipped."""
        end = self._next + count
        if end > self._ends[-1]:
            raise self.error("field count", f"{count} fields are announced, {self._ends[-1] - self._next} are there", 1)
        self._ends.append(end)
        yield
        self._next = self._ends.pop()

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """A group that begins with its field count."""
        with self.place(name), self.fields(self.number("field count")):
            yield

    def counted(self, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """A number of groups, each with its own field count."""
        found = []
        for index in range(self.number(f"number of {name}s")):
            with self.group(f"{name} {index}"):
                found.append(read(self))
        return tuple(found)

    def table(self, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """A number of items and the number of fields that each of them has."""
        count = self.number(f"number of {name}s")
        width = self.number(f"fields per {name}")
        found = []
        for index in range(count):
            with self.place(f"{name} {index}"), self.fields(width):
                found.append(read(self))
        return tuple(found)

    def names(self, field: str) -> tuple[str, ...]:
        return tuple(self.text(f"{field} {index}") for index in range(self.number(f"number of {field}s")))


def parse(text: str) -> Autodiscovery:
    """Read an autodiscovery string; raises AutodiscoveryError. What follows the kernels is ignored."""
    reader = Reader(text)
    version = reader.number("version")
    if version != VERSION:
        raise reader.error("version", f"version {version} is not the one known here, which is {VERSION}", 1)
    with reader.group("device"):
        device = _read_device(reader)
    kernels = reader.counted("kernel", lambda reader: _read_kernel(reader, bool(device["has_argument_info"])))
    return Autodiscovery(kernels=kernels, **device)  # type: ignore[arg-type]


def _read_device(reader: Reader) -> dict[str, object]:
    found: dict[str, object] = {
        "random_hash": reader.text("random hash"),
        "board": reader.text("board name"),
        "big_endian": reader.text("endianness") not in ("0", "?"),
        "memories": reader.counted("memory", _read_memory),
        "host_pipes": reader.table("host pipe", _read_host_pipe),
        "has_argument_info": reader.more and reader.flag("argument information"),
    }
    if reader.more:
        found["device_globals"] = reader.table("device global", _read_device_global)
        names = [variable.name for variable in found["device_globals"]]  # type: ignore[attr-defined]
        if len(set(names)) < len(names):
            raise reader.error("device globals", f"one name twice among {', '.join(names)}")
    if reader.more:
        found["cra_ring_root"] = reader.flag("CRA ring root")
    if reader.more:
        found["pipe_mappings"] = reader.table("pipe mapping", _read_pipe_mapping)
    if reader.more:
        found["sidebands"] = tuple(
            _read_sideband(reader, index) for index in range(reader.number("number of sideband groups"))
        )
    return found


def _read_memory(reader: Reader) -> Memory:
    name = reader.text("name")
    kind = reader.choice("kind", MemoryKind)
    count = reader.number("number of interfaces", INT32, 1)
    config_address, interleaved = 0, True
    if count > 1:
        config_address = reader.number("configuration address")
        interleaved = reader.flag("burst interleaved")
    width = reader.number("fields per interface")
    interfaces = []
    for index in range(count):
        with reader.place(f"interface {index}"), reader.fields(width):
            begin, end = reader.number("start", UINT64), reader.number("end", UINT64)
            if end <= begin:
                raise reader.error("end", f"the range from {begin} to {end} is empty", 1)
            interfaces.append(Interface(begin, end))
    return Memory(
        name,
        tuple(interfaces),
        kind,
        config_address,
        interleaved,
        allocation_types=reader.number("allocation types") if reader.more else 0,
        primary_interface=reader.name("primary interface") if reader.more else "",
        can_access=reader.names("reachable memory") if reader.more else (),
        id=reader.name("id") if reader.more else "",
    )


def _read_host_pipe(reader: Reader) -> HostPipe:
    return HostPipe(
        reader.text("name"),
        reader.flag("host to device"),
        reader.flag("device to host"),
        reader.number("width"),
        reader.number("depth"),
    )


def _read_device_global(reader: Reader) -> DeviceGlobal:
    return DeviceGlobal(
        reader.text("name"),
        reader.hexadecimal("address"),
        reader.number("size"),
        reader.choice("host access", HostAccess),
        reader.flag("can skip programming"),
        reader.flag("in CSR"),
        reader.flag("reset on reuse"),
    )


def _read_pipe_mapping(reader: Reader) -> PipeMapping:
    return PipeMapping(
        reader.text("logical name"),
        reader.text("physical name"),
        reader.flag("in CSR"),
        reader.text("CSR address"),
        reader.flag("is read"),
        reader.flag("is write"),
        reader.number("width"),
        reader.number("depth"),
        reader.number("protocol", INT32, -INT32) if reader.more else 0,
        reader.flag("is stall free") if reader.more else False,
    )


def _read_sideband(reader: Reader, index: int) -> Sideband:
    with reader.place(f"sideband group {index}"):
        name = reader.text("logical name")
        signals = reader.table("signal", _read_signal)
        if len(signals) < 2:
            raise reader.error("signals", f"two signals at least make a group, here are {len(signals)}")
        return Sideband(name, signals)


def _read_signal(reader: Reader) -> Signal:
    return Signal(reader.choice("port", Port), reader.number("bit offset"), reader.number("bits"))


def _read_kernel(reader: Reader, has_argument_info: bool) -> Kernel:
    name = reader.text("name")
    csr_address, csr_bytes = reader.number("CSR address"), reader.number("CSR bytes")
    fast_launch_depth = reader.number("fast launch depth")
    monitor_address, monitor_bytes = reader.number("monitor address"), reader.number("monitor bytes")
    group_invariant = reader.flag("work-group invariant")
    item_invariant = reader.flag("work-item invariant")
    if item_invariant and not group_invariant:
        raise reader.error("work-item invariant", "this is possible only for a work-group invariant kernel", 1)
    return Kernel(
        name,
        csr_address=csr_address,
        csr_bytes=csr_bytes,
        fast_launch_depth=fast_launch_depth,
        monitor_address=monitor_address,
        monitor_bytes=monitor_bytes,
        work_group_invariant=group_invariant,
        work_item_invariant=item_invariant,
        vector_lanes=reader.number("vector lanes"),
        profiling_words=reader.number("profiling words"),
        arguments=reader.counted("argument", lambda reader: _read_argument(reader, has_argument_info)),
        printf_formats=reader.table("printf format", _read_printf_format),
        local_spaces=reader.table("local space", _read_local_space),
        required_work_group_size=(
            reader.number("required work-group size x"),
            reader.number("required work-group size y"),
            reader.number("required work-group size z"),
        ),
        max_work_group_sizes=tuple(
            reader.number(f"largest work-group size {index}")
            for index in range(reader.number("number of largest work-group sizes", 3))
        ),
        max_global_work_dim=reader.number("largest work dimension", 3),
        uses_global_work_offset=reader.flag("uses global work offset"),
        is_sycl=reader.flag("is SYCL") if reader.more else False,
        streaming=_read_streaming(reader) if reader.more else None,
    )


def _read_streaming(reader: Reader) -> StreamingControl | None:
    if not reader.flag("streaming control"):
        return None
    return StreamingControl(reader.text("start interface"), reader.text("done interface"))


def _read_argument(reader: Reader, has_info: bool) -> Argument:
    space = reader.choice("address space", AddressSpace)
    category = reader.choice("category", Category)
    size, alignment = reader.number("size"), reader.number("alignment")
    locations = reader.names("buffer location")
    is_local = space is AddressSpace.LOCAL
    local_space = reader.number("local space") if is_local else 0
    local_bytes = reader.number("local bytes") if is_local else 0
    qualifiers = TypeQualifier(reader.number("type qualifiers"))
    is_host_pipe = TypeQualifier.PIPE in qualifiers and reader.flag("host accessible")
    return Argument(
        space,
        category,
        size,
        alignment,
        locations,
        local_space,
        local_bytes,
        qualifiers,
        host_channel=reader.text("channel id") if is_host_pipe else "",
        name=reader.text("name") if has_info else "",
        type_name=reader.name("type name", "0") if has_info else "",
        access=reader.choice("access qualifier", Access) if has_info else Access.NONE,
        stream=reader.text("streaming interface") if reader.more and reader.flag("streaming") else "",
    )


def _read_printf_format(reader: Reader) -> PrintfFormat:
    return PrintfFormat(reader.number("index"), unescape(reader.text("format")))


def _read_local_space(reader: Reader) -> LocalSpace:
    return LocalSpace(reader.number("id"), reader.number("bytes"))


def unescape(text: str) -> str:
    r"""A printf format as it is in the source: `\\` is a backslash, `\0a` the character 0x0a."""
    return ESCAPE.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1], 16)), text)


def escape(text: str) -> str:
    """The opposite of unescape(): no blanks or control characters are left."""
    return "".join(
        "\\\\" if char == "\\" else f"\\{ord(char):02x}" if ord(char) <= 32 or ord(char) == 127 else char
        for char in text
    )


Field = str | int | bool


def _name(what: str, name: str, none: str | None = None) -> str:
    """A name as a token; raises AocxError where it would not be read back as it is."""
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
    """The string that parse() reads as `system`, with all fields that version 23 knows."""
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


def _kernel(kernel: Kernel, system: Autodiscovery) -> list[Field]:
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
        fields += [
            _name("argument", argument.name),
            _name("type", argument.type_name, "0"),
            int(argument.access),
        ]
    return fields + ([True, _name("interface", argument.stream)] if argument.stream else [False])


def to_section(text: str) -> bytes:
    """The string as .acl.autodiscovery has it: blanks up to a multiple of 256 bytes, the last eight of
    which are the length of the string plus one, in upper-case hexadecimal digits."""
    data = text.encode(errors="surrogateescape")
    padded = -(-(len(data) + 1 + TRAILER) // SECTION_UNIT) * SECTION_UNIT
    return data.ljust(padded - TRAILER) + b"%08X" % (len(data) + 1)


def from_section(data: bytes) -> str:
    """The string of a section; parse() ignores what follows the kernels, the trailer too."""
    return data.decode(errors="surrogateescape")
