# SPDX-License-Identifier: Apache-2.0
"""Loads the driver: makes the platform and registers the entry points."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from _fpgart_icd import ffi, lib

from fpgart._native import lib as native
from fpgart.base import config, log
from fpgart.base.errors import OutOfHostMemory
from fpgart.base.notices import NOTICES
from fpgart.board.catalogue import chosen_personality, chosen_with_names
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.bridge import carried, chapters, handles
from fpgart.bridge.entry import called_by_c, count_refused, observe
from fpgart.runtime.objects.platform import Board, Platform
from fpgart.runtime.scheduling.core import Core
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.startup.checking import guarded, start_checks
from fpgart.startup.watching import start_watchers

if TYPE_CHECKING:
    from fpgart.board.faults import Faults
    from fpgart.board.mmd import Mmd
    from fpgart.board.stretch import Stretch
    from fpgart.check.kernels import KernelCheck
    from fpgart.engine.isolated.spawning import Isolation, Spawned
    from fpgart.serving.connection import Connection
    from fpgart.watch.trace.recorder import Trace

THREAD_STACK = 8 << 20
"""The stack of the driver's threads in bytes, whatever `ulimit -s` sets for the host's."""
COLLECT_AFTER = 20_000
"""The number of new objects after which the collector runs."""


def shared_memory() -> Stretch | None:
    """Returns the source of all memory that kernels access, if they run in a process of their own."""
    if not config.kernels_run_apart():
        return None
    from fpgart.board.mmd import BoardError
    from fpgart.board.stretch import Stretch
    from fpgart.engine.isolated import layout

    try:
        stretch = Stretch()
    except BoardError as error:
        raise config.OptionError(f"{apart_option()}: {error}") from None
    native.network_share_host_waits(stretch.begin + layout.HOST_WAITS)
    native.fifo_share_watch(stretch.begin + layout.CHANNELS_WATCHED)
    return stretch


def view_makers() -> Mapping[int, handles.Maker]:
    """Returns the functions of views.py, which few hosts need."""
    from fpgart.bridge.views import MAKERS

    return MAKERS


def apart_option() -> str:
    """Returns the option with which kernels run in another process, and its value."""
    option = config.SERVED if config.SERVED.value else config.ISOLATE
    return f"{option.name}={option.text}"


def service() -> Connection | None:
    """Returns the connection to the service that FPGART_SERVED names, or None. Raises OptionError."""
    if not config.SERVED.value:
        return None
    from fpgart.serving.connection import Connection
    from fpgart.serving.sockets import ServiceError

    try:
        return Connection(config.SERVED.value)
    except ServiceError as error:
        raise config.OptionError(f"{apart_option()}: {error}") from None


def isolation(stretch: Stretch | None, served: Connection | None, process: Spawned | None) -> Isolation | None:
    """Returns the isolation for the engine; None without a stretch. Raises OptionError.

    If kernels run in a board process, that process begins to load the engine now, so that the first use waits less.
    """
    if stretch is None:
        return None
    from fpgart.engine.choice import is_isolated
    from fpgart.engine.isolated.spawning import Isolation, ProcessError, spawn
    from fpgart.engine.isolated.warming import warm_up

    try:
        start = served.new_process if served is not None else spawn
        if is_isolated():
            process = process or start()
            warm_up(process)
        elif process is not None:
            process.discard()
            process = None
        return Isolation(stretch, process, start)
    except ProcessError as error:
        raise config.OptionError(f"{apart_option()}: {error}") from None


def are_closed() -> bool:
    """True if the host has no access to the boards' memory."""
    if not config.host_accesses_fail():
        return False
    from fpgart.engine.choice import is_isolated  # few hosts need it

    return is_isolated()


def observe_interrupts() -> None:
    """Lets Ctrl-C end kernels of a host in Python, which gets its KeyboardInterrupt after that.

    Handlers are the same in all interpreters. Nothing changes if the host has a handler of its own.
    """
    import signal

    if getattr(signal.getsignal(signal.SIGINT), "__name__", "") == signal.default_int_handler.__name__:
        native.interrupts_watch()


