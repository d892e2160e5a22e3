"""`fpgart report --html`: what is in the page, and what a browser does with it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import ARGUMENTS, CHROMIUM, DRIVER, browser, wait_for
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By

from fpgart.watch import history, report

ROOT = Path(__file__).resolve().parent.parent
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


def fpgart(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fpgart.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)


# What the page is made from


def test_spans_of_one_lane_that_overlap_get_rows_of_their_own() -> None:
    kernels = [(0, 10), (5, 10), (10, 5), (20, 1)]
    found = [event("device", "kernel", at, took, device=0, kernel="k", buffers=[]) for at, took in kernels]
    assert [(span.begin, span.row) for span in history.spans(found)] == [(0, 0), (5, 1), (10, 0), (20, 0)]


def test_skipped_migrations_are_no_spans() -> None:
    assert history.spans([event("device", "migration", 1, 0, device=0, skipped=True)]) == []


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
    ("a separate bank has its share", [(0x1000, 1000)], 100),
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


def ten_thousand_events() -> list[Any]:
    """A host that writes buffers, runs a kernel on each and reads it back, three at a time."""
    made: list[Any] = [board(), {"name": "thread_name", "ph": "M", "pid": 1, "tid": 7, "args": {"name": NASTY}}]
    for number in range(1, 1252):
        at, address = number * 100.0, 0x1000 + number % 3 * 1024
        one = {"device": 0, "buffer": number, "size": 512}
        made += [
            event("buffer", "create", at, buffer=number, size=512, flags="0x1"),
            block("reserve", at + 1, number, address, 512),
            event("mmd", "aocl_mmd_write", at + 2, 10, address=hex(address), operation=number, **one),
            event("device", "transfer", at + 2, 11, track=1, command="WRITE_BUFFER", operation=number, **one),
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
            if name in ("src", "srcset", "data") or (name == "href" and not (value or "").startswith("#")):
                self.elsewhere.append(f"{tag} {name}={value}")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of ten_thousand_events()."""
    pytest.importorskip("bokeh")
    folder = tmp_path_factory.mktemp("page")
    trace = written(folder / "trace.json", ten_thousand_events())
    file = folder / "page.html"
    result = fpgart("report", trace, "--html", file)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    return file


def test_the_page_loads_nothing(page: Path) -> None:
    tags = Tags()
    tags.feed(page.read_text())
    assert "script" in tags.names
    assert tags.elsewhere == []


def test_what_a_host_chose_as_name_is_no_part_of_the_page(page: Path) -> None:
    assert NASTY not in page.read_text()


