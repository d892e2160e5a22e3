# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments that C takes by itself: nobody can tell it from Python's way (icd/entry/argument_calls.c)."""

from __future__ import annotations

from pathlib import Path

from both_ways import calls_in, same_output


def test_arguments_set_in_c_are_as_those_set_in_python(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    words = same_output("arguments.py", trace).splitlines()
    assert words[:2] == ["set 1 4 0", "launch -52"]
    assert {line.split()[-1] for line in words if line.startswith("set")} >= {"0", "-38", "-48", "-49", "-50", "-51"}
    assert [line for line in words if "gone" in line] == ["gone -52", "still gone -52"]
    calls = calls_in(trace)
    assert calls.count("clSetKernelArg") == sum(line.startswith("set") for line in words)


def test_pointers_set_in_c_are_as_those_set_in_python(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    words = same_output("pointers.py", trace).splitlines()
    assert {line.split()[-1] for line in words if line.startswith("set")} >= {"0", "-38", "-48", "-49", "-50"}
    calls = calls_in(trace)
    for how, name in (("usm", "clSetKernelArgMemPointerINTEL"), ("svm", "clSetKernelArgSVMPointer")):
        assert calls.count(name) == sum(line.startswith(f"set {how} ") for line in words)
