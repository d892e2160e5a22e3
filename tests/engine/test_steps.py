"""Steps that the driver does in its own process (engine/opencl_engine/steps.py)."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from fpgart.engine.build_step import ProgramInput
from fpgart.engine.driver import Driver
from fpgart.engine.opencl_engine import steps


class Creating:
    """A driver that notes whether the lock is held while it creates a program."""

    create_with_il = "clCreateProgramWithIL"
    context = 0

    def __init__(self, lock: threading.Lock) -> None:
        self.lock, self.was_locked = lock, list[bool]()

    def create(self, name: str, *_arguments: Any) -> int:
        self.was_locked.append(self.lock.locked())
        return 1


@pytest.mark.parametrize(("given", "locked"), [(ProgramInput(il=b"il"), True), (ProgramInput(source=b"s"), False)])
def test_the_engine_reads_one_module_of_spir_v_at_a_time(
    given: ProgramInput, locked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = threading.Lock()
    monkeypatch.setattr(steps, "_reading_il", lock)
    driver = Creating(lock)
    assert steps.create(cast(Driver, driver), given) == 1
    assert driver.was_locked == [locked]
    assert not lock.locked()
