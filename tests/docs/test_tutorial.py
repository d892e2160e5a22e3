"""docs/tutorial.md shows what its program really does."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from c_hosts import host_of
from processes import ROOT, fpgart

from fpgart.watch import report
from fpgart.watch.report.model import CERTAIN
from fpgart.watch.report.text import places_in_words, saved

SOURCE = ROOT / "examples" / "tutorial" / "sums.c"
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()


def compiled(folder: Path, source: str) -> Path:
    return host_of(source, folder / "sums", "-O2", "-g", "-Wall", "-Wextra", "-Werror")


def run(program: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("pyopencl")  # brings the engine
    return fpgart("run", *options, "--", program, **environment)


def traced(program: Path) -> Path:
    """The trace of a run; the program may print WRONG, because it has a race."""
    file = program.parent / "t.json"
    result = run(program, "--trace", str(file))
    assert result.stdout in ("right\n", "WRONG\n"), result.stderr
    return file


def certain(found: report.Report) -> list[report.Advice]:
    """The advice without what depends on how fast the run was."""
    return [advice for advice in found.advice if advice.noun in CERTAIN]


def shown(heading: str) -> list[str]:
    """The lines of the report's part under `heading` that the tutorial shows."""
    (block,) = re.findall(rf"^    {heading}.*\n((?:      .*\n)+)", TUTORIAL, re.MULTILINE)
    return [line.strip() for line in block.splitlines()]


def test_the_report_is_as_the_tutorial_shows_it(tmp_path: Path) -> None:
    found = report.read(traced(compiled(tmp_path, SOURCE.read_text())))
    copies = [f"buffer {c.buffer}, 4 MiB: {c.what}; {c.cause}" for c in found.copies]
    assert [line.partition(": ")[2] for line in shown("copies")] == copies
    told = [[f"{a.words}: {saved(a)}", *places_in_words(a)] for a in certain(found)]
    assert shown("to avoid") == [line.replace(f"{tmp_path}/", "") for lines in told for line in lines]


def test_the_tutorials_flag_saves_the_copy(tmp_path: Path) -> None:
    (better,) = re.findall(r"clEnqueueMapBuffer\(moves, sums, CL_TRUE, (\w+), 0", TUTORIAL)
    source = SOURCE.read_text()
    assert source.count("CL_MAP_WRITE,") == 1
    found = report.read(traced(compiled(tmp_path, source.replace("CL_MAP_WRITE,", f"{better},"))))
    assert "MAP_BUFFER" not in [copy.what for copy in found.copies]
    assert certain(found) == []


WAITING = {
    "check(clEnqueueUnmapMemObject(moves, sums, mapped, 0, NULL, NULL),": "cl_event written;\n"
    "    check(clEnqueueUnmapMemObject(moves, sums, mapped, 0, NULL, &written),",
    "check(clEnqueueNDRangeKernel(runs, add, 1, NULL, &count, NULL, 0, NULL, NULL),": "check("
    "clEnqueueNDRangeKernel(runs, add, 1, NULL, &count, NULL, 1, &written, NULL),",
}
COPYING = {
    "    for (int i = 0; i < WEIGHTS; i++)\n        weights[i] = 0.5f;\n": "    float table[WEIGHTS];\n"
    "    for (int i = 0; i < WEIGHTS; i++)\n"
    "        table[i] = 0.5f;\n"
    "    check(device_copy(moves, CL_TRUE, weights, table, sizeof table, 0, NULL, NULL), "
    '"clEnqueueMemcpyINTEL");\n',
}
LOOK_UP = {
    "    clMemBlockingFreeINTEL_fn blocking_free": "    clEnqueueMemcpyINTEL_fn device_copy =\n"
    "        (clEnqueueMemcpyINTEL_fn)clGetExtensionFunctionAddressForPlatform(\n"
    '            platform, "clEnqueueMemcpyINTEL");\n'
    "    clMemBlockingFreeINTEL_fn blocking_free",
}
"""Passages of the program, and what the tutorial has in their place."""


def mended(*changes: dict[str, str]) -> str:
    source = SOURCE.read_text()
    for passage, better in [item for change in changes for item in change.items()]:
        assert source.count(passage) == 1
        source = source.replace(passage, better)
    return source


def shows(code: str) -> bool:
    """True if the tutorial has these lines, with any other lines between them and any indentation."""
    return all(line.strip() in TUTORIAL for line in code.splitlines())


def delay() -> str:
    (found,) = re.findall(r"fpgart run --faults '(.*)' -- ./sums", TUTORIAL)
    return str(found)


def test_the_race_shows_when_writes_take_longer(tmp_path: Path) -> None:
    """The tutorial says: about every second time."""
    program = compiled(tmp_path, SOURCE.read_text())
    printed = (run(program, "--faults", delay()).stdout for _ in range(60))
    assert next(text for text in printed if text != "right\n") == "WRONG\n"


def test_waiting_for_the_transfers_ends_the_race(tmp_path: Path) -> None:
    assert all(shows(better) for better in (*WAITING.values(), *COPYING.values()))
    program = compiled(tmp_path, mended(WAITING))
    assert [run(program, "--faults", delay()).stdout for _ in range(8)] == ["right\n"] * 8


def test_pointers_as_on_a_board_stop_the_host_that_follows_one(tmp_path: Path) -> None:
    encoded = {"FPGART_USM_POINTERS": "encoded"}
    assert all(f"{name}={value} fpgart run" in TUTORIAL for name, value in encoded.items())
    assert run(compiled(tmp_path, mended(WAITING)), **encoded).returncode == -signal.SIGSEGV
    assert run(compiled(tmp_path, mended(WAITING, LOOK_UP, COPYING)), **encoded).stdout == "right\n"


def findings(program: Path, check: str) -> list[str]:
    """Returns the findings of a check, with equal addresses."""
    lines = run(program, "--check", check).stderr.splitlines()
    told = [line.removeprefix("fpgart: ") for line in lines if line.startswith("fpgart: ")]
    return [without_addresses(line.replace(f"{program.parent}/", "")) for line in told]


def without_addresses(line: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", line)


@pytest.mark.parametrize("check", ["order", "usm"])
def test_the_checks_say_what_the_tutorial_shows(tmp_path: Path, check: str) -> None:
    (block,) = re.findall(rf"^    fpgart: \[{check}\].*\n(?:    fpgart:   .*\n)+", TUTORIAL, re.MULTILINE)
    wanted = [without_addresses(line.removeprefix("    fpgart: ")) for line in block.splitlines()]
    assert findings(compiled(tmp_path, SOURCE.read_text()), check)[: len(wanted)] == wanted


def test_the_checks_have_only_the_compiler_left_to_tell_of_the_mended_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, mended(WAITING, COPYING, LOOK_UP))
    told = [line for line in findings(program, "usm,buffers,order,fpga") if line.startswith("[")]
    assert [line.split("]")[0] for line in told] == ["[fpga"]
