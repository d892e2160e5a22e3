"""A browser without a window, for tests of the report's page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"]
PATIENCE_S = 600
"""Longer than pytest's limit for a test, which alone decides when a browser hangs."""


@contextmanager
def browser() -> Iterator[Chrome]:
    """A session of Chromium, with the messages of its console."""
    assert CHROMIUM is not None
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.timeouts = {"script": PATIENCE_S * 1000, "pageLoad": PATIENCE_S * 1000}
    directly = patch.dict(os.environ, {"no_proxy": "localhost,127.0.0.1"})  # the driver is a server on this machine
    with directly, Chrome(options, ChromeService(DRIVER)) as session:
        yield session


def wait_for(session: Chrome, expression: str, *arguments: Any) -> Any:
    """The value of an expression in the page, once it is true."""
    wait = WebDriverWait(session, PATIENCE_S, poll_frequency=0.05)
    return wait.until(lambda shown: shown.execute_script(f"return {expression}", *arguments))
