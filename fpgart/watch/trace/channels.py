# SPDX-License-Identifier: Apache-2.0
"""Events of channels and pipes between kernels, and of autorun kernels."""

from __future__ import annotations

from time import monotonic_ns
from weakref import WeakKeyDictionary

from fpgart.channels.interface import History, KernelNetwork
from fpgart.kernels.fpga_spirv import PipeFacts, pipes
from fpgart.kernels.spirv import Module
from fpgart.runtime.commands.operation import DeviceOperation
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.trace.timeline import Timeline


class ChannelEvents:
    """The fill levels of channels and the waits of kernels, written whenever a kernel that uses them has ended."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._devices: WeakKeyDictionary[KernelNetwork, int] = WeakKeyDictionary()
        self._pipes: WeakKeyDictionary[Program, tuple[PipeFacts, ...]] = WeakKeyDictionary()

    def network_made(self, device: Device, network: KernelNetwork, program: Program) -> None:
        self._devices[network] = device.id
        if program not in self._pipes:
            self._pipes[program] = tuple(pipes(Module(program.il)))
        for pipe in self._pipes[program]:
            facts = {"device": device.id, "packet": pipe.packet, "capacity": pipe.capacity, "kernels": pipe.kernels}
            self._timeline.mark("pipe", pipe.name, facts)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        if operation.name != "kernel":
            return
        for network in list(operation.device.networks.values()):
            self._devices.setdefault(network, operation.device.id)
            self._tell_channels(network)

    def network_stopped(self, network: KernelNetwork) -> None:
        if network in self._devices:
            self._tell_autorun(network)
            self._tell_channels(network)
            del self._devices[network]

    def tell_all(self) -> None:
        """Writes the events that no kernel's end has written, at the end of the trace."""
        for network in list(self._devices):
            self.network_stopped(network)

    def _tell_autorun(self, network: KernelNetwork) -> None:
        device = self._devices[network]
        for name, units in network.autorun.items():
            facts = {"device": device, "units": units}
            length = monotonic_ns() - network.began
            self._timeline.emit_on("autorun", name, device, f"autorun {name}", network.began, length, facts)

    def _tell_channels(self, network: KernelNetwork) -> None:
        device = self._devices[network]
        for channel in network.history():
            self._tell(device, channel)

    def _tell(self, device: int, channel: History) -> None:
        track = f"channel {channel.name}"
        for at, packets in channel.levels:
            facts = {"packets": packets, "capacity": channel.capacity}
            self._timeline.emit_level("channel", track, device, at, facts)
        for stall in channel.stalls:
            args = {"device": device, "channel": channel.name, "capacity": channel.capacity}
            args |= {"kernel": stall.kernel, "writing": stall.writing}
            self._timeline.emit_on("channel", "stall", device, track, stall.begin, stall.end - stall.begin, args)
