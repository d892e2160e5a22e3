# SPDX-License-Identifier: Apache-2.0
"""The command `fpgart`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

from fpgart.aocx.errors import AocxError
from fpgart.base import config, registration
from fpgart.base import opencl as cl
from fpgart.base.config import OptionError
from fpgart.base.standard_output import end_with
from fpgart.base.user_error import UserError
from fpgart.cli import settings
from fpgart.cli.finite import FiniteRange
from fpgart.cli.hints import Commands, no_such_option
from fpgart.version import __version__

HELP = "Usage: "


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, "-V", "--version", prog_name="fpgart")
@click.pass_context
def cli(context: click.Context) -> None:
    """An OpenCL driver for accelerator boards that you do not have.

    Run any OpenCL program on a simulated board:

        fpgart run -- ./my_host --its-options

    Register the driver for all your programs:

        fpgart icd --register
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


cli.lazily = {
    "board": "fpgart.cli.serving",
    "run": "fpgart.cli.run_command",
    **dict.fromkeys(("diff", "report"), "fpgart.cli.trace_commands"),
    **dict.fromkeys(("aoc", "aocl", "aocx", "cflags", "clocl", "libs", "sdk"), "fpgart.cli.build_commands"),
}


@cli.command()
@click.option(
    "--register",
    "action",
    flag_value="register",
    help="Create fpgart.icd in the folder in which loaders look for drivers.",
)
@click.option("--unregister", "action", flag_value="unregister", help="Remove fpgart.icd from that folder.")
@click.option("--system", is_flag=True, help="Do so for all users (/etc/OpenCL/vendors), not only for yourself.")
def icd(action: str | None, system: bool) -> None:
    """Print the folder for OCL_ICD_VENDORS, or register the driver.

    OCL_ICD_VENDORS=$(fpgart icd) ./my_host
    """
    if action == "register":
        click.echo(registration.register(system))
    elif action == "unregister":
        click.echo(registration.unregister(system))
    else:
        click.echo(registration.vendor_folder())


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"fpgart, version {__version__}")