def boards(
    trace: Trace | None,
    kernels: KernelCheck | None = None,
    stretch: Stretch | None = None,
    served: Connection | None = None,
) -> list[Board]:
    """Returns the boards that FPGART_BOARD and related options name; a file that describes none is reported and left
    out.

    `stretch`: the source of their memory; `served`: the service that has them. Raises OptionError for those that it
    lacks.
    """
    described, faults = chosen_with_names()
    for fault in faults:
        log.warning(str(fault))
    simulator = bool(config.SIMULATOR_DEVICES.value)
    as_served = of_service([name for name, _ in described], served)
    closed = are_closed()
    made = []
    for number, (_, board) in enumerate(described):
        mmd, memories = guarded(as_served(SimulatedBoard(board, stretch, closed=closed), number), board)
        if trace is not None:
            mmd = trace.around(mmd, number)
        if kernels is not None:
            from fpgart.check.kernels import RememberingMmd

            mmd = RememberingMmd(mmd, kernels.contents)
        made.append(Board(mmd, memories, simulator))
    return made


def of_service(names: list[str], served: Connection | None) -> Callable[[Mmd, int], Mmd]:
    """Returns a function that makes a service's board from one of the host; without a service it returns the latter.

    Raises OptionError.
    """
    if served is None:
        return lambda mmd, number: mmd
    from fpgart.serving.shared_board import SharedBoard, numbers_of
    from fpgart.serving.sockets import ServiceError

    try:
        numbers = numbers_of(names, served)
    except ServiceError as error:
        raise config.OptionError(f"{apart_option()}: {error}") from None
    return lambda mmd, number: SharedBoard(mmd, served, numbers[number])


def register(functions: str, process: Spawned | None) -> None:
    """Creates the platform. It is called once, when the options are evaluated. After an exception there is no platform.

    `functions`: every API function that Python has to implement, as chapters.open_at() reads them. `process`: a board
    process, if one was started.
    """
    if lib.fpgart_is_guest():
        leave_pointer_types()
    threading.stack_size(THREAD_STACK)
    owns = bool(lib.fpgart_owns_interpreter())
    at_end: list[Callable[[], None]] = []
    stretch, served = shared_memory(), service()
    trace = start_trace(at_end)
    scheduler = make_scheduler()
    kernels = start_checks(at_end, owns=owns)
    contents = kernels.contents if kernels is not None else None
    made = boards(trace, kernels, stretch, served)
    personality = chosen_personality([board.mmd.description for board in made])
    platform = Platform(personality, made, None, scheduler, contents, isolation(stretch, served, process))
    if stretch is not None and lib.fpgart_is_guest():
        observe_interrupts()
    start_cables(platform, at_end)
    start_summary(platform, at_end)
    faults = start_faults(platform, owns)
    start_watchers(at_end)
    start_live(platform, at_end)
    lib.fpgart_count_devices(len(platform.devices))
    try:
        for device in platform.devices:
            handles.publish(device)
    except OutOfHostMemory as error:
        raise config.OptionError(str(error)) from None
    native.exits_close_first(int(ffi.cast("uintptr_t", ffi.addressof(lib, "fpgart_close_at_exit"))))
    handles.makers = view_makers
    called_by_c("fpgart_host_released", handles.host_released)
    called_by_c("fpgart_host_retained", handles.host_retained)
    called_by_c("fpgart_count_refused", count_refused)
    called_by_c("fpgart_reap", handles.reap)
    called_by_c("fpgart_busy", lambda: not platform.scheduler.at_rest())
    called_by_c("fpgart_control_request", answer_control)
    called_by_c("fpgart_settle", lambda: settle(platform, at_end, faults))
    called_by_c("fpgart_shut_down", lambda: shut_down(platform, at_end, faults))
    chapters.open_at(functions)
    from fpgart.api.platform import adopt

    called_by_c("fpgart_board_idle", carried.board_idle)
    called_by_c("fpgart_commands_ready", platform.scheduler.commands_ready)
    called_by_c("fpgart_carried_failed", carried.failed)
    called_by_c("fpgart_svm_goes", carried.svm_goes)
    called_by_c("fpgart_renew", carried.renew)
    called_by_c("fpgart_run_handed_over", carried.run_handed_over)
    adopt(platform, lib.fpgart_platform())
    platform.meanwhile = chapters.load_for_launch
    start_profile()
    if not owns:
        start_models()
    spare_collector()


