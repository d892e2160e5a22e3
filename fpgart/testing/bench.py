# SPDX-License-Identifier: Apache-2.0
"""The fixture `fpga`: boards for hosts that run in the test's own process, and for programs that it starts."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fpgart.cli.running import environment
from fpgart.testing import LeakWarning, driver
from fpgart.testing.faulty import BenchFaults
from fpgart.testing.traced import Traced
from fpgart.watch import report

if TYPE_CHECKING:
    import pyopencl

PATIENCE_S = 30.0
MOST_LINES = 60
OWN_PROGRAMS = "env"
"""Folder with the traces of programs that a test starts by itself."""


ARRAYS = ("PYTEST_XDIST_WORKER", "SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "LSB_JOBINDEX", "SGE_TASK_ID")
"""Variables that tell the workers of a session, or of an array of jobs, apart."""


@dataclass(frozen=True)
class Keep:
    """Where the traces of a test are kept: files with the names of the worker and of the test."""

    folder: Path
    test: str

    def take(self, traces: Iterable[Path]) -> None:
        """Copies a test's traces, those of all its programs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        workers = [os.environ[name] for name in ARRAYS if os.environ.get(name)]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join((*workers, self.test)))
        for number, trace in enumerate(traces):
            shutil.copyfile(trace, self.folder / (f"{name}.{number}.json" if number else f"{name}.json"))


class HostRun(subprocess.CompletedProcess[str]):
    """A program that has ended: returncode, stdout, stderr, and `trace`, what it did."""

    def __init__(self, ended: subprocess.CompletedProcess[str], trace: Traced) -> None:
        super().__init__(ended.args, ended.returncode, ended.stdout, ended.stderr)
        self.trace = trace


class Bench:
    """What a test gets as `fpga`: boards that are as new.

    `boards` are their names, one per device; `faults` is what goes wrong on them. The driver is in the test's own
    process; programs that the test starts have drivers and boards of their own.
    """

    def __init__(self, boards: tuple[str, ...], folder: Path, *, trace: bool, keep: Keep | None = None) -> None:
        """`folder` is for traces; `trace`: of this process, too; `keep`: where they stay. Raises DriverError."""
        self.boards = boards
        self._keep = keep
        self.raised = False
        """Whether the test raised something: its traceback then keeps alive what it had."""
        self.traced = Traced(self._trace_files, self._settle)
        self._folder = folder
        self._own_trace = folder / "trace.json"
        self._programs = [Traced(lambda: _traces(folder / OWN_PROGRAMS))]
        self._end_trace: Callable[[], None] | None = None
        driver.load()
        self._renew()
        self.faults = BenchFaults(lambda: sum(len(run.faults()) for run in self._programs))
        self._before = driver.memory_in_use()
        self._unfinished = driver.unfinished()
        if trace:
            self._end_trace = driver.begin_trace(self._own_trace)

    # Programs

    @property
    def env(self) -> dict[str, str]:
        """The environment for a program that shall find the boards, and no other OpenCL platform.

        What it does shows in `fpga_trace`.
        """
        return self._environment(OWN_PROGRAMS, None)

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        board: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        input: str | None = None,
        timeout: float | None = None,
        check: bool = False,
    ) -> HostRun:
        """Runs a program on boards of its own and return what it printed, how it ended and what it did.

        `board`: other boards than the session's, as FPGART_BOARD has them; `env`: further variables. The rest is as
        subprocess.run() has it. Raises OSError, TimeoutExpired and, with `check`, CalledProcessError.
        """
        name = f"run-{len(self._programs):03}"
        trace = Traced(lambda: _traces(self._folder / name))
        self._programs.append(trace)
        variables = {**self._environment(name, board), **(env or {})}
        ended = subprocess.run(
            command, env=variables, cwd=cwd, input=input, timeout=timeout, check=check, capture_output=True, text=True
        )
        return HostRun(ended, trace)

    def _environment(self, name: str, board: str | None) -> dict[str, str]:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        boards, trace = board or ",".join(self.boards), str(folder / "%p.json")
        return environment({"FPGART_BOARD": boards, "FPGART_TRACE": trace, **self.faults.variables()})

    # The test's own process

    @property
    def platform(self) -> pyopencl.Platform:
        """The platform, for pyopencl. Raises DriverError where its loader does not find the driver."""
        import pyopencl

        handle = driver.platform_handle()
        for platform in pyopencl.get_platforms():
            if platform.int_ptr == handle:
                return platform
        raise driver.DriverError(
            "pyopencl asked for platforms before fpgart's plugin could say where the driver is: "
            "does a plugin that is loaded earlier (-p) use pyopencl?"
        )

    @property
    def devices(self) -> list[pyopencl.Device]:
        """The boards, for pyopencl."""
        return list(self.platform.get_devices())

    @property
    def device(self) -> pyopencl.Device:
        """The first board, for pyopencl."""
        return self.devices[0]

    # The end of the test

    def close(self) -> None:
        """The test is over; its faults and its trace end. What only a traceback keeps alive makes room."""
        self.faults.clear()
        settled = driver.settle(PATIENCE_S)
        end, self._end_trace = self._end_trace, None
        if end is not None:
            end()
        if self._keep is not None:
            self._keep.take(self._trace_files())
        if self.raised and settled:
            driver.take_off_boards(self._new_memory())

    def left_behind(self, funcargs: dict[str, Any]) -> str:
        """What the test left, in words; "" for nothing. `funcargs`: references that are about to go."""
        if not self._new_memory() and driver.unfinished() <= self._unfinished:
            return ""
        funcargs.clear()
        gc.collect()
        driver.settle(PATIENCE_S)
        left = list(self._new_memory().values())
        commands = driver.unfinished() - self._unfinished
        if commands > 0:
            left.append(f"{commands} commands that have not ended" if commands > 1 else "a command that has not ended")
        return ", ".join(left)

    def _new_memory(self) -> dict[int, str]:
        return {number: words for number, words in driver.memory_in_use().items() if number not in self._before}

    def excerpt(self) -> str:
        """The begin of the reports, for a test that failed; "" where nothing was traced."""
        lines = []
        for file in self._trace_files():
            found = report.read(file)
            if found.calls:
                lines += [f"fpgart report {file}", *report.as_text(found).splitlines(), ""]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES:] = [f"and {len(lines) - MOST_LINES} more lines"]
        return "\n".join(lines)

    # Parts

    def _trace_files(self) -> list[Path]:
        return _traces(self._folder) + [trace for run in sorted(self._folder.glob("*/")) for trace in _traces(run)]

    def _settle(self) -> None:
        """Raises DriverError when commands run on and on."""
        if not driver.settle(PATIENCE_S):
            raise driver.DriverError(f"commands still run after {PATIENCE_S:.0f} s; finish the queue, then ask")

    def _renew(self) -> None:
        if not driver.settle(PATIENCE_S):
            raise driver.DriverError(f"commands of an earlier test still run after {PATIENCE_S:.0f} s")
        driver.renew_boards()


def _traces(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.json") if file.stat().st_size)


def warn_of_leak(words: str, test: str, file: Path, line: int) -> None:
    """A LeakWarning that points to the test."""
    message = f"{test} left behind: {words}"
    warnings.warn_explicit(LeakWarning(message), None, str(file), line)
