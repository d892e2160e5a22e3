# SPDX-License-Identifier: Apache-2.0
"""`fpgart top`: shows the activity of running hosts' boards on a terminal."""

from __future__ import annotations

import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fpgart.base.sizes import in_words
from fpgart.watch import asking
from fpgart.watch.live import Snapshot

MEGA = 1e6
WIDTH = 120
"""The width of an output that is no terminal."""
NAME_LENGTH = 60
BAR_WIDTH = 24
MOST_BANKS = 8
"""The most banks of a memory that are shown."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The activity of a device per second between two looks; 0 at the first."""

    written: float = 0.0
    read: float = 0.0
    launches: float = 0.0
    busy: float = 0.0
    """The share of the time in which it had kernels to run."""


def rates(before: Snapshot | None, now: Snapshot, device: int) -> Rates:
    """Returns the rates between two snapshots of one process."""
    if before is None or before["now_ns"] >= now["now_ns"]:
        return Rates()
    seconds = (now["now_ns"] - before["now_ns"]) / 1e9
    old, new = before["devices"][device], now["devices"][device]

    def grown(first: int, second: int) -> float:
        return float(max(0, second - first) / seconds)

    written, read = (grown(_moved(old, call), _moved(new, call)) for call in ("write", "read"))
    launches = grown(old["kernels_run"], new["kernels_run"])
    return Rates(written, read, launches, min(1.0, grown(old["kernel_ns"], new["kernel_ns"]) / 1e9))


def _moved(device: dict[str, Any], call: str) -> int:
    return int(device["traffic"].get(call, (0, 0))[1])


def with_rates(before: Snapshot | None, now: Snapshot) -> Snapshot:
    """Returns a snapshot for programs: with its program's name, and rates if there was an earlier one."""
    devices = [
        {**device, "per_second": asdict(rates(before, now, index))} for index, device in enumerate(now["devices"])
    ]
    return {**now, "program": program_of(now["process"]), "devices": devices}


def program_of(process: int) -> str:
    """Returns its command line, shortened; "" for a process that has ended."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(filter(None, words))
    return line if len(line) <= NAME_LENGTH else f"{line[: NAME_LENGTH - 3]}..."


class Looks:
    """Queries hosts, and keeps the previous answers."""

    def __init__(self, process: int | None) -> None:
        """`process` is the one to query; None stands for all of this user."""
        self._process = process
        self._before: dict[int, Snapshot] = {}

    def look(self) -> list[tuple[Snapshot | None, Snapshot]]:
        """Returns, for each host that answers, the previous snapshot (None at first) and the new one.

        Raises OSError.
        """
        wanted = [self._process] if self._process is not None else asking.hosts()
        found = [(self._before.get(each), asking.ask(each)) for each in wanted]
        pairs = [(before, now) for before, now in found if now is not None]
        self._before = {now["process"]: now for _, now in pairs}
        return pairs


def screen(pairs: list[tuple[Snapshot | None, Snapshot]]) -> RenderableType:
    """Returns all hosts, one below the other."""
    if not pairs:
        return Text(
            "no running host found: start one with fpgart run -- ./my_host, or FPGART_LIVE=1 ./my_host", style="dim"
        )
    parts: list[RenderableType] = []
    for before, now in pairs:
        seconds = (now["now_ns"] - now["started_ns"]) / 1e9
        parts += ["", f"[bold]{now['process']}[/] {escape(program_of(now['process']))}, {seconds:.1f} s"]
        for index, device in enumerate(now["devices"]):
            parts += [_work(device, rates(before, now, index)), _memories(device["memories"])]
        if now["queues"]:
            parts.append(_queues(now))
    return Group(*parts[1:])


def _work(device: dict[str, Any], found: Rates) -> str:
    """Returns the activity of a device, in a line."""
    return (
        f"device [cyan]{device['device']}[/] {escape(device['board'])}: "
        f"to it [green]{found.written / MEGA:.1f}[/] MB/s, from it [green]{found.read / MEGA:.1f}[/] MB/s, "
        f"[green]{found.launches:.0f}[/] launches/s, kernels run [green]{100 * found.busy:.0f} %[/] of the time"
    )


def _table(*columns: str) -> Table:
    """Returns a table. A column is aligned to the right, as numbers are, if its name begins with `>`."""
    made = Table(box=None, header_style="dim")
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", no_wrap=True)
    return made


def _memories(memories: list[dict[str, Any]]) -> Table:
    """Returns a row per memory, and one for each separate bank that is not empty, the fullest first."""
    made = _table("memory", "used", "")
    for memory in memories:
        used, size = memory["banks"], memory["size"]
        made.add_row(escape(memory["name"]), _bar(sum(used), size), f"{in_words(sum(used))} of {in_words(size)}")
        if len(used) == 1:
            continue
        taken = sorted(
            ((bytes_, number) for number, bytes_ in enumerate(used, 1) if bytes_), key=lambda b: (-b[0], b[1])
        )
        for bytes_, number in taken[:MOST_BANKS]:
            each = size // len(used)
            made.add_row(f"  bank {number}", _bar(bytes_, each), f"{in_words(bytes_)} of {in_words(each)}")
        if len(taken) > MOST_BANKS:
            made.add_row(f"  and {len(taken) - MOST_BANKS} more", "", "")
    return made


def _bar(used: int, size: int) -> ProgressBar:
    return ProgressBar(total=size, completed=used, width=BAR_WIDTH)


def _queues(now: Snapshot) -> Table:
    made = _table(">queue", ">device", "order", ">waiting", "under way")
    for queue in now["queues"]:
        running = ", ".join(f"{each['command']} {each['for_ns'] / 1e9:.1f} s" for each in queue["running"])
        order = "in order" if queue["in_order"] else "out of order"
        made.add_row(str(queue["queue"]), str(queue["device"]), order, str(queue["waiting"]), escape(running))
    return made


def show(looks: Looks, interval_s: float, console: Console) -> None:
    """Shows the screen, until the key q, or those that interrupt, are pressed."""
    first = screen(looks.look())
    with suppress(KeyboardInterrupt), _keys() as pressed, Live(first, console=console, screen=True) as shown:
        while pressed(interval_s) != "q":
            shown.update(screen(looks.look()), refresh=True)


@contextmanager
def _keys() -> Iterator[Any]:
    """Yields a function that waits so many seconds for a key, and returns it or ""."""
    if not sys.stdin.isatty():
        yield _sleep
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    try:
        tty.setcbreak(descriptor)
        yield pressed
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""