def leave_pointer_types() -> None:
    """Keeps the host's pointer types valid when a module of the driver imports ctypes.

    Interpreters share the table in which _ctypes looks them up, and ctypes empties the table that it finds when it is
    imported. The host's POINTER(c_char) would be another type afterwards, which existing prototypes refuse.
    """
    try:
        import _ctypes
    except ImportError:
        return
    vars(_ctypes)["_pointer_type_cache"] = {}


def spare_collector() -> None:
    """Makes the collector of the driver's own interpreter run rarely, because commands leave no cycles.

    If a host enqueues thousands of commands, it would traverse all of them again and again.
    """
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)


def answer_control(request: Any, length: int) -> Any:
    """Answers a request by name of the host's Python."""
    from fpgart.control import answers as control

    return control.answer(request, length)


def start_models() -> None:
    """Makes Python models of kernels run in the host's interpreter."""
    from fpgart.engine import models

    models.live_in_host(ask_models)


def ask_models(function: str, request: bytes) -> bytes | None:
    """Calls a function of fpgart.engine.models in the host's interpreter; returns b"" if nothing uses models."""
    from fpgart.control.host_python import ask_host
    from fpgart.engine import models

    if not models.are_wanted() and not lib.fpgart_host_imported(models.__name__.encode()):
        return b""
    return ask_host(models.__name__, function, request)


def make_scheduler() -> Scheduler:
    core: Core[Event] = Core(ffi, lib, ffi.addressof(lib, "fpgart_call_scheduler"))
    lib.fpgart_decides(core.caller)
    if config.TIME.value == "model":
        from fpgart.runtime.model.simulated_clock import ModelScheduler

        return ModelScheduler(core=core)
    return Scheduler(core=core)


def start_trace(at_end: list[Callable[[], None]]) -> Trace | None:
    """Starts and returns the trace of FPGART_TRACE. `at_end` gets the function that closes it."""
    path = config.TRACE.value
    if not path:
        return None
    from fpgart.bridge.host_calls import callers
    from fpgart.bridge.watched import NOTES, TracedLaunches
    from fpgart.watch.origins import Origins
    from fpgart.watch.trace.recorder import Trace

    try:
        trace = Trace(path.replace("%p", str(os.getpid())), lib.fpgart_number_command)
    except OSError as error:
        raise config.OptionError(f"FPGART_TRACE={path}: {error.strerror}") from None
    observe(trace.observe)
    trace.name_places(Origins(callers()))  # wraps the trace's own functions
    trace.write_first(NOTES.read)
    trace.listen(reads_notes=True)
    NOTES.tell(TracedLaunches(trace.launches), lib.FPGART_TRACED)
    at_end.append(NOTES.close)
    at_end.append(trace.close)
    return trace


def start_faults(platform: Platform, owns: bool) -> Faults | None:
    """Returns the faults of FPGART_FAULTS; hosts in Python (`owns` False) may add some later."""
    text = config.FAULTS.value
    if owns and not text and not config.CALLS.value:
        lib.fpgart_ask_about_calls(False)
        return None
    from fpgart.board.fault_rules import FaultSyntaxError
    from fpgart.board.faults import FAULTS
    from fpgart.control import answers as control
    from fpgart.startup import call_faults

    call_faults.start()
    called_by_c("fpgart_fault_of_call", call_faults.fault_of)
    for device in platform.devices:
        FAULTS.attach(device)
    try:
        control.add_waiting_faults()
        asked = FAULTS.add(text) if text else ()
    except FaultSyntaxError as error:
        raise config.OptionError(f"FPGART_FAULTS: {error}") from None
    for fault in asked:
        wanted = fault.rule.device
        if wanted is not None and wanted >= len(platform.devices):
            log.warning(f"FPGART_FAULTS: '{fault.rule.text}': there is no device {wanted}")
    return FAULTS


