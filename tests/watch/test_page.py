"""`fpgart report --html`: what is in the page, and what a browser does with it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import ARGUMENTS, browser, chromium, driver, wait_for
from hypothesis import given
from hypothesis import strategies as st
from processes import fpgart
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from fpgart.base.ranges import together
from fpgart.watch import history, lanes, time_use
from fpgart.watch.page import colours, figures, tables, where
from fpgart.watch.report.advice import Adviser
from fpgart.watch.report.text import saved

MEMORIES = [
    {"name": "DDR", "begin": "0x0", "size": 4096, "banks": 2, "interleaved": True, "buffers": True, "bandwidth": 100},
    {
        "name": "HBM",
        "begin": "0x1000",
        "size": 4096,
        "banks": 4,
        "interleaved": False,
        "buffers": True,
        "bandwidth": 40,
    },
]
ROUNDS = 120
NASTY = "</script><script>document.title = 'broken'</script><b>&amp;"


def event(category: str, name: str, at: float, duration: float | None = None, track: int = 7, **args: Any) -> Any:
    made: dict[str, Any] = {"cat": category, "name": name, "pid": 1 if category != "device" else 2, "tid": track}
    made |= {"ts": at, "args": args, "ph": "i" if duration is None else "X"}
    return made if duration is None else made | {"dur": duration}


def block(name: str, at: float, buffer: int, address: int, size: int, memory: str = "HBM") -> Any:
    return event("memory", name, at, device=0, memory=memory, bank=1, address=hex(address), size=size, buffer=buffer)


def board() -> Any:
    return event("fpgart", "board", 0.0, device=0, board="b", memories=MEMORIES)


def written(file: Path, events: list[Any]) -> Path:
    file.write_text("[\n" + "".join(f"{json.dumps(each)},\n" for each in events))
    return file


# What the page is made from


def kernels(*times: tuple[float, float], name: str = "k") -> list[Any]:
    return [event("device", "kernel", at, took, device=0, kernel=name, buffers=[]) for at, took in times]


def lane(found: list[lanes.Lane], name: str) -> lanes.Lane:
    return next(each for each in found if each.name == name)


def test_spans_of_one_lane_that_overlap_get_rows_of_their_own() -> None:
    spans = lane(lanes.real(kernels((0, 10), (5, 10), (10, 5), (20, 1))), "kernel k").spans
    assert [(span.begin, span.row) for span in spans] == [(0, 0), (5000, 1), (10000, 0), (20000, 0)]


def test_skipped_migrations_are_no_spans() -> None:
    assert lanes.real([event("device", "migration", 1, 0, device=0, skipped=True)]) == []


def test_each_kernel_has_a_lane_that_stays_where_it_is() -> None:
    """By its name: not by when it ran, nor how often."""
    found = [*kernels((0, 1), name="b"), *kernels((2, 1), (4, 1), name="a"), *kernels((6, 1), name="b")]
    names = [each.name for each in lanes.real(found) if each.rank == lanes.KERNEL]
    assert names == ["kernel a", "kernel b"]


def test_the_axis_begins_at_the_first_command() -> None:
    setup = [event("api", "clGetPlatformIDs", 1, 2), event("api", "clBuildProgram", 5, 90)]
    assert lanes.first_command([*setup, event("api", "clEnqueueWriteBuffer", 100, 5), *kernels((101, 1))]) == 100_000
    assert lanes.first_command(setup) == 0


def test_simulated_steps_have_lanes_by_resource() -> None:
    found = lanes.simulated([step("write", 0, 10), step("kernel", 10, 30, kernel="k")])
    assert [(each.name, each.spans[0].begin, each.spans[0].end) for each in found] == [
        ("kernel k", 10, 30),
        ("PCIe write", 0, 10),
    ]


def test_banks_have_lanes_of_the_intervals_in_which_steps_have_them() -> None:
    made = step("kernel", 10, 30, kernel="k")
    made["args"]["banks"] = {"memory 'DDR' bank 1": [(12, 15), (20, 30)], "memory 'DDR' bank 2": [(12, 14)]}
    found = [lane for lane in lanes.simulated([made]) if lane.rank == lanes.BANK]
    assert [(lane.name, [(span.name, span.begin, span.end) for span in lane.spans]) for lane in found] == [
        ("memory 'DDR' bank 1", [("k", 12, 15), ("k", 20, 30)]),
        ("memory 'DDR' bank 2", [("k", 12, 14)]),
    ]


def test_what_banks_do_has_no_time_of_its_own() -> None:
    made = step("write", 10, 30)
    made["args"]["banks"] = {"memory 'DDR'": [(10, 50)]}
    use = time_use.of_simulated([made], lanes.simulated([made]))
    assert use is not None
    assert {part.name: part.own for part in use.parts} == {"link, host to board": 20, time_use.WAITING: 10}


def step(name: str, begin: int, end: int, kernel: str = "") -> Any:
    """A step in the simulated clock, in nanoseconds."""
    resource = "pipeline" if kernel else "programming" if name == "program" else f"PCIe {name}"
    busy = {resource: end - begin, "memory 'DDR'": (end - begin) // 2}
    args = {"device": 0, "command": "X", "queued": 0, "begin": begin, "end": end, "bound": resource, "busy": busy}
    args |= {"size": 64} | ({"kernel": kernel} if kernel else {})
    return event("time", name, begin / 1000, (end - begin) / 1000, **args)


# Where the time went


SHARES = [
    ("equals that share it", [(0, 10, 0, "a"), (6, 15, 0, "b"), (8, 10, 0, "b")], {"a": 8, "b": 7}),
    ("the lower rank", [(0, 10, 1, "a"), (2, 4, 0, "b")], {"a": 8, "b": 2}),
    ("nobody in a gap", [(0, 2, 0, "a"), (5, 6, 0, "a")], {"a": 3}),
    ("one inside another", [(0, 10, 0, "a"), (2, 4, 0, "b"), (20, 21, 1, "b")], {"a": 9, "b": 2}),
]


@pytest.mark.parametrize(("intervals", "had"), [case[1:] for case in SHARES], ids=[case[0] for case in SHARES])
def test_each_moment_belongs_to(intervals: list[tuple[int, int, int, str]], had: dict[str, float]) -> None:
    assert time_use.owned(intervals) == had


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(0, 3)), max_size=12))
def test_all_time_in_which_something_happens_belongs_to_one_thing(made: list[tuple[int, int, int]]) -> None:
    intervals = [(begin, begin + length, rank, f"{n}") for n, (begin, length, rank) in enumerate(made)]
    had = time_use.owned(intervals)
    moments = len({at for begin, end, *_ in intervals for at in range(begin, end)})
    assert sum(had.values()) == pytest.approx(moments)
    assert together([(begin, end) for begin, end, *_ in intervals]) == moments


def test_the_shares_of_real_time_add_up_from_the_first_command() -> None:
    found = [
        event("api", "clBuildProgram", 0, 50),
        event("api", "clEnqueueWriteBuffer", 100, 20),
        event("mmd", "aocl_mmd_write", 105, 10, device=0, size=4),
        *kernels((130, 30)),
    ]
    use = time_use.of_real(found, lanes.real(found), 200_000)
    assert (use.total, use.before) == (100_000, 100_000)
    assert {part.name: part.own for part in use.parts} == {
        "kernel k": 30_000,
        "link, host to board": 10_000,
        time_use.CALLS: 10_000,
        time_use.OWN: 50_000,
    }


def test_the_shares_of_simulated_time_have_banks_and_can_do_without_programming() -> None:
    found = [step("program", 0, 1000), step("kernel", 1010, 1110, kernel="k"), step("read", 1110, 1210)]
    use = time_use.of_simulated(found, lanes.simulated(found))
    assert use is not None
    assert (use.total, use.of_commands().total) == (1210, 210)
    assert [(part.name, part.busy) for part in use.banks] == [("device 0, memory 'DDR'", 600)]


def test_a_bar_has_no_part_without_time_of_its_own() -> None:
    kernel, hidden = time_use.Part("kernel k", "kernel", 100, 100), time_use.Part("copies", "copy", 0, 50)
    bar = where._bar("Real time", time_use.TimeUse(100, 0, [kernel, hidden]), colours.Colours([]), "programming")
    assert "kernel k" in bar
    assert "copies" not in bar


def test_a_timeline_has_all_lanes_and_only_the_simulated_axis_folds_programming() -> None:
    found = lanes.simulated([step("program", 10, 1000), step("kernel", 1010, 1110, kernel="k")])
    words = figures.Words()
    made = [figures.timeline(found, 0, 1110, colours.Colours(found), words, folds=folds) for folds in (True, False)]
    assert [each["folds"] for each in made] == [[(10, 1000)], []]
    assert [each["name"] for each in made[0]["lanes"]] == [each.name for each in found]


def test_without_a_simulated_clock_there_is_no_simulated_time() -> None:
    assert time_use.of_simulated(kernels((0, 1)), []) is None


# What memories held


def test_a_block_over_several_banks_is_a_box_in_each() -> None:
    found = history.boxes([board(), block("reserve", 1, 1, 0x1000 + 768, 1536), block("free", 4, 1, 0x1300, 1536)], 9)
    assert [(box.bank, box.offset, box.size) for box in found] == [(0, 768, 256), (1, 0, 1024), (2, 0, 256)]
    assert {(box.begin, box.end) for box in found} == {(1, 4)}


def test_a_block_that_is_never_freed_lasts_to_the_end() -> None:
    (box,) = history.boxes([board(), block("reserve", 1, 1, 0x1000, 512)], 9)
    assert box.end == 9


def test_an_address_that_is_used_again_at_once_belongs_to_both_blocks() -> None:
    """The free may be told after the next reserve, by another thread."""
    events = [board(), block("reserve", 1, 1, 0x1000, 512), block("reserve", 4, 2, 0x1000, 512)]
    found = history.boxes([*events, block("free", 4.001, 1, 0x1000, 512)], 9)
    assert [(box.buffer, box.end) for box in found] == [(1, 4.001), (2, 9)]


def test_holes_are_what_lies_free_below_the_last_block_of_a_bank() -> None:
    events = [
        board(),
        block("reserve", 1, 1, 0x1000, 100),
        block("reserve", 2, 2, 0x1064, 50),
        block("reserve", 3, 3, 0x1400, 10),
        block("free", 4, 1, 0x1000, 100),
        block("free", 5, 2, 0x1064, 50),
    ]
    steps = history.occupancy(history.boxes(events, 9), 9)
    assert list(zip(steps.at, steps.used, steps.holes, strict=True)) == [
        (0, 0, 0), (1, 100, 0), (2, 150, 0), (3, 160, 0), (4, 60, 100), (5, 10, 0), (9, 10, 0),
    ]  # fmt: skip


LEAST_TIMES = [
    ("interleaved banks work together", [(0x0, 1000)], 10),
    ("each separate bank has its share", [(0x1000, 1000)], 100),
    ("separate banks work at the same time", [(0x1000, 1000), (0x1400, 1000)], 100),
    ("one bank takes one after the other", [(0x1000, 500), (0x1200, 500)], 100),
    ("the slowest memory bounds", [(0x0, 1000), (0x1000, 10)], 10),
]


@pytest.mark.parametrize(("places", "least"), [case[1:] for case in LEAST_TIMES], ids=[c[0] for c in LEAST_TIMES])
def test_what_bandwidth_allows(places: list[tuple[int, int]], least: float) -> None:
    events = [board()]
    for buffer, (address, size) in enumerate(places, 1):
        memory = "DDR" if address < 0x1000 else "HBM"
        events.append(block("reserve", 1, buffer, address, size, memory))
    events.append(event("device", "kernel", 2, 5, device=0, kernel="k", buffers=list(range(1, len(places) + 1))))
    (use,) = history.uses(events)
    assert use.least_microseconds == pytest.approx(least)
    assert (use.bytes, use.microseconds, use.unknown) == (sum(size for _, size in places), 5, False)


def test_a_copy_is_bounded_by_its_source_too() -> None:
    move = event("mmd", "aocl_mmd_copy", 1, 3, device=0, address="0x0", source_address="0x1000", size=1000)
    (use,) = history.uses([board(), move])
    assert (use.bytes, use.least_microseconds) == (1000, pytest.approx(100))


# The page


def many_events(rounds: int) -> list[Any]:
    """A host that writes buffers, runs a kernel on each and reads it back, three at a time: 9 events each."""
    made: list[Any] = [board(), {"name": "thread_name", "ph": "M", "pid": 1, "tid": 7, "args": {"name": NASTY}}]
    for number in range(1, rounds + 1):
        at, address = number * 100.0, 0x1000 + number % 3 * 1024
        one = {"device": 0, "buffer": number, "size": 512}
        made += [
            event("buffer", "create", at, buffer=number, size=512, flags="0x1"),
            block("reserve", at + 1, number, address, 512),
            event("api", "clEnqueueWriteBuffer", at + 1.5, 0.4, enqueued=number),
            event("mmd", "aocl_mmd_write", at + 2, 10, address=hex(address), operation=number, enqueued=number, **one),
            event(
                "device",
                "transfer",
                at + 2,
                11,
                track=1,
                command="WRITE_BUFFER",
                operation=number,
                enqueued=number,
                **one,
            ),
            event("api", "clEnqueueNDRangeKernel", at + 20, 5),
            event("device", "kernel", at + 30, 60, track=1, device=0, kernel=NASTY, buffers=[number]),
            block("free", at + 290, number, address, 512),
            event("buffer", "release", at + 291, buffer=number),
        ]
    return made


class Tags(HTMLParser):
    """The elements of a page, and what they would have a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.elsewhere: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attributes:
            if name in ("src", "srcset", "data") or (name == "href" and not (value or "").startswith(("#", "data:"))):
                self.elsewhere.append(f"{tag} {name}={value}")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that the browser loads quickly."""
    return page_of(many_events(ROUNDS), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of more buffers and copies than its tables show."""
    return page_of(many_events(tables.MOST_ROWS + 251), tmp_path_factory.mktemp("long"))


