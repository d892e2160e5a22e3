# SPDX-License-Identifier: Apache-2.0
"""The report as text: lines for people, JSON for programs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any, TypeVar

from fpgart.base.sizes import in_words
from fpgart.watch.family import LOADING, PROGRAMMING
from fpgart.watch.report.model import PROGRAM, Advice, BufferLife, Copy, Modelled, Report, Run
from fpgart.watch.report.verdict import MOST_ITEMS, folded, total_of, verdict
from fpgart.watch.words import times

MOST_PLACES = 4
MANY = 4
"""Equal rows from which on they are one."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
BUILD = re.compile(r"  |,")
"""The text between the version of an engine and the way in which it was built."""
T = TypeVar("T")


def as_text(report: Report, *, everything: bool = False) -> str:
    """Returns the report for people; `everything`: all advice, not only the advice that saves most."""
    lines = [*verdict(report), "", *heading(report)]
    lines += ["", "traffic"]
    for (device, name), traffic in sorted(report.traffic.items()):
        lines.append(
            f"  device {device}: {report.movement(device, name)}: {times(traffic.calls, 'call')}, "
            f"{in_words(traffic.bytes)}, "
            f"{traffic.microseconds / 1000:.3f} ms"
        )
    if not report.traffic:
        lines.append("  none")
    lines += ["", "kernels"]
    for (device, name), kernel in sorted(report.kernels.items()):
        compiled = kernel.compile_microseconds
        before = f"; the engine compiled it in {compiled / 1000:.3f} ms before" if compiled else ""
        runs = f"{times(kernel.launches, 'run')}, {kernel.microseconds / 1000:.3f} ms"
        lines.append(f"  device {device}: {name}: {runs}{before}")
    if not report.kernels:
        lines.append("  none ran")
    lines += pipes_in_words(report)
    lines += cables_in_words(report)
    if report.programmed:
        cost = report.programming_microseconds / 1000
        programs = len(set(report.programmed))
        lines += [
            "",
            f"{report.loading}: {times(len(report.programmed), 'time')}, {times(programs, 'program')}, {cost:.3f} ms",
        ]
    lines += modelled_in_words(report)
    lines += ["", "buffers"]
    for lives in grouped(sorted(report.buffers.values(), key=lambda life: life.number), _kind_of_life):
        lines += _lives_in_words(lives)
    if not report.buffers:
        lines.append("  none")
    lines += ["", f"copies ({skipped_in_words(report.skipped_migrations)}: the buffer was already in place)"]
    lines += _copies_in_words(report.copies)
    lines += findings_in_words(report)
    lines += ["", "to avoid"]
    lines += advice_in_words(report, everything=everything)
    return "\n".join(lines) + "\n"


def advice_in_words(report: Report, *, everything: bool) -> list[str]:
    """Returns the advice that saves most, equal advice as one item; then the number of others."""
    found = [item.summed() for item in folded(report.advice)]
    items = [[f"  {each.words}: {saved(each)}", *(f"    {p}" for p in places_in_words(each))] for each in found]
    items += [[f"  {finding.words}"] for finding in report.heap_advice]
    if not items:
        return ["  nothing"]
    shown = items if everything else items[:MOST_ITEMS]
    lines = [line for item in shown for line in item]
    more = len(items) - len(shown)
    return [*lines, f"  and {more} more (fpgart report --all)"] if more else lines


def findings_in_words(report: Report) -> list[str]:
    """Returns the mistakes that the run's checks found."""
    lines = ["", "findings"] if report.findings else []
    for finding in report.findings:
        place = f", {finding.misused_at}" if finding.misused_at else ""
        lines += [f"  [{finding.check}] {finding.words} ({finding.object}{place})", f"    fix: {finding.fix}"]
    return lines


def pipes_in_words(report: Report) -> list[str]:
    """Returns the pipes of SPIR-V, and the kernels at their ends."""
    lines = ["", "pipes"] if report.pipes else []
    for (device, name), pipe in sorted(report.pipes.items()):
        packets = f"{times(pipe.capacity, 'packet')} of {times(pipe.packet, 'byte')}"
        lines.append(f"  device {device}: {name}: {packets}; kernels {', '.join(pipe.kernels) or '(none)'}")
    return lines


