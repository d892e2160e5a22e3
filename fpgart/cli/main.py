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

from fpgart import config
from fpgart.aocx.errors import AocxError
from fpgart.cli import doctor as doctor_checks
from fpgart.cli import information, registration, running
from fpgart.cli.sdk import SdkError
from fpgart.cli.serving import board as board_commands
from fpgart.cli.validation import refuse_wrong_options
from fpgart.config import OptionError
from fpgart.serving.places import ServiceError
from fpgart.version import __version__
from fpgart.watch import report as trace_report
from fpgart.watch.captured import CaptureError


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="fpgart")
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


cli.add_command(board_commands)


@cli.command(context_settings={"allow_interspersed_args": False})
@click.option("--board", metavar="NAME,...", help="Boards, one per device (see `fpgart info`).")
@click.option("--platform", metavar="NAME", help="Name of the platform that hosts see (see `fpgart info`).")
@click.option(
    "--topology",
    metavar="FILE|NAME|CABLES",
    help="Which I/O channels are connected: a .yaml file, ring, torus:2x4, ..., or cables (docs/clusters.md).",
)
@click.option(
    "--engine", metavar="NAME", help="What executes kernels: auto, pocl, intel, oclgrind, or the path of a driver."
)
@click.option("--trace", metavar="FILE", help="Write a trace of the run, for `fpgart report` and Perfetto.")
@click.option("--faults", metavar="SPEC", help="Board calls that fail, such as write:fail:nth=3 (docs/faults.md).")
@click.option(
    "--time", "clock", type=click.Choice(("real", "model")), help="Times that profiling reports (docs/time.md)."
)
@click.option(
    "--check",
    metavar="NAME,...",
    is_flag=False,
    flag_value="all",
    help="Look for mistakes: usm, buffers, order, fpga (the default), kernels (docs/checks.md).",
)
@click.option(
    "--fail-on-finding", is_flag=True, help="Exit with status 3 for findings of --check (all by default) or --leaks."
)
@click.option("--summary", is_flag=True, help="Print on stderr, at the end, which data moved where.")
@click.option("--log", is_flag=True, help="Print on stderr why each failing call failed.")
@click.option(
    "--leaks",
    is_flag=True,
    help="Print on stderr, at the end, which objects were never released and what created them.",
)
@click.option(
    "--wrappers",
    metavar="NAME,...",
    help="Functions and files of the host that only wrap calls: findings name their callers.",
)
@click.option(
    "--watchdog", metavar="SECONDS", help="Report who waits for whom when nothing has progressed for that long."
)
@click.option(
    "--capture", metavar="DIR", help="Save launches there, with everything needed to run them again (`fpgart replay`)."
)
@click.option(
    "--capture-kernels", metavar="NAME[:N[-M]],...", help="Which launches to save; default: the first of each kernel."
)
@click.option("--isolate", is_flag=True, help="Run kernels in a process of their own (docs/isolation.md).")
@click.option("--served", metavar="NAME", help="Use the boards of a service: see `fpgart board` and docs/serving.md.")
@click.option("--require-use", is_flag=True, help="Exit with status 4 if the program ran no kernel on a board.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
def run(
    board: str | None,
    platform: str | None,
    topology: str | None,
    engine: str | None,
    trace: str | None,
    faults: str | None,
    clock: str | None,
    check: str | None,
    fail_on_finding: bool,
    summary: bool,
    log: bool,
    leaks: bool,
    wrappers: str | None,
    watchdog: str | None,
    capture: str | None,
    capture_kernels: str | None,
    isolate: bool,
    served: str | None,
    require_use: bool,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM with this driver as its only OpenCL platform.

    fpgart itself prints nothing; output and exit status are those of the program. Everything that follows the
    program, or --, belongs to the program:

        fpgart run --board a10_ref,a10_ref -- python train.py --epochs 3

    Invalid options end the run with status 2 before the program starts.
    """
    wanted = {
        "FPGART_BOARD": board,
        "FPGART_PLATFORM": platform,
        "FPGART_TOPOLOGY": topology,
        "FPGART_ENGINE": engine,
        "FPGART_TRACE": trace,
        "FPGART_FAULTS": faults,
        "FPGART_TIME": clock,
        "FPGART_CHECK": check or ("all" if fail_on_finding and not (leaks or config.CHECK.is_set) else None),
        "FPGART_SUMMARY": "stderr" if summary else None,
        "FPGART_LOG": "stderr" if log else None,
        "FPGART_LEAKS": "1" if leaks else None,
        "FPGART_WRAPPERS": wrappers,
        "FPGART_WATCHDOG": watchdog,
        "FPGART_LIVE": None if config.LIVE.is_set else "1",
        "FPGART_CAPTURE": capture,
        "FPGART_CAPTURE_KERNELS": capture_kernels,
        "FPGART_ISOLATE": "1" if isolate else None,
        "FPGART_SERVED": served,
    }
    given = {name: value for name, value in wanted.items() if value}
    begin(given)
    given |= running.place_in_topology() | running.boards_of_service()
    if require_use or fail_on_finding:
        sys.exit(running.run_and_judge(program, given, require_use=require_use, fail_on_finding=fail_on_finding))
    running.replace_process(program, given)


SPELLING = {
    "FPGART_BOARD": "--board",
    "FPGART_PLATFORM": "--platform",
    "FPGART_TOPOLOGY": "--topology",
    "FPGART_ENGINE": "--engine",
    "FPGART_TRACE": "--trace",
    "FPGART_FAULTS": "--faults",
    "FPGART_CHECK": "--check",
    "FPGART_WRAPPERS": "--wrappers",
    "FPGART_WATCHDOG": "--watchdog",
    "FPGART_SERVED": "--served",
    "FPGART_CAPTURE": "--capture",
    "FPGART_CAPTURE_KERNELS": "--capture-kernels",
}
"""What `fpgart run` calls the options that take a value."""


def begin(given: dict[str, str]) -> None:
    """Apply the options of the command line. Raises OptionError if they, or the environment, are invalid."""
    os.environ.update(given)
    refuse_wrong_options({name: flag for name, flag in SPELLING.items() if name in given})
    for words in config.misspelt(os.environ):
        click.echo(f"fpgart: {words}", err=True)


@cli.command()
@click.option("--register", "action", flag_value="register", help="Put fpgart.icd where loaders look for it.")
@click.option("--unregister", "action", flag_value="unregister", help="Remove fpgart.icd from there.")
@click.option("--system", is_flag=True, help="For all users (/etc/OpenCL/vendors) instead of only for yourself.")
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
def fcd() -> None:
    """Print the folder for ACL_BOARD_VENDOR_PATH, to use the original runtime on these boards (docs/mmd.md).

    ACL_BOARD_VENDOR_PATH=$(fpgart fcd) ./my_host
    """
    click.echo(registration.board_folder())


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def info(as_json: bool) -> None:
    """Show boards, engines, versions and every environment variable with its value."""
    click.echo(information.as_json() if as_json else information.as_text(), nl=False)
    for words in config.misspelt(os.environ):
        click.echo(f"fpgart: {words}", err=True)
    refuse_wrong_options({})


@cli.command()
@click.argument(
    "traces",
    metavar="TRACE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with a timeline, a memory map and tables instead.",
)
@click.option("--follow", is_flag=True, help="Update the report as the trace grows, until its process has ended.")
@click.option(
    "--merged",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one trace for Perfetto instead, with arrows for packets between boards.",
)
def report(traces: tuple[Path, ...], as_json: bool, page: Path | None, follow: bool, merged: Path | None) -> None:
    """Summarize a trace: traffic, buffers, copies and their causes, copies to avoid.

    fpgart run --trace t.json -- ./my_host; fpgart report t.json

    The traces of several processes, such as the ranks of mpirun, become one report.
    """
    with trace_report.of_fpgart(Path(", ".join(map(str, traces)))):
        show_report(traces, as_json, page, follow, merged)


def show_report(traces: tuple[Path, ...], as_json: bool, page: Path | None, follow: bool, merged: Path | None) -> None:
    """Raises TraceError."""
    if follow and len(traces) > 1:
        raise click.UsageError("--follow takes one trace")
    read = [follow_trace(trace, draw=not as_json) if follow else trace_report.ordered(trace) for trace in traces]
    events = trace_report.merged(read, [trace.stem for trace in traces])
    found = trace_report.of(events)
    if merged is not None:
        write_text(merged, trace_report.as_trace(events))
    if page is not None:
        write_page(page, found, events, ", ".join(trace.name for trace in traces))
    if (page is not None or merged is not None) and not as_json:
        return
    if as_json:
        click.echo(trace_report.as_json(found), nl=False)
    elif sys.stdout.isatty():
        from rich.console import Console

        from fpgart.cli.tables import show

        show(found, Console())
    else:
        click.echo(trace_report.as_text(found), nl=False)


def follow_trace(trace: Path, *, draw: bool) -> list[trace_report.Args]:
    """The events of a trace once it is whole; a terminal sees the report grow before, if it is to `draw` it."""
    from rich.console import Console

    from fpgart.cli import following
    from fpgart.cli.tables import show

    console = Console()

    def redraw(found: trace_report.Report) -> None:
        if draw and console.is_terminal:
            console.clear()
            show(found, console)

    return following.follow(trace, redraw)


@cli.command()
@click.argument("process", metavar="[PID]", required=False, type=click.IntRange(min=1))
@click.option("--once", is_flag=True, help="Take two samples, print the state and the rates between them, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs: a line per host and sample.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1, max=3600),
    default=1.0,
    show_default=True,
    help="Time between two samples.",
)
def top(process: int | None, once: bool, as_json: bool, interval: float) -> None:
    """Show what running hosts do on their boards: memory, queues, running kernels, MB/s; q quits.

    It shows your hosts that `fpgart run` started or that run with FPGART_LIVE=1, not those of other users.
    With --once, the exit status is 1 if no host answers.
    """
    from rich.console import Console

    from fpgart.cli import top as live_view

    looks = live_view.Looks(process)
    console = Console(width=None if sys.stdout.isatty() else live_view.WIDTH, highlight=False)
    if not once and not as_json and console.is_terminal:
        live_view.show(looks, interval, console)
        return
    while True:
        if once and looks.look():  # rates need a look before
            time.sleep(interval)
        pairs = looks.look()
        for before, now in pairs if as_json else ():
            click.echo(json.dumps(live_view.with_rates(before, now)))
        if not as_json:
            console.print(live_view.screen(pairs))
        if once:
            sys.exit(0 if pairs else 1)
        time.sleep(interval)


@cli.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown, for a pull request.")
@click.option("--json", "form", flag_value="json", help="Print JSON, for programs.")
@click.option(
    "--threshold",
    metavar="PERCENT",
    type=click.FloatRange(min=0),
    help="Exit with status 1 if a figure grew by more than this, or if there is new advice.",
)
def diff(before: Path, after: Path, form: str | None, threshold: float | None) -> None:
    """Compare the traces of two runs: what moved more, what takes longer by the model of time, which advice is new.

    fpgart run --time model --trace b.json -- ./my_host; fpgart diff a.json b.json --threshold 5
    """
    from fpgart.watch.report import difference

    found = difference.between(trace_report.read(before), trace_report.read(after))
    forms = {"markdown": difference.as_markdown, "json": difference.as_json}
    click.echo(forms.get(form or "", difference.as_text)(found), nl=False)
    if threshold is not None and found.exceeds(threshold):
        sys.exit(1)


def write_page(file: Path, found: trace_report.Report, events: list[trace_report.Args], title: str) -> None:
    """Raises TraceError when it cannot."""
    from fpgart.watch.page import as_html

    write_text(file, as_html(found, events, title))


def write_text(file: Path, text: str) -> None:
    """Raises TraceError when it cannot."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise trace_report.TraceError(f"{file}: {error.strerror}") from None


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
@click.option("--seconds", metavar="N", type=click.FloatRange(0.1), default=60.0, help="Time limit of a run (60).")
@click.argument("program", nargs=-1, required=True)
def channels(board: str | None, seeds: int, most: int, seconds: float, program: tuple[str, ...]) -> None:
    """Run a host repeatedly with different channel depths and arrival times of packets.

    The first depths are those of the source. A change in the output or the exit status may happen on a board, too;
    the exit status is then 3.
    """
    from fpgart.cli import exploring

    extra = {"FPGART_BOARD": board} if board else {}
    sys.exit(exploring.explore(program, extra, seeds, most, seconds, click.echo))


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--engine", metavar="NAME", help="What executes the kernel: auto, pocl, intel, or the path of a driver.")
@click.option("--board", metavar="NAME", help="The board; default: the one that the launch was captured on.")
@click.option(
    "--tolerance",
    metavar="X",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Allowed difference of floating-point values, relative to the greater one, or to 1 if that is less.",
)
def replay(folder: Path, engine: str | None, board: str | None, tolerance: float) -> None:
    """Run captured launches alone and compare the memory that they write with what was captured.

    fpgart run --capture DIR --capture-kernels 'add:3' -- ./my_host; fpgart replay DIR --engine intel

    DIR is the folder of one launch, or a folder with several of these. The exit status is 1 if anything differs
    and 2 if a launch cannot be run.
    """
    from fpgart.cli import replay as replaying

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


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aoc(words: tuple[str, ...]) -> None:
    """Compile OpenCL C into an .aocx for a board, as Intel's aoc does (`fpgart aoc -help`)."""
    from fpgart.cli.aoc import compile_command

    sys.exit(compile_command(list(words)))


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aocl(words: tuple[str, ...]) -> None:
    """Do what Intel's aocl does: flags for hosts, boards, containers (`fpgart aocl help`)."""
    from fpgart.cli.aocl import run as answer

    sys.exit(answer(list(words)))


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def clocl(words: tuple[str, ...]) -> None:
    """Compile OpenCL C for a 66AK2x, as TI's clocl does (`fpgart clocl --help`)."""
    from fpgart.cli.clocl import run as compile_for_dsp

    sys.exit(compile_for_dsp(list(words)))


@cli.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
def sdk(folder: Path | None) -> None:
    """Create an SDK folder (aocl, aoc, headers, libraries, boards) and print the shell commands that activate it.

    eval "$(fpgart sdk)"; make
    """
    from fpgart.cli import sdk as folders

    click.echo(folders.export_lines(folders.lay_out(folder or folders.default_root())), nl=False)


@cli.command()
def cflags() -> None:
    """Print the compiler flags for hosts."""
    from fpgart.cli import sdk as folders

    click.echo(f"-I{folders.HEADERS}")


@cli.command()
@click.option("--cmake-dir", "place", flag_value="cmake", help="Print the folder for -Dfpgart_DIR=... instead.")
@click.option("--pkg-config-dir", "place", flag_value="pkgconfig", help="Print the folder for PKG_CONFIG_PATH instead.")
def libs(place: str | None) -> None:
    """Print the linker flags for hosts that use this driver as their OpenCL library, without a loader.

    cc host.c $(fpgart cflags) $(fpgart libs)
    """
    from fpgart.cli import sdk as folders

    straight = f"-L{registration.PACKAGE} -Wl,-rpath,{registration.PACKAGE} -lalteracl -lfpgart"
    click.echo({"cmake": folders.CMAKE, "pkgconfig": folders.PKG_CONFIG}.get(place or "", straight))


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aocx(words: tuple[str, ...]) -> None:
    """Show, extract or check an .aocx or .aocr file."""
    from fpgart.cli.aoc import aocx as group

    group(list(words), prog_name="fpgart aocx", standalone_mode=False)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def doctor(as_json: bool) -> None:
    """Check the installation end to end, and print for each failure what to do.

    Runs hosts in C and Python. The exit status is 0 if no check failed, even if an optional part is missing (--).
    """
    sys.exit(doctor_checks.run_checks(as_json))


def main() -> None:
    """Entry point; errors are one line each, not a traceback."""
    try:
        sys.exit(cli(standalone_mode=False))
    except click.ClickException as error:
        end(error.format_message(), error.exit_code)
    except AocxError as error:
        end(str(error), 1)
    except (
        OptionError,
        registration.RegistrationError,
        running.RunError,
        SdkError,
        ServiceError,
        trace_report.TraceError,
        CaptureError,
    ) as error:
        end(str(error), 2)
    except click.Abort:
        end("interrupted", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has what it wanted
        sys.exit(1)
    except OSError as error:
        if error.filename is None:  # no file that the user has named
            raise
        end(f"{os.fsdecode(error.filename)}: {error.strerror}", 2)


def end(words: str, status: int) -> NoReturn:
    """Say on stderr what is wrong, and end."""
    for line in words.splitlines():
        click.echo(f"fpgart: {line}", err=True)
    sys.exit(status)
