# SPDX-License-Identifier: Apache-2.0
"""Questions of tests about traces: bytes through the MMD, copies and their causes, kernels, calls, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from fpgart.watch import report
from fpgart.watch.report import Advice, Args, BufferLife, Copy, Report
from fpgart.watch.words import on_board

MmdName = Literal["write", "read", "copy", "program", "host_alloc", "shared_alloc", "free"]
MMD = "aocl_mmd_"


@dataclass(frozen=True, slots=True)
class MmdCall:
    """A call through the MMD; `buffer` 0: no buffer, `address` the board's, None without one."""

    name: str
    device: int
    size: int
    buffer: int
    address: int | None


@dataclass(frozen=True, slots=True)
class KernelRun:
    """A launch that has ended; `local` is empty if the host left it to the driver."""

    name: str
    device: int
    size: tuple[int, ...]
    local: tuple[int, ...]
    offset: tuple[int, ...]
    buffers: tuple[int, ...]
    microseconds: float
    error: str


@dataclass(frozen=True, slots=True)
class FaultInjected:
    """A call that a fault changed: its clause, the call and the device, None for one of the API."""

    rule: str
    call: str
    device: int | None
    microseconds: float


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of the host; `error` is empty, or status and words."""

    name: str
    error: str
    microseconds: float


class UnknownBuffer(LookupError):
    """Raised if none of the traces has a buffer of that number, or several have."""


class Traced:
    """The files of traces; they are read at each question.

    For buffers, `of` takes a number as in traces (a host's first buffer is 1) or, for hosts in this process, an object
    of pyopencl with an `int_ptr`.
    """

    def __init__(self, files: Callable[[], list[Path]], settle: Callable[[], None] = lambda: None) -> None:
        """`files` returns the files so far, one per process; `settle` waits for commands."""
        self._files = files
        self._settle = settle
        self._seen: dict[Path, int] = {}

    # Questions

    def bytes(self, name: MmdName, *, of: object = None) -> int:
        """Returns the bytes through one kind of MMD call: "write" is host to board, "read" board to host."""
        return sum(call.size for call in self.transfers(name, of=of))

    def transfers(self, name: MmdName | None = None, *, of: object = None) -> list[MmdCall]:
        """Returns the MMD calls, or those of one kind, in their order."""
        if name is not None and name not in get_args(MmdName):
            raise ValueError(f"'{name}' is not a call of the MMD: {', '.join(get_args(MmdName))}")
        buffer = self._number(of)
        found = [_mmd_call(event["args"], event["name"]) for event in self._all("mmd")]
        return [c for c in found if name in (None, c.name) and buffer in (None, c.buffer)]

    def copies(self, *, of: object = None) -> list[Copy]:
        """Returns transfers of buffers' contents, each with its cause: the host's command, or the kernel argument."""
        buffer = self._number(of)
        found = [copy for part in self.reports() for copy in part.copies]
        return [copy for copy in found if buffer in (None, copy.buffer, copy.source)]

    def kernels(self, name: str | None = None) -> list[KernelRun]:
        """Returns the launches that have ended, or those of one kernel, in their order."""
        found = [_kernel_run(event) for event in self._all("device") if event["name"] == "kernel"]
        return [run for run in found if name in (None, run.name)]

    def calls(self, name: str | None = None) -> list[HostCall]:
        """Returns the host's calls, or those of one function. Reference counting is not traced."""
        found = [_host_call(event) for event in self._all("api")]
        return [call for call in found if name in (None, call.name)]

    def errors(self) -> list[str]:
        """Returns the errors in words: calls with their status, and commands that did not complete.

        Queries are left out: hosts query features of other vendors' devices (`calls()` shows them).
        """
        return [f"{event['name']}: {event['args']['error']}" for event in self._all() if _failed(event)]

    def faults(self) -> list[FaultInjected]:
        """Returns the requested faults that occurred, in their order."""
        return [
            FaultInjected(event["name"], event["args"]["call"], event["args"]["device"], event["dur"])
            for event in self._all("fault")
        ]

    def advice(self) -> list[Advice]:
        """Returns copies and programmings that the host could have avoided, and how; `reports()` have all advice."""
        return [advice for part in self.reports() for advice in part.advice if advice.certain]

    def unreleased(self) -> list[BufferLife]:
        """Returns buffers and allocations that were created and have not been released yet."""
        lives = [life for part in self.reports() for life in part.buffers.values()]
        return [life for life in lives if life.created is not None and life.released is None]

    def reports(self) -> list[Report]:
        """Returns the facts of `fpgart report`, process by process."""
        return [report.of(events) for events in self.events()]

    def text(self) -> str:
        """Returns the reports in words."""
        return "\n".join(report.as_text(part) for part in self.reports())

    def events(self) -> list[list[Args]]:
        """Returns the events of each process, in the order of their begins (format: fpgart.watch.trace)."""
        self._settle()
        return [report.in_order(islice(report.events(file), self._seen.get(file, 0), None)) for file in self.files()]

    def files(self) -> list[Path]:
        """Returns the traces' files, for `fpgart report` and Perfetto."""
        return self._files()

    def clear(self) -> None:
        """Forgets the events so far: questions are about later ones."""
        self._settle()
        for file in self.files():
            self._seen[file] = sum(1 for _ in report.events(file))

    # Answers

    def _all(self, category: str | None = None) -> Iterator[Args]:
        for events in self.events():
            yield from (event for event in events if category is None or event.get("cat") == category)

    def _number(self, of: object) -> int | None:
        """Returns the number of a buffer in the traces. Raises UnknownBuffer, TypeError."""
        if of is None:
            return None
        if isinstance(of, int):
            return self._checked(of)
        handle: Any = getattr(of, "int_ptr", None)
        if handle is None:
            raise TypeError(f"a buffer's number or an object of pyopencl is expected, not {of!r}")
        from fpgart.testing import driver

        return driver.number_of(handle)

    def _checked(self, number: int) -> int:
        """Returns a known number. Raises UnknownBuffer: answers about others would always be 0 or nothing."""
        self._settle()
        known = [set(report.read(file).buffers) for file in self.files()]
        owners = sum(number in numbers for numbers in known)
        if owners > 1:
            raise UnknownBuffer(f"{owners} processes have a buffer {number}: query the trace of one run")
        if not owners:
            there = ", ".join(map(str, sorted(set().union(*known)))) or "none"
            raise UnknownBuffer(f"no buffer {number} in the trace; its buffers: {there}")
        return number


def _mmd_call(args: Args, name: str) -> MmdCall:
    where = on_board(args) if "address" in args else None
    return MmdCall(name.removeprefix(MMD), args["device"], args["size"], args.get("buffer", 0), where)


def _kernel_run(event: Args) -> KernelRun:
    args = event["args"]
    return KernelRun(
        args["kernel"],
        args["device"],
        tuple(args["global"]),
        tuple(args.get("local", ())),
        tuple(args["offset"]),
        tuple(args["buffers"]),
        event["dur"],
        args.get("error", ""),
    )


def _host_call(event: Args) -> HostCall:
    return HostCall(event["name"], event["args"].get("error", ""), event["dur"])


def _failed(event: Args) -> bool:
    query = event["name"].startswith("clGet") and event["name"].endswith("Info")
    return "error" in event.get("args", {}) and not query
