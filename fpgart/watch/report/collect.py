# SPDX-License-Identifier: Apache-2.0
"""Collects the facts of a report from the events of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

from fpgart.kernels.cpp_names import kernel_name
from fpgart.watch.mistake import mistake_in
from fpgart.watch.report.advice import Adviser
from fpgart.watch.report.costs import Costs
from fpgart.watch.report.heap_advice import HeapAdviser
from fpgart.watch.report.model import (
    Advice,
    BufferLife,
    CableTraffic,
    CheckFinding,
    Copy,
    DeclaredPipe,
    HeldBlock,
    ModelledChannel,
    Report,
    Run,
)
from fpgart.watch.report.sites import Sites, place_of
from fpgart.watch.report.trace_events import Args, Take, Tell, ignore, of_fpgart, ordered, taken_by, without_collector
from fpgart.watch.report.verdict import TimeSpent
from fpgart.watch.words import place_in_words

HEAPS = {"msmc": "__malloc_msmc"}
"""The functions that allocate in a DSP's memories; for all others it is __malloc_ddr."""
NO_QUERY = " is not a query for "
"""Part of the error message for an unknown query."""
NOTHING: Args = {}
"""The arguments of an event that has none."""
Collect = Callable[[Report, str, Args, float, float], None]
"""Adds an event's name and arguments, begin and duration in microseconds to a report."""


def read(path: Path, tell: Tell = ignore) -> Report:
    """Returns the report of a trace; raises TraceError, OSError. `tell` gets the numbers of bytes that were read."""
    with of_fpgart(path), without_collector():
        return of(ordered(path, tell))


def of(found: list[Args]) -> Report:
    """Returns the report of ordered() events."""
    with without_collector():
        return _of(found)


def _of(found: list[Args]) -> Report:
    costs, sites = Costs(), Sites()
    report = Report(dsps=costs.dsps)
    for event in found:
        category = event.get("cat")
        if category in costs.CATEGORIES:
            costs.take(event)
        elif category == "site":
            sites.take(event)
    adviser, heaps, spent = Adviser(costs, sites), HeapAdviser(), TimeSpent()
    kinds: dict[tuple[str, str], tuple[Collect | None, tuple[Take, ...]]] = {}
    last = 0.0
    for event in found:
        category, name = event.get("cat", ""), event.get("name", "")
        begin, duration = event.get("ts", 0.0) + 0.0, event.get("dur", 0.0) + 0.0
        if begin + duration > last and category != "time":  # the simulated clock has other times
            last = begin + duration
        kind = kinds.get((category, name))
        if kind is None:
            collect = COLLECT.get(category) or COLLECT.get(f"{category} {name}")
            others = taken_by((heaps.takes(), spent.takes()), category, name)
            kind = kinds[category, name] = collect, (*adviser.takers(category, name), *others)
        collect, takers = kind
        if collect is not None:
            collect(report, name, event.get("args", NOTHING), begin, duration)
        for take in takers:
            take(event)
    report.microseconds = last
    report.advice = adviser.advice()
    for advice in report.advice:
        _name_places(advice, sites)
    report.heap_advice = heaps.findings
    report.savings = adviser.savings
    spent.finish(report, _first_enqueued(found))
    return report


def _first_enqueued(found: list[Args]) -> float | None:
    """Returns when the host enqueued its first command; None if it enqueued none."""
    begins = (each["ts"] for each in found if each.get("cat") == "api" and each["name"].startswith("clEnqueue"))
    return next(begins, None)


def _name_places(advice: Advice, sites: Sites) -> None:
    """Adds the places of the calls that advice is about; calls of one line are one place."""
    counted: Counter[str] = Counter()
    for number, count in advice.sites.items():
        words = sites.describe(number)
        if words:
            counted[words] += count
            if words not in advice.places:
                advice.stacks.append(sites.facts(number))
                advice.places.append(words)
    order = sorted(range(len(advice.places)), key=lambda index: -counted[advice.places[index]])
    advice.stacks = [advice.stacks[index] for index in order]
    advice.places = [advice.places[index] for index in order]


