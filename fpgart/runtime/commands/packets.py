# SPDX-License-Identifier: Apache-2.0
"""Host access to channels and program-scope variables of the program that is loaded on a board."""

from __future__ import annotations

from fpgart.base.errors import InvalidArgValue, InvalidValue, OutOfResources
from fpgart.runtime.commands.access import Accesses
from fpgart.runtime.commands.host_work import HostWork, nothing
from fpgart.runtime.commands.programming import describe_program, load_onto
from fpgart.runtime.commands.transfers import Transfer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Operation
from fpgart.runtime.scheduling.occupancy import Claim, Direction

SLICE_MS = 100


class Unready(OutOfResources):
    """The error of a packet that cannot move now. Its status is -1, as in the original."""

    status = -1


class MovePacket(HostWork):
    """Moves one packet between the host and a channel of the program that the board is programmed with.

    A channel is no memory that hosts know.
    """

    __slots__ = ("address", "channel", "needs_thread", "program", "size", "writing")

    def __init__(
        self, device: Device, program: str, channel: str, address: int, size: int, *, writing: bool, blocking: bool
    ) -> None:
        """`program`: the identity of the one whose channel it is."""
        super().__init__(device, nothing)
        self.program = program
        self.channel = channel
        self.address = address
        self.size = size
        self.writing = writing
        self.needs_thread = blocking

    def run(self) -> None:
        """Moves the packet. Raises Unready if it would have to wait and may not, InvalidValue for a wrong channel or
        size.
        """
        network = self.device.networks.get(self.program)
        fifo = network.channel(self.channel) if network is not None else None
        if network is None or fifo is None:
            raise InvalidValue(f"the board has no channel '{self.channel}' that the host may use")
        if fifo.packet != self.size:
            raise InvalidValue(f"channel '{self.channel}' has packets of {fifo.packet} bytes, not {self.size}")
        move = fifo.write if self.writing else fifo.read
        while not move(self.address, SLICE_MS if self.needs_thread else 0):
            if not self.needs_thread or network.stopped:
                raise Unready(f"channel '{self.channel}' is {'full' if self.writing else 'empty'}")


class MoveVariable(Transfer):
    """Copies bytes between the host and a program-scope variable; programs the board first if it holds another binary.

    It waits for running kernels before it programs the board. Later transfers overtake it: those kernels may need them.
    """

    __slots__ = ("address", "name", "offset", "program", "size", "variable", "writing")

    def __init__(
        self, device: Device, program: Program, variable: str, address: int, size: int, offset: int, *, writing: bool
    ) -> None:
        super().__init__(device)
        self.name = "transfer"
        self.program = program
        self.variable = variable
        self.address = address
        self.size = size
        self.offset = offset
        self.writing = writing

    @property
    def direction(self) -> Direction:
        """NONE once the operation has programmed the board: nothing may come between."""
        return Direction.NONE if self.busy else super().direction

    def claim(self) -> Claim:
        occupancy = self.device.occupancy
        if self.busy:
            return Claim.TAKEN
        if self.program.identity not in self.device.loaded:
            self.name = "program"
            return Claim.YIELDS if occupancy.launches else occupancy.claim_programming()
        if self.name == "program":  # a launch has loaded it meanwhile
            self.name, occupancy.closing = "transfer", False
        return super().claim()

    def release(self, following: Operation | None) -> None:
        if self.name != "program":
            super().release(following)
            return
        occupancy = self.device.occupancy
        occupancy.end_programming()
        if following is not None:
            self.name, self.busy = "transfer", (self.device,)
            occupancy.begin_transfer(self.way)

    def run(self) -> Operation | None:
        """Programs the board or copies the bytes.

        Raises InvalidArgValue for an unknown name, InvalidValue beyond the variable's end.
        """
        if self.name == "program":
            load_onto(self.device, self.program)
            return self
        network = self.device.networks.get(self.program.identity)
        found = network.variable(self.variable) if network is not None else None
        if found is None:
            raise InvalidArgValue(f"the board has no program-scope variable '{self.variable}'")
        if self.offset + self.size > found.size:
            raise InvalidValue(
                f"'{self.variable}' has {found.size} bytes, {self.size} at {self.offset} are beyond its end"
            )
        (found.write if self.writing else found.read)(self.offset, self.address, self.size)
        return None

    def accesses(self) -> Accesses:
        return ()

    def describe(self) -> dict[str, object]:
        return describe_program(self.program) if self.name == "program" else {}
