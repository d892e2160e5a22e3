# SPDX-License-Identifier: Apache-2.0
"""Output of fpgart for programs fits its JSON Schemas; SARIF and GitHub's annotations name file and line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from c_hosts import mistakes
from compilation import compiled
from processes import ROOT, fpgart, output

from fpgart.watch import report
from fpgart.watch.report import Advice, CheckFinding, Report, difference, export

SCHEMAS = ROOT / "fpgart" / "schemas"

MISTAKES = ROOT / "tests" / "programs" / "advice.c"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def validate(value: object, name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    jsonschema.Draft202012Validator(schema(name)).validate(value)


def test_the_schemas_are_those_that_the_types_make() -> None:
    result = subprocess.run([sys.executable, ROOT / "scripts" / "generate_schemas.py", "--check"], cwd=ROOT)
    assert result.returncode == 0


@pytest.mark.parametrize(("mistake", "board"), [("banks", "a10_ref"), ("overlap", "usm_s10"), ("pingpong", "hetero")])
def test_traces_reports_and_comparisons_are_as_their_schemas_say(mistake: str, board: str, tmp_path: Path) -> None:
    traces = [tmp_path / "a.json", tmp_path / "b.json"]
    for trace, words in zip(traces, ([mistake], [mistake, "right"]), strict=True):
        options = ["--board", board, "--time", "model", "--check", "--trace", trace]
        output(fpgart("run", *options, "--", compiled([MISTAKES]), *words))
    validate(json.loads(traces[0].read_text()), "trace")
    for trace in traces:
        validate(json.loads(fpgart("report", "--json", trace).stdout), "report")
    for pair in (traces, reversed(traces)):
        validate(json.loads(fpgart("diff", "--json", *pair).stdout), "diff")


def test_a_schema_refuses_what_it_does_not_know() -> None:
    right = json.loads(report.as_json(Report(advice=[Advice("do")], boards={0: "b"})))
    validate(right, "report")
    wrong = [{**right, "more": 1}, {**right, "advice": [{**right["advice"][0], "noun": 1}]}]
    wrong.append({name: value for name, value in right.items() if name != "verdict"})
    for each in wrong:
        with pytest.raises(jsonschema.ValidationError):
            validate(each, "report")
    validate(json.loads(difference.as_json(difference.between(Report(), Report()))), "diff")


def race(tmp_path: Path, *options: object) -> subprocess.CompletedProcess[str]:
    host = mistakes()["order_two_writes"].host()
    return fpgart("run", "--check", "order", *options, "--", host, FPGART_FINDINGS=str(tmp_path / "findings"))


def test_findings_are_as_their_schema_says_with_leaks(tmp_path: Path) -> None:
    assert race(tmp_path, "--leaks").returncode == 0
    host = compiled([MISTAKES])
    fpgart("run", "--leaks", "--", host, "banks", FPGART_FINDINGS=str(tmp_path / "findings"))
    lines = [json.loads(line) for line in (tmp_path / "findings").read_text().splitlines()]
    assert "two writes without order" in {line["rule"] for line in lines}
    for line in lines:
        validate(line, "findings")


def test_a_run_writes_sarif_and_annotations_of_its_findings(tmp_path: Path) -> None:
    printed = output(race(tmp_path, "--sarif", tmp_path / "out.sarif", "--github", "--trace", tmp_path / "t.json"))
    log = json.loads((tmp_path / "out.sarif").read_text())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    (found,) = run["results"]
    assert rule["id"] == found["ruleId"] == "order/two-writes-without-order"
    assert (found["ruleIndex"], found["level"]) == (0, "warning")
    (place,) = found["locations"]
    where = place["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "tests/checks/order.c"
    line = where["region"]["startLine"]
    told = f"::warning title=fpgart order/two-writes-without-order,file=tests/checks/order.c,line={line}::"
    assert told in printed
    again = fpgart("report", "--github", "--sarif", tmp_path / "again.sarif", tmp_path / "t.json")
    assert told in again.stdout
    assert json.loads((tmp_path / "again.sarif").read_text())["runs"][0]["results"][0] == found


def test_a_file_that_cannot_be_written_is_refused_before_the_program_starts(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    result = fpgart("run", "--sarif", tmp_path / "no" / "folder", "--", "touch", ran)
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr
    assert not ran.exists()


def test_earlier_findings_of_the_file_are_not_those_of_the_run(tmp_path: Path) -> None:
    race(tmp_path)
    assert len((tmp_path / "findings").read_text().splitlines()) == 1
    assert race(tmp_path, "--github").stdout.count("::warning") == 1


def test_advice_is_a_note_and_equal_advice_one() -> None:
    stack = {"place": "main.c:7 in main", "stack": [{"file": "main.c", "line": 7, "function": "main"}]}
    advice = [Advice(f"do {n}", nanoseconds=9 - n, stacks=[stack] if n == 1 else []) for n in range(3)]
    found = CheckFinding("usm", "leak", "a, b", "", "", "50 % lost\nhere", "free it")
    remarks = export.of_report(Report(advice=advice, findings=[found]))
    assert [(r.rule, r.level, r.file, r.line) for r in remarks] == [
        ("usm/leak", "warning", "", 0),
        ("advice/copy", "note", "main.c", 7),
    ]
    first, second = export.as_github(remarks).splitlines()
    assert first == "::warning title=fpgart usm/leak::50 %25 lost%0Ahere (a, b). Fix: free it"
    assert second.startswith("::notice title=fpgart advice/copy,file=main.c,line=7::do 0; likewise for 1; 2: ")


def test_files_elsewhere_have_whole_addresses() -> None:
    log = json.loads(export.as_sarif([export.Remark("a/b", "note", "w", "/x y/z.c", 3)]))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///x%20y/z.c"}, "region": {"startLine": 3}}
