"""fpgart.activate(), fpgart.report() and the magics of notebooks, each in a process of its own: drivers start once."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from c_hosts import plain_environment
from processes import finished, quiet_output

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed")
COPY = """
import numpy
import pyopencl as cl
def copy():
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    cl.enqueue_copy(queue, buffer, numpy.zeros(1024, numpy.int32))
    return buffer
"""


def script(text: str) -> str:
    """Returns the output of a script, which must succeed without messages on stderr."""
    return quiet_output(finished(sys.executable, "-c", text, env=plain_environment()))


def test_a_script_that_activates_boards_finds_them_alone_and_ends_without_a_word() -> None:
    said = script(
        "import fpgart; fpgart.activate('hetero,usm_s10', platform='emulator')"
        + COPY
        + """
kept = copy()
print(len(cl.get_platforms()), [device.name for device in cl.get_platforms()[0].get_devices()])
assert cl.create_some_context(interactive=False).devices[0].platform == cl.get_platforms()[0]
print(cl.get_platforms()[0].name)
"""
    )
    one_platform, name = said.splitlines()
    assert one_platform == "1 ['Intel(R) FPGA Emulation Device', 'Intel(R) FPGA Emulation Device']"
    assert name == "Intel(R) FPGA Emulation Platform for OpenCL(TM)"


def test_the_report_of_an_activation_shows_in_text_and_in_a_notebook_what_has_happened_so_far() -> None:
    said = script(
        "import fpgart; fpgart.activate('hetero', trace=True)"
        + COPY
        + """
kept = copy()
report = fpgart.report()
print(report)
html = report._repr_html_()
assert html.count("<svg") == 1 and "<title>buffer 1" in html and "buffers-table" in html, html
"""
    )
    assert "buffer 1: 4 KiB" in said
    assert "no end" not in said


def test_a_with_statement_takes_everything_back_and_leaves_empty_boards() -> None:
    said = script(
        """
import os, fpgart, pyopencl
before, listed = dict(os.environ), pyopencl.get_platforms
addresses = []
"""
        + COPY
        + """
for attempt in range(2):
    with fpgart.activate("hetero", trace=True) as active:
        copy()
        lines = str(active.report()).splitlines()
        addresses += [line for line in lines if line.startswith("    device") and " at 0x" in line]
assert dict(os.environ) == before and pyopencl.get_platforms is listed
print(len(addresses), len({line.split(",")[1] for line in addresses}))
try:
    fpgart.report()
except fpgart.activation.ActivationError as error:
    print(error)
"""
    )
    assert said.splitlines() == [
        "2 1",
        "no trace: call fpgart.report('trace.json'), or fpgart.activate(trace=True) first",
    ]


def test_what_stands_against_an_activation_is_told_and_nothing_is_left_of_it() -> None:
    said = script(
        """
import os, fpgart, pyopencl
from fpgart.control import requests as control
before = dict(os.environ)
def refused(*boards, **options):
    try:
        fpgart.activate(*boards, **options)
    except fpgart.activation.ActivationError as error:
        print(error)
    assert dict(os.environ) == before
refused("usm_s11")
refused(trace="/nonexistent/t.json")
assert not control.is_running()
with fpgart.activate("hetero"):
    pass
refused("usm_s10")
"""
    )
    unknown, place, other = said.splitlines()
    assert unknown.startswith("FPGART_BOARD=usm_s11: not one of ")
    assert place == "trace=/nonexistent/t.json: No such file or directory: /nonexistent"
    assert other.startswith("the driver of this process already runs with FPGART_BOARD=hetero and keeps its boards: ")


def test_an_activation_that_is_refused_leaves_the_earlier_one_and_its_trace() -> None:
    said = script(
        "import fpgart; fpgart.activate('hetero', trace=True)"
        + COPY
        + """
kept = copy()
for board, trace in (("usm_s10", False), ("hetero", "/nonexistent/t.json")):
    try:
        fpgart.activate(board, trace=trace)
    except fpgart.activation.ActivationError:
        print("refused")
print(fpgart.report())
"""
    )
    assert said.startswith("refused\nrefused\n")
    assert "buffer 1: 4 KiB" in said


def test_an_activation_after_pyopencl_has_listed_platforms_is_refused() -> None:
    said = script(
        """
import fpgart, pyopencl
pyopencl.get_platforms()
try:
    fpgart.activate()
except fpgart.activation.ActivationError as error:
    print(error)
"""
    )
    assert said.startswith("pyopencl listed the platforms before fpgart.activate() was called")


def test_the_magic_of_a_cell_shows_what_the_cell_did() -> None:
    said = script(
        """
import fpgart
class Shell:
    def register_magic_function(self, function, magic_kind):
        self.magic = function
    def run_cell(self, cell):
        exec(cell, globals())
shell = Shell()
fpgart.load_ipython_extension(shell)
assert shell.magic("hetero") is None
"""
        + COPY
        + """
copy()
shown = shell.magic("", "copy(); copy()")
print(len(shown.facts.copies), shown.facts.boards[0])
"""
    )
    assert said == "2 hetero\n"
