"""The choice of a kernel's kind on Intel's FPGA emulator, which tests/sycl runs."""

from __future__ import annotations

from typing import Any

import pytest

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
