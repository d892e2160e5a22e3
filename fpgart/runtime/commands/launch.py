# SPDX-License-Identifier: Apache-2.0
"""Launching a kernel (OpenCL 3.0, 5.10)."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING

from fpgart.base.errors import OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.board.memory_system import NotVisible, Window
from fpgart.engine.interface import POINTER, SIZES, KernelLaunch, pack_arguments
from fpgart.runtime.commands.invocation import Invocation
from fpgart.runtime.commands.migration import MoveToBlocks
from fpgart.runtime.commands.programming import describe_program, load_onto
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.reservation import NOTHING, Reservation
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.programs.compiler_mode import CompilerMode
from fpgart.runtime.programs.kernel import Argument, Kernel
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.scheduling.event import ComputeUnit, Operation, ReadyList
from fpgart.runtime.scheduling.occupancy import TAKEN, Claim, Direction

if TYPE_CHECKING:
    from fpgart.channels.links import Links, LinkUse

SPLIT_KERNELS = CompilerMode.SPLIT_KERNEL
"""The compiler mode that programs the board for every launch."""


class Stage(enum.Enum):
    """The next stage of a launch."""

    PROGRAM = "program"
    MIGRATE = "migration"
    RUN = "kernel"


RUN = Stage.RUN


class LaunchKernel(Invocation):
    """Runs a kernel: programs the board if it holds another binary, migrates the buffers, launches the kernel.

    From its first stage until its end, the launch counts among the device's launches, so that no other binary is
    loaded. Kernels begin in the order in which they became ready, and then run at the same time.
    """

    __slots__ = (
        "committed",
        "compile_ns",
        "cores",
        "engine_sizes",
        "moved",
        "pipes",
        "reserved",
        "stage",
        "uses",
        "watched",
    )

    def __init__(
        self,
        kernel: Kernel,
        device: Device,
        arguments: list[Argument],
        buffers: list[tuple[int, Buffer]],
        dimensions: int,
        sizes: bytes,
        has_local: bool,
    ) -> None:
        """`buffers`: the index of each argument that is a buffer, and the buffer."""
        self.kernel = kernel
        self.device = device
        self.program = kernel.program.on(device)
        self.arguments = arguments
        self.buffers = buffers
        self.on_host = []
        self.places = []
        self.dimensions = dimensions
        self.sizes = sizes
        self.has_local = has_local
        self.usm = None
        self.showing = None
        self.pipes: list[Pipe] = []
        """The pipes whose addresses the arguments hold: the host may release them once the launch is enqueued."""
        self.moved: tuple[int, ...] = ()
        """The indices of the arguments whose buffers were migrated for this launch."""
        self.watched: Sequence[UsmAllocation] = ()
        """The shared allocations whose accesses by the host are recorded; the kernel may use them now."""
        self.uses: tuple[LinkUse, ...] = ()
        """The packets that the kernel moved through cables to other boards."""
        self.reserved = NOTHING
        self.engine_sizes = sizes
        """The ND-range with a local size that the engine accepts."""
        self.committed = False
        self.compile_ns = 0
        """The time that the engine compiled before the kernel began: 0 but for a kernel's first launch."""
        self.stage = Stage.RUN
        self.cores = self._cores() if device.cores else 0
        """The number of the board's cores that it occupies; 0 where cores are not limited."""

    def _cores(self) -> int:
        """Returns the cores that the launch occupies: one for a single work-item, otherwise all."""
        if self.kernel.engine_kernel.waits_for_others:
            return 0
        return 1 if SIZES.unpack(self.sizes)[3:6] == (1, 1, 1) else self.device.cores

    @property
    def compute_unit(self) -> ComputeUnit | None:
        """The kernel's circuit, if launches wait for it. A board has the circuit of each kernel once.

        A host can observe that only if the kernel has an end of a pipe: two launches would take packets in turn.
        """
        return self.device.compute_units[self.kernel.name] if self.kernel.engine_kernel.waits_for_others else None

    @property
    def name(self) -> str:
        return self.stage.value

    @property
    def launch(self) -> LaunchKernel:
        """The launch itself; operations that are stages of a launch return that launch."""
        return self

    @property
    def _is_copied(self) -> bool:
        """True if the kernel uses the host's own memory, and the engine has no access to that."""
        return bool(self.on_host) and self.device.platform.engine.memory is not None

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_kernels

    @property
    def direction(self) -> Direction:
        """NONE once the launch has begun: what stands before it in the list may wait for its end."""
        return Direction.NONE if self.committed else Direction.BOTH

    @property
    def needs_thread(self) -> bool:
        """True if the kernel may wait for commands behind it, or for tasks on other cores of its board.

        No thread that other commands rely on may run it.
        """
        return self.kernel.engine_kernel.waits_for_others or 0 < self.cores < self.device.cores

    def reserve(self) -> None:
        """Reserves a block for each buffer argument where the kernel needs it, until the launch has ended.

        Raises MemObjectAllocationFailure or OutOfResources; nothing stays reserved then.
        """
        try:
            self._reserve()
        except BaseException:
            self.abandon()
            raise

    def _reserve(self) -> None:
        device, interleaving = self.device, self.program.interleaving
        if self.buffers:
            self.reserved = Reservation()
        claimed: dict[Buffer, Block] = {}
        for index, buffer in self.buffers:
            if buffer.owner in claimed:  # one buffer is in one place: where its first argument needs it
                self.places.append(claimed[buffer.owner])
                continue
            location = self.kernel.interface.arguments[index].buffer_location
            try:
                memory = device.memories.memory_for(location)
            except KeyError:
                raise OutOfResources(
                    f"{self.kernel.describe(index)} has to be in memory '{location}', "
                    f"which board '{device.board.name}' does not have"
                ) from None
            block = claimed[buffer.owner] = self.reserved.take(buffer, device, memory, interleaving)
            self.places.append(block)
        try:
            self.showing = device.memories.show(self._windows())
        except NotVisible as error:
            raise OutOfResources(f"kernel '{self.kernel.name}' cannot be launched: {error}") from None

    def _windows(self) -> Iterator[Window]:
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            yield Window(block.address + buffer.origin, buffer.size, self.kernel.describe(index))

    def abandon(self) -> None:
        """Frees the blocks that only this launch reserved. It is called if the launch does not run or fails."""
        self._leave_watched()
        self.reserved.give_back()

    # The scheduler calls these with its lock held

    def claim(self) -> Claim:
        occupancy = self.device.occupancy
        if not self.committed:
            if self._needs_programming():
                self.stage = Stage.PROGRAM
                return occupancy.claim_programming()
            claim = occupancy.claim_launch(self.cores)
            if claim is not TAKEN:
                return claim
            self.committed = True
        if self.adopt_places():
            self.stage = RUN
            for block in self.places:  # nothing moves them while the kernel runs
                block.running += 1
        else:
            self.stage = Stage.MIGRATE
        return TAKEN

    def _needs_programming(self) -> bool:
        """True if the board does not hold the binary, or the compiler mode programs it for every launch."""
        split = self.kernel.context.compiler_mode == SPLIT_KERNELS
        return split or self.program.identity not in self.device.loaded

    def adopt_places(self) -> bool:
        """True if all buffers are where the kernel needs them and do not move.

        A buffer without contents gets its home there.
        """
        ready = len(self.places) == len(self.buffers)
        for (_, buffer), block in zip(self.buffers, self.places, strict=False):
            owner = buffer.owner
            if owner.moving:
                ready = False
            elif owner.home is not block:
                if owner.home is None and not owner.on_host:
                    owner.move_home(block)
                else:
                    ready = False
        return ready

    def release(self, following: Operation | None) -> None:
        if self.stage is Stage.PROGRAM:
            if following is not None:  # before the end, which may let carried commands begin
                self.device.occupancy.begin_launch(self.cores)
                self.committed = True
            self.device.occupancy.end_programming()
            return
        if self.stage is Stage.RUN:
            for block in self.places:
                block.running -= 1
        if following is None:
            self.end()

    def end(self) -> None:
        """Ends the launch's claim to the board and to its blocks, after success and after failure."""
        if self.committed:
            self.committed = False
            self.device.occupancy.end_launch(self.cores)
        self.reserved.leave()

    # Without the lock

    def run(self) -> Operation | None:
        try:
            return self._run_stage()
        except BaseException:
            self.abandon()
            raise

    def _run_stage(self) -> Operation | None:
        if self.stage is Stage.PROGRAM:
            return self._program()
        if self.stage is Stage.MIGRATE:
            return MigrateForLaunch(self)
        self._run()
        return None

    def describe(self) -> dict[str, object]:
        if self.stage is Stage.PROGRAM:
            return describe_program(self.program) | {"kernel": self.kernel.name}
        return super().describe()

    def _program(self) -> Operation:
        load_onto(self.device, self.program)
        if len(self.places) < len(self.buffers):
            self.reserve()
        return self

    def _tell_skipped(self) -> None:
        now = monotonic_ns()
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            if index in self.moved:
                continue
            for listener in NOTICES.migrated:
                listener(buffer.owner, block, block, now, self.reason(index))

    def _prepare(self) -> bytes:
        """Brings shared memory to the device and returns the arguments for the engine. Raises BoardError."""
        if NOTICES.migrated:
            self._tell_skipped()
        packed: list[tuple[int, int, int | bytes]] = list(self.arguments)  # type: ignore[arg-type]
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            packed[index] = (POINTER, 8, block.pointer + buffer.origin)
        if self.device.before_kernel is not None:
            self.device.before_kernel(self.kernel.name)
        if self.usm is not None:
            self.watched = self.usm.bring(self.kernel.context, self.device, f"kernel '{self.kernel.name}'")
        return pack_arguments(packed)

    def _run(self) -> None:
        image = self._prepare()
        device = self.device
        begin = monotonic_ns()
        engine_kernel = self.kernel.engine_kernel_on(self.program)
        if 0 < self.cores < device.cores:
            engine_kernel = engine_kernel.on_own_thread()
        reaches = self.reaches() if engine_kernel.wants_reaches or self._is_copied else ()
        network = device.networks.get(self.program.identity)
        shown = self.showing if self.showing is not None and self.showing.regions else None
        if shown is not None:
            for listener in NOTICES.regions_set:
                listener(self, shown)
        launch = KernelLaunch(image, self.dimensions, self.engine_sizes, self.has_local, reaches, network)
        try:
            engine_kernel.launch(launch)
        finally:
            if shown is not None:
                for listener in NOTICES.regions_restored:
                    listener(self, shown)
            if network is not None and network.links:
                self._tell_packets(network.links)
        if not engine_kernel.launched:
            self.compile_ns = engine_kernel.compile_ns
        self._leave_watched()
        device.kernel_ns += monotonic_ns() - begin - self.compile_ns
        device.mmd.interrupt()
        engine_kernel.launched = True

    def _tell_packets(self, links: Links) -> None:
        from fpgart.channels.links import last_uses  # loaded with the first network

        self.uses = last_uses(links)
        if self.uses:
            for listener in NOTICES.packets_moved:
                listener(self)

    def _leave_watched(self) -> None:
        watched, self.watched = self.watched, ()
        for allocation in watched:
            allocation.left_by_kernel()


class MigrateForLaunch(MoveToBlocks):
    """The stage that migrates the buffers which a launch needs elsewhere, one migration per buffer argument."""

    __slots__ = ("launch", "needs_thread")

    def __init__(self, launch: LaunchKernel) -> None:
        moves = [(buffer, block) for (_, buffer), block in zip(launch.buffers, launch.places, strict=True)]
        super().__init__(launch.device, moves)
        self.launch: LaunchKernel = launch  # type: ignore[assignment]
        self.needs_thread = launch.needs_thread

    def run(self) -> Operation | None:
        try:
            for (index, _), (buffer, block) in zip(self.launch.buffers, self.moves, strict=True):
                if buffer.owner.home is not block:
                    buffer.migrate(block, self.launch.reason(index))
                    self.launch.moved += (index,)
        except BaseException:
            self.abandon()
            raise
        return self.launch

    def abandon(self) -> None:
        self.launch.abandon()

    def release(self, following: Operation | None) -> None:
        super().release(following)
        if following is None:
            self.launch.end()
