# SPDX-License-Identifier: Apache-2.0
"""Events of device operations, of the migrations and faults in them, and of the simulated clock."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from fpgart.base import opencl as cl
from fpgart.board.memory_system import Showing
from fpgart.runtime.commands.invocation import describe_regions
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.family import resource
from fpgart.watch.names import COMMANDS
from fpgart.watch.trace.commands import CommandNumbers
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import Timeline

if TYPE_CHECKING:
    from fpgart.runtime.model.board_clock import StepTime
    from fpgart.runtime.model.simulated_clock import ModelledCommand


class OperationEvents:
    """Device operations on the tracks of their queues."""

    def __init__(self, timeline: Timeline, sites: Sites, commands: CommandNumbers) -> None:
        self._timeline = timeline
        self._sites = sites
        self._commands = commands
        self._engine_told = False

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        self._timeline.begin_operation(queue_number(event), self._of_command(event))

    def _of_command(self, event: Event) -> dict[str, Any]:
        return self._sites.of(event) | self._commands.of(event)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        number, queue = self._timeline.end_operation()
        if operation.name == "migration" and status == 0:  # each buffer has an event of its own
            return
        args = {"device": operation.device.id, "operation": number, "command": command_name(event)}
        args |= operation.describe() | self._of_command(event)
        if event.queue is not None and not event.queue.in_order:
            args["unordered"] = True
        if status < 0:
            args["error"] = cl.NAMES_OF_STATUS.get(status, str(status))
        end = monotonic_ns()
        if operation.name == "kernel":
            begin += self._compiled(operation, args, begin, queue)
        self._timeline.emit("device", operation.name, begin, max(end - begin, 0), args, queue)

    def _compiled(self, operation: DeviceOperation, args: dict[str, Any], begin: int, queue: int) -> int:
        """Returns the nanoseconds in which the engine compiled before a kernel's first run; boards have none."""
        self._tell_engine(operation)
        took = operation.compile_ns if isinstance(operation, LaunchKernel) else 0
        if took:
            facts = {"device": args["device"], "operation": args["operation"], "kernel": args["kernel"]}
            self._timeline.emit("engine", "compile", begin, took, facts, queue)
        return took

    def _tell_engine(self, operation: DeviceOperation) -> None:
        """Writes, once, which engine runs the kernels. It is chosen when it is first needed."""
        engine = operation.device.platform.engine_in_use
        if not self._engine_told and engine is not None:
            self._engine_told = True
            self._timeline.mark("fpgart", "engine", {"name": engine.name, "version": engine.version})

    def migrated(self, buffer: Buffer, source: Block | None, target: Block | None, begin: int, reason: str) -> None:
        operation, queue = self._timeline.operation()
        args = migration_facts(buffer, source, target, operation, reason) | self._timeline.of_command()
        duration = 0 if source is target else monotonic_ns() - begin
        self._timeline.emit("device", "migration", begin, duration, args, queue)

    def packets_moved(self, launch: LaunchKernel) -> None:
        operation, _ = self._timeline.operation()
        for use in launch.uses:
            args = {"device": launch.device.id, "operation": operation, "kernel": launch.kernel.name}
            args |= {"channel": use.channel, "cable": use.link.cable, "writes": use.link.writing}
            args |= {"packets": use.packets, "packet": use.packet, "begin": use.begin, "end": use.end}
            name = f"{use.packets} packets {'to' if use.link.writing else 'from'} '{use.channel}'"
            self._timeline.emit_on(
                "cable", name, launch.device.id, use.channel, use.first_ns, use.last_ns - use.first_ns, args
            )

    def fault_injected(self, device: int | None, call: str, rule: str, begin: int) -> None:
        args = {"device": device, "call": call} | self._timeline.of_operation()
        self._timeline.emit("fault", rule, begin, monotonic_ns() - begin, args)

    def regions_set(self, launch: LaunchKernel, showing: Showing) -> None:
        self._mapping("set", launch, showing)

    def regions_restored(self, launch: LaunchKernel, showing: Showing) -> None:
        self._mapping("default", launch, showing)

    def _mapping(self, name: str, launch: LaunchKernel, showing: Showing) -> None:
        operation, queue = self._timeline.operation()
        args = {"device": launch.device.id, "operation": operation, "kernel": launch.kernel.name}
        self._timeline.mark("mapping", name, args | {"regions": describe_regions(showing)}, queue)


class SimulatedSteps:
    """Steps of commands in the simulated clock, on the tracks of the resources that they keep busy."""

    def __init__(self, timeline: Timeline, commands: CommandNumbers) -> None:
        self._timeline = timeline
        self._commands = commands

    def modelled(self, event: Event, command: ModelledCommand, steps: list[StepTime]) -> None:
        from dataclasses import asdict  # its import takes long, and a trace needs it with a simulated clock only

        for step in steps:
            args = {"device": step.device.id, "command": command_name(event), "queue": queue_number(event)}
            args |= self._commands.of(event)
            args |= {"queued": command.queued, "submit": command.submit, "begin": step.begin, "end": step.end}
            fpga = step.device.board.is_fpga
            busy = {resource(name, fpga=fpga): taken for name, taken in step.busy.items()}
            args |= {"bound": resource(step.bound, fpga=fpga), "busy": busy, "banks": step.banks, "size": step.size}
            if step.kernel:
                args["kernel"] = step.kernel
            if step.uncounted:
                args["loops"] = "not counted"
            if step.channels:
                args["channels"] = [asdict(each) for each in step.channels]
            if step.deeper is not None:
                args["deeper"] = {"depths": dict(step.deeper.depths), "saved": step.deeper.saved}
            if step.patterns:
                args["patterns"] = [asdict(each) for each in step.patterns]
            if step.untold:
                args["untold"] = step.untold
            lane = f"kernel {step.kernel}" if step.kernel else next(iter(busy), step.name)
            self._timeline.emit_simulated(
                step.name, step.device.id, step.device.board, lane, step.begin, step.end, args
            )


def migration_facts(
    buffer: Buffer, source: Block | None, target: Block | None, operation: int, reason: str
) -> dict[str, Any]:
    """Returns the arguments of an event about a migration, or one that was not needed (`source` is `target`)."""
    place = target or source
    device = place.device if place is not None else buffer.context.devices[0]
    facts: dict[str, Any] = {"device": device.id, "operation": operation, "buffer": buffer.number}
    facts |= {"size": buffer.size, "reason": reason, "skipped": source is target}
    return facts | {"from": block_in_words(source), "to": block_in_words(target)}


def command_name(event: Event) -> str:
    """Returns the host's command. Writes in a context's own queue carry out CL_MEM_COPY_HOST_PTR."""
    own = event.queue is not None and not event.queue.handle
    if own and event.command_type == cl.CL_COMMAND_WRITE_BUFFER:
        return "COPY_HOST_PTR"
    return COMMANDS.get(event.command_type, hex(event.command_type))


def queue_number(event: Event) -> int:
    """Returns the track of a command: all queues that belong to contexts themselves share track 0."""
    return event.queue.number if event.queue is not None and event.queue.handle else 0


def block_in_words(block: Block | None) -> str:
    """Returns the place of contents, such as `device 0, HBM at 0x100000000`, or `host`."""
    if block is None:
        return "host"
    return f"device {block.device.id}, {block.device.memories.name_of(block.memory)} at {block.device_address:#x}"
