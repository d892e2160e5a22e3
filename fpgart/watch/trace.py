# SPDX-License-Identifier: Apache-2.0
"""FPGART_TRACE: what happens, as Chrome trace events that Perfetto opens.

A JSON array, one event per line, written as it goes: after a crash all lines but perhaps the last are
whole. Tracks: one per host thread (process 1), one per command queue under its device (process 2 + id).

- cat "fpgart": begin (whose trace it is: run of `fpgart run`, process), board, not locked (host memory, args size and
  the system's limit), end.
- cat "api": a call of the host. Reference counting is answered in C and does not show.
- cat "mmd": a call through the MMD, args device, address, board_address, size, buffer, operation.
- cat "memory": reserve or free of a block, args device, memory, bank (and last_bank where it straddles several),
  address, size, buffer.
- cat "placing": what a host's wish for a place came to, args buffer and bank, argument or words.
- cat "device": a device operation, with its command, buffer, kernel, ND-range, or a migration's reason.
- cat "buffer": create or release of a buffer.
- cat "time": a step of a command in the simulated clock (FPGART_TIME=model), at its time there, in processes of
  their own (1000 + id): args command, queued, submit, begin, end (nanoseconds), bound, busy (by resource), size.
- cat "usm": allocate or free of unified shared memory, migrate of a shared range.
- cat "mapping": set or default of the regions in which a kernel is shown memory, args device, kernel, regions.
- cat "fault": a fault that was asked for, as long as it delayed the call, args device, call.

An address has the device's number in its upper bits, as kernels are given it, and bit 61 in events of unified shared
memory; board_address beside it is the place in the board's memory map alone, which is what the MMD is given.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import threading
from bisect import bisect_right, insort
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from itertools import count
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from fpgart import config, log
from fpgart import opencl as cl
from fpgart.board.description import BoardDescription
from fpgart.board.device_address import DeviceAddress
from fpgart.board.memory_system import Showing
from fpgart.board.mmd import Around, Mmd
from fpgart.output_file import open_output
from fpgart.runtime.buffer import Buffer
from fpgart.runtime.device import Block, Device
from fpgart.runtime.event import Event, Operation
from fpgart.runtime.kernel import LaunchKernel, Stage
from fpgart.runtime.program import Program
from fpgart.runtime.programming import ProgramDevice
from fpgart.runtime.transfers import CopyBuffer, MapBuffer, MigrateToHost, Migration, Transfer
from fpgart.runtime.usm import Indirect, Kind, UsmAllocation, UsmTransfer
from fpgart.watch.words import COMMANDS, banks_in_words

if TYPE_CHECKING:
    from fpgart.runtime.board_clock import StepTime
    from fpgart.runtime.simulated_clock import Command

HOST = 1
FIRST_DEVICE = 2
FIRST_CLOCK = 1000
MAP_FLAGS = {cl.CL_MAP_READ: "READ", cl.CL_MAP_WRITE: "WRITE", cl.CL_MAP_WRITE_INVALIDATE_REGION: "INVALIDATE"}
ALLOCATORS = {
    Kind.HOST: "clHostMemAllocINTEL",
    Kind.DEVICE: "clDeviceMemAllocINTEL",
    Kind.SHARED: "clSharedMemAllocINTEL",
}
OPERATIONS = count(1)
NO_OPERATION = 0, 0
FIRST_BYTES = 256
"""Of a trace: the line that says whose it is lies within."""


class Blocks:
    """Which buffer has which address of a device, for MMD calls that know only addresses."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._blocks: dict[int, Block] = {}
        self._lock = threading.Lock()

    def add(self, block: Block) -> None:
        with self._lock:
            insort(self._begins, block.address)
            self._blocks[block.address] = block

    def remove(self, block: Block) -> None:
        with self._lock:
            if self._blocks.pop(block.address, None) is not None:
                del self._begins[bisect_right(self._begins, block.address) - 1]

    def owner(self, address: int) -> int:
        """The number of the buffer at an address; 0 for none."""
        with self._lock:
            index = bisect_right(self._begins, address) - 1
            if index < 0:
                return 0
            block = self._blocks[self._begins[index]]
        return block.owner if address < block.address + block.region.size else 0


