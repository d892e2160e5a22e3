# SPDX-License-Identifier: Apache-2.0
"""Loads programs onto boards: for launches, the first binary early, others at the host's request."""

from __future__ import annotations

import weakref
from functools import partial
from operator import attrgetter

from fpgart.base.errors import OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.board.mmd import BoardError, Loaded
from fpgart.runtime.commands.access import Accesses
from fpgart.runtime.memory.device import OWNERS, Block, Device, DeviceProgram
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Operation, PlainOperation, ReadyList
from fpgart.runtime.scheduling.occupancy import Claim, Direction

PROGRAM_COMMAND = 0x1210  # the runtime's own command type


def load_onto(device: Device, program: Program) -> None:
    """Programs the board or, on boards that keep several programs, loads one more. Raises BoardError, CLError."""
    before = device.interleaving, device.knows_memories, bool(device.networks)
    if device.memories.keeps_programs:
        device.stop_network(program.identity)
        load_into_memory(device, program)
    else:
        device.stop_networks()
        program_anew(device, program)
    device.knows_memories = True
    network = program.made.network(device.plugs)
    if network is not None:
        device.networks[program.identity] = network
    if before != (device.interleaving, True, False) or network is not None:
        device.epoch_ended()
    if network is not None:
        for listener in NOTICES.network_made:
            listener(device, network, program)


def load_into_memory(device: Device, program: Program) -> None:
    """Adds a program to those that the board holds until the last program of that identity is destroyed.

    Raises OutOfResources, BoardError.
    """
    is_loaded = program.identity in device.loaded
    device.reap_memory()
    image = program.image()
    block = device.allocate_program(len(image), program.identity, next(OWNERS))
    if block is None:
        raise OutOfResources(f"no {len(image)} bytes free for a program on device {device.id} ('{device.board.name}')")
    try:
        device.mmd.program(image)
    except BaseException:
        block.release()
        raise
    device.unload(program.identity)  # if a context programs for every launch, the program is loaded twice
    device.loaded[program.identity] = block
    if not is_loaded:
        unload_after(program, device)


def unload_after(program: DeviceProgram, device: Device) -> None:
    """Unloads a program from the board when it is destroyed; the next one of the same identity takes its place."""
    forget = program.context.reaper.append  # a program may be destroyed while the board's memory is locked
    weakref.finalize(program, forget, partial(hand_on, device, program.identity)).atexit = False


def hand_on(device: Device, identity: str) -> None:
    heir = device.program_died(identity)
    if heir is not None:
        unload_after(heir, device)


def program_anew(device: Device, program: Program) -> None:
    """Programs the board, unless another process has left the same binary there. Its memory keeps its contents.

    If the binary interleaves the banks otherwise, or the board cannot keep its contents, the blocks with contents are
    saved in the host's memory and written back.

    Raises BoardError if the board cannot be programmed at all, and OutOfHostMemory.
    """
    interleaving = program.interleaving or device.interleaving
    found, device.found = device.found, None
    if found is not None and found.identity == program.identity:
        device.loaded, device.interleaving = {program.identity: None}, interleaving
        return
    saved = save(device) if interleaving != device.interleaving else []
    try:
        device.mmd.program(program.image())
    except BoardError:
        saved = saved or save(device)
        device.loaded = {}
        device.mmd.program(program.image(), preserve=False)
    device.loaded = {program.identity: None}
    device.interleaving = interleaving
    if device.mmd.is_shared:
        device.mmd.identify(Loaded(program.identity, tuple(program.own_interfaces()), interleaving))
    restore(saved)


def save(device: Device) -> list[tuple[Block, HostStore]]:
    """Returns a copy of each block with contents in the host's memory. Raises OutOfHostMemory, BoardError."""
    saved = []
    for block in filter(attrgetter("has_contents"), device.blocks()):
        store = HostStore(block.range.size)
        device.mmd.read(block.address, store.address, block.range.size)
        saved.append((block, store))
    return saved


def restore(saved: list[tuple[Block, HostStore]]) -> None:
    """Writes the saved blocks back, as many as it can. Raises BoardError with the first failure."""
    words = ""
    for block, store in saved:
        try:
            block.device.mmd.write(store.address, block.address, block.range.size)
        except BoardError as error:
            words = words or str(error)
    if words:
        raise BoardError(words)


class ProgramDevice(PlainOperation):
    """Programs a board; nothing else runs on it meanwhile.

    It does nothing if a launch has loaded the program before: that launch's kernel may wait for what the host does
    next.
    """

    __slots__ = ("device", "is_needed", "program")
    name = "program"
    direction = Direction.BOTH

    def __init__(self, device: Device, program: Program) -> None:
        self.device = device
        self.program = program
        self.is_needed = True

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_kernels

    def claim(self) -> Claim:
        occupancy = self.device.occupancy
        if not occupancy.programming and self.program.identity in self.device.loaded:
            self.is_needed, occupancy.closing = False, False
            return Claim.TAKEN
        return occupancy.claim_programming()

    def release(self, following: Operation | None) -> None:
        if self.is_needed:
            self.device.occupancy.end_programming()

    def run(self) -> None:
        if self.is_needed:
            load_onto(self.device, self.program)

    def accesses(self) -> Accesses:
        """Returns no accesses: the board's memory keeps its contents."""
        return ()

    def describe(self) -> dict[str, object]:
        return describe_program(self.program)


def describe_program(program: Program) -> dict[str, object]:
    """Returns the facts that traces record of a programming."""
    facts: dict[str, object] = {"program": program.identity, "size": len(program.image())}
    return facts | ({} if program.interleaving is None else {"interleaved": list(program.interleaving)})
