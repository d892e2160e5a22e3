# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest's: each result as a line of JSON at once, so that a crash or a hang costs one test.

--progress=FILE   gets the lines; tests that already have a result there are left out
--patience=S      seconds after which a test that does not end ends the process
"""

from __future__ import annotations

import faulthandler
import json
import os
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--progress", type=Path, required=True)
    parser.addoption("--patience", type=float, default=300.0)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Progress(config.getoption("--progress"), config.getoption("--patience")))


def name_of(nodeid: str) -> str:
    """Returns a test's name without the folders of its file."""
    file, separator, test = nodeid.partition("::")
    return Path(file).name + separator + test


class Progress:
    """Writes what becomes of the tests."""

    def __init__(self, file: Path, patience_s: float) -> None:
        self.file = file
        self.stderr = os.fdopen(os.dup(2), "w")  # before pytest captures it
        self.patience_s = patience_s
        lines = file.read_text().splitlines() if file.exists() else []
        self.done = {said["test"] for said in map(json.loads, lines) if said["outcome"] == "ended"}

    def say(self, nodeid: str, outcome: str, words: str = "") -> None:
        with self.file.open("a") as lines:
            lines.write(json.dumps({"test": name_of(nodeid), "outcome": outcome, "words": words[-300:]}) + "\n")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        gone = [item for item in items if name_of(item.nodeid) in self.done]
        if gone:
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if name_of(item.nodeid) not in self.done]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.say(nodeid, "begun")
        faulthandler.dump_traceback_later(self.patience_s, exit=True, file=self.stderr)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped or report.when == "call":
            self.say(report.nodeid, report.outcome, report.longreprtext if report.failed else "")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        faulthandler.cancel_dump_traceback_later()
        self.say(nodeid, "ended")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.say(report.nodeid, report.outcome, report.longreprtext if report.failed else "")
