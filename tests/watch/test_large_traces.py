# SPDX-License-Identifier: Apache-2.0
"""Reading traces: many lines at a time as one line at a time, and what is told meanwhile."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT, fpgart, quiet_output

from fpgart.base import json_input
from fpgart.cli import progress, reading
from fpgart.watch import report
from fpgart.watch.report import inflating, trace_events


@pytest.fixture(params=["orjson", "json"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the faster parser."""
    monkeypatch.setitem(sys.modules, "orjson", pytest.importorskip("orjson") if request.param == "orjson" else None)
    monkeypatch.setattr(trace_events, "parse_whole", json_input.fastest())


def event(number: int) -> dict[str, Any]:
    return {"name": "clFinish", "cat": "api", "pid": 1, "tid": 1, "ts": number, "ph": "X", "dur": 1.0, "args": {}}


def written(file: Path, lines: list[str]) -> Path:
    file.write_text("[\n" + "".join(lines))
    return file


@pytest.mark.parametrize("end", ["]\n", "", '{"name": "cut', "\n\n]\n"])
@pytest.mark.parametrize("piece", [64, 1 << 20])
def test_events_are_the_same_in_pieces_of_any_size(
    tmp_path: Path, end: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflating, "PIECE", piece)
    expected = [event(number) for number in range(50)]
    blank = ["\n"] if end == "" else []
    file = written(tmp_path / "t.json", [f"{json.dumps(each)},\n" for each in expected] + blank + [end])
    assert list(report.events(file)) == expected


def test_a_line_that_is_no_event_is_told_with_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "PIECE", 256)
    lines = [f"{json.dumps(event(number))},\n" for number in range(50)]
    for wrong in ("{},{},\n", "nonsense\n", '{"a": {},\n'):
        file = written(tmp_path / "t.json", [*lines, wrong, *lines])
        with pytest.raises(report.TraceError, match=r"t.json:52: not an event"):
            list(report.events(file))


def test_pieces_are_parsed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[bytes] = []
    loads = trace_events.parse_whole
    monkeypatch.setattr(trace_events, "parse_whole", lambda text: texts.append(text) or loads(text))
    file = written(tmp_path / "t.json", [f"{json.dumps(event(number))},\n" for number in range(5000)])
    assert len(list(report.events(file))) == 5000
    assert len([text for text in texts if text]) == 1


def test_what_only_one_parser_accepts_is_read_as_by_the_other(tmp_path: Path) -> None:
    """Numbers that are no numbers, and bytes that are no ASCII."""
    wrong = ['{"a": NaN},\n', '{"a": 1e999},\n', '{"a": "\u00e4"},\n']
    found = list(report.events(written(tmp_path / "t.json", [*wrong, f"{json.dumps(event(1))}\n", "]\n"])))
    assert str(found[:3]) == str([{"a": nan}, {"a": inf}, {"a": "\ufffd\ufffd"}])
    assert found[3:] == [event(1)]


def test_the_bytes_that_were_read_are_told(tmp_path: Path) -> None:
    file = written(tmp_path / "t.json", [f"{json.dumps(event(number))},\n" for number in range(1000)])
    told: list[int] = []
    report.read(file, told.append)
    assert sum(told) == file.stat().st_size


def test_small_files_are_read_in_silence_and_large_ones_only_for_a_terminal(tmp_path: Path) -> None:
    small, large = tmp_path / "s.json", tmp_path / "l.json"
    small.write_text("[\n")
    large.write_bytes(b"[\n" + b"\n" * progress.LARGE)
    with progress.reading((small,)) as tell:
        assert tell is trace_events.ignore
    with progress.reading((small, large)) as tell:
        assert tell is not trace_events.ignore
    quiet_output(fpgart("report", large))


def test_the_collector_works_again_after_a_report(tmp_path: Path) -> None:
    file = written(tmp_path / "t.json", [f"{json.dumps(event(1))},\n", "]\n"])
    assert gc.isenabled()
    report.read(file)
    assert gc.isenabled()


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return fpgart("run", *words)


def test_a_program_without_opencl_leaves_no_trace_and_that_is_said(tmp_path: Path) -> None:
    trace = tmp_path / "t.%p.json"
    (tmp_path / "t.1.json").write_text("of an earlier run")
    result = run("--trace", trace, "--", "sh", "-c", "exit 7")
    assert result.returncode == 7
    assert result.stderr == f"fpgart: sh made no OpenCL call, so there is no trace {trace}\n"


def test_a_program_with_opencl_leaves_its_trace_in_silence(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    body = f"import ctypes; ctypes.CDLL({str(ROOT / 'fpgart' / 'libfpgart.so')!r}).clGetPlatformIDs(0, None, None)"
    for _ in range(2):
        quiet_output(run("--trace", trace, "--", sys.executable, "-c", body))
        assert trace.read_text().rstrip().endswith("]")


def test_two_large_traces_are_read_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reports, the numbers of bytes and the errors that reading one after the other has."""
    files = tuple(
        written(tmp_path / f"{name}.json", [f"{json.dumps(event(number))},\n" for number in range(count)])
        for name, count in (("a", 30), ("b", 50))
    )
    small: list[int] = []
    one_by_one = reading.read_beside(files, small.append)
    monkeypatch.setattr(reading, "LARGE", 1)
    told: list[int] = []
    assert reading.read_beside(files, told.append) == one_by_one
    assert sum(told) == sum(small)
    files[1].write_text("no trace\n")
    with pytest.raises(report.TraceError, match=r"b\.json is not a trace"):
        reading.read_beside(files, told.append)
