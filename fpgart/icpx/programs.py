# SPDX-License-Identifier: Apache-2.0
"""The programs that `icpx` runs: compilers and tools for objects."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from fpgart.icpx.errors import IcpxError, PassFailed
from fpgart.icpx.private_folder import signals_held


@contextmanager
def started(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program, whose output is that of its own processes, too; an exception ends all of them."""
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, **variables},
    ) as process:  # fmt: skip
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):  # they have ended
                os.killpg(process.pid, signal.SIGKILL)
            raise


def run(words: Sequence[str], verbose: bool, *, name: str = "", variables: Mapping[str, str] | None = None) -> str:
    """Runs a program; returns its output.

    `name` stands for it in messages, and `variables` are added to its environment. Raises PassFailed with the output if
    the program refuses, IcpxError if it cannot run.
    """
    if verbose:
        print(shlex.join(words), file=sys.stderr, flush=True)
    with ExitStack() as stack:
        try:
            with signals_held():
                done = stack.enter_context(started(words, variables or {}))
        except OSError as error:
            raise IcpxError(f"{words[0]}: {error.strerror}") from None
        said = done.communicate()[0].decode(errors="replace")
    if done.returncode < 0:
        what = name or Path(words[0]).name
        raise PassFailed(f"{said}error: {what} was ended by {signal.Signals(-done.returncode).name}\n")
    if done.returncode:
        raise PassFailed(said)
    return said
