# SPDX-License-Identifier: Apache-2.0
"""The progress of reading a large file, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fpgart.watch.report.trace_events import ignore

LARGE = 8 << 20
"""The bytes from which on progress is shown."""


@contextmanager
def reading(files: tuple[Path, ...]) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes each number of bytes read, and shows the sum on stderr if that is a terminal."""
    total = sum(file.stat().st_size for file in files if file.is_file())
    if total < LARGE:
        yield ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("reading", total=total)
        read = 0

        def tell(size: int) -> None:
            nonlocal read
            read += size
            shown.update(task, completed=read, description="reading" if read < total else "adding up")

        yield tell
