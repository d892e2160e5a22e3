"""A browser without a window, for tests of the report's page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"]
PATIENCE_S = 600
"""Longer than pytest's limit for a test, which alone decides when a browser hangs."""


@cache
def working(*names: str) -> str | None:
    """The first of these programs that runs: Ubuntu has scripts of these names that only say how to install a snap."""
    found = filter(None, map(shutil.which, names))
    return next(
        (path for path in found if not subprocess.run([path, "--version"], capture_output=True).returncode), None
    )


def chromium() -> str | None:
    """The browser, if there is one."""
    return working(os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser")


def driver() -> str | None:
    """The program that drives the browser, if there is one."""
    return working(os.environ.get("CHROMEDRIVER", ""), "chromedriver")


@contextmanager
def browser() -> Iterator[Chrome]:
    """A session of Chromium, with the messages of its console."""
    path = chromium()
    assert path is not None
    options = ChromeOptions()
    options.binary_location = path
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.timeouts = {"script": PATIENCE_S * 1000, "pageLoad": PATIENCE_S * 1000}
    directly = patch.dict(os.environ, {"no_proxy": "localhost,127.0.0.1"})  # the driver is a server on this machine
    with directly, Chrome(options, ChromeService(driver())) as session:
        yield session


def wait_for(session: Chrome, expression: str, *arguments: Any) -> Any:
    """The value of an expression in the page, once it is true."""
    wait = WebDriverWait(session, PATIENCE_S, poll_frequency=0.05)
    return wait.until(lambda shown: shown.execute_script(f"return {expression}", *arguments))
