"""The files that `fpgart report` and `fpgart run` write replace none that they read."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import fpgart

TRACE = "[\n]\n"


@pytest.mark.parametrize("form", ["--html", "--merged", "--perfetto", "--sarif"])
def test_a_report_does_not_replace_its_trace(tmp_path: Path, form: str) -> None:
    trace = tmp_path / "t.json"
    trace.write_text(TRACE)
    done = fpgart("report", trace, form, tmp_path / "." / "t.json")
    assert (done.returncode, trace.read_text()) == (2, TRACE)
    assert done.stderr == f"fpgart: {trace} is a trace that is read: name another file for the output\n"


def test_a_run_does_not_write_its_findings_into_its_trace(tmp_path: Path) -> None:
    file = tmp_path / "t"
    done = fpgart("run", "--trace", file, "--sarif", file, "--", "true")
    assert done.returncode != 0
    assert done.stderr == f"fpgart: {file} cannot have the trace and the findings: name two files\n"
