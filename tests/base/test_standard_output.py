# SPDX-License-Identifier: Apache-2.0
"""Messages and exit status of the package's programs if standard output is full, closed or has no reader."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from c_hosts import plain_environment

from fpgart.aocx.container import Container

OUTPUTS = {
    "full": "No space left on device",
    "closed": "Bad file descriptor",
    "pipe without a reader": "",
}
COMMANDS = {
    "fpgart": ["--version"],
    "fpgart info": ["info", "--json"],
    "fpgart --help": ["--help"],
    "aocl": ["version"],
    "aoc": ["-version"],
    "clocl": ["--help"],
}


def program(name: str) -> list[str]:
    module = "fpgart.cli.main" if name == "fpgart" else f"fpgart.sdk.{name}"
    return [sys.executable, "-c", f"from {module} import main; main()"]


def run(words: list[str], output: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with such a standard output."""
    close: Callable[[], None] | None = (lambda: os.close(1)) if output == "closed" else None
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full, open(writer, "w") as broken:
        stdout = full if output == "full" else broken
        return subprocess.run(
            words, stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=close, env=plain_environment(),
        )  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_output_is_lost_fails_with_one_line_at_most(command: str, output: str) -> None:
    tool = command.split()[0]
    done = run([*program(tool), *COMMANDS[command]], output)
    why = OUTPUTS[output]
    words = f"{tool}: standard output cannot be written: {why}\n" if why else ""
    assert (done.stderr, done.returncode) == (words, 1)


def test_a_section_whose_bytes_are_lost_is_told(tmp_path: Path) -> None:
    """Bytes go through the buffer, which is written at the end."""
    file = tmp_path / "x.aocx"
    container = Container()
    container.sections[".acl.board"] = b"a10_ref"
    file.write_bytes(container.encode())
    done = run([*program("fpgart"), "aocx", "extract", str(file), "board"], "full")
    assert (done.stderr, done.returncode) == (
        "fpgart: standard output cannot be written: No space left on device\n", 1
    )  # fmt: skip


def test_a_command_that_writes_nothing_needs_no_standard_output(tmp_path: Path) -> None:
    done = run([*program("fpgart"), "board", "list"], "closed")
    assert (done.stderr, done.returncode) == ("", 0)
