# SPDX-License-Identifier: Apache-2.0
"""Tables of the documentation that a command writes, and which machine it ran on.

The page has two comments, and what is between them is the command's:

    <!-- table of: make shapes -->
    <!-- end -->
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

END = "<!-- end -->"


class NoPlace(Exception):
    """A page without the comments of a table, with a sentence that says which."""


def today() -> str:
    return datetime.date.today().isoformat()


def machine() -> str:
    """Processors of this machine, and its load."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    model = f" ({found[1]})" if found else ""
    return f"{os.cpu_count()} processors{model}, load {os.getloadavg()[0]:.1f}"


@cache
def engine_version(library: Path) -> str:
    """Returns the version of the driver that executes kernels, such as "OpenCL 3.0 PoCL 3.0-rc2"."""
    command = [sys.executable, "-m", "fpgart.cli", "info", "--json"]
    variables = {**os.environ, "FPGART_ENGINE": str(library)}
    said = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    return str(json.loads(said)["chosen_engine"]["version"]).partition("  ")[0]


def circumstances(engine: Path) -> str:
    """Returns the sentences about the machine and the engine with which the words of write() begin."""
    return f"{machine()}. The engine is {engine_version(engine)}."


def between(page: Path, command: str) -> tuple[str, str, str]:
    """Returns the text before a table, the table, and the text behind it. Raises NoPlace."""
    text = page.read_text()
    before, begin, rest = text.partition(f"<!-- table of: {command} -->\n")
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"{page} has no place for the table of `{command}`: <!-- table of: {command} --> and {END}")
    return before + begin, table, end + after


def write(page: Path, command: str, words: str, table: str) -> None:
    """Puts a table into its place, below a line that names the command and the date. Raises NoPlace."""
    before, _, after = between(page, command)
    page.write_text(f"{before}\nMade by `{command}` on {today()}: {words}\n\n{table.rstrip()}\n\n{after}")
