# SPDX-License-Identifier: Apache-2.0
"""The programs, kernels and networks of a session, and the answers to its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from fpgart._native import ffi, lib
from fpgart.base.errors import CLError, InvalidValue, without_frames
from fpgart.channels.interface import Channel, KernelNetwork, Variable
from fpgart.engine.interface import BuildFailed, BuiltProgram, Engine, EngineKernel, KernelLaunch
from fpgart.engine.isolated import messages as m
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.kernel import DriverKernel

T = TypeVar("T")
SIZES_BYTES = 72
"""The size of offset, global and local size."""
MOST_PACKET = 1 << 26
"""The largest packet in a message, in bytes."""


@dataclass(frozen=True, slots=True)
class ServedKernel:
    """A kernel and its number on lanes, 0 for none. It keeps its program alive."""

    kernel: EngineKernel
    program: BuiltProgram
    offered: int


class Served:
    """The objects of a session. Any thread may call the methods."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._numbers = count(1)
        self._programs: dict[int, BuiltProgram] = {}
        self._kernels: dict[int, ServedKernel] = {}
        self._number_of: dict[int, int] = {}
        """The numbers of the engine's kernels, by their identity."""
        self._networks: dict[int, KernelNetwork] = {}
        self._making = threading.Lock()
        self._answers: dict[type[Any], Callable[[Any], object]] = {
            m.DeviceInfo: lambda ask: m.Data(engine.device_info(ask.query)),
            m.FromSource: lambda ask: self._new_program(engine.from_source(ask.source)),
            m.FromIL: lambda ask: self._new_program(engine.from_il(ask.il)),
            m.FromBinary: lambda ask: self._new_program(engine.from_binary(ask.binary)),
            m.Specialize: self._specialize,
            m.Build: lambda ask: m.Text(self._program(ask.program).build(ask.options)),
            m.Compile: self._compile,
            m.Link: self._link,
            m.Kernels: self._interfaces,
            m.GetBinary: lambda ask: m.Data(self._program(ask.program).binary()),
            m.Release: self._release,
            m.MakeKernel: self._make_kernel,
            m.OnOwnThread: self._on_own_thread,
            m.Interface: lambda ask: m.Interfaces((self._kernel(ask.kernel).interface,)),
            m.Accepts: lambda ask: m.Truth(self._kernel(ask.kernel).accepts(ask.argument, ask.size)),
            m.WorkGroupInfo: lambda ask: m.Data(self._kernel(ask.kernel).work_group_info(ask.query)),
            m.SubGroupInfo: self._sub_group_info,
            m.SuggestedLocalSize: self._suggested_local_size,
            m.Launch: self._launch,
            m.MakeNetwork: self._make_network,
            m.StopNetwork: self._stop_network,
            m.GetHistory: lambda ask: m.Histories(tuple(self._network(ask.network).history())),
            m.FindChannel: self._find_channel,
            m.ReadChannel: self._read_channel,
            m.WriteChannel: self._write_channel,
            m.FindVariable: self._find_variable,
            m.ReadVariable: self._read_variable,
            m.WriteVariable: self._write_variable,
        }

    @property
    def carries(self) -> bool:
        """True if the engine takes commands of a ring."""
        return self._engine.carrier() is not None

    def acquire_queue(self) -> int:
        """Returns a queue of the engine for one lane; 0 if it has none. Raises CLError."""
        return self._engine.queues.acquire() if isinstance(self._engine, OpenCLEngine) else 0

    def release_queue(self, queue: int) -> None:
        if isinstance(self._engine, OpenCLEngine):
            self._engine.queues.release(queue)

    def answer(self, request: object) -> object:
        act = self._answers.get(type(request))
        if act is None:
            return m.Failed(InvalidValue.status, f"a {type(request).__name__} is not a request")
        try:
            return act(request)
        except BuildFailed as failed:
            return m.NotBuilt(failed.status, failed.log)
        except CLError as error:
            return m.Failed(error.status, str(without_frames(error)))

    # Objects by their numbers

    def _program(self, number: int) -> BuiltProgram:
        return _found(self._programs, number, "program")

    def _kernel(self, number: int) -> EngineKernel:
        return _found(self._kernels, number, "kernel").kernel

    def _network(self, number: int) -> KernelNetwork:
        return _found(self._networks, number, "network")

    def _new_program(self, program: BuiltProgram) -> m.Number:
        number = next(self._numbers)
        self._programs[number] = program
        return m.Number(number)

    # Programs

    def _specialize(self, ask: m.Specialize) -> m.Done:
        self._program(ask.program).specialize(ask.id, ask.value)
        return m.Done()

    def _compile(self, ask: m.Compile) -> m.Text:
        headers = {name: self._program(number) for name, number in ask.headers}
        return m.Text(self._program(ask.program).compile(ask.options, headers))

    def _link(self, ask: m.Link) -> m.Linked:
        if not ask.programs:
            raise InvalidValue("there is nothing to link")
        program, log = self._engine.link(ask.options, [self._program(number) for number in ask.programs])
        return m.Linked(self._new_program(program).number, log)

    def _interfaces(self, ask: m.Kernels) -> m.Interfaces:
        known = {interface.name: interface for interface in ask.known}
        return m.Interfaces(tuple(self._program(ask.program).kernels(known).values()))

    def _release(self, ask: m.Release) -> m.Done:
        for number in ask.programs:
            program = self._programs.pop(number, None)
            for kernel in [key for key, served in list(self._kernels.items()) if served.program is program]:
                served = self._kernels.pop(kernel)
                self._number_of.pop(id(served.kernel), None)
                if served.offered:
                    lib.lane_withdraw(served.offered)
        for number in ask.networks:
            self._networks.pop(number, None)
        return m.Done()

    # Kernels

    def _make_kernel(self, ask: m.MakeKernel) -> m.Made:
        program = self._program(ask.program)
        if ask.name not in program.kernels({}):
            raise InvalidValue(f"the program has no kernel '{ask.name}'")
        return self._made(program.kernel(ask.name), program)

    def _on_own_thread(self, ask: m.OnOwnThread) -> m.Made:
        served = _found(self._kernels, ask.kernel, "kernel")
        return self._made(served.kernel.on_own_thread(), served.program)

    def _made(self, kernel: EngineKernel, program: BuiltProgram) -> m.Made:
        with self._making:
            number = self._number_of.get(id(kernel))
            if number is None:
                offered = 0
                if isinstance(kernel, DriverKernel) and kernel.carried:
                    offered = int(lib.lane_offer(kernel.handle, kernel.argument_count))
                number = self._number_of[id(kernel)] = next(self._numbers)
                self._kernels[number] = ServedKernel(kernel, program, offered)
            return m.Made(number, self._kernels[number].offered, kernel.waits_for_others)

    def _sub_group_info(self, ask: m.SubGroupInfo) -> m.Data:
        if not 0 <= ask.length <= MOST_PACKET:
            raise InvalidValue(f"an answer of {ask.length} bytes cannot be allocated")
        return m.Data(self._kernel(ask.kernel).sub_group_info(ask.query, ask.sizes, ask.length))

    def _suggested_local_size(self, ask: m.SuggestedLocalSize) -> m.Numbers:
        kernel = self._kernel(ask.kernel)
        if len(ask.offset) != len(ask.sizes):
            raise InvalidValue(f"an offset of {len(ask.offset)} dimensions, a size of {len(ask.sizes)}")
        return m.Numbers(kernel.suggested_local_size(ask.arguments, ask.offset, ask.sizes))

    def _launch(self, ask: m.Launch) -> m.Number:
        kernel = self._kernel(ask.kernel)
        assert isinstance(kernel, DriverKernel)  # engines with other kernels are not served
        whole = lib.launch_is_whole(ffi.from_buffer(ask.image), len(ask.image), kernel.argument_count)
        if len(ask.sizes) != SIZES_BYTES or not whole:
            raise InvalidValue("a launch's arguments or sizes are not all there")
        network = self._network(ask.network) if ask.network else None
        if kernel.waits_for_others and network is None:
            raise InvalidValue("a kernel that may wait for others is launched without a network")
        kernel.launch(KernelLaunch(ask.image, ask.dimensions, ask.sizes, ask.has_local, network=network))
        kernel.launched = True
        return m.Number(kernel.compile_ns)

    # Networks

    def _make_network(self, ask: m.MakeNetwork) -> m.NetworkMade:
        network = self._program(ask.program).network()
        if network is None:
            return m.NetworkMade(0, ())
        number = next(self._numbers)
        self._networks[number] = network
        return m.NetworkMade(number, tuple(network.autorun.items()))

    def _stop_network(self, ask: m.StopNetwork) -> m.Done:
        self._network(ask.network).stop()
        return m.Done()

    def _channel(self, network: int, name: str) -> Channel:
        found = self._network(network).channel(name)
        if found is None:
            raise InvalidValue(f"the program has no channel '{name}'")
        return found

    def _find_channel(self, ask: m.FindChannel) -> m.Number:
        found = self._network(ask.network).channel(ask.name)
        return m.Number(found.packet if found is not None else 0)

    def _read_channel(self, ask: m.ReadChannel) -> m.Data:
        channel = self._channel(ask.network, ask.name)
        packet = ffi.new("char[]", channel.packet)
        moved = channel.read(int(ffi.cast("uintptr_t", packet)), _patience(ask.wait_ms))
        return m.Data(bytes(ffi.buffer(packet)) if moved else b"")

    def _write_channel(self, ask: m.WriteChannel) -> m.Truth:
        channel = self._channel(ask.network, ask.name)
        if len(ask.packet) != channel.packet:
            raise InvalidValue(f"channel '{ask.name}' has packets of {channel.packet} bytes, not {len(ask.packet)}")
        packet = ffi.from_buffer(ask.packet)
        return m.Truth(channel.write(int(ffi.cast("uintptr_t", packet)), _patience(ask.wait_ms)))

    def _variable(self, network: int, name: str, offset: int, size: int) -> Variable:
        """Returns a variable. Raises InvalidValue if it does not have the range."""
        found = self._network(network).variable(name)
        whole = found.size if found is not None else 0
        if found is None or not 0 <= offset <= whole or not 0 <= size <= whole - offset:
            raise InvalidValue(f"'{name}' has {whole} bytes, {size} at {offset} are beyond its end")
        return found

    def _find_variable(self, ask: m.FindVariable) -> m.Number:
        found = self._network(ask.network).variable(ask.name)
        return m.Number(found.size if found is not None else -1)

    def _read_variable(self, ask: m.ReadVariable) -> m.Data:
        variable = self._variable(ask.network, ask.name, ask.offset, ask.size)
        data = ffi.new("char[]", ask.size)
        variable.read(ask.offset, int(ffi.cast("uintptr_t", data)), ask.size)
        return m.Data(bytes(ffi.buffer(data)))

    def _write_variable(self, ask: m.WriteVariable) -> m.Done:
        variable = self._variable(ask.network, ask.name, ask.offset, len(ask.data))
        data = ffi.from_buffer(ask.data)
        variable.write(ask.offset, int(ffi.cast("uintptr_t", data)), len(ask.data))
        return m.Done()


LONGEST_WAIT_MS = 1000


def _patience(wait_ms: int) -> int:
    return max(0, min(wait_ms, LONGEST_WAIT_MS))


def _found(table: dict[int, T], number: int, what: str) -> T:
    try:
        return table[number]
    except KeyError:
        raise InvalidValue(f"{number} is the number of no {what}") from None
