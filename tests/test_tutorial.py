"""docs/tutorial.md shows what its program really does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fpgart.watch import report

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "examples" / "tutorial" / "sums.c"
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()


def compiled(folder: Path, source: str) -> Path:
    file, program = folder / "sums.c", folder / "sums"
    file.write_text(source)
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
    subprocess.run(["cc", *options, str(file), "-o", str(program), "-lOpenCL"], check=True)
    return program


def traced(program: Path, *options: str) -> Path:
    """The trace of a run; the program may print WRONG, because it has a race."""
    pytest.importorskip("pyopencl")  # brings the engine
    file = program.parent / "t.json"
    command = [sys.executable, "-m", "fpgart.cli", "run", "--trace", str(file), *options, "--", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert result.stdout in ("right\n", "WRONG\n"), result.stderr
    return file


def shown(heading: str) -> list[str]:
    """The lines of the report's part under `heading` that the tutorial shows."""
    (block,) = re.findall(rf"^    {heading}.*\n((?:      .*\n)+)", TUTORIAL, re.MULTILINE)
    return [line.strip() for line in block.splitlines()]


def test_the_report_is_as_the_tutorial_shows_it(tmp_path: Path) -> None:
    found = report.read(traced(compiled(tmp_path, SOURCE.read_text())))
    copies = [f"buffer {c.buffer}, 4 MiB: {c.what}; {c.cause}" for c in found.copies]
    assert [line.partition(": ")[2] for line in shown("copies")] == copies
    assert shown("to avoid") == [f"{a.words}: {report.saved(a)}" for a in found.advice]


def test_the_tutorials_flag_saves_the_copy(tmp_path: Path) -> None:
    (better,) = re.findall(r"clEnqueueMapBuffer\(moves, sums, CL_TRUE, (\w+), 0", TUTORIAL)
    source = SOURCE.read_text()
    assert source.count("CL_MAP_WRITE,") == 1
    found = report.read(traced(compiled(tmp_path, source.replace("CL_MAP_WRITE,", f"{better},"))))
    assert "MAP_BUFFER" not in [copy.what for copy in found.copies]
    assert found.advice == []
