# SPDX-License-Identifier: Apache-2.0
"""The arguments of a device operation's event: what its kind of operation has, and others have not."""

from __future__ import annotations

from typing import Any

from fpgart import opencl as cl
from fpgart.board.memory_system import Showing
from fpgart.runtime.buffer import Buffer
from fpgart.runtime.event import Operation
from fpgart.runtime.kernel import LaunchKernel, Stage
from fpgart.runtime.program import Program
from fpgart.runtime.programming import ProgramDevice
from fpgart.runtime.transfers import CopyBuffer, MapBuffer, MigrateToHost, Migration, Transfer
from fpgart.runtime.usm import Indirect, Kind, UsmTransfer, UsmUse

MAP_FLAGS = {cl.CL_MAP_READ: "READ", cl.CL_MAP_WRITE: "WRITE", cl.CL_MAP_WRITE_INVALIDATE_REGION: "INVALIDATE"}


def has_own_event(operation: Operation, status: int) -> bool:
    """Whether the end of an operation has an event, besides those of the buffers that it migrated."""
    if isinstance(operation, (Migration, MigrateToHost)):
        return status != 0
    return not (isinstance(operation, LaunchKernel) and operation.stage is Stage.MIGRATE)


def described(operation: Operation) -> dict[str, Any]:
    """Program, kernel, ND-range, buffers, allocations and sizes, as far as the operation has them."""
    if isinstance(operation, ProgramDevice):
        return _programming(operation.program)
    if isinstance(operation, LaunchKernel):
        if operation.stage is Stage.PROGRAM:
            return _programming(operation.program) | {"kernel": operation.kernel.name}
        return _launch(operation)
    if isinstance(operation, UsmTransfer):
        return _usm_transfer(operation)
    if isinstance(operation, CopyBuffer):
        return _copy(operation)
    if isinstance(operation, Transfer) and isinstance(buffer := getattr(operation, "buffer", None), Buffer):
        return _transfer(operation, buffer)
    return {}


def region_facts(showing: Showing) -> list[dict[str, Any]]:
    """The regions through which a kernel sees memory."""
    return [
        {"physical": f"{region.physical:#x}", "kernel": f"{region.kernel:#x}", "size": region.size}
        for region in showing.regions
    ]


def _programming(program: Program) -> dict[str, Any]:
    return {"program": program.identity, "size": len(program.image())}


def _launch(launch: LaunchKernel) -> dict[str, Any]:
    offset, whole, local = launch.nd_range()
    facts: dict[str, Any] = {"kernel": launch.kernel.name, "global": whole, "offset": offset}
    if local:
        facts["local"] = local
    facts["buffers"] = [buffer.owner.number for _, buffer in launch.buffers]
    if len(launch.places) == len(launch.buffers):
        facts["image"] = launch.invocation_image().hex()
    if launch.usm is not None:
        facts |= _allocations(launch.usm)
    if launch.showing is not None:
        facts |= _shown(launch, launch.showing)
    return facts


def _allocations(usm: UsmUse) -> dict[str, Any]:
    return {
        "allocations": [allocation.number for allocation in usm.allocations],
        "indirect": [kind.name.lower() for kind in Kind if usm.indirect & Indirect.of(kind)],
    }


def _shown(launch: LaunchKernel, showing: Showing) -> dict[str, Any]:
    buffers = [
        {"buffer": buffer.owner.number, "size": buffer.size, "at": f"{address:#x}"}
        for (_, buffer), address in zip(launch.buffers, showing.addresses, strict=True)
    ]
    return {"shown": buffers, "regions": region_facts(showing)}


def _usm_transfer(transfer: UsmTransfer) -> dict[str, Any]:
    facts = {"size": transfer.size}
    for key, place in zip(("", "source_"), transfer.places, strict=False):
        if place.allocation is not None:
            facts[key.rstrip("_") or "allocation"] = place.allocation.number
            facts[f"{key}offset"] = place.pointer - place.allocation.pointer
    return facts


def _copy(copy: CopyBuffer) -> dict[str, Any]:
    facts = {"source": copy.source.owner.number, "buffer": copy.buffer.owner.number, "size": copy.size}
    return facts | _on_host(copy.source, copy.buffer)


def _transfer(transfer: Transfer, buffer: Buffer) -> dict[str, Any]:
    facts: dict[str, Any] = {"buffer": buffer.owner.number, "size": getattr(transfer, "size", 0)}
    if isinstance(origin := getattr(transfer, "offset", None), int):
        facts["offset"] = buffer.origin + origin
    facts |= _on_host(buffer)
    if isinstance(transfer, MapBuffer):
        facts["flags"] = "|".join(word for flag, word in MAP_FLAGS.items() if transfer.flags & flag)
    return facts


def _on_host(*buffers: Buffer) -> dict[str, Any]:
    """Marks a command without a transfer to or from a board: its buffers are in the host's memory."""
    return {"on_host": True} if all(buffer.owner.on_host for buffer in buffers) else {}
