# SPDX-License-Identifier: Apache-2.0
"""Clients: programs that know nothing of fpgart, which driver they run on, and what became of them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fpgart.cli import running
from fpgart.cli.information import serving_engines

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 1800
MOST_OUTPUT_BYTES = 50_000_000
FPGART = "fpgart"
Environment = dict[str, str]


class Missing(Exception):
    """A program that is not here, and how to get it."""


@dataclass
class Outcome:
    """What became of a client on a driver: names of single checks, if it has any."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{len(self.passed)} passed, {len(self.failed)} failed{skipped}"


@cache
def first_engine() -> tuple[str, Path]:
    """Returns name and file of the driver that fpgart would choose; raises Missing."""
    found = serving_engines()
    if not found:
        raise Missing("no engine works here: kernels could not run")
    return found[0]


@dataclass(frozen=True, slots=True)
class Client:
    """A program. `run` builds and runs it in an empty folder, or raises Missing."""

    name: str
    run: Callable[[Environment, Path], Outcome]
    words: str
    source: str = ""
    changes: str = ""
    on_engine: bool = True
    """Whether it runs on other drivers than fpgart, too."""
    engine: Callable[[], tuple[str, Path]] = first_engine


def run(environment: Environment, folder: Path, *words: str, patience: int = PATIENCE_S) -> tuple[int, str]:
    """Returns exit status and all output. The status of a program that was ended is -1, and the output says why."""
    process = subprocess.Popen(
        list(words),
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    output, why = bytearray(), ""
    deadline = time.monotonic() + patience
    with process.stdout as pipe:
        while not why:
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                why = f"not finished after {patience} s"
            elif not (chunk := os.read(pipe.fileno(), 1 << 16)):
                break
            elif len(output) > MOST_OUTPUT_BYTES:
                why = f"more than {MOST_OUTPUT_BYTES} bytes of output"
            output += chunk if not why else b""
        if why:
            os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    text = output.decode(errors="replace")
    return (-1, f"{text}\n{why}") if why else (status, text)


def one(name: str, right: bool, words: str) -> Outcome:
    return Outcome(passed={name}) if right else Outcome(failed={name: words[-400:]})


def together(outcomes: Iterable[Outcome]) -> Outcome:
    whole = Outcome()
    for outcome in outcomes:
        whole.passed |= outcome.passed
        whole.failed |= outcome.failed
        whole.skipped |= outcome.skipped
    return whole


def environment_of(driver: str, library: Path, engine: Path, folder: Path) -> Environment:
    """Loaders find one driver and no other."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD", "FPGART"))}
    kept |= {"FPGART_ENGINE": str(engine), "XDG_CACHE_HOME": str(folder / "cache")}
    if driver == FPGART:
        return running.environment(kept)
    vendors = folder / "vendors"
    vendors.mkdir()
    (vendors / "only.icd").write_text(f"{library}\n")
    return {**kept, "OCL_ICD_VENDORS": f"{vendors}/"}