def page_of(events: list[Any], folder: Path) -> Path:
    file = folder / "page.html"
    result = fpgart("report", written(folder / "trace.json", events), "--html", file)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    return file


def test_the_page_loads_nothing(page: Path) -> None:
    tags = Tags()
    tags.feed(page.read_text())
    assert "script" in tags.names
    assert tags.elsewhere == []


def test_what_a_host_chose_as_name_is_no_part_of_the_page(page: Path) -> None:
    assert NASTY not in page.read_text()


@pytest.mark.parametrize("table", ["buffers", "copies"])
def test_a_table_ends_after_a_thousand_rows(long_page: Path, table: str) -> None:
    (rows,) = re.findall(rf'<table id="{table}-table".*?</table>', long_page.read_text(), re.DOTALL)
    assert rows.partition("<tbody>")[2].count("<tr") == 1000


def test_the_page_has_the_advice(tmp_path: Path) -> None:
    one = {"device": 0, "buffer": 1, "size": 1 << 26, "command": "WRITE_BUFFER"}
    writes = [event("device", "transfer", at, 1, track=1, operation=at, **one) for at in (1, 2)]
    text = page_of([board(), *writes], tmp_path).read_text()
    assert 'omit the first write: <span class="saved">1 copy of 64 MiB saved</span>' in text


