#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/gallery.md anew: runs programs on boards, and lets the tools show what they did.

make gallery    (with fpgart built and installed with its extras, a C compiler, Chromium and Graphviz)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from fpgart.cli.tables import show
from fpgart.sdk.folder import lay_out
from fpgart.watch import report

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 1200
RANKS = 4
FEATURES = """document.querySelector("#copy-1 a[href^='#command']").click()
report.views.real.choose([0, report.views.real.end / 2])"""
TIMELINE = "document.getElementById('timeline').scrollIntoView()"
SMALL_66AK2X = """<keystone name="k2h_small">
  <cmem from="8:2500:0000" to="8:27FF:FFFF"/>
  <cmem from="8:8000:0000" to="8:9FFF:FFFF"/>
  <fixed from="A000:0000" to="A7FF:FFFF"/>
  <destination from="8000:0000" to="807F:FFFF"/>
  <destination from="C000:0000" to="C0FF:FFFF"/>
</keystone>"""
SYCL = """
import numpy as np, pyopencl as cl, sys
from fpgart import sycl
add = sycl.Kernel("kernel void add(global float *x) { x[get_global_id(0)] += 1; }", "add")
queues = [sycl.Queue(device) for device in cl.get_platforms()[0].get_devices()]
with sycl.Buffer(np.arange(1024, dtype=np.float32)) as buffer:
    for queue in queues:
        queue.submit(lambda h: h.parallel_for(1024, add, h.access(buffer, "read_write")))
queues[0].graph.save(sys.argv[1])
"""


def run(*words: object, quiet: bool = False, may_fail: bool = False) -> None:
    """Runs a program. `quiet`: without a browser's output about the machine; `may_fail`: the program has mistakes."""
    errors = subprocess.DEVNULL if quiet else None
    subprocess.run(list(map(str, words)), check=not may_fail, stdout=subprocess.DEVNULL, stderr=errors)


def compiled(folder: Path, source: Path) -> Path:
    made = folder / source.stem
    run("cc", "-g", "-O1", f"-I{ROOT / 'include'}", source, "-o", made, "-lOpenCL")
    return made


def traced(folder: Path, board: str, *program: object) -> Path:
    trace = folder / f"{Path(board).stem}.json"
    command = [sys.executable, "-m", "fpgart.cli", "run", "--board", board, "--time", "model", "--trace", trace, "--"]
    run(*command, *program, may_fail=True)
    return trace


def page(*traces: Path, name: str, height: int, width: int = WIDTH, theme: str = "light", script: str = "") -> None:
    """Makes a picture of the report's page, from its top on or from where `script` has scrolled to."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        sys.exit("the pictures of pages need Chromium with chromedriver")
    html = traces[0].with_suffix(".html")
    run(sys.executable, "-m", "fpgart.cli", "report", *traces, "--html", html)
    options = ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    with Chrome(options, ChromeService(driver)) as session:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < WIDTH}
        session.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        session.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        session.get(html.as_uri())
        session.execute_script(script)
        drawn = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        session.execute_async_script(drawn)
        session.save_screenshot(str(PICTURES / name))


def intel_host(folder: Path) -> Path:
    """Returns the host and the binary of examples/intel-host, built as its users build it."""
    project = folder / "intel-host"
    shutil.copytree(ROOT / "examples" / "intel-host", project)
    sdk = [sys.executable, "-m", "fpgart.cli", "run", "--board", "a10_ref", "--"]
    run(*sdk, "make", "-C", project, "all", "kernels")
    return project / "bin" / "host"


def cluster(folder: Path) -> list[Path]:
    """Traces of four processes with a board each, whose cables make a ring."""
    example = ROOT / "examples" / "cluster"
    host = compiled(folder, example / "allreduce.c")
    traces = [folder / f"rank{rank}.json" for rank in range(RANKS)]
    command = [sys.executable, "-m", "fpgart.cli", "run", "--board", "s10_520n", "--topology", "ring", "--trace"]
    program = ["--", host, example / "allreduce.cl", "65536"]
    started = []
    for rank, trace in enumerate(traces):
        place = {"FPGART_RANK": f"{rank}/{RANKS}", "FPGART_JOB": f"gallery-{os.getpid()}"}
        words = list(map(str, [*command, trace, *program, rank, RANKS]))
        started.append(subprocess.Popen(words, env={**os.environ, **place}, stdout=subprocess.DEVNULL))
    if any(process.wait() for process in started):
        sys.exit("the boards of a ring have not added up their vectors")
    return traces


def sycl_pipes(folder: Path) -> Path:
    """Makes the trace of a SYCL program; it needs the packages of fpgart[sycl] and clang++."""
    program, trace = folder / "pipes", folder / "sycl.json"
    icpx = lay_out(folder / "sdk") / "bin" / "icpx"
    run(icpx, "-fsycl", "-fintelfpga", ROOT / "examples" / "sycl" / "pipes.cpp", "-o", program)
    run(sys.executable, "-m", "fpgart.cli", "run", "--platform", "emulator", "--trace", trace, "--", program)
    return trace


def terminal(trace: Path, name: str) -> None:
    """Saves the output of `fpgart report` on a terminal as a picture."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=120, file=nowhere, force_terminal=True)
        show(report.read(trace), console)
        console.save_svg(str(PICTURES / name), title="fpgart report t.json")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        tutorial = compiled(folder, ROOT / "examples" / "tutorial" / "sums.c")
        trace = traced(folder, "a10_ref", tutorial)
        page(trace, name="report.png", height=1500)
        page(trace, name="report-800.png", height=1500, width=800)
        page(trace, name="report-phone.png", height=1500, width=390, theme="dark")
        page(trace, name="report-range.png", height=1060, script=f"{FEATURES}; {TIMELINE}")
        terminal(trace, "terminal.svg")
        terminal(sycl_pipes(folder), "sycl-report.svg")
        os.environ["CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE"] = "strict"
        pipeline = compiled(folder, ROOT / "examples" / "pipeline" / "pipeline.c")
        page(traced(folder, "a10_ref", pipeline), name="report-pipeline.png", height=1760)
        page(traced(folder, "a10_ref", intel_host(folder)), name="report-host.png", height=1500, theme="dark")
        board = folder / "k2h_small.xml"
        board.write_text(SMALL_66AK2X)
        vectors = compiled(folder, ROOT / "conformance" / "c" / "vecadd_mpax.c")
        page(traced(folder, str(board), vectors, "sub_buffers", 32, 4), name="mapping.png", height=1640)
        page(*cluster(folder), name="report-cluster.png", height=1110, script=TIMELINE)
        graph = PICTURES / "sycl.svg"
        run(
            sys.executable,
            "-m",
            "fpgart.cli",
            "run",
            "--board",
            "soc_a10,usm_s10",
            "--",
            sys.executable,
            "-c",
            SYCL,
            graph,
        )


if __name__ == "__main__":
    main()
