# SPDX-License-Identifier: Apache-2.0
"""Reads the autodiscovery string."""

from __future__ import annotations

from fpgart.aocx.autodiscovery.tokens import INT32, UINT64, VERSION, Reader, unescape
from fpgart.aocx.system import (
    Access,
    AddressSpace,
    Argument,
    Autodiscovery,
    Category,
    DescribedKernel,
    DeviceGlobal,
    HostAccess,
    HostPipe,
    Interface,
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


def parse(text: str) -> Autodiscovery:
    """Reads an autodiscovery string; text after the kernels is ignored. Raises AutodiscoveryError."""
    reader = Reader(text)
    version = reader.number("version")
    if version != VERSION:
        raise reader.error("version", f"version {version} is not supported, only {VERSION} is", 1)
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
            raise reader.error("device globals", f"two have one name: {', '.join(names)}")
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
        signals = reader.table(
            "signal", lambda r: Signal(r.choice("port", Port), r.number("bit offset"), r.number("bits"))
        )
        if len(signals) < 2:
            raise reader.error("signals", f"a group needs two signals or more, it has {len(signals)}")
        return Sideband(name, signals)


def _read_kernel(reader: Reader, has_argument_info: bool) -> DescribedKernel:
    name = reader.text("name")
    csr_address, csr_bytes = reader.number("CSR address"), reader.number("CSR bytes")
    fast_launch_depth = reader.number("fast launch depth")
    monitor_address, monitor_bytes = reader.number("monitor address"), reader.number("monitor bytes")
    group_invariant = reader.flag("work-group invariant")
    item_invariant = reader.flag("work-item invariant")
    if item_invariant and not group_invariant:
        raise reader.error("work-item invariant", "only a work-group invariant kernel can be work-item invariant", 1)
    return DescribedKernel(
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
        printf_formats=reader.table(
            "printf format", lambda r: PrintfFormat(r.number("index"), unescape(r.text("format")))
        ),
        local_spaces=reader.table("local space", lambda r: LocalSpace(r.number("id"), r.number("bytes"))),
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
