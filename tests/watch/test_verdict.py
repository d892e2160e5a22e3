# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: where the time goes, what the advice gains; equal advice as one item."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from fpgart.cli.tables import show
from fpgart.watch import report
from fpgart.watch.page import as_html
from fpgart.watch.report import Advice, Report, difference, verdict
from fpgart.watch.report.advice import Adviser
from fpgart.watch.report.found import Found
from fpgart.watch.report.model import CableTraffic, Run
from fpgart.watch.report.text import cables_in_words, run_in_words
from fpgart.watch.report.verdict import folded, total_of

BOARD = {
    "name": "board",
    "cat": "fpgart",
    "ts": 0.0,
    "args": {"device": 0, "board": "b", "memories": [], "timing": {"link": 10**9, "launch_latency": 10_000}},
}
END = {"name": "end", "cat": "fpgart", "ts": 5000.0, "args": {}}


def event(category: str, name: str, begin: float, duration: float, **args: Any) -> report.Args:
    base = {"name": name, "cat": category, "ts": begin, "dur": duration, "pid": 2, "tid": 1, "ph": "X"}
    return base | {"args": {"device": 0, **args}}


def kernel(begin: float, duration: float, name: str = "add") -> report.Args:
    return event("device", "kernel", begin, duration, kernel=name, buffers=[], **{"global": [1]})


def step(begin: int, end: int, name: str = "launch", **args: Any) -> report.Args:
    facts = {
        "begin": begin,
        "end": end,
        "queued": 0,
        "bound": "pipeline",
        "busy": {"pipeline": end - begin},
        "size": 0,
        "command": "C",
    }
    made = event("time", name, begin / 1000, (end - begin) / 1000)
    made["args"] |= facts | args
    return made


def write(begin: float, duration: float, operation: int, **args: Any) -> list[report.Args]:
    facts = {"buffer": 1, "size": 1_000_000, "operation": operation} | args
    moved = event("mmd", "aocl_mmd_write", begin, duration, **facts)
    return [moved, event("device", "transfer", begin, duration, command="WRITE_BUFFER", **facts)]


def of(*events: report.Args) -> Report:
    return report.of(report.in_order([BOARD, *events, END]))


def test_a_run_without_commands_says_so() -> None:
    assert verdict(of()) == ["No command ran on a board."]


def test_measured_time_is_divided_and_programming_stands_apart() -> None:
    programming = event("mmd", "aocl_mmd_program", 1000.0, 400.0, size=64)
    found = of(programming, kernel(1400.0, 750.0), *write(2150.0, 150.0, 1), kernel(2300.0, 100.0))
    assert verdict(found) == [
        "1 ms on this computer: 85 % kernels, 15 % the link; programming apart: 0.4 ms.",
        "There is no advice: nothing to avoid was found.",
    ]
    assert total_of(found) == 1_000_000


def test_the_simulated_clock_goes_before_and_names_what_bounds_kernels() -> None:
    steps = [
        step(0, 2_000_000_000, "program"),
        step(2_000_000_000, 2_000_600_000, kernel="add"),
        step(2_000_600_000, 2_000_700_000, kernel="far", bound="memory 'DDR'"),
        step(2_000_700_000, 2_001_000_000, "write"),
    ]
    found = of(kernel(0.0, 9e6), *steps)
    assert verdict(found)[0] == (
        "1 ms on the board (simulated): 70 % kernels, bound by their pipelines, 30 % the link; "
        "programming apart: 2,000 ms."
    )


def test_what_two_items_save_of_one_operation_counts_once() -> None:
    twice = [*write(100.0, 10.0, 1, unaligned=True), *write(200.0, 10.0, 2, unaligned=True), kernel(300.0, 10.0)]
    found = of(*twice)
    costs = {advice.noun: advice.nanoseconds for advice in found.advice}
    assert costs == {"copy": 1_000_000, "staging copy": 500_000}
    assert found.savings == 1_000_000 + 250_000
    assert verdict(found)[1].startswith("Following the advice saves 1.25 ms on the board; most of it: buffer 1 is")