def start_cables(platform: Platform, at_end: list[Callable[[], None]]) -> None:
    """Connects the devices' I/O channels as FPGART_TOPOLOGY says. Raises TopologyError."""
    if not config.TOPOLOGY.value:
        return
    from fpgart.cluster.wiring import Wiring, chosen_topology, share

    chosen = chosen_topology(len(platform.devices))
    if chosen is None:
        return
    topology, place = chosen
    seen = share(topology.boards, place, shared=topology.shared)
    if len(seen) != len(platform.devices):
        raise config.OptionError(
            f"FPGART_TOPOLOGY={config.TOPOLOGY.text}: this process sees {len(seen)} of {topology.boards} boards, and "
            f"FPGART_BOARD names {len(platform.devices)}"
        )
    wiring = Wiring(topology, place, seen.start, config.CABLE_SECONDS.value)
    for device in platform.devices:
        device.plugs = partial(wiring.plug_in, device.id)
    at_end.append(wiring.retire)


def start_summary(platform: Platform, at_end: list[Callable[[], None]]) -> None:
    target = config.SUMMARY.value
    if target:
        from fpgart.bridge.carrying import count_launches
        from fpgart.watch.summary import Summary

        summary = Summary()
        NOTICES.listen(summary)
        at_end += [count_launches, lambda: summary.write(platform, target)]


def start_live(platform: Platform, at_end: list[Callable[[], None]]) -> None:
    """Starts to answer `fpgart top` if FPGART_LIVE is set; never in a process with other rights than its user's."""
    if not config.LIVE.value or config.Option.distrusted:
        return
    from fpgart.watch.live import Live, Snapshot

    def describe() -> Snapshot:
        from fpgart.control import live  # imported at the first request

        return live.describe(platform)

    try:
        answers = Live(describe)
        answers.start()
    except (OSError, RuntimeError) as error:
        log.note(f"`fpgart top` cannot ask this process: {error}")
        return
    at_end.append(answers.stop)


def start_profile() -> None:
    """Starts the counters for profile.mon if ACL_RUNTIME_PROFILING_ACTIVE is set."""
    if config.PROFILING.value:
        from fpgart.api import fpga
        from fpgart.watch.profile import Profile

        fpga.profile = Profile()
        NOTICES.listen(fpga.profile)


def settle(platform: Platform, at_end: list[Callable[[], None]], faults: Faults | None) -> bool:
    """Ends a host that is written in Python: as shut_down(), but other handlers may still make calls.

    Handlers of libraries that were imported before the first OpenCL call run after the driver's, and wait and free
    there. Calls are refused when the interpreter itself ends (icd/interpreter/interpreter.c).
    """
    ended = shut_down(platform, at_end, faults)
    platform.scheduler.reopen()
    lib.fpgart_carry(True)
    return ended


def shut_down(platform: Platform, at_end: list[Callable[[], None]], faults: Faults | None) -> bool:
    """Ends the process's work: begins nothing more, waits for what runs, and writes the reports.

    Returns False if something still runs.
    """
    lib.fpgart_carry(False)
    if faults is not None:
        faults.end()
    for device in platform.devices:
        for network in list(device.networks.values()):
            network.stop()  # the board keeps it: launches may begin until the scheduler is closed
    ended = platform.scheduler.close(config.EXIT_TIMEOUT.value)
    if not ended:
        log.note(f"work was still running {config.EXIT_TIMEOUT.value} s after the end of the program")
    for finish in at_end:
        finish()
    sys.stdout.flush()
    return ended