def test_the_page_has_the_advice(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    one = {"device": 0, "buffer": 1, "size": 1 << 26, "command": "WRITE_BUFFER"}
    writes = [event("device", "transfer", at, 1, track=1, operation=at, **one) for at in (1, 2)]
    file = tmp_path / "page.html"
    assert fpgart("report", written(tmp_path / "t", [board(), *writes]), "--html", file).returncode == 0
    assert 'leave the first write out: <span class="saved">1 copy of 64 MiB saved</span>' in file.read_text()


@pytest.mark.parametrize("events", [[], [board()]], ids=["no event", "no work"])
def test_a_trace_without_work_makes_a_page(tmp_path: Path, events: list[Any]) -> None:
    pytest.importorskip("bokeh")
    result = fpgart("report", written(tmp_path / "t", events), "--html", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr
    assert "Nothing to avoid was found" in (tmp_path / "page.html").read_text()


def test_without_bokeh_the_extra_is_named(tmp_path: Path) -> None:
    trace = written(tmp_path / "t", [board()])
    code = (
        "import sys; sys.modules['bokeh'] = None; sys.modules['bokeh.document'] = None\n"
        f"sys.argv = ['fpgart', 'report', {str(trace)!r}, '--html', {str(tmp_path / 'p')!r}]\n"
        "from fpgart.cli.main import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert result.returncode == 2
    assert "pip install 'fpgart[report]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_advice_for_many_buffers_is_one_sentence() -> None:
    adviser = report.Adviser()
    for buffer in range(1, 9):
        for _ in range(2):
            args = {"device": 0, "buffer": buffer, "size": 1024, "command": "WRITE_BUFFER"}
            adviser.take({"cat": "device", "name": "transfer", "args": args})
    (advice,) = adviser.advice()
    assert advice.words.startswith("each of buffers 1, 2, 3, 4, 5, 6 and 2 more is written again")
    assert report.saved(advice) == "8 copies saved, 8 KiB in all"


# In a browser


@pytest.fixture(scope="module")
def shown(page: Path) -> Iterator[Chrome]:
    """A browser that shows the page."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver here")
    with browser() as session:
        session.get(page.as_uri())
        wait_for(session, "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
        yield session


ROOT_OF = "Bokeh.documents[0].get_model_by_name(arguments[0])"


def middle(shown: Chrome, name: str) -> tuple[int, int]:
    """A point inside a figure, in the window, after scrolling there."""
    where = shown.execute_script(
        f"""const view = Bokeh.index.find_one_by_id({ROOT_OF}.id)
            view.el.scrollIntoView({{block: "center"}})
            const box = view.el.getBoundingClientRect()
            return [box.left + box.width / 2, box.top + box.height / 2]""",
        name,
    )
    return round(where[0]), round(where[1])


def test_the_browser_has_nothing_to_complain_about(shown: Chrome) -> None:
    assert [each for each in shown.get_log("browser") if each["level"] == "SEVERE"] == []
    assert shown.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert shown.execute_script("return document.title") == "trace.json"


def test_all_spans_are_drawn(shown: Chrome) -> None:
    script = f"return {ROOT_OF}.renderers.map(r => r.data_source.get_length())"
    assert sorted(shown.execute_script(script, "timeline")) == [1251] * 4


def test_the_wheel_zooms_timeline_and_memory_together(shown: Chrome) -> None:
    width = f"({ROOT_OF}.x_range.end - {ROOT_OF}.x_range.start)"
    before = shown.execute_script(f"return {width}", "timeline")
    wheel = ScrollOrigin.from_viewport(*middle(shown, "timeline"))
    ActionChains(shown).scroll_from_origin(wheel, 0, -500).perform()
    wait_for(shown, f"{width} < {before} * 0.9", "timeline")
    assert shown.execute_script(f"return {width}", "memory") == shown.execute_script(f"return {width}", "timeline")
    shown.execute_script(f"{ROOT_OF}.reset.emit()", "timeline")


def test_the_slider_shows_the_blocks_of_its_time(shown: Chrome) -> None:
    """At 50.05 ms buffers 498, 499 and 500 have blocks."""
    said = "Bokeh.documents[0].get_model_by_name('says').text"
    shown.execute_script(f"{ROOT_OF}.value = 50.05", "time")
    assert "3 blocks, 1.5 KiB" in wait_for(shown, f"{said}.startsWith('at 50.050') && {said}")
    labels = f"return Array.from({ROOT_OF}.renderers[0].data_source.data.label)"
    assert sorted(shown.execute_script(labels, "now")) == ["498", "499", "500"]


def test_a_click_in_the_navigation_scrolls(shown: Chrome) -> None:
    shown.execute_script("window.scrollTo(0, 0)")
    shown.find_element(By.CSS_SELECTOR, "nav a[href='#bandwidth']").click()
    assert wait_for(shown, "window.scrollY > 100")


def test_a_screenshot_has_the_colours_of_the_timeline(shown: Chrome) -> None:
    middle(shown, "timeline")
    image = shown.get_screenshot_as_png()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", image[16:24])
    assert width > 1000
    assert height > 500
    colours = """
        const found = new Set()
        const look = root => { for (const e of root.querySelectorAll("*")) {
            if (e.shadowRoot) look(e.shadowRoot)
            if (e.tagName !== "CANVAS" || !e.width) continue
            const data = e.getContext("2d")?.getImageData(0, 0, e.width, e.height).data ?? []
            for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`)
        } }
        look(document); return Array.from(found)"""
    assert {"91,74,158", "47,126,188"} <= set(shown.execute_script(colours))  # kernel, host to board


def test_it_prints(page: Path, tmp_path: Path) -> None:
    """Without the driver, which gives up after 10 s: a busy machine takes longer to draw all for paper."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    pdf = tmp_path / "page.pdf"
    command = [CHROMIUM, *ARGUMENTS, f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={pdf}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert pdf.read_bytes().startswith(b"%PDF-")
