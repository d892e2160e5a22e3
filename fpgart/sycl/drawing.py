# SPDX-License-Identifier: Apache-2.0
"""The execution graph as text, as a table, and for Graphviz."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fpgart.sycl.commands import AllocaCommand, Command
from fpgart.sycl.modes import SyclError

COLOURS = {
    "AllocaCommand": "#ffd28a",
    "AllocaSubBufCommand": "#ffe6bf",
    "MemCpyCommand": "#c7664b",
    "MapMemObject": "#77affd",
    "UnmapMemObject": "#ebc40f",
    "ExecCGCommand": "#aff82d",
    "ReleaseCommand": "#e6c6c6",
}


def _subject(command: Command) -> str:
    return "object " + ", ".join(map(str, command.objects)) if command.objects else ""


def as_text(commands: Sequence[Command]) -> str:
    """Returns a line for each command: number, kind, objects, action, bytes copied, and predecessors."""
    lines = []
    for command in commands:
        after = ", ".join(str(other.number) for other in command.after)
        line = f"{command.number:>3} {command.kind:<14} {_subject(command):<10} {command.words()}"
        line += f", {command.bytes} bytes" if command.bytes else ""
        lines.append(line + (f", after {after}" if after else ""))
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _node(command: Command) -> str:
    words = [f"{command.number} {command.kind}", _subject(command), command.words()]
    active = isinstance(command, AllocaCommand) and command.allocation.linked is not None and command.allocation.active
    if active:
        words.append("active")
    if command.bytes:
        words.append(f"{command.bytes} bytes")
    label = _quoted("\n".join(filter(None, words)))
    style = ' style="filled,bold" penwidth=3' if active else " style=filled"
    return f'"{command.number}" [shape=box fillcolor="{COLOURS[command.kind]}"{style} label={label}];'


def as_dot(commands: Sequence[Command]) -> str:
    """Returns the graph in Graphviz's language; an arrow goes from a command to each one that waits for it."""
    lines = ["digraph sycl {"]
    boxed: set[int] = set()
    for command in commands:
        if isinstance(command, AllocaCommand) and command.linked is not None and command.linked.command is not None:
            first, second = command.linked.command, command
            boxed |= {first.number, second.number}
            lines.append(f'  subgraph "cluster {second.number}" {{ label="linked"; {_node(first)} {_node(second)} }}')
    lines += [f"  {_node(command)}" for command in commands if command.number not in boxed]
    lines += [f'  "{other.number}" -> "{command.number}";' for command in commands for other in command.after]
    return "\n".join([*lines, "}", ""])


def save(commands: Sequence[Command], path: Path) -> None:
    if path.suffix == ".dot":
        path.write_text(as_dot(commands))
        return
    program = shutil.which("dot")
    if program is None:
        raise SyclError(f"{path}: Graphviz's dot is not installed; save a .dot file instead")
    result = subprocess.run(
        [program, f"-T{path.suffix.removeprefix('.') or 'svg'}", "-o", str(path)],
        input=as_dot(commands),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise SyclError(f"{path}: dot: {result.stderr.strip()}")


def copied(commands: Sequence[Command]) -> dict[str, tuple[int, int]]:
    """Returns commands and bytes, by kind, of those that can copy between host and device."""
    found = dict.fromkeys(("MemCpyCommand", "MapMemObject", "UnmapMemObject"), (0, 0))
    for command in commands:
        if command.kind in found:
            times, size = found[command.kind]
            found[command.kind] = times + 1, size + command.bytes
    return found


def table(results: dict[str, dict[str, tuple[int, int]]]) -> str:
    """Returns bytes copied by kind of command, a column for each way of linking."""
    head = f"{'':<16}" + "".join(f"{name:>26}" for name in results)
    lines = [head]
    for kind in next(iter(results.values())):
        cells = (result[kind] for result in results.values())
        lines.append(f"{kind:<16}" + "".join(f"{f'{size} bytes in {times}':>26}" for times, size in cells))
    totals = (sum(size for _, size in result.values()) for result in results.values())
    lines.append(f"{'all':<16}" + "".join(f"{f'{total} bytes':>26}" for total in totals))
    return "\n".join(lines)
