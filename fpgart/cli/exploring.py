# SPDX-License-Identifier: Apache-2.0
"""`fpgart channels`: shows if a host's results depend on the depth of channels, or on the times of packets.

On a board, kernels run at other speeds relative to each other than here, and channels have at least the depth in the
source. The results of a correct host do not depend on these.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from fpgart.cli.running import FOUND, environment, found, run_captured
from fpgart.watch.words import times

DEADLOCK = "deadlock: "
DEADLOCK_SECONDS = 2
STRICT = {"CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "strict"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run, and its output on stdout."""

    status: int | None
    """None: it did not end in time."""
    output: bytes
    deadlock: str = ""

    @property
    def words(self) -> str:
        if self.deadlock:
            return f"deadlock: {self.deadlock}"
        if self.status is None:
            return "did not end in time"
        return f"signal {-self.status}" if self.status < 0 else f"exit status {self.status}"


class Explorer:
    """Runs a host with different variables."""

    def __init__(self, program: tuple[str, ...], extra: dict[str, str], seconds: float) -> None:
        """Raises RunError if there is no such program."""
        self._program = program
        self._extra = {"FPGART_DEADLOCK_SECONDS": str(DEADLOCK_SECONDS), **extra}
        self._seconds = seconds
        self._path = found(program[0], environment(extra))
        self.compares_output = True

    def run(self, **variables: str) -> Outcome:
        chosen = environment({**self._extra, **variables})
        status, output, errors = run_captured([self._path, *self._program[1:]], chosen, self._seconds)
        return Outcome(status, output, _deadlock(errors))

    def same(self, one: Outcome, other: Outcome) -> bool:
        ended = (one.status, bool(one.deadlock)) == (other.status, bool(other.deadlock))
        return ended and (one.output == other.output or not self.compares_output)


def _deadlock(log: bytes) -> str:
    """Returns the driver's message about a deadlock."""
    lines = (line.partition(DEADLOCK)[2] for line in log.decode(errors="replace").splitlines() if DEADLOCK in line)
    return next(lines, "")


def explore(program: tuple[str, ...], extra: dict[str, str], seeds: int, most: int, seconds: float) -> int:
    """Runs the host in all ways and prints the differences; returns the exit status. Raises RunError."""
    explorer = Explorer(program, extra, seconds)
    usual, again = explorer.run(), explorer.run()
    click.echo(f"unchanged: {usual.words}")
    if usual.output != again.output:
        explorer.compares_output = False
        click.echo("its output differs from run to run, so only the exit status is compared")
    differs = _explore_depths(explorer, usual, most)
    differs |= _explore_orders(explorer, usual, seeds)
    if not differs:
        click.echo("no run depended on the depths of channels or on when packets arrive")
    return FOUND if differs else 0


def _explore_depths(explorer: Explorer, usual: Outcome, most: int) -> bool:
    """Runs it with channels of the source's depth, then deeper ones, until it ends as usual."""
    factor, differs = 1, False
    while factor <= most:
        outcome = explorer.run(**STRICT, FPGART_CHANNEL_FACTOR=str(factor))
        depth = "depths of the source" if factor == 1 else f"depths of the source, times {factor}"
        if explorer.same(usual, outcome):
            click.echo(f"{depth}: the same" + ("; make its channels that much deeper" if differs else ""))
            return differs
        click.echo(f"{depth}: {_difference(usual, outcome)}")
        differs = True
        factor *= 2
    return differs


def _explore_orders(explorer: Explorer, usual: Outcome, seeds: int) -> bool:
    """Runs it with packets at other times, with channels that are deep enough."""
    different = {}
    for seed in range(1, seeds + 1):
        outcome = explorer.run(FPGART_CHANNEL_SEED=str(seed))
        if not explorer.same(usual, outcome):
            different[seed] = outcome
    if seeds:
        click.echo(f"packets at other times: {times(len(different), 'run')} of {seeds} differ")
    for seed, outcome in list(different.items())[:1]:
        click.echo(f"  for example FPGART_CHANNEL_SEED={seed}: {_difference(usual, outcome)}")
        click.echo(
            "  kernels that use non-blocking calls, or read from several channels, get other packets on a board, too"
        )
    return bool(different)


def _difference(usual: Outcome, outcome: Outcome) -> str:
    return outcome.words if outcome.words != usual.words else f"{outcome.words}, with different output"
