# SPDX-License-Identifier: Apache-2.0
"""`fpgart run`: its options, and the variables of the driver that they become."""

from __future__ import annotations

import os
import sys

import click

from fpgart.base import config
from fpgart.cli import running
from fpgart.cli.hints import Choice, boards, checks, complete_list, faults, files, refuse_dashes
from fpgart.cli.validation import refuse_wrong_options


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--board",
    metavar="NAME,...",
    shell_complete=complete_list(boards),
    help="Boards, one per device (see `fpgart info`).",
)
@click.option("--platform", metavar="NAME", help="Name of the platform that hosts see (see `fpgart info`).")
@click.option(
    "--topology",
    metavar="FILE|NAME|CABLES",
    help="Cables between I/O channels: a .toml file, ring, torus:2x4, ..., or a list of cables (docs/clusters.md).",
)
@click.option("--engine", metavar="NAME", help=config.ENGINE.sentence)
@click.option("--trace", metavar="FILE", help="Write a trace of the run, for `fpgart report` and Perfetto.")
@click.option(
    "--faults", metavar="SPEC", shell_complete=faults, help="Let calls fail, such as write:fail:nth=3 (docs/faults.md)."
)
@click.option(
    "--time",
    type=Choice(("real", "model")),
    help="Times in profiling: of this computer, or of the modelled board (docs/time.md).",
)
@click.option(
    "--check",
    metavar="NAME,...",
    is_flag=False,
    flag_value="all",
    shell_complete=complete_list(checks),
    help="Look for mistakes: usm, buffers, order, fpga (the default), kernels (docs/checks.md).",
)
@click.option(
    "--fail-on-finding", is_flag=True, help="Exit with status 3 for findings of --check (default: all) or --leaks."
)
@click.option("--sarif", metavar="FILE", help="Write the findings of --check as SARIF 2.1.0.")
@click.option("--github", is_flag=True, help="Print the findings of --check as annotations of GitHub at the end.")
@click.option("--summary", is_flag=True, help="Print a summary of transfers on stderr at the end.")
@click.option("--log", is_flag=True, help="Print the reason of each failing call on stderr.")
@click.option(
    "--leaks",
    is_flag=True,
    help="Print objects that were never released, with the calls that created them, on stderr at the end.",
)
@click.option(
    "--wrappers",
    metavar="NAME,...",
    help="Name functions and files of the host that only wrap calls; findings name their callers.",
)
@click.option("--watchdog", metavar="SECONDS", help="Report all waits after that time without progress.")
@click.option("--capture", metavar="DIR", help="Save launches in this folder, for `fpgart replay`.")
@click.option(
    "--capture-kernels", metavar="NAME[:N[-M]],...", help="Launches to save; default: the first of each kernel."
)
@click.option("--isolate", is_flag=True, help="Run kernels in a separate process (docs/isolation.md).")
@click.option("--served", metavar="NAME", help="Use the boards of a service (`fpgart board`, docs/serving.md).")
@click.option("--require-use", is_flag=True, help="Exit with status 4 if the program ran no kernel on a board.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True, shell_complete=files)
@click.pass_context
def run(
    context: click.Context,
    /,
    fail_on_finding: bool,
    sarif: str | None,
    github: bool,
    summary: bool,
    log: bool,
    leaks: bool,
    isolate: bool,
    require_use: bool,
    program: tuple[str, ...],
    **values: str | None,
) -> None:
    """Run PROGRAM with this driver as its only OpenCL platform.

    Output and exit status are those of the program. All words after the program, or after --, are arguments of
    the program:

        fpgart run --board a10_ref,a10_ref -- python train.py --epochs 3

    Invalid options end the run with status 2 before the program starts.
    """
    refuse_dashes(context)
    judges = fail_on_finding or bool(sarif) or github
    values["check"] = values["check"] or ("all" if judges and not (leaks or config.CHECK.is_set) else None)
    wanted = {variable_of(name): value for name, value in values.items()} | {
        "FPGART_SUMMARY": "stderr" if summary else None,
        "FPGART_LOG": "stderr" if log else None,
        "FPGART_LEAKS": "1" if leaks else None,
        "FPGART_LIVE": None if config.LIVE.is_set else "1",
        "FPGART_ISOLATE": "1" if isolate else None,
    }
    given = {name: value for name, value in wanted.items() if value}
    begin(given, {variable_of(name): f"--{name.replace('_', '-')}" for name, value in values.items() if value})
    given |= running.place_in_topology() | running.boards_of_service()
    trace = values["trace"] or ""
    if require_use or fail_on_finding or trace or sarif or github:
        judged = running.Judged(require_use, fail_on_finding, trace, sarif or "", github)
        sys.exit(running.run_and_judge(program, given, judged))
    running.replace_process(program, given)


def variable_of(name: str) -> str:
    """Returns the variable that an option with a value becomes: `board` is FPGART_BOARD."""
    return f"{config.PREFIX}{name.upper()}"


def begin(given: dict[str, str], spelling: dict[str, str]) -> None:
    """Applies the options of the command line. Raises OptionError if they, or the environment, are invalid.

    `given`: the variables that they become; `spelling`: the options that some of these come from.
    """
    os.environ.update(given)
    refuse_wrong_options(spelling)
    for words in config.misspelt(os.environ):
        click.echo(f"fpgart: {words}", err=True)