@pytest.mark.parametrize("events", [[], [board()]], ids=["no event", "no work"])
def test_a_trace_without_work_makes_a_page(tmp_path: Path, events: list[Any]) -> None:
    assert "Nothing to avoid was found" in page_of(events, tmp_path).read_text()


def test_advice_for_many_buffers_is_one_sentence() -> None:
    adviser = Adviser()
    for buffer in range(1, 9):
        for _ in range(2):
            args = {"device": 0, "buffer": buffer, "size": 1024, "command": "WRITE_BUFFER"}
            for take in adviser.takers("device", "transfer"):
                take({"args": args})
    (advice,) = adviser.advice()
    assert advice.words.startswith("each of buffers 1, 2, 3, 4, 5, 6 and 2 more is written again")
    assert saved(advice) == "8 copies saved, 8 KiB in all"


# In a browser


@pytest.fixture(scope="module")
def session() -> Iterator[Chrome]:
    if chromium() is None or driver() is None:
        pytest.skip("no chromium with chromedriver here")
    with browser() as session:
        yield session


@pytest.fixture
def shown(session: Chrome, page: Path) -> Chrome:
    """A browser, 1280 pixels wide, that has loaded the page for this test: what another chose in it is gone."""
    at_width(session, 1280)
    session.get(page.as_uri())
    return session