def _take_facts(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    if name == "board":
        report.boards[args["device"]] = args["board"]
    elif name == "begin":
        began = args.get("epoch", 0) + args.get("clock", 0)
        report.run = Run(args.get("command", []), began, args.get("version", ""), args.get("computer", ""))
    elif name == "engine":
        report.run.engine, report.run.engine_version = args["name"], args["version"]
    elif name == "process":
        report.processes.append(args["words"])
    elif name == "not locked":
        report.unlocked.calls += 1
        report.unlocked.bytes += args["size"]
        report.lock_limit = args["limit"]
    elif name == "end":
        report.whole = True


def _take_call(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    report.calls[name] += 1
    if "error" in args:
        failed = report.probes if name.startswith("clGet") and NO_QUERY in args["error"] else report.errors
        failed[f"{name}: {args['error']}"] += 1


def _take_mmd_call(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    traffic = report.traffic[args["device"], name]
    traffic.calls += 1
    traffic.bytes += args["size"]
    traffic.microseconds += duration


def _take_packets(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    traffic = report.cables.setdefault(
        (args["device"], args["channel"]), CableTraffic(args["cable"], bool(args["writes"]))
    )
    traffic.launches += 1
    traffic.packets += args["packets"]
    traffic.bytes += args["end"] - args["begin"]
    traffic.microseconds += duration


def _take_buffer(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    life = _life(report, args["buffer"])
    if name == "create":
        life.size, life.created, life.parent = args["size"], begin, args.get("parent", 0)
        life.in_place = args.get("in_place", False)
    else:
        life.released = begin


def _take_placing(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    if "words" in args:
        _life(report, args["buffer"]).banks.append(f"bank {args['bank']}, asked for, {args['words']}")


def _take_block(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    if not args["buffer"]:
        _take_malloc(report, name, args, begin)
        return
    life = _life(report, args["buffer"])
    life.size = life.size or args["size"]
    if "program" in args:
        life.kind, life.created = "program", begin if name == "reserve" else life.created
        life.released = begin if name == "free" else None
    words = _block_in_words(report, args)
    if name == "reserve":
        life.places.append(HeldBlock(words, begin))
        return
    for place in life.places:
        if place.words == words and place.end is None:
            place.end = begin


def _block_in_words(report: Report, args: Args) -> str:
    """Returns the place of a block. The heaps of a DSP have no banks."""
    bank = "" if args["device"] in report.dsps else f" {place_in_words(args)}"
    return f"device {args['device']}, {args['memory']}{bank} at {args['address']}"


def _take_malloc(report: Report, name: str, args: Args, begin: float) -> None:
    """Adds memory that the host allocated without a buffer: its lives have negative keys."""
    words = _block_in_words(report, args)
    if name == "reserve":
        number = 1 + sum(1 for key in report.buffers if key < 0)
        life = BufferLife(number, args["size"], begin, kind=f"{HEAPS.get(args['memory'], '__malloc_ddr')} allocation")
        life.places.append(HeldBlock(words, begin))
        report.buffers[-number] = life
        return
    for key, life in report.buffers.items():
        if key < 0 and life.released is None and life.places[0].words == words:
            life.released = life.places[0].end = begin


def _take_usm(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    life = _life(report, args["allocation"])
    life.kind = f"{args['kind']} allocation"
    if name == "allocate":
        life.size, life.created, life.made_by = args["size"], begin, args["call"]
    elif name == "free":
        life.released = begin
    else:
        life.migrations += 1
        what = f"shared allocation -> {args['to']}"
        command, site = args.get("enqueued", 0), args.get("site", 0)
        report.copies.append(
            Copy(begin, what, args["allocation"], args["size"], args["reason"], command=command, site=site)
        )


def _take_kernel(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    kernel = report.kernels[args["device"], args["kernel"]]
    kernel.launches += 1
    kernel.microseconds += duration


def _take_program(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    report.programmed.append((args["device"], args["program"]))
    report.programming_microseconds += duration


def _take_compiling(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    report.kernels[args["device"], args["kernel"]].compile_microseconds += duration


def _take_migration(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    if "buffer" not in args:
        return
    if args["skipped"]:
        report.skipped_migrations += 1
    else:
        _add_copy(report, begin, f"{args['from']} -> {args['to']}", args, args["reason"])


def _take_transfer(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    if not args.get("size"):
        return
    cause = _by_host(args["device"])
    if "buffer" not in args:  # of unified shared memory
        allocation = args.get("allocation", args.get("source", 0))
        _add_copy(report, begin, args["command"], {**args, "buffer": allocation}, cause)
        return
    source = f" from buffer {args['source']}" if "source" in args else ""
    where = " in the host's memory" if args.get("on_host") else ""
    _add_copy(report, begin, f"{args['command']}{source}{where}", args, cause)


@cache
def _by_host(device: int) -> str:
    """Returns the cause of copies that the host requested: one text for all of them."""
    return f"the host's command on device {device}"


def _add_copy(report: Report, begin: float, what: str, args: Args, cause: str) -> None:
    get, buffer, size = args.get, args["buffer"], args["size"]
    report.copies.append(Copy(begin, what, buffer, size, cause, get("source", 0), get("enqueued", 0), get("site", 0)))
    life = _life(report, buffer)
    life.copies += 1
    life.copied_bytes += size


def _take_finding(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    places = {key: args.get(key, {}).get("place", "") for key in ("made_at", "misused_at", "against_at")}
    file, line = place_of(args.get("misused_at") or args.get("made_at") or {})
    report.findings.append(
        CheckFinding(**mistake_in(args), **places, against=args.get("against", ""), file=file, line=line)
    )


def _take_pipe(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    kernels = [kernel_name(each) for each in args["kernels"]]
    report.pipes[args["device"], kernel_name(name)] = DeclaredPipe(args["packet"], args["capacity"], kernels)


def _take_step(report: Report, name: str, args: Args, begin: float, duration: float) -> None:
    """Adds a step of the simulated clock."""
    device, kernel = args["device"], args.get("kernel", "")
    report.modelled_nanoseconds = max(report.modelled_nanoseconds, args["end"])
    found = report.modelled[device, f"kernel {kernel}" if kernel else name]
    found.count += 1
    found.bytes += args["size"]
    found.nanoseconds += args["end"] - args["begin"]
    found.bounds[args["bound"]] = found.bounds.get(args["bound"], 0) + 1
    if "untold" in args:
        report.untold[device, kernel] = args["untold"]
    for each in args.get("channels", ()):
        _take_channel(report.channels.setdefault((device, each["channel"]), ModelledChannel(each["depth"])), each)
    for resource, busy in args["busy"].items():
        report.busy[device, f"{resource} of {kernel}" if resource == "pipeline" else resource] += busy


def _take_channel(channel: ModelledChannel, args: Args) -> None:
    """Adds the waits and packets of a kernel at a channel; packets count on the writing side only."""
    end = args["kernel"], args["writing"]
    channel.waits[end] = channel.waits.get(end, 0) + args["waited"]
    if args["writing"]:
        channel.packets += args["packets"]


def _life(report: Report, number: int) -> BufferLife:
    life = report.buffers.get(number)
    if life is None:
        life = report.buffers[number] = BufferLife(number)
    return life


COLLECT: dict[str, Collect] = {
    "api": _take_call,
    "buffer": _take_buffer,
    "cable": _take_packets,
    "device kernel": _take_kernel,
    "device migration": _take_migration,
    "device program": _take_program,
    "device transfer": _take_transfer,
    "engine": _take_compiling,
    "finding": _take_finding,
    "fpgart": _take_facts,
    "memory": _take_block,
    "mmd": _take_mmd_call,
    "pipe": _take_pipe,
    "placing": _take_placing,
    "time": _take_step,
    "usm": _take_usm,
}
"""The functions by category, or by category and name."""