def open_unshared(path: str, run: str) -> tuple[int, str]:
    """A file for the trace of this process alone, empty, and its path: `path`, or the next name that is free.

    A trace is another one's while its process lives, and for as long as processes of the same `run` begin.
    Raises OSError.
    """
    base, ending = os.path.splitext(path)
    for number in count(1):
        name = path if number == 1 else f"{base}.{number}{ending}"
        file = open_output(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            break
        if taken(file) and not of_run(file, run):
            os.ftruncate(file, 0)
            break
        os.close(file)
    if number > 1:
        log.warning(f"{path} is the trace of another process; process {os.getpid()} writes {name}")
    return file, name


def taken(file: int) -> bool:
    """Whether the file is ours alone from now on: a lock says so until its process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def of_run(file: int, run: str) -> bool:
    """Whether the file has the begin of a trace that this run of `fpgart run` made."""
    return bool(run) and f'"run": "{run}"'.encode() in os.pread(file, FIRST_BYTES, 0)


def name_of_thread(number: int) -> str:
    """As the system knows it. Asking Python would keep an object for each thread of the host, ended or not."""
    if number == os.getpid():
        return "main thread"
    try:
        with open(f"/proc/self/task/{number}/comm", errors="replace") as file:
            return f"{file.read().strip()} {number}"
    except OSError:
        return f"thread {number}"


class Trace:
    """Writes events to a file; listens to NOTICES."""

    def __init__(self, path: str) -> None:
        """Raises OSError when the file cannot be written."""
        run = os.environ.get(config.RUN, "")
        self._file, self.path = open_unshared(path, run)
        self._begin = monotonic_ns()
        self._threads: set[int] = set()
        self._queues: set[tuple[int, int]] = set()
        self._lanes: dict[int, dict[str, int]] = {}
        self._blocks: dict[int, Blocks] = {}
        self._failure = threading.local()
        self._operation: ContextVar[tuple[int, int]] = ContextVar("operation", default=NO_OPERATION)
        """Number and queue of the device operation that runs on this thread, or for which a helper thread works."""
        os.write(self._file, b"[\n")
        self._write(self._event("fpgart", "begin", HOST, 0, self._begin, None, {"run": run, "process": os.getpid()}))
        self._name(HOST, 0, "process_name", "host")
        os.register_at_fork(after_in_child=self._stop)

    def _stop(self) -> None:
        """The child of a fork has a life of its own; the file stays the parent's."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """The end: the array gets its bracket."""
        end = json.dumps(self._event("fpgart", "end", HOST, 0, monotonic_ns(), None, {}))
        self._append(f"{end}\n]\n".encode())
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    # Events

    def _event(
        self, category: str, name: str, process: int, track: int, begin: int, duration: int | None, args: dict[str, Any]
    ) -> dict[str, Any]:
        """`begin` and `duration` in nanoseconds; the format has microseconds."""
        event: dict[str, Any] = {"name": name, "cat": category, "pid": process, "tid": track}
        event["ts"] = round((begin - self._begin) / 1000, 3)
        if duration is None:
            event |= {"ph": "i", "s": "t"}
        else:
            event |= {"ph": "X", "dur": round(duration / 1000, 3)}
        event["args"] = args
        return event

    def _write(self, event: dict[str, Any]) -> None:
        if self._file >= 0:
            self._append(f"{json.dumps(event)},\n".encode())

    def _append(self, line: bytes) -> None:
        """A full disk ends the trace; the host's calls go on as if there were none."""
        if self._file < 0:
            return
        try:
            missing = len(line) - os.write(self._file, line)
            reason = "the file takes no more" if missing else ""
        except OSError as error:
            reason = error.strerror or str(error)
        if reason:
            self._file = -1
            log.warning(f"the trace ends here: {reason}")

    def _name(self, process: int, track: int, kind: str, name: str) -> None:
        self._write({"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}})

    def emit(
        self, category: str, name: str, begin: int, duration: int | None, args: dict[str, Any], queue: int = -1
    ) -> None:
        """An event of this thread, or (`queue` 0 or above, `args` with a device) of a command queue."""
        if queue < 0:
            process, track = HOST, threading.get_native_id()
            if track not in self._threads:
                self._threads.add(track)
                self._name(process, track, "thread_name", name_of_thread(track))
        else:
            process, track = FIRST_DEVICE + int(args["device"]), queue
            if (process, track) not in self._queues:
                self._queues.add((process, track))
                self._name(process, track, "thread_name", f"queue {queue}" if queue else "auto_queue")
        self._write(self._event(category, name, process, track, begin, duration, args))

    def introduce(self, device: int, board: BoardDescription) -> None:
        """Name a device's tracks, and say what its board is."""
        self._blocks[device] = Blocks()
        self._name(FIRST_DEVICE + device, 0, "process_name", f"device {device}: {board.name}")
        memories = [
            {
                "name": m.name, "begin": hex(m.begin), "size": m.size, "banks": m.banks,
                "interleaved": m.interleaved, "buffers": m.is_device_private, "bandwidth": m.max_bandwidth,
                "largest_region": m.largest_region,
            }
            for m in board.memories
        ]  # fmt: skip
        facts = {"device": device, "board": board.name, "memories": memories}
        self._write(self._event("fpgart", "board", HOST, 0, self._begin, None, facts))

    # The host's calls

    def observe(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The entry point with an event around it."""

        @wraps(function)
        def call(*arguments: Any) -> Any:
            begin = monotonic_ns()
            try:
                return function(*arguments)
            finally:
                args = {}
                failure = getattr(self._failure, "words", None)
                if failure is not None and failure[0] == name:
                    args = {"error": failure[1]}
                    self._failure.words = None
                self.emit("api", name, begin, monotonic_ns() - begin, args)

        return call

    def call_failed(self, call: str, status: int, words: str) -> None:
        self._failure.words = call, f"{cl.NAMES_OF_STATUS.get(status, str(status))}: {words}"

    # Memory

    def buffer_created(self, buffer: Buffer) -> None:
        args = {"buffer": buffer.number, "size": buffer.size, "flags": hex(buffer.flags)}
        if buffer.parent is not None:
            args |= {"parent": buffer.parent.number, "origin": buffer.origin}
        if buffer.bank:
            args["bank"] = buffer.bank
        if buffer.location is not None:
            args["location"] = buffer.location
        self.emit("buffer", "create", monotonic_ns(), None, args)

    def buffer_destroyed(self, number: int) -> None:
        self.emit("buffer", "release", monotonic_ns(), None, {"buffer": number})

    def bank_ignored(self, buffer: Buffer, device: Device) -> None:
        words = "has no effect: the binary on the board interleaves the banks"
        self.emit(
            "placing",
            "bank ignored",
            monotonic_ns(),
            None,
            {"buffer": buffer.number, "bank": buffer.bank, "words": words},
        )

    def bank_full(self, buffer: Buffer, block: Block) -> None:
        words = f"has no room for it: it is in {banks_in_words(*block.banks)}"
        self.emit(
            "placing", "bank full", monotonic_ns(), None, {"buffer": buffer.number, "bank": buffer.bank, "words": words}
        )

    def place_hinted(self, buffer: Buffer, location: str, argument: str) -> None:
        args = {"buffer": buffer.number, "location": location, "argument": argument}
        self.emit("placing", "argument set", monotonic_ns(), None, args)

    def block_reserved(self, block: Block) -> None:
        self._blocks[block.device.id].add(block)
        self.emit("memory", "reserve", monotonic_ns(), None, self._block(block))

    def know(self, block: Block) -> None:
        """A block that was reserved before the trace began."""
        self._blocks[block.device.id].add(block)

    def block_freed(self, block: Block) -> None:
        self._blocks[block.device.id].remove(block)
        self.emit("memory", "free", monotonic_ns(), None, self._block(block))

    def block_refused(self, device: Device, size: int, owner: int) -> None:
        facts = {"device": device.id, "size": size, "buffer": owner}
        self.emit("refusal", "no room", monotonic_ns(), None, facts)

    @staticmethod
    def _block(block: Block) -> dict[str, Any]:
        first, last = block.banks
        facts: dict[str, Any] = {
            "device": block.device.id,
            "memory": block.device.memories.name_of(block.memory),
            "bank": first,
            "address": hex(block.device_address),
            "board_address": hex(block.address),
            "size": block.region.size,
            "buffer": block.owner,
        }
        return (
            facts
            | ({"last_bank": last} if last > first else {})
            | ({"program": block.program} if block.program else {})
        )

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        args = self._allocation(allocation)
        args |= {"call": ALLOCATORS[allocation.kind], "pointer": hex(allocation.pointer)}
        self.emit("usm", "allocate", monotonic_ns(), None, args)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        self.emit("usm", "free", monotonic_ns(), None, self._allocation(allocation))

    def usm_migrated(
        self, allocation: UsmAllocation, offset: int, moved: int, side: Device | None, begin: int, reason: str
    ) -> None:
        operation, queue = self._operation.get()
        args = self._allocation(allocation)
        args |= {"device": side.id if side is not None else allocation.givers[0].id, "operation": operation}
        args |= {"offset": offset, "size": moved, "reason": reason}
        args["to"] = "host" if side is None else f"device {side.id}"
        self.emit("usm", "migrate", begin, monotonic_ns() - begin, args, queue)

    @staticmethod
    def _allocation(allocation: UsmAllocation) -> dict[str, Any]:
        args: dict[str, Any] = {"allocation": allocation.number, "kind": allocation.kind.name.lower()}
        args["size"] = allocation.size
        if allocation.device is not None:
            args["device"] = allocation.device.id
        if allocation.block is not None:
            args["address"] = hex(allocation.block.device_address.as_usm_device())
            args["board_address"] = hex(allocation.block.address)
        return args

    def lock_refused(self, size: int, limit: int) -> None:
        self.emit("fpgart", "not locked", monotonic_ns(), None, {"size": size, "limit": limit})

    def mmd_call(self, name: str, device: int, begin: int, size: int, **more: Any) -> None:
        """One call through the MMD; the board's addresses are given as integers under names that end in address."""
        args: dict[str, Any] = {"device": device}
        for key, value in more.items():
            args[key], args[f"board_{key}"] = hex(DeviceAddress.of(device, value)), hex(value)
            owner = self._blocks[device].owner(value)
            if owner:
                args["buffer" if key == "address" else "source"] = owner
        args["size"] = size
        operation, _ = self._operation.get()
        if operation:
            args["operation"] = operation
        self.emit("mmd", f"aocl_mmd_{name}", begin, monotonic_ns() - begin, args)

    def fault_injected(self, device: int, call: str, rule: str, begin: int) -> None:
        args: dict[str, Any] = {"device": device, "call": call}
        operation, _ = self._operation.get()
        if operation:
            args["operation"] = operation
        self.emit("fault", rule, begin, monotonic_ns() - begin, args)

    # Device operations

    def operation_began(self, event: Event, operation: Operation) -> None:
        self._operation.set((next(OPERATIONS), self._queue(event)))

    def operation_ended(self, event: Event, operation: Operation, begin: int, status: int) -> None:
        number, queue = self._operation.get()
        self._operation.set(NO_OPERATION)
        if isinstance(operation, (Migration, MigrateToHost)) and status == 0:
            return  # told buffer by buffer
        if isinstance(operation, LaunchKernel) and operation.stage is Stage.MIGRATE:
            return  # comes next
        args = self._place(event, operation.device, number)
        args |= _described(operation)
        if status < 0:
            args["error"] = cl.NAMES_OF_STATUS.get(status, str(status))
        self.emit("device", operation.name, begin, monotonic_ns() - begin, args, queue)

    def migrated(self, buffer: Buffer, source: Block | None, target: Block | None, begin: int, reason: str) -> None:
        place = target or source
        device = place.device if place is not None else buffer.context.devices[0]
        operation, queue = self._operation.get()
        args: dict[str, Any] = {"device": device.id, "operation": operation, "buffer": buffer.number}
        args |= {"size": buffer.size, "reason": reason, "skipped": source is target}
        args["from"], args["to"] = _where(source), _where(target)
        duration = 0 if source is target else monotonic_ns() - begin
        self.emit("device", "migration", begin, duration, args, queue)

    # Regions in which a kernel is shown memory

    def regions_set(self, launch: LaunchKernel, showing: Showing) -> None:
        self._mapping("set", launch, showing)

    def regions_restored(self, launch: LaunchKernel, showing: Showing) -> None:
        self._mapping("default", launch, showing)

    def _mapping(self, name: str, launch: LaunchKernel, showing: Showing) -> None:
        operation, queue = self._operation.get()
        args = {"device": launch.device.id, "operation": operation, "kernel": launch.kernel.name}
        self.emit("mapping", name, monotonic_ns(), None, args | {"regions": _regions(showing)}, queue)

    # The simulated clock

    def modelled(self, event: Event, command: Command, steps: list[StepTime]) -> None:
        for step in steps:
            args = self._place(event, step.device, 0)
            del args["operation"]
            args |= {"queue": self._queue(event), "queued": command.queued, "submit": command.submit}
            args |= {"begin": step.begin, "end": step.end, "bound": step.bound, "busy": step.busy, "size": step.size}
            if step.kernel:
                args["kernel"] = step.kernel
            lane = f"kernel {step.kernel}" if step.kernel else next(iter(step.busy), step.name)
            process = FIRST_CLOCK + step.device.id
            track = self._lane(process, step.device, lane)
            shown = self._event(
                "time", step.name, process, track, self._begin + step.begin, step.end - step.begin, args
            )
            self._write(shown)

    def _lane(self, process: int, device: Device, lane: str) -> int:
        """The track of a resource of the simulated clock."""
        lanes = self._lanes.setdefault(process, {})
        if not lanes:
            self._name(process, 0, "process_name", f"device {device.id}: {device.board.name}, simulated time")
        if lane not in lanes:
            lanes[lane] = len(lanes) + 1
            self._name(process, lanes[lane], "thread_name", lane)
        return lanes[lane]

    @staticmethod
    def _queue(event: Event) -> int:
        """Its track: the context's own queues share track 0."""
        return event.queue.number if event.queue is not None and event.queue.handle else 0

    def _place(self, event: Event, device: Device, number: int) -> dict[str, Any]:
        return {"device": device.id, "operation": number, "command": command_name(event)}


def command_name(event: Event) -> str:
    """What the host asked for; the writes of a context's own queue are what CL_MEM_COPY_HOST_PTR asks for."""
    own = event.queue is not None and not event.queue.handle
    if own and event.command_type == cl.CL_COMMAND_WRITE_BUFFER:
        return "COPY_HOST_PTR"
    return COMMANDS.get(event.command_type, hex(event.command_type))


def _where(block: Block | None) -> str:
    """A place in words, such as `device 0, HBM at 0x100000000`."""
    if block is None:
        return "host"
    return f"device {block.device.id}, {block.device.memories.name_of(block.memory)} at {block.device_address:#x}"


def _regions(showing: Showing) -> list[dict[str, Any]]:
    """What a kernel is shown where."""
    return [
        {"physical": f"{region.physical:#x}", "kernel": f"{region.kernel:#x}", "size": region.size}
        for region in showing.regions
    ]


def _on_host(*buffers: Buffer) -> dict[str, Any]:
    """Said of a command that no board had anything to do with: its buffers are in the host's memory."""
    return {"on_host": True} if all(buffer.owner.on_host for buffer in buffers) else {}


def _programming(program: Program) -> dict[str, Any]:
    return {"program": program.identity, "size": len(program.image())}


def _described(operation: Operation) -> dict[str, Any]:
    """What is particular to a kind of operation."""
    if isinstance(operation, ProgramDevice):
        return _programming(operation.program)
    if isinstance(operation, LaunchKernel):
        if operation.stage is Stage.PROGRAM:
            return _programming(operation.program) | {"kernel": operation.kernel.name}
        offset, whole, local = operation.nd_range()
        facts: dict[str, Any] = {"kernel": operation.kernel.name, "global": whole, "offset": offset}
        if local:
            facts["local"] = local
        facts["buffers"] = [buffer.owner.number for _, buffer in operation.buffers]
        if len(operation.places) == len(operation.buffers):
            facts["image"] = operation.invocation_image().hex()
        if operation.usm is not None:
            facts["allocations"] = [allocation.number for allocation in operation.usm.allocations]
            facts["indirect"] = [kind.name.lower() for kind in Kind if operation.usm.indirect & Indirect.of(kind)]
        if operation.showing is not None:
            facts["shown"] = [
                {"buffer": buffer.owner.number, "size": buffer.size, "at": f"{address:#x}"}
                for (_, buffer), address in zip(operation.buffers, operation.showing.addresses, strict=True)
            ]
            facts["regions"] = _regions(operation.showing)
        return facts
    if isinstance(operation, UsmTransfer):
        facts = {"size": operation.size}
        for key, place in zip(("", "source_"), operation.places, strict=False):
            if place.allocation is not None:
                facts[key.rstrip("_") or "allocation"] = place.allocation.number
                facts[f"{key}offset"] = place.pointer - place.allocation.pointer
        return facts
    if isinstance(operation, CopyBuffer):
        facts = {
            "source": operation.source.owner.number,
            "buffer": operation.buffer.owner.number,
            "size": operation.size,
        }
        return facts | _on_host(operation.source, operation.buffer)
    if isinstance(operation, Transfer) and isinstance(buffer := getattr(operation, "buffer", None), Buffer):
        facts = {"buffer": buffer.owner.number, "size": getattr(operation, "size", 0)}
        if isinstance(origin := getattr(operation, "offset", None), int):
            facts["offset"] = buffer.origin + origin
        facts |= _on_host(buffer)
        if isinstance(operation, MapBuffer):
            facts["flags"] = "|".join(word for flag, word in MAP_FLAGS.items() if operation.flags & flag)
        return facts
    return {}


class TracedMmd(Around):
    """An Mmd whose calls are told to a trace."""

    def __init__(self, mmd: Mmd, device: int, trace: Trace) -> None:
        super().__init__(mmd)
        self._device = device
        self._trace = trace
        self.open = mmd.open
        trace.introduce(device, mmd.description)

    def write(self, host: int, board: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.write(host, board, size)
        self._trace.mmd_call("write", self._device, begin, size, address=board)

    def read(self, board: int, host: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.read(board, host, size)
        self._trace.mmd_call("read", self._device, begin, size, address=board)

    def copy(self, source: int, destination: int, size: int) -> None:
        begin = monotonic_ns()
        self._mmd.copy(source, destination, size)
        self._trace.mmd_call("copy", self._device, begin, size, address=destination, source_address=source)

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        begin = monotonic_ns()
        self._mmd.program(image, preserve=preserve)
        self._trace.mmd_call("program", self._device, begin, len(image))

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        begin = monotonic_ns()
        made = self._mmd.host_alloc(size, alignment, given)
        self._trace.mmd_call("host_alloc", self._device, begin, size)
        return made

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        begin = monotonic_ns()
        made = self._mmd.shared_alloc(size, alignment, given)
        self._trace.mmd_call("shared_alloc", self._device, begin, size)
        return made

    def free(self, host: int) -> None:
        begin = monotonic_ns()
        self._mmd.free(host)
        self._trace.mmd_call("free", self._device, begin, 0)
