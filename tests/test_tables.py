# SPDX-License-Identifier: Apache-2.0
"""`fpgart report` on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from fpgart.cli.tables import MOST_ROWS, show
from fpgart.watch.report import Advice, BufferLife, Copy, Finding, HeldBlock, KernelRuns, Report, Traffic


def shown(report: Report) -> str:
    out = io.StringIO()
    show(report, Console(file=out, width=160, force_terminal=False))
    return out.getvalue()


def test_each_kind_of_fact_has_its_table() -> None:
    report = Report(boards={0: "a10_ref"}, whole=True, microseconds=1500.0)
    report.traffic[0, "aocl_mmd_write"] = Traffic(2, 2048, 10.0)
    report.kernels[0, "add"] = KernelRuns(3, 2500.0)
    report.buffers[1] = BufferLife(
        1, 1024, 0.0, 900.0, places=[HeldBlock("device 0, DDR", 0.0)], copies=1, copied_bytes=1024
    )
    report.copies.append(Copy(1.0, "WRITE_BUFFER", 1, 1024, "the host's command"))
    text = shown(report)
    assert text.startswith("device 0: board 'a10_ref'; 0 calls in 1.5 ms\n")
    for words in ("aocl_mmd_write      2  2 KiB  0.010", "add        3  2.500", "WRITE_BUFFER", "nothing to avoid"):
        assert words in text


def test_advice_comes_last_with_what_it_saves() -> None:
    report = Report(advice=[Advice("leave it out", 1, 1024, [1])], heap_advice=[Finding("make it larger", 1, 2)])
    assert shown(report).splitlines()[-3:] == [
        "to avoid",
        " 1. leave it out: 1 copy of 1 KiB saved",
        " 2. make it larger",
    ]


def test_long_tables_are_cut_with_a_count() -> None:
    report = Report(buffers={number: BufferLife(number, 64) for number in range(1, MOST_ROWS + 6)})
    assert "and 5 more" in shown(report)


def test_names_are_no_markup() -> None:
    report = Report(kernels={(0, "k[red]"): KernelRuns(1, 1.0)})
    assert "k[red]" in shown(report)
