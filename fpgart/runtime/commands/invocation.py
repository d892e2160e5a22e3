# SPDX-License-Identifier: Apache-2.0
"""A kernel with the arguments and the ND-range of one launch, as boards, engines and watchers get it."""

from __future__ import annotations

from weakref import ref

from fpgart.base import opencl as cl
from fpgart.board.invocation import GLOBAL_POINTER, LOCAL_POINTER, LocalPlaces, fixed_part
from fpgart.board.memory_system import Showing
from fpgart.engine.interface import LOCAL, NOWHERE, POINTER, SIZES, Reach
from fpgart.runtime.commands.access import Accesses, AccessMode, MemoryAccess
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.usm import Kind, UsmAllocation
from fpgart.runtime.memory.usm_use import Indirect, UsmUse
from fpgart.runtime.programs.kernel import Argument, Kernel
from fpgart.runtime.programs.program import Program

KERNEL_ACCESS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_READ_ONLY | cl.CL_MEM_WRITE_ONLY
READ_WRITE = AccessMode.READ | AccessMode.WRITE


class Invocation:
    """Describes one launch. `LaunchKernel`, its subclass, is the operation that the scheduler runs.

    `places` are the blocks of its `buffers`, once they are reserved.
    """

    __slots__ = (
        "arguments",
        "buffers",
        "device",
        "dimensions",
        "has_local",
        "kernel",
        "on_host",
        "places",
        "program",
        "showing",
        "sizes",
        "usm",
    )

    kernel: Kernel
    device: Device
    program: Program
    arguments: list[Argument]
    buffers: list[tuple[int, Buffer]]
    """The index of the argument, and its buffer."""
    on_host: list[tuple[int, Buffer]]
    """The arguments whose buffers the kernel uses in the host's memory."""
    places: list[Block]
    dimensions: int
    sizes: bytes
    has_local: bool
    usm: UsmUse | None
    showing: Showing | None

    def reason(self, index: int) -> str:
        """Returns the words that name an argument as the reason for a migration."""
        return self.kernel.describe_briefly(index)

    def nd_range(self) -> tuple[list[int], list[int], list[int]]:
        """Returns the offset, the global and the local size, each with one number per dimension.

        The local size is empty if the host gave none.
        """
        sizes = SIZES.unpack(self.sizes)
        count = self.dimensions
        local = list(sizes[6 : 6 + count]) if self.has_local else []
        return list(sizes[:count]), list(sizes[3 : 3 + count]), local

    def invocation_image(self) -> bytes:
        """Returns the bytes that a real board gets for the launch: the ND-range, then the arguments one after another.

        A pointer to global memory is a device address of 8 bytes; that of a device allocation has bit 61. A pointer to
        local memory is an offset of 4 bytes. Pointers to memory of the host are the host's. All buffers must have their
        places.
        """
        buffers = dict(self.buffers)
        places = dict(zip(buffers, self.kernel_addresses(), strict=True))
        local = LocalPlaces()
        parts = [fixed_part(self.dimensions, SIZES.unpack(self.sizes))]
        for index, (kind, size, value) in enumerate(self.arguments):
            if kind == LOCAL:
                parts.append(LOCAL_POINTER.pack(local.place(size)))
            elif isinstance(value, bytes):
                parts.append(value)
            elif isinstance(value, ref):
                parts.append(GLOBAL_POINTER.pack(places[index]))
            elif self.kernel.interface.arguments[index].pipe is None and isinstance(value, int):
                parts.append(GLOBAL_POINTER.pack(self._given_pointer(value)))
        return b"".join(parts)

    def _given_pointer(self, address: int) -> int:
        """Returns the value that a real board gets for a pointer argument with this address in the process."""
        allocation = self.given_allocation(address)
        return address if allocation is None else allocation.address_for_board(address)

    def kernel_addresses(self) -> tuple[int, ...]:
        """Returns the address at which the kernel sees each buffer argument.

        That is its device address, or where a region shows it for this launch.
        """
        if self.showing is not None:
            return self.showing.addresses
        pairs = zip(self.buffers, self.places, strict=True)
        return tuple(block.device_address + buffer.origin for (_, buffer), block in pairs)

    def reaches(self) -> tuple[Reach, ...]:
        """Returns, for each argument, the buffer or allocation that it points into."""
        found = [self._reach(argument) for argument in self.arguments]
        for index, buffer in self.on_host:
            found[index] = Reach(buffer.host_address(), buffer.size, kernel_access(buffer))
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            begin = block.pointer + buffer.origin
            found[index] = Reach(begin, buffer.size, kernel_access(buffer), resident=block.behind_mmd)
        return tuple(found)

    def _reach(self, argument: Argument) -> Reach:
        kind, _, value = argument
        if kind != POINTER or not isinstance(value, int):
            return NOWHERE
        given = self.given_allocation(value)
        if given is not None:
            resident = given.block is not None and given.block.behind_mmd
            return Reach(given.address, given.size, resident=resident)
        shared = self.kernel.context.svm.find(value)
        return Reach(shared.pointer, shared.size) if shared is not None else NOWHERE

    def accesses(self) -> Accesses:
        """Returns the accesses that the kernel's arguments allow, and those through pointers in memory."""
        buffers, on_host = dict(self.buffers), dict(self.on_host)
        blocks: dict[int, Block] = dict(zip(buffers, self.places, strict=False))
        found: list[MemoryAccess] = []
        given: set[int] = set()
        for index, (kind, _, value) in enumerate(self.arguments):
            buffer = buffers.get(index) or on_host.get(index)
            if buffer is not None:
                found.append(MemoryAccess(READ_WRITE, ((0, buffer.size),), buffer, None, index, blocks.get(index)))
            elif kind == POINTER and isinstance(value, int) and self.kernel.interface.arguments[index].pipe is None:
                allocation = self.given_allocation(value)
                if allocation is None:
                    found.append(MemoryAccess(READ_WRITE, ((value, value + 1),), argument=index))
                else:
                    given.add(allocation.number)
                    found.append(access_to(READ_WRITE, allocation, index))
        allocations = self.usm.allocations if self.usm is not None else ()
        return *found, *(access_to(AccessMode.REACH, each) for each in allocations if each.number not in given)

    def given_allocation(self, address: int) -> UsmAllocation | None:
        """Returns the allocation that contains an address, or None."""
        allocations = self.usm.allocations if self.usm is not None else ()
        return next((each for each in allocations if each.address <= address < each.address + each.size), None)

    def describe(self) -> dict[str, object]:
        """Returns the facts that traces record of a kernel's run."""
        offset, whole, local = self.nd_range()
        facts: dict[str, object] = {"kernel": self.kernel.name, "global": whole, "offset": offset}
        if local:
            facts["local"] = local
        facts["buffers"] = [buffer.owner.number for _, buffer in self.buffers]
        if len(self.places) == len(self.buffers):
            facts["image"] = self.invocation_image().hex()
        if self.usm is not None:
            facts["allocations"] = [allocation.number for allocation in self.usm.allocations]
            facts["indirect"] = [kind.name.lower() for kind in Kind if self.usm.indirect & Indirect.of(kind)]
        if self.showing is not None:
            facts["shown"] = [
                {"buffer": buffer.owner.number, "size": buffer.size, "at": f"{address:#x}"}
                for (_, buffer), address in zip(self.buffers, self.showing.addresses, strict=True)
            ]
            facts["regions"] = describe_regions(self.showing)
        return facts


def kernel_access(buffer: Buffer) -> int:
    """Returns the flag that says what kernels may do with a buffer; without one they may read and write."""
    return buffer.flags & KERNEL_ACCESS or cl.CL_MEM_READ_WRITE


def access_to(mode: AccessMode, allocation: UsmAllocation, argument: int = -1) -> MemoryAccess:
    """Returns an access to all bytes of an allocation."""
    return MemoryAccess(mode, ((0, allocation.size),), None, allocation, argument, allocation.block)


def describe_regions(showing: Showing) -> list[dict[str, object]]:
    """Returns the physical address, the kernel's address and the size of each region."""
    return [
        {"physical": f"{region.physical:#x}", "kernel": f"{region.kernel:#x}", "size": region.size}
        for region in showing.regions
    ]