def cables_in_words(report: Report) -> list[str]:
    """Returns the traffic of kernels through each cable, on either side."""
    if not report.cables:
        return []
    lines = ["", "cables"]
    for (device, channel), traffic in sorted(report.cables.items()):
        rate = traffic.bytes / traffic.microseconds if traffic.microseconds else 0.0
        lines.append(
            f"  device {device}: {'to' if traffic.writes else 'from'} '{channel}': "
            f"{times(traffic.packets, 'packet')}, {in_words(traffic.bytes)}, "
            f"{traffic.microseconds / 1000:.3f} ms, {rate:.1f} MB/s ({traffic.cable})"
        )
    return lines


def modelled_in_words(report: Report) -> list[str]:
    """Returns the results of the simulated clock.

    These are the bounds of each kernel and kind of step, and the busiest resources of each board.
    """
    if not report.modelled:
        return []
    total = total_of(report)
    loading = report.activities.get(PROGRAM, 0)
    apart = f"; {report.loading} apart: {loading / 1e6:.3f} ms" if loading else ""
    lines = ["", f"simulated time (FPGART_TIME=model): {total / 1e6:.3f} ms{apart}"]
    for (device, name), found in sorted(report.modelled.items()):
        lines.append(
            f"  device {device}: {name}: {times(found.count, 'time')}, {in_words(found.bytes)}, "
            f"{found.nanoseconds / 1e6:.3f} ms, bound by {_bounds(found)}"
        )
    lines += _channels_in_words(report)
    for device in sorted({device for device, _ in report.busy}):
        parts = sorted(
            (-busy, name)
            for (where, name), busy in report.busy.items()
            if where == device and busy and name not in (PROGRAMMING, LOADING)
        )
        shares = [f"{name} {-busy / 1e6:.3f} ms ({100 * -busy / max(1, total):.1f} %)" for busy, name in parts]
        if shares:
            lines.append(f"  device {device}: busiest first: {', '.join(shares)}")
    return lines


def _channels_in_words(report: Report) -> list[str]:
    """Returns the waits at each channel in the simulated clock, and the kernels with unknown waits."""
    lines = []
    for (device, name), channel in sorted(report.channels.items()):
        depth = "without depth" if channel.depth is None else f"depth {channel.depth}"
        waits = [
            f"'{kernel}' waited {waited / 1e6:.3f} ms to {'write' if writing else 'read'}"
            for (kernel, writing), waited in sorted(channel.waits.items(), key=lambda wait: not wait[0][1])
        ]
        packets = times(channel.packets, "packet")
        lines.append(f"  device {device}: channel '{name}', {depth}: {packets}; {', '.join(waits)}")
    for (device, kernel), why in sorted(report.untold.items()):
        lines.append(f"  device {device}: kernel {kernel}: its waits at channels are not, or not all, modelled: {why}")
    return lines


def _bounds(found: Modelled) -> str:
    """Returns `pipeline`, or `PCIe write (3), MMD calls (1)`."""
    if len(found.bounds) == 1:
        return next(iter(found.bounds))
    return ", ".join(f"{name} ({number})" for name, number in sorted(found.bounds.items(), key=lambda b: (-b[1], b[0])))


def saved(advice: Advice) -> str:
    """Returns the savings of advice in words."""
    if advice.noun != "copy":
        what = times(advice.copies, advice.noun) + (" saved" if advice.noun != "time" else "")
        what += f", {in_words(advice.bytes)}" if advice.bytes else ""
    elif advice.copies == 1:
        what = f"1 copy of {in_words(advice.bytes)} saved"
    else:
        what = f"{advice.copies} copies saved, {in_words(advice.bytes)} in all"
    if not advice.nanoseconds:
        return what
    share = f" ({100 * advice.share:.1f} %)" if 0 < advice.share <= 1 else ""
    return f"{what}, {advice.nanoseconds / 1e6:.3f} ms {'of this run' if advice.measured else 'on the board'}{share}"


def places_in_words(advice: Advice) -> list[str]:
    """Returns the places in the host's code that cause it, a line each."""
    more = len(advice.places) - MOST_PLACES
    return advice.places[:MOST_PLACES] + ([f"and {times(more, 'place')} more"] if more > 0 else [])


def skipped_in_words(count: int) -> str:
    """Returns the number of migrations that found the buffer in its place."""
    return f"{times(count, 'migration')} {'was' if count == 1 else 'were'} skipped"