@pytest.mark.parametrize(("size", "is_told"), [(65536, True), (65535, False)])
def test_a_transfer_of_unaligned_memory_is_told_from_64_kib_on(size: int, is_told: bool) -> None:
    found = of(*write(100.0, 10.0, 1, unaligned=True, size=size), kernel(300.0, 10.0))
    assert [advice.noun for advice in found.advice] == ["staging copy"] * is_told


def test_a_buffer_that_never_moved_has_no_migrations() -> None:
    assert of(*write(100.0, 10.0, 1)).buffers[1].migrations == 0


def test_an_error_that_was_returned_twice_is_one_line_of_the_page() -> None:
    failed = {**event("api", "clFinish", 100.0, 1.0), "args": {"error": "CL_INVALID_COMMAND_QUEUE"}}
    events = report.in_order([BOARD, failed, {**failed, "ts": 200.0}, END])
    assert '<p class="warn">error (2 times): ' in as_html(report.of(events), events, "t.json")


def test_gains_have_a_share_of_the_simulated_time() -> None:
    found = of(*write(100.0, 10.0, 1), *write(200.0, 10.0, 2), kernel(300.0, 10.0), step(0, 4_000_000, kernel="add"))
    assert verdict(found)[1].startswith("Following the advice saves 1 ms (25 %) on the board; most of it: buffer 1 is")
    assert "saved, 1.000 ms on the board (25.0 %)" in report.as_text(found)


def test_what_was_measured_in_the_run_has_no_known_gain_on_the_board() -> None:
    found = of(kernel(0.0, 10.0))
    found.advice.append(Advice("the boards are idle", 1, noun="time", nanoseconds=10**8, measured=True))
    assert verdict(found)[1] == "There is advice (1 item), but how much time it saves on the board is not known."


def test_gains_of_operations_that_overlap_have_no_share_if_they_are_more_than_the_whole() -> None:
    found = of(*write(100.0, 10.0, 1), *write(200.0, 10.0, 2), kernel(300.0, 10.0), step(0, 500_000, kernel="add"))
    assert verdict(found)[1].startswith("Following the advice saves 1 ms on the board; most of it: buffer 1 is")
    assert "saved, 1.000 ms on the board\n" in report.as_text(found)


def test_programming_that_can_be_saved_stands_apart() -> None:
    found = Found()
    found.add("do not", nanoseconds=2_000_000_000, noun="programming")
    found.add("omit it", 64, nanoseconds=1_000_000)
    found.add("idle", nanoseconds=10**9, noun="time", measured=True)
    told = Report(advice=found.advice(), savings=found.savings, activities={"kernels": 10**7})
    assert verdict(told)[1] == (
        "Following the advice saves 1 ms on the board, and 2,000 ms of programming; most of it: do not."
    )


def pair(first: int, second: int, saved: int) -> Advice:
    words = f"put buffers {first}, {second} into different banks of memory 'DDR': all are in bank 1 of 2"
    return Advice(words, 1, noun="time", nanoseconds=saved, places=[f"main.c:{first}"])


def test_equal_advice_is_one_item_with_what_differs() -> None:
    (item,) = folded([pair(1, 2, 50), pair(3, 4, 30), pair(5, 6, 20)])
    assert item.words == f"{pair(1, 2, 0).words}; likewise for 3, 4; 5, 6"
    found = item.summed()
    assert (found.nanoseconds, found.copies, found.places) == (100, 3, ["main.c:1", "main.c:3", "main.c:5"])


