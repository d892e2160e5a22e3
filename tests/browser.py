"""A browser without a window, driven as the W3C WebDriver specification says."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"]


class BrowserError(Exception):
    """What the driver has to say about a command that failed."""


class Browser:
    """One session."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        options = {"binary": CHROMIUM, "args": ARGUMENTS}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._base += f"/session/{session['sessionId']}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps({} if body is None else body).encode() if method == "POST" else None
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise BrowserError(error.read().decode()) from None

    def open(self, file: Path) -> None:
        self._send("POST", "/url", {"url": file.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script that says `return`."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, expression: str, *arguments: Any) -> Any:
        """Until the expression is true in the page; the value."""
        script = f"""
            const done = arguments[arguments.length - 1]
            const look = () => {{
                const value = {expression}
                if (value) done(value); else requestAnimationFrame(look)
            }}
            look()"""
        self._send("POST", "/timeouts", {"script": 60000})
        return self._send("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        self._send("POST", f"/element/{found[ELEMENT]}/click")

    def point(self, x: int, y: int, *, click: bool = False) -> None:
        """Move the mouse to a point of the window; click there."""
        steps: list[dict[str, Any]] = [{"type": "pointerMove", "duration": 0, "x": x, "y": y}]
        if click:
            steps += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self._send("POST", "/actions", {"actions": [mouse]})

    def turn_wheel(self, x: int, y: int, by: int) -> None:
        step = {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0, "origin": "viewport"}
        self._send("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [step]}]})

    def press(self, selector: str, keys: str) -> None:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        self._send("POST", f"/element/{found[ELEMENT]}/value", {"text": keys})

    def screenshot(self) -> bytes:
        return base64.b64decode(self._send("GET", "/screenshot"))

    def pdf(self) -> bytes:
        return base64.b64decode(self._send("POST", "/print", {"background": True}))

    def errors(self) -> list[str]:
        """What the page complained about since the last call."""
        return [e["message"] for e in self._send("POST", "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]

    def close(self) -> None:
        self._send("DELETE", "")


@contextmanager
def browser() -> Iterator[Browser]:
    """A session, and the driver's process around it."""
    assert DRIVER is not None
    with subprocess.Popen(
        [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            port = next(int(line.split()[-1].rstrip(".")) for line in process.stdout if "successfully on port" in line)
            session = Browser(port)
            try:
                yield session
            finally:
                session.close()
        finally:
            process.terminate()