def heading(report: Report) -> list[str]:
    """Returns boards, calls and time in one line, and a line for each error."""
    boards = ", ".join(f"device {device}: board '{name}'" for device, name in sorted(report.boards.items()))
    calls = sum(report.calls.values())
    lines = [f"{boards or 'no device'}; {times(calls, 'call')} in {report.microseconds / 1000:.1f} ms"]
    lines += run_in_words(report.run)
    if not report.whole:
        lines.append("the trace is incomplete: the process was killed or is still running")
    if report.unlocked.calls:
        lines.append(
            f"  host memory for boards that is not locked: {times(report.unlocked.calls, 'allocation')}, "
            f"{in_words(report.unlocked.bytes)}; the system allows {in_words(report.lock_limit)} (ulimit -l), "
            "whereas the driver of a board locks all of it"
        )
    lines += [f"  {words}" for words in report.processes]
    for words, number in report.errors.most_common():
        lines.append(f"  error{f' ({number} times)' if number > 1 else ''}: {words}")
    return lines


def run_in_words(run: Run) -> list[str]:
    """Returns the command line; then when it began, and on which computer and engine it ran."""
    began = f"{datetime.fromtimestamp(run.began / 1e9, timezone.utc):%Y-%m-%d %H:%M:%S} UTC" if run.began else ""
    version = BUILD.split(run.engine_version)[0]
    engine = f"engine {run.engine} ({version})" if run.engine else ""
    facts = [began, f"fpgart {run.version}" if run.version else "", engine, run.computer]
    told = "; ".join(filter(None, facts))
    return [f"  {words}" for words in (shlex.join(map(_first_line, run.command)), told) if words]


def _first_line(argument: str) -> str:
    """Returns the first line of an argument, such as a program behind `python -c`; "..." stands for the others."""
    first, *others = argument.strip().splitlines() or [""]
    return f"{first} ..." if others else argument


def _life_in_words(life: BufferLife) -> list[str]:
    if life.made_by:
        return _allocation_in_words(life)
    begin = f"from {life.created / 1000:.3f} ms" if life.created is not None else "created before"
    end = f"to {life.released / 1000:.3f} ms" if life.released is not None else never(life)
    part = f", part of buffer {life.parent}" if life.parent else ""
    moved = f"; {times(life.copies, 'copy')}, {in_words(life.copied_bytes)}" if life.copies else ""
    lines = [f"  {life.kind} {life.number}: {in_words(life.size)}{part}, {begin} {end}{moved}"]
    for place in life.places:
        until = f"to {place.end / 1000:.3f} ms" if place.end is not None else "to the end"
        lines.append(f"    {place.words}, from {place.begin / 1000:.3f} ms {until}")
    lines += [f"    {words}" for words in life.banks]
    if not life.places and not life.parent:
        lines.append(f"    {without_place(life)}")
    return lines


def without_place(life: BufferLife) -> str:
    """Returns why a buffer has no place on a board."""
    return "in memory that host and board share" if life.in_place else "never on a board"


def never(life: BufferLife) -> str:
    """Returns the words for the end of a buffer that was not released: a program stays on its board until then."""
    if life.kind == "program":
        return "to the end"
    return "never freed" if life.kind.startswith("__malloc") else "never released"


def _allocation_in_words(life: BufferLife) -> list[str]:
    owner = f", {life.places[0].words}" if life.places else ""
    begin = f"from {life.created / 1000:.3f} ms" if life.created is not None else "created before"
    leaked = f"never freed (a leak), allocated by {life.made_by}"
    end = f"to {life.released / 1000:.3f} ms" if life.released is not None else leaked
    moved = f"; {times(life.migrations, 'migration')}" if life.migrations else ""
    return [f"  {life.kind} {life.number}: {in_words(life.size)}{owner}, {begin} {end}{moved}"]


def _copies_in_words(copies: list[Copy]) -> list[str]:
    """Returns one line per copy; equal ones share a line, in the place of the first."""
    lines: list[str] = []
    for group in grouped(copies, lambda copy: (_without_address(copy.what), copy.size, copy.cause)):
        first = group[0]
        begin = f"  {first.at / 1000:.3f} ms"
        if len(group) < MANY:
            for copy in group:
                what = f"buffer {copy.buffer}, {in_words(copy.size)}: {copy.what}; {copy.cause}"
                lines.append(f"  {copy.at / 1000:.3f} ms: {what}")
            continue
        numbers = ranges_in_words("buffer", [copy.buffer for copy in group])
        what = f"{len(group):,} x {in_words(first.size)}: {_without_address(first.what)}; {first.cause} ({numbers})"
        lines.append(f"{begin} to {group[-1].at / 1000:.3f} ms: {what}")
    return lines or ["  none"]