def test_items_are_sorted_by_gain_and_those_beyond_five_are_told() -> None:
    advice = [Advice(f"do {letter}", 1, noun="time", nanoseconds=10**6 * n) for n, letter in enumerate("abcdefg", 1)]
    found = Report(whole=True, advice=[*advice, pair(1, 2, 10**7), pair(3, 4, 10**7)])
    lines = report.as_text(found).partition("to avoid\n")[2].splitlines()
    assert [line[:10].strip() for line in lines if not line.startswith("    ")] == [
        "put buff", "do g: 1", "do f: 1", "do e: 1", "do d: 1", "and 3 mo"
    ]  # fmt: skip
    assert "  do a: " in report.as_text(found, everything=True)
    assert "more (" not in report.as_text(found, everything=True)


@pytest.mark.parametrize("width", [40, 80, 1000])
def test_a_terminal_shows_the_same_facts_as_a_pipe(width: int) -> None:
    found = of(*write(100.0, 10.0, 1), *write(200.0, 10.0, 2), kernel(300.0, 10.0))
    found.errors["clFinish: CL_INVALID_COMMAND_QUEUE: [red]no queue[/]"] = 2
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard", highlight=False)
    show(found, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain.split() == report.as_text(found).split()
    assert max(map(len, plain.splitlines())) <= width


def test_the_page_begins_with_the_verdict_and_folds_what_is_beyond_five() -> None:
    events = [BOARD, *write(100.0, 10.0, 1), *write(200.0, 10.0, 2), kernel(300.0, 10.0), END]
    found = report.of(report.in_order(events))
    page = as_html(found, events, "t")
    assert page.index(verdict(found)[0]) < page.index("Where the time went</h2>")
    assert "more</summary>" not in page
    found.advice = [Advice(f"do {letter}", 1, nanoseconds=5) for letter in "abcdefg"]
    assert "<details><summary>2 more</summary>" in as_html(found, events, "t")


def test_the_total_of_a_comparison_is_without_programming() -> None:
    before = of(step(0, 2_000_000_000, "program"), step(2_000_000_000, 2_001_000_000, kernel="add"))
    after = of(step(0, 9_000_000_000, "program"), step(9_000_000_000, 9_001_000_000, kernel="add"))
    changes = [figure.what for figure in difference.between(before, after).figures]
    assert changes == ["device 0: program, in all"]


def test_programming_has_no_share_on_the_page() -> None:
    steps = [step(0, 2_000_000_000, "program"), step(2_000_000_000, 2_001_000_000, kernel="add")]
    events = report.in_order([BOARD, kernel(0.0, 100.0), *steps, END])
    page = as_html(report.of(events), events, "t")
    assert "modelled for the board: <b>1 ms</b><span class='note'>; programming apart: 2 s" in page
    (row,) = re.findall(r"<tr><th scope=\"row\">[^\n]*?</span>programming</th>.*?</tr>", page)
    assert ">apart<" in row
    assert "%" not in row
    (other,) = re.findall(r"<tr><th scope=\"row\">[^\n]*?</span>kernel add</th>.*?</tr>", page)
    assert "100.0 %" in other


def test_a_program_on_the_command_line_is_told_by_its_first_line() -> None:
    run = Run(["python", "-c", "\nimport fpgart\nfpgart.report()\n"])
    assert run_in_words(run) == ["  python -c 'import fpgart ...'"]
    assert run_in_words(Run(["host", "a b", ""])) == ["  host 'a b' ''"]


def test_kernels_and_pipes_of_sycl_have_their_names_in_the_source() -> None:
    symbol = "_ZN4sycl3_V13ext5intel4pipeI7BetweeniLi8EE9m_StorageE"
    ends = ["_ZTS8Producer", "_ZTS8Consumer"]
    pipe = event("pipe", symbol, 1.0, 0.0, packet=4, capacity=1, kernels=ends)
    made = report.of(report.in_order([BOARD, pipe, *(kernel(2.0, 1.0, name) for name in ends), END]))
    assert sorted(name for _, name in made.kernels) == ["Consumer", "Producer"]
    told = report.as_text(made).splitlines()
    assert (
        "  device 0: sycl::ext::intel::pipe<Between, int, 8>: 1 packet of 4 bytes; kernels Producer, Consumer" in told
    )


def test_advice_for_pipes_in_simulated_time_is_in_the_words_of_sycl() -> None:
    symbol = "_ZN4sycl3_V13ext5intel4pipeI7BetweeniLi8EE9m_StorageE"
    waits = {"channel": symbol, "kernel": "_ZTS8Producer", "writing": True, "depth": 8, "packets": 9, "waited": 5}
    facts = {"kernel": "_ZTS8Producer", "bound": f"channel '{symbol}' full", "busy": {}, "size": 0, "queued": 0}
    facts |= {"submit": 0, "begin": 0, "end": 9, "command": "TASK", "banks": {}, "channels": [waits]}
    facts["deeper"] = {"depths": {symbol: 64}, "saved": 7_000_000}
    step = {**event("time", "kernel", 1.0, 1.0), "args": {"device": 0, **facts}}
    made = report.of(report.in_order([BOARD, step, END]))
    (found,) = made.advice
    pipe = "sycl::ext::intel::pipe<Between, int, 8>"
    assert found.words.startswith("make pipes of device 0 deeper (the parameter min_capacity): ")
    assert f"pipe '{pipe}' 8 packets deep, which should be 64" in found.words
    assert [name for _, name in made.channels] == [pipe]


def test_causes_of_copies_have_the_names_of_sycl_kernels_in_the_source() -> None:
    moved = {"buffer": 1, "size": 4, "skipped": False, "from": "device 0, A at 0x0", "to": "device 0, B at 0x1"}
    reason = "argument 0 ('x') of kernel '_ZTS8Producer'"
    made = report.of(report.in_order([BOARD, event("device", "migration", 1.0, 0.0, reason=reason, **moved), END]))
    assert [copy.cause for copy in made.copies] == ["argument 0 ('x') of kernel 'Producer'"]


def test_the_page_has_a_table_of_pipes() -> None:
    pipe = event("pipe", "p", 1.0, 0.0, packet=4, capacity=8, kernels=["Producer"])
    events = report.in_order([BOARD, pipe, END])
    page = as_html(report.of(events), events, "t")
    assert '<a href="#pipes">pipes</a>' in page
    assert '<tr><td class="n">0</td><td>p</td><td class="n">4</td><td class="n">8</td><td>Producer</td></tr>' in page
    without = report.in_order([BOARD, END])
    assert "#pipes" not in as_html(report.of(without), without, "t")


def test_a_sycl_program_is_advised_to_name_the_memory_in_its_accessors() -> None:
    """It cannot set arguments: the runtime does, after it has written the buffer."""
    moved = {"buffer": 1, "size": 4, "skipped": False, "from": "device 0, DDR at 0x0", "to": "device 0, HBM at 0x1"}
    memories = [{"name": name, "banks": 1, "interleaved": False} for name in ("DDR", "HBM")]
    board = {**BOARD, "args": {"device": 0, "board": "b", "memories": memories}}
    written = event("device", "transfer", 1.0, 0.0, buffer=1, size=4, command="WRITE_BUFFER")
    reason = "argument 0 ('x') of kernel '_ZTS8Producer'"
    adviser = Adviser()
    for each in report.in_order([board, written, event("device", "migration", 2.0, 0.0, reason=reason, **moved)]):
        for take in adviser.takers(each.get("cat", ""), each["name"]):
            take(each)
    assert [each.words for each in adviser.advice()] == [
        "give all accessors to buffer 1 the property buffer_location<1> (HBM), "
        "where argument 0 ('x') of kernel 'Producer' needs it"
    ]


def test_the_traffic_of_each_cable_is_told_if_there_are_cables() -> None:
    assert cables_in_words(Report()) == []
    traffic = CableTraffic("0:out->1:in", writes=True, launches=1, packets=2, bytes=4000, microseconds=2000)
    (*_, line) = cables_in_words(Report(cables={(0, "out"): traffic}))
    assert "to 'out': 2 packets, 3.906 KiB, 2.000 ms, 2.0 MB/s (0:out->1:in)" in line