def at_width(session: Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    session.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def js(shown: Chrome, expression: str) -> Any:
    return shown.execute_script(f"return {expression}")


SPAN = "report.views.real.right - report.views.real.left"


def test_the_browser_has_nothing_to_complain_about(shown: Chrome) -> None:
    assert [each for each in shown.get_log("browser") if each["level"] == "SEVERE"] == []
    loaded = "performance.getEntriesByType('resource').map(e => e.name).filter(name => !name.startsWith('data:'))"
    assert js(shown, loaded) == []
    assert js(shown, "document.title") == "trace.json"


def test_all_spans_are_in_the_page(shown: Chrome) -> None:
    """Calls, transfers in their queue, MMD calls; kernels in their queue and in a lane of their own."""
    assert js(shown, "report.data.real.begin.length") == 6 * ROUNDS


def test_the_first_command_is_at_zero(shown: Chrome) -> None:
    assert js(shown, "[report.views.real.left, Math.min(...report.data.real.begin)]") == [0, 0]


def test_control_and_the_wheel_zoom_timeline_and_memory_together(shown: Chrome) -> None:
    before = js(shown, SPAN)
    canvas = shown.find_element(By.ID, "real")
    js(shown, "document.getElementById('real').scrollIntoView({block: 'center'})")
    wheel = ScrollOrigin.from_element(canvas)
    ActionChains(shown).key_down(Keys.CONTROL).scroll_from_origin(wheel, 0, -500).key_up(Keys.CONTROL).perform()
    wait_for(shown, f"{SPAN} < {before} * 0.9")
    assert js(shown, "report.charts.every(chart => chart.view === report.views.real)")


def test_the_wheel_alone_moves_the_page(shown: Chrome) -> None:
    before = js(shown, SPAN)
    wheel = ScrollOrigin.from_element(shown.find_element(By.ID, "real"))
    ActionChains(shown).scroll_from_origin(wheel, 0, 200).perform()
    wait_for(shown, "scrollY > 0")
    assert js(shown, SPAN) == before


def test_keys_zoom_move_and_tell_what_is_there(shown: Chrome) -> None:
    canvas = shown.find_element(By.ID, "real")
    before = js(shown, SPAN)
    canvas.send_keys("+")
    assert js(shown, SPAN) == pytest.approx(before * 0.7)
    canvas.send_keys(Keys.HOME, Keys.ARROW_DOWN, ".")
    assert "queue" in js(shown, "document.getElementById('details').textContent")
    canvas.send_keys(Keys.ENTER)
    assert js(shown, SPAN) < before / 100


def test_the_slider_shows_the_blocks_of_its_time(shown: Chrome) -> None:
    """At 10.05 ms after the trace's begin, buffers 98, 99 and 100 have blocks."""
    slider = "document.getElementById('time')"
    shown.execute_script(f"{slider}.value = 9948000; {slider}.dispatchEvent(new Event('input'))")
    says = js(shown, "document.getElementById('says').textContent")
    assert [f"1 block, 512 bytes; 0 holes; buffers {n}" in says for n in (98, 99, 100)] == [True] * 3


def test_a_click_in_the_navigation_scrolls(shown: Chrome) -> None:
    shown.find_element(By.CSS_SELECTOR, "nav a[href='#bandwidth']").click()
    assert wait_for(shown, "window.scrollY > 100")


def test_the_legend_names_each_colour_once_and_hides_it(shown: Chrome) -> None:
    chips = shown.find_elements(By.CSS_SELECTOR, ".legend button")
    names = [chip.text for chip in chips]
    assert names == ["call of the host", "transfer, in its queue", "host to board", f"kernel {NASTY}"]
    kernel = js(shown, f"({COLOURS}).length")
    chips[-1].click()
    wait_for(shown, f"({COLOURS}).length < {kernel}")


def test_tables_sort_by_what_their_cells_mean(shown: Chrome) -> None:
    """By numbers with their units, downwards at the second click; the rows are those that there were."""
    column = "Array.from(document.querySelectorAll('#lanes-table tbody tr'), row => row.cells[3].textContent)"
    before = js(shown, column)
    head = shown.find_elements(By.CSS_SELECTOR, "#lanes-table th button")[3]
    head.click()
    assert js(shown, column) == sorted(before, key=int)
    head.click()
    assert js(shown, column) == sorted(before, key=int, reverse=True)
    assert js(shown, "document.querySelectorAll('#lanes-table th')[3].ariaSort") == "descending"


def test_sizes_sort_by_their_bytes(shown: Chrome, tmp_path: Path) -> None:
    sizes = [2048, 500, 3 << 20]
    made = [event("buffer", "create", at, buffer=at, size=size, flags="0x1") for at, size in enumerate(sizes, 1)]
    shown.get(page_of([board(), *made], tmp_path).as_uri())
    shown.find_elements(By.CSS_SELECTOR, "#buffers-table th button")[2].click()
    column = "Array.from(document.querySelectorAll('#buffers-table tbody tr'), row => row.cells[2].textContent)"
    assert js(shown, column) == ["500 bytes", "2 KiB", "3 MiB"]


def test_a_search_leaves_the_rows_that_have_it(shown: Chrome) -> None:
    field = shown.find_element(By.CSS_SELECTOR, "section[aria-labelledby=buffers] input[type=search]")
    field.send_keys("9.9")
    left = "Array.from(document.querySelectorAll('#buffers-table tbody tr:not([hidden])'), row => row.textContent)"
    assert js(shown, left)
    assert all("9.9" in row for row in js(shown, left))
    field.clear()
    field.send_keys(" ", Keys.BACKSPACE)
    assert js(shown, f"({left}).length") == ROUNDS


def test_a_copy_leads_to_its_call_and_a_buffer_to_its_life_and_back(shown: Chrome) -> None:
    """Each by a link of its own, which can be sent: the address has it."""
    says = "document.getElementById('details').innerText"
    shown.find_element(By.CSS_SELECTOR, "#copy-3 a[href^='#command']").click()
    assert js(shown, "location.hash") == "#command-3"
    wait_for(shown, f"{says}.startsWith('clEnqueueWriteBuffer')")  # the page hears of its new address later
    assert js(shown, "report.charts[0].related.length") == 3
    shown.find_element(By.CSS_SELECTOR, "#details a[href='#copy-3']").click()
    wait_for(shown, "document.querySelector('#copy-3.linked') !== null")
    shown.find_element(By.CSS_SELECTOR, "#copy-3 a[href='#buffer-3']").click()
    wait_for(shown, "document.querySelector('#buffer-3.linked') !== null")
    shown.find_element(By.CSS_SELECTOR, "#buffer-3 a[href='#life-3']").click()
    wait_for(shown, f"{says}.includes('buffer 3')")
    shown.find_element(By.CSS_SELECTOR, "#details a[href='#copies-of-3']").click()
    rows = "Array.from(document.querySelectorAll('#copies-table tbody tr:not([hidden])'), row => row.id)"
    wait_for(shown, f"({rows}).length === 1")
    assert js(shown, rows) == ["copy-3"]


def test_a_link_that_was_sent_opens_what_it_is_about(shown: Chrome, page: Path) -> None:
    shown.get("about:blank")
    shown.get(f"{page.as_uri()}#command-7")
    assert "clEnqueueWriteBuffer" in js(shown, "document.getElementById('details').innerText")
    shown.get("about:blank")
    shown.get(f"{page.as_uri()}#range-real-0-200000")
    assert js(shown, "report.views.real.range") == {"begin": 0, "end": 200000}


def test_a_range_sums_up_what_is_in_it(shown: Chrome) -> None:
    """200 µs from the first command on: two rounds of events, each of 5 µs of a call, and so on."""
    shown.execute_script("report.views.real.choose([0, 200000])")
    sums = {each["kind"]: each for each in js(shown, "report.sumsOf(report.views.real)")}
    link = sums["host to board"]
    assert (link["times"], link["size"], link["took"]) == (2, 1024, 20_000)
    assert sums[f"kernel {NASTY}"]["took"] == 120_000
    assert "host to board: 20 µs (10.0 %), 2 begin, 1 KiB" in js(shown, "document.getElementById('range').textContent")
    shown.find_element(By.ID, "real").send_keys(Keys.ESCAPE)
    assert js(shown, "[report.views.real.range, document.getElementById('range').textContent]") == [None, ""]


def test_a_range_is_chosen_with_the_mouse_and_with_keys(shown: Chrome) -> None:
    canvas = shown.find_element(By.ID, "real")
    js(shown, "document.getElementById('real').scrollIntoView({block: 'center'})")
    drag = ActionChains(shown).key_down(Keys.SHIFT).move_to_element_with_offset(canvas, 0, 0).click_and_hold()
    drag.move_by_offset(100, 0).release().key_up(Keys.SHIFT).perform()
    assert js(shown, "report.views.real.range.end > report.views.real.range.begin")
    assert js(shown, "location.hash").startswith("#range-real-")
    assert js(shown, SPAN) == js(shown, "report.views.real.end")  # nothing has moved
    canvas.send_keys(Keys.ESCAPE, Keys.ARROW_DOWN, "[", ".", "]")
    assert js(shown, "report.views.real.range.begin < report.views.real.range.end")
    canvas.send_keys(Keys.ESCAPE)
    assert js(shown, "location.hash") == ""


COLOURS = """(() => {
    const found = new Set(), canvas = document.getElementById("real")
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
    for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`)
    return Array.from(found) })()"""


def test_the_canvas_has_the_colours_of_kernels_and_of_the_link(shown: Chrome) -> None:
    shown.execute_script("report.views.real.show(0, 1e6)")
    wait_for(shown, f"({COLOURS}).includes('106,79,179')")  # style.css: --k0
    assert "31,111,178" in js(shown, COLOURS)  # --write


@pytest.mark.parametrize("width", [1400, 800, 700, 400, 320])
def test_the_page_is_no_wider_than_its_window(shown: Chrome, width: int) -> None:
    at_width(shown, width)
    assert js(shown, "document.documentElement.scrollWidth") <= width
    cut = """Array.from(document.querySelectorAll('.rows')).filter(e => e.scrollWidth > e.clientWidth)
        .map(e => e.firstElementChild.id)"""
    assert js(shown, cut) == []


@pytest.mark.parametrize("width", [1400, 800, 400])
def test_the_verdict_is_on_the_first_screen(shown: Chrome, width: int) -> None:
    """The verdict is the first text of the page, completely visible at any width."""
    at_width(shown, width)
    assert js(shown, "document.querySelector('header').nextElementSibling.id") == "verdict"
    bottom = js(shown, "document.getElementById('verdict').getBoundingClientRect().bottom")
    assert bottom < 500
    assert " ms on this computer: " in js(shown, "document.getElementById('verdict').innerText")


LUMINANCE = """
const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
const probe = document.createElement("i"); document.body.append(probe)
const rgb = name => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number)
}
const back = light(rgb("back"))
const contrast = name => {
    const it = light(rgb(name))
    return (Math.max(it, back) + 0.05) / (Math.min(it, back) + 0.05)
}
"""
FIGURES = [
    "compile",
    "call",
    "transfer",
    "write",
    "read",
    "copy",
    "program",
    "migration",
    "full",
    "empty",
    "own",
    "bank",
    "holes",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_that_of_wcag(shown: Chrome, theme: str) -> None:
    """4.5 for text, 3 for what figures are made of."""
    shown.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    names = [*FIGURES, *(f"k{number}" for number in range(colours.NAMED_KERNELS))]
    script = f"{LUMINANCE}; return arguments[0].map(contrast)"
    figures = dict(zip(names, shown.execute_script(script, names), strict=True))
    texts = dict(zip(["text", "faint"], shown.execute_script(script, ["text", "faint"]), strict=True))
    assert {name: found for name, found in figures.items() if found < 3} == {}
    assert {name: found for name, found in texts.items() if found < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_words_in_bars_can_be_read(shown: Chrome, theme: str) -> None:
    """A contrast of 4.5 to the colour that they stand on."""
    wanted = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    wait_for(shown, f"document.documentElement.dataset.theme === '{theme}'")
    script = f"""{LUMINANCE}
        const of = css => light(css.match(/[\\d.]+/g).map(Number))
        return Array.from(document.querySelectorAll('.stack span'), span => {{
            const style = getComputedStyle(span), both = [of(style.color), of(style.backgroundColor)]
            return [span.textContent, (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)]
        }}).filter(([words]) => words)"""
    found = shown.execute_script(script)
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found
    assert [words for words, contrast in found if contrast < 4.5] == []


def test_everything_that_is_used_has_a_name(shown: Chrome) -> None:
    unnamed = """Array.from(document.querySelectorAll("button, canvas, input, [role=img], [role=group], section, nav"))
        .filter(e => !(e.textContent.trim() || e.ariaLabel || e.getAttribute("aria-labelledby") || e.labels?.length))
        .map(e => e.outerHTML)"""
    assert js(shown, unnamed) == []
    assert js(shown, "document.documentElement.lang") == "en"


@pytest.mark.slow
def test_a_hundred_thousand_events_are_drawn_within_3_s(session: Chrome, tmp_path: Path) -> None:
    """Of processor time, which other programs here do not add to; and within 20 ms for each step of a zoom."""
    file = page_of(many_events(100_000 // 9), tmp_path)
    session.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    session.get(file.as_uri())
    session.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    loaded = processor_time(session)
    assert loaded < 3
    frames = """const done = arguments[0], view = report.views.real
        let count = 0
        const next = () => { if (++count > 30) return done(); view.zoom(0.95); requestAnimationFrame(next) }
        next()"""
    session.execute_async_script(frames)
    assert processor_time(session) - loaded < 30 * 0.020


def processor_time(session: Chrome) -> float:
    """Seconds of the page's thread."""
    metrics = session.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "ThreadTime"))


def test_it_prints_to_one_page(long_page: Path, tmp_path: Path) -> None:
    """Without the driver, which gives up after 10 s: a busy machine takes longer to draw all for paper."""
    browser_path = chromium()
    if browser_path is None:
        pytest.skip("no chromium here")
    pdf = tmp_path / "page.pdf"
    options = [f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={pdf}"]
    command = [browser_path, *ARGUMENTS, *options, long_page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    assert re.findall(rb"/Count (\d+)", pdf.read_bytes()) == [b"1"]