def _without_address(words: str) -> str:
    return ADDRESS.sub("", words) if " at 0x" in words else words


def _kind_of_life(life: BufferLife) -> object:
    places = tuple(_without_address(place.words) for place in life.places)
    used = life.copies, life.migrations, life.released is not None
    return life.kind, life.size, life.parent, life.made_by, places, tuple(life.banks), used


def _lives_in_words(lives: list[BufferLife]) -> list[str]:
    """Returns the lines for buffers of one kind."""
    if len(lives) < MANY:
        return [line for life in lives for line in _life_in_words(life)]
    first = lives[0]
    numbers = ranges_in_words(first.kind, [life.number for life in lives])
    moved = f"; {times(first.copies, 'copy')} each" if first.copies else ""
    end = "released" if first.released is not None else never(first)
    lines = [f"  {len(lives):,} x {in_words(first.size)}: {numbers}, {end}{moved}"]
    return lines + [f"    {place}" for place in dict.fromkeys(_without_address(each.words) for each in first.places)]


def grouped(rows: list[T], kind: Callable[[T], object]) -> list[list[T]]:
    """Groups rows of a kind that has many, at the place of its first row; each other row is alone."""
    kinds: dict[object, list[T]] = {}
    groups = [kinds.setdefault(each, []) for each in map(kind, rows)]
    for row, group in zip(rows, groups, strict=True):
        group.append(row)
    found = []
    for row, group in zip(rows, groups, strict=True):
        if len(group) < MANY:
            found.append([row])
        elif row is group[0]:
            found.append(group)
    return found


def ranges_in_words(noun: str, numbers: list[int]) -> str:
    """Returns `buffer 1`, or `buffers 1 to 4, 7, 9`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    told = [" to ".join(map(str, part)) for part in parts[:MOST_PLACES]]
    more = f" and {len(parts) - MOST_PLACES} more" if len(parts) > MOST_PLACES else ""
    plural = "s" if len(set(numbers)) > 1 else ""
    return f"{noun}{plural} {', '.join(told)}{more}"


def as_json(report: Report) -> str:
    facts = {
        "verdict": verdict(report),
        "activities": report.activities,
        "savings": report.savings,
        "boards": report.boards,
        "run": asdict(report.run),
        "whole": report.whole,
        "unlocked": asdict(report.unlocked),
        "microseconds": report.microseconds,
        "calls": report.calls,
        "errors": report.errors,
        "probes": report.probes,
        "traffic": _rows("call", report.traffic),
        "kernels": _rows("kernel", report.kernels),
        "pipes": _rows("pipe", report.pipes),
        "cables": _rows("channel", report.cables),
        "processes": report.processes,
        "buffers": [asdict(life) for life in report.buffers.values()],
        "copies": [asdict(copy) for copy in report.copies],
        "programmed": report.programmed,
        "programming_microseconds": report.programming_microseconds,
        "skipped_migrations": report.skipped_migrations,
        "modelled": _rows("what", report.modelled),
        "modelled_channels": [
            {
                "device": device,
                "channel": name,
                "depth": channel.depth,
                "packets": channel.packets,
                "waits": [
                    {"kernel": kernel, "writing": writing, "nanoseconds": waited}
                    for (kernel, writing), waited in channel.waits.items()
                ],
            }
            for (device, name), channel in report.channels.items()
        ],
        "untold": [{"device": device, "kernel": name, "why": why} for (device, name), why in report.untold.items()],
        "modelled_nanoseconds": report.modelled_nanoseconds,
        "busy": [
            {"device": device, "resource": name, "nanoseconds": busy} for (device, name), busy in report.busy.items()
        ],
        "advice": [asdict(advice) for advice in report.advice],
        "findings": [asdict(finding) for finding in report.findings],
        "heap_advice": [asdict(finding) for finding in report.heap_advice],
    }
    return json.dumps(facts, indent=2) + "\n"


def _rows(key: str, found: Mapping[tuple[int, str], Any]) -> list[dict[str, Any]]:
    """Returns an object for each entry: the device, the name as `key`, and the entry's fields."""
    return [{"device": device, key: name, **asdict(entry)} for (device, name), entry in found.items()]
