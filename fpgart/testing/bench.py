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
"""Variables that distinguish the workers of a session, or the jobs of an array."""


@dataclass(frozen=True)
class Keep:
    """The place for the traces of a test: files with the names of the worker and of the test."""

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
    """A program that has ended: returncode, stdout, stderr, and its `trace`."""

    def __init__(self, ended: subprocess.CompletedProcess[str], trace: Traced) -> None:
        super().__init__(ended.args, ended.returncode, ended.stdout, ended.stderr)
        self.trace = trace


class Bench:
    """The value of the fixture `fpga`: boards in their initial state.

    `boards` are their names, one per device; `faults` are the faults on them. The driver is in the test's own process;
    programs that the test starts have drivers and boards of their own.
    """

    def __init__(self, boards: tuple[str, ...], folder: Path, *, trace: bool, keep: Keep | None = None) -> None:
        """`folder` is for traces, with `trace` also this process's; `keep` is their last place. Raises DriverError."""
        self.boards = boards
        self._keep = keep
        self.raised = False
        """True if the test raised an exception: its traceback then keeps the test's objects alive."""
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
        """The environment for a program that finds the boards, and no other OpenCL platform.

        Its calls show in `fpga_trace`.
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
        """Runs a program on boards of its own; returns its output, its exit status and its trace.

        `board`: other boards than the session's, as in FPGART_BOARD; `env`: further variables. The other parameters are
        those of subprocess.run(). Raises OSError, TimeoutExpired and, with `check`, CalledProcessError.
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
        """The platform, for pyopencl. Raises DriverError if its loader does not find the driver."""
        import pyopencl

        handle = driver.platform_handle()
        for platform in pyopencl.get_platforms():
            if platform.int_ptr == handle:
                return platform
        raise driver.DriverError(
            "pyopencl asked for platforms before fpgart's plugin could register the driver: "
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
        """Ends the test's faults and its trace, and moves buffers that only a traceback keeps alive off the boards."""
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
        """Describes the objects that the test did not release; "" if none. Clears `funcargs`, which are references."""
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
        """Returns the begin of the reports, for a test that failed; "" without a trace."""
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
        """Waits for commands; raises DriverError if they do not end."""
        if not driver.settle(PATIENCE_S):
            raise driver.DriverError(f"commands still run after {PATIENCE_S:.0f} s; finish the queue, then ask")

    def _renew(self) -> None:
        if not driver.settle(PATIENCE_S):
            raise driver.DriverError(f"commands of an earlier test still run after {PATIENCE_S:.0f} s")
        driver.renew_boards()


def _traces(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.json") if file.stat().st_size)


def warn_of_leak(words: str, test: str, file: Path, line: int) -> None:
    """Issues a LeakWarning at the test."""
    message = f"{test} left behind: {words}"
    warnings.warn_explicit(LeakWarning(message), None, str(file), line)
