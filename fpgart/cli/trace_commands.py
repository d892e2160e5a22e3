# SPDX-License-Identifier: Apache-2.0
"""`fpgart report` and `fpgart diff`: reports of traces."""

from __future__ import annotations

import gzip
import sys
from contextlib import nullcontext
from pathlib import Path

import click

from fpgart.base.output_file import is_same_file
from fpgart.cli.finite import FiniteRange
from fpgart.cli.progress import reading
from fpgart.watch import report as trace_report
from fpgart.watch.report import export

TRACE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=TRACE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=OUTPUT,
    help="Write a page with a timeline, a memory map and tables to a file.",
)
@click.option("--follow", is_flag=True, help="Update the report while the host of the trace runs.")
@click.option(
    "--merged",
    metavar="FILE",
    type=OUTPUT,
    help="Write one trace for Perfetto, with arrows for packets between boards, to a file.",
)
@click.option(
    "--perfetto",
    metavar="FILE",
    type=OUTPUT,
    help="Write Perfetto's own format, with boards as GPUs and counters of banks, to a file.",
)
@click.option("--sarif", metavar="FILE", type=OUTPUT, help="Write findings and advice as SARIF 2.1.0 to a file.")
@click.option("--github", is_flag=True, help="Print only findings and advice, as annotations of GitHub.")
@click.option("--all", "everything", is_flag=True, help="Print all advice, not only the five items that save most.")
def report(
    traces: tuple[Path, ...],
    as_json: bool,
    page: Path | None,
    follow: bool,
    merged: Path | None,
    perfetto: Path | None,
    sarif: Path | None,
    github: bool,
    everything: bool,
) -> None:
    """Summarize a trace: times, traffic, buffers, copies and their causes, advice.

    \b
    fpgart run --trace t.json -- ./my_host
    fpgart report t.json

    The traces of several processes, such as the ranks of mpirun, become one report. Options that write a file
    replace the output.
    """
    for output in (page, merged, perfetto, sarif):
        refuse_overwriting(output, traces)
    collecting = nullcontext() if follow else trace_report.without_collector()
    with trace_report.of_fpgart(Path(", ".join(map(str, traces)))), collecting:
        found = read_report(traces, as_json, page, follow, merged, perfetto)
        remarks = export.of_report(found) if sarif is not None or github else []
        if sarif is not None:
            write_text(sarif, export.as_sarif(remarks))
        if github:
            click.echo(export.as_github(remarks), nl=False)
        if as_json or not (page or merged or perfetto or sarif or github):
            print_report(found, as_json, everything)


def refuse_overwriting(output: Path | None, traces: tuple[Path, ...]) -> None:
    """Raises UsageError if an output is a trace that is read."""
    if output is not None and any(is_same_file(output, trace) for trace in traces):
        raise click.UsageError(f"{output} is a trace that is read: name another file for the output")


def read_report(
    traces: tuple[Path, ...],
    as_json: bool,
    page: Path | None,
    follow: bool,
    merged: Path | None,
    perfetto: Path | None,
) -> trace_report.Report:
    """Returns the report, after writing the wanted files. Raises TraceError."""
    if follow and len(traces) > 1:
        raise click.UsageError("--follow takes one trace")
    with reading(() if follow else traces) as tell:
        if follow:
            read = [follow_trace(trace, draw=not as_json) for trace in traces]
        else:
            read = [trace_report.ordered(trace, tell) for trace in traces]
        events = trace_report.merged(read, [trace.stem for trace in traces])
        found = trace_report.of(events)
        if merged is not None:
            write_text(merged, trace_report.as_trace(events))
        if perfetto is not None:
            from fpgart.watch.perfetto import as_perfetto

            write_bytes(perfetto, as_perfetto(found, events))
        if page is not None:
            from fpgart.watch.page import as_html

            write_text(page, as_html(found, events, ", ".join(trace.name for trace in traces)))
    return found


def print_report(found: trace_report.Report, as_json: bool, everything: bool) -> None:
    if as_json:
        click.echo(trace_report.as_json(found), nl=False)
    elif sys.stdout.isatty():
        from rich.console import Console

        from fpgart.cli.tables import show

        show(found, Console(highlight=False), everything=everything)
    else:
        click.echo(trace_report.as_text(found, everything=everything), nl=False)


def follow_trace(trace: Path, *, draw: bool) -> list[trace_report.Args]:
    """Returns the events of a trace once it is complete; with `draw`, a terminal shows the report before."""
    from rich.console import Console

    from fpgart.cli import following
    from fpgart.cli.tables import show

    console = Console()

    def redraw(found: trace_report.Report) -> None:
        if draw and console.is_terminal:
            console.clear()
            show(found, console)

    return following.follow(trace, redraw)


@click.command()
@click.argument("before", type=TRACE)
@click.argument("after", type=TRACE)
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown, for a pull request.")
@click.option("--json", "form", flag_value="json", help="Print JSON, for programs.")
@click.option(
    "--threshold",
    metavar="PERCENT",
    type=FiniteRange(min=0),
    help="Exit with status 1 if a figure grew by more than this, for new advice, or an incomplete second trace.",
)
@click.option(
    "--gate",
    is_flag=True,
    help="Compare only figures that follow from the host's calls, no times; the default threshold is then 0.",
)
def diff(before: Path, after: Path, form: str | None, threshold: float | None, gate: bool) -> None:
    """Compare the traces of two runs: bytes and calls, times of the model, advice.

    \b
    fpgart run --time model --trace b.json -- ./my_host
    fpgart diff a.json b.json --threshold 5

    With --gate, two runs of one host are equal, because caches, times, addresses, numbers of buffers and hints do
    not count.
    """
    from fpgart.cli.reading import read_beside
    from fpgart.watch.report import difference

    with reading((before, after)) as tell:
        reports = read_beside((before, after), tell)
    found = difference.between(*reports, gate=gate)
    forms = {"markdown": difference.as_markdown, "json": difference.as_json}
    click.echo(forms.get(form or "", difference.as_text)(found), nl=False)
    most = 0.0 if gate and threshold is None else threshold
    if most is not None and found.exceeds(most):
        sys.exit(1)


def write_text(file: Path, text: str) -> None:
    """Writes a file; raises TraceError if it cannot."""
    write_bytes(file, text.encode(errors="replace"))


def write_bytes(file: Path, data: bytes) -> None:
    """Writes a file, compressed if its name ends in .gz. Raises TraceError if it cannot."""
    try:
        file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
    except OSError as error:
        raise trace_report.TraceError(f"{file}: {error.strerror}") from None