@cli.command(name="help")
@click.argument("command", nargs=-1)
@click.pass_context
def show_help(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of a command: `fpgart help run`."""
    found: click.Command = cli
    inner = click.Context(cli, info_name="fpgart", **cli.context_settings)
    for word in command:
        if not isinstance(found, click.Group):
            raise click.UsageError(f"'{found.name}' has no command '{word}'")
        _, chosen, _ = found.resolve_command(inner, [word])
        assert chosen is not None  # else resolve_command() has raised
        found = chosen
        inner = click.Context(found, info_name=word, parent=inner, **found.context_settings)
    click.echo(found.get_help(inner))


@cli.command()
def fcd() -> None:
    """Print the folder for ACL_BOARD_VENDOR_PATH, to use the original runtime on these boards (docs/mmd.md).

    ACL_BOARD_VENDOR_PATH=$(fpgart fcd) ./my_host
    """
    click.echo(registration.board_folder())


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--origin", is_flag=True, help="Show the origin of the value of each variable.")
def info(as_json: bool, origin: bool) -> None:
    """Show boards, engines, versions and every environment variable with its value."""
    from fpgart.cli import information
    from fpgart.cli.validation import refuse_wrong_options

    click.echo(information.as_json() if as_json else information.as_text(origin=origin), nl=False)
    for words in config.misspelt(os.environ):
        click.echo(f"fpgart: {words}", err=True)
    refuse_wrong_options({})


@cli.command()
@click.argument("process", metavar="[PID]", required=False, type=click.IntRange(min=1))
@click.option("--once", is_flag=True, help="Take two samples, print the state and the rates between them, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs: a line per host and sample.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=FiniteRange(min=0.1, max=3600),
    default=1.0,
    show_default=True,
    help="Time between two samples.",
)
def top(process: int | None, once: bool, as_json: bool, interval: float) -> None:
    """Show memory, queues, running kernels and MB/s of running hosts; q quits.

    It shows hosts of this user that `fpgart run` started, or that run with FPGART_LIVE=1.
    With --once, the exit status is 1 if no host answers.
    """
    from rich.console import Console

    from fpgart.cli import running
    from fpgart.cli import top as live_view

    looks = live_view.Looks(process)
    console = Console(width=None if sys.stdout.isatty() else live_view.WIDTH, highlight=False)
    if process is not None and not once and not looks.look():
        raise running.RunError(f"no running host answers as process {process}")
    if not once and not as_json and console.is_terminal:
        live_view.show(looks, interval, console)
        return
    while True:
        if once and looks.look():  # rates need an earlier look
            time.sleep(interval)
        pairs = looks.look()
        if process is not None and not pairs and not once:
            raise running.RunError(f"no running host answers as process {process}")
        for before, now in pairs if as_json else ():
            click.echo(json.dumps(live_view.with_rates(before, now)))
        if not as_json:
            console.print(live_view.screen(pairs))
        if once:
            sys.exit(0 if pairs else 1)
        time.sleep(interval)


@cli.command(context_settings={"allow_interspersed_args": False})
@click.option("--board", metavar="NAME,...", help="Boards, one per device (see `fpgart info`).")
@click.option(
    "--seeds", metavar="N", type=click.IntRange(0, 1000), default=8, help="Number of other arrival orders to try (8)."
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1, 128),
    default=16,
    help="Greatest factor for the depths of channels (16).",
)
@click.option("--seconds", metavar="N", type=FiniteRange(0.1), default=60.0, help="Time limit of a run (60).")
@click.argument("program", nargs=-1, required=True)
def channels(board: str | None, seeds: int, most: int, seconds: float, program: tuple[str, ...]) -> None:
    """Run a host repeatedly with different channel depths and arrival times of packets.

    The first depths are those of the source. A change in the output or the exit status may happen on a board, too;
    the exit status is then 3.
    """
    from fpgart.cli import exploring

    extra = {"FPGART_BOARD": board} if board else {}
    sys.exit(exploring.explore(program, extra, seeds, most, seconds))


@cli.command(context_settings={"allow_interspersed_args": False})
@click.option("--board", metavar="NAME,...", help="Boards, one per device (see `fpgart info`).")
@click.option(
    "--status",
    metavar="NAME",
    type=click.Choice(list(cl.NAMES_OF_STATUS.values())),
    default="CL_OUT_OF_HOST_MEMORY",
    show_default=True,
    help="Status of the calls that fail.",
)
@click.option(
    "--per-place",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Let only N calls of each function and place in the host's code fail; default: all.",
)
@click.option("--seconds", metavar="N", type=FiniteRange(0.1), default=60.0, help="Time limit of a run (60).")
@click.argument("program", nargs=-1, required=True)
def errors(board: str | None, status: str, per_place: int, seconds: float, program: tuple[str, ...]) -> None:
    """Run a host once for each OpenCL call that it makes, let that call fail, and list what it does not survive.

    In the first run no call fails. A host does not survive a failure if it crashes, does not end in time, or exits
    with status 0 and no message, although it needs the call. The exit status is then 3. Each line names the call with
    its file and line; compile the host with -g.
    """
    from fpgart.cli import failing

    extra = {"FPGART_BOARD": board} if board else {}
    sys.exit(failing.explore(program, extra, status, per_place, seconds))


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--engine", metavar="NAME", help=config.ENGINE.sentence)
@click.option("--board", metavar="NAME", help="Board; default: that of the captured launch.")
@click.option(
    "--tolerance",
    metavar="X",
    type=FiniteRange(min=0),
    default=0.0,
    help="Allowed difference of floating-point values, relative to the greater one, or to 1 if that is less.",
)
def replay(folder: Path, engine: str | None, board: str | None, tolerance: float) -> None:
    """Run captured launches alone, and compare the memories with those after the captured launches.

    \b
    fpgart run --capture DIR --capture-kernels 'add:3' -- ./my_host
    fpgart replay DIR --engine intel

    DIR is the folder of one launch, or a folder with several of these. The exit status is 1 if anything differs
    and 2 if a launch cannot be run.
    """
    from fpgart.cli import replay as replaying
    from fpgart.watch.captured import CaptureError

    if engine:
        os.environ["FPGART_ENGINE"] = engine
    status = 0
    for each in replaying.launches_in(folder):
        try:
            result = replaying.replay(each, board, tolerance)
            click.echo(result.words, nl=False)
            status = max(status, int(result.differs))
        except CaptureError as error:
            click.echo(f"fpgart: {error}", err=True)
            status = 2
    sys.exit(status)


@cli.command()
@click.option("--dry-run", is_flag=True, help="List the files, and remove nothing.")
@click.option("--system", is_flag=True, help="Also remove the registration for all users, in /etc/OpenCL/vendors.")
@click.option("--kernels", is_flag=True, help="Also remove PoCL's cache of kernels, including those of other programs.")
def clean(dry_run: bool, system: bool, kernels: bool) -> None:
    """Remove files of earlier runs outside of the package: registrations, SDK folders, caches.

    Do this before `pip uninstall fpgart`. Later runs create these files again. Traces and other files that options
    name stay.
    """
    from fpgart.cli import cleaning

    found = cleaning.left_behind(system=system, kernels=kernels)
    for path in found:
        if not dry_run:
            cleaning.remove(path)
        click.echo(f"{'would remove' if dry_run else 'removed'} {path}")
    if not found:
        click.echo("nothing to remove")


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def doctor(as_json: bool) -> None:
    """Check the installation end to end, and print a remedy for each failure.

    It runs hosts in C and Python. The exit status is 0 if no check failed, even if an optional part is missing (--).
    """
    from fpgart.cli import doctor as doctor_checks

    sys.exit(doctor_checks.run_checks(as_json))


def main() -> None:
    """Runs the command; errors are one line each, not a traceback."""
    end_with("fpgart", run_command_line)


def run_command_line() -> int | None:
    """Runs the command of the arguments; returns the exit status."""
    try:
        settings.ORIGINS.update(settings.apply(os.environ, Path.cwd()))
        status: int | None = cli(standalone_mode=False)
        return status
    except click.NoSuchOption as error:
        end(no_such_option(error, sys.argv[1:]), error.exit_code)
    except click.ClickException as error:
        words = error.format_message()
        if words.startswith(HELP):  # a group of commands without a command
            click.echo(words, err=True)
            sys.exit(error.exit_code)
        end(words, error.exit_code)
    except AocxError as error:
        end(str(error), 1)
    except (OptionError, UserError) as error:
        end(str(error), 2)
    except click.Abort:
        end("interrupted", 1)
    except OSError as error:
        if error.filename is None:  # the user named no file
            raise
        end(f"{os.fsdecode(error.filename)}: {error.strerror}", 2)


def end(words: str, status: int) -> NoReturn:
    """Prints the error on stderr, and ends the process."""
    for line in words.splitlines():
        click.echo(f"fpgart: {line}", err=True)
    sys.exit(status)
