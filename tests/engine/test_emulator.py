"""The choice of a kernel's kind on Intel's FPGA emulator, which tests/sycl runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fpgart.engine.build_step import ProgramInput
from fpgart.engine.opencl_engine import emulator
from fpgart.engine.opencl_engine.emulator import EmulatorEngine, EmulatorProgram
from fpgart.engine.opencl_engine.engine import OpenCLEngine


class Program(EmulatorProgram):
    """A program without the emulator."""

    def __init__(self) -> None:
        self.kernels_with_pipes = frozenset({"with"})

    def __del__(self) -> None: ...


@pytest.mark.parametrize(("name", "waits"), [("with", True), ("without", False)])
def test_of_a_programs_kernels_only_those_with_pipes_may_wait(
    monkeypatch: pytest.MonkeyPatch, name: str, waits: bool
) -> None:
    monkeypatch.setattr(emulator, "EmulatorKernel", lambda *_: True)
    monkeypatch.setattr(OpenCLEngine, "make_kernel", lambda *_: False)
    kernel: Any = EmulatorEngine.make_kernel(object.__new__(EmulatorEngine), Program(), name)
    assert kernel is waits


class Image(Program):
    def __init__(self) -> None:
        self._given = ProgramInput(binary=b"image")


@pytest.mark.parametrize(("has_pipes", "waiting"), [(True, {"any"}), (False, set())])
def test_all_kernels_of_an_image_with_pipes_may_wait(
    monkeypatch: pytest.MonkeyPatch, has_pipes: bool, waiting: set[str]
) -> None:
    monkeypatch.setattr(emulator, "read_image", lambda _: SimpleNamespace(kernels=("any",), has_pipes=has_pipes))
    assert Image().kernels_with_pipes == waiting
