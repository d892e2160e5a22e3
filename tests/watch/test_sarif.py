# SPDX-License-Identifier: Apache-2.0
"""The SARIF of each finding and of each kind of advice is as OASIS' JSON Schema says.

The schema is not part of this repository; `SARIF_SCHEMA=FILE pytest tests/watch/test_sarif.py`
names its file.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import processes
import pytest
from c_hosts import Mistake, mistakes, plain_environment
from compilation import compiled
from processes import ROOT, output

ADVICE = ROOT / "tests" / "programs" / "advice.c"
SCHEMA = os.environ.get("SARIF_SCHEMA", "")
pytestmark = pytest.mark.skipif(not SCHEMA, reason="SARIF_SCHEMA names no file")


def fpgart(*words: object) -> str:
    """The standard output of a command that succeeds."""
    return output(processes.fpgart(*words, env=plain_environment()))


def results(file: Path) -> list[dict[str, Any]]:
    """Returns the results in a file, which must be valid."""
    schema = json.loads(Path(SCHEMA).read_text())
    validator = jsonschema.validators.validator_for(schema)
    log = json.loads(file.read_text())
    errors = validator(schema, format_checker=validator.FORMAT_CHECKER).iter_errors(log)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


@pytest.mark.parametrize("mistake", mistakes().values(), ids=mistakes().keys())
def test_findings_and_leaks_are_valid(mistake: Mistake, tmp_path: Path) -> None:
    """Of the run, and of its trace, which has the findings, too, but for leaks: it ends before these are known."""
    run, trace = tmp_path / "run.sarif", tmp_path / "t.json"
    options = ["--board", mistake.board, "--check", "--leaks", "--sarif", run, "--trace", trace]
    fpgart("run", *options, "--", mistake.host())
    assert results(run)
    fpgart("report", trace, "--sarif", tmp_path / "report.sarif")
    told = [each for each in results(tmp_path / "report.sarif") if not each["ruleId"].startswith("advice/")]
    kept = [each for each in results(run) if not each["ruleId"].startswith("leaks/") and each["ruleId"] != "usm/leak"]
    messages = [sorted(each["message"]["text"] for each in found) for found in (told, kept)]
    assert messages[0] == messages[1]  # threads may find two at the same time


ADVISED = {"pingpong": "hetero", "banks": "a10_ref", "overlap": "usm_s10", "waiting": "usm_s10", "tiny": "usm_s10"}
ADVISED |= {"unaligned": "usm_s10", "programs": "usm_s10", "shallow": "a10_ref"}


@pytest.mark.parametrize("mistake", ADVISED)
def test_advice_is_valid(mistake: str, tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    fpgart("run", "--board", ADVISED[mistake], "--time", "model", "--trace", trace, "--", compiled([ADVICE]), mistake)
    fpgart("report", trace, "--sarif", tmp_path / "report.sarif")
    assert results(tmp_path / "report.sarif")


@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="needs oclgrind")
def test_findings_in_kernels_are_valid(tmp_path: Path) -> None:
    run = tmp_path / "run.sarif"
    host = mistakes()["buffers_kernel_past_end"].host()
    fpgart("run", "--check", "kernels", "--sarif", run, "--", host)
    assert {each["ruleId"].partition("/")[0] for each in results(run)} == {"kernels"}
