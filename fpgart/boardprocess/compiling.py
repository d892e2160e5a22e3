# SPDX-License-Identifier: Apache-2.0
"""A board process without a board: it compiles and links for a host, whose own engine loads the result."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from fpgart._native import lib
from fpgart.engine.choice import choose_engine
from fpgart.engine.driver import Handover
from fpgart.engine.interface import BuildFailed, Engine, NoEngine
from fpgart.engine.isolated import messages as m
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.steps import do, release
from fpgart.errors import CLError, InvalidOperation, InvalidValue, OutOfHostMemory, without_frames
from fpgart.version import __version__


class Compiling:
    """The steps of one host. Raises InvalidValue for a host of another version."""

    def __init__(self, ask: m.OpenCompiler) -> None:
        if (ask.version, ask.release) != (m.VERSION, __version__):
            raise InvalidValue(
                f"the host speaks version {ask.version} of fpgart {ask.release}, "
                f"the compiler process version {m.VERSION} of fpgart {__version__}"
            )
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a compiler that crashes is an answer, no accident
        sys.path += [folder for folder in ask.modules if folder not in sys.path]
        self._engine: Engine = choose_engine()
        if ask.memory:
            limit_memory(ask.memory)

    def ready(self) -> m.CompilerReady:
        """What the host is told of the engine."""
        engine = self._engine
        if isinstance(engine, OpenCLEngine):
            return m.CompilerReady(engine.version, engine.path, "")
        missing = engine.reason if isinstance(engine, NoEngine) else f"{engine.name} does not compile apart"
        return m.CompilerReady("", "", missing)

    def answer(self, ask: m.DoStep) -> object:
        """Do a step."""
        try:
            return self._do(ask)
        except BuildFailed as failed:
            return m.NotBuilt(failed.status, failed.log)
        except CLError as error:
            return m.Failed(error.status, str(without_frames(error)))
        except MemoryError:
            return m.Failed(OutOfHostMemory.status, "the compiler process has no memory for the step")
        finally:
            sys.stdout.flush()
            lib.flush_output()

    def _do(self, ask: m.DoStep) -> m.StepDone:
        engine, step = self._engine, ask.step
        if not isinstance(engine, OpenCLEngine):
            raise InvalidOperation("the compiler process has no engine")
        driver = engine.driver.on_caller if step.on_caller else engine.driver
        if driver is None:
            raise InvalidOperation("the engine of the compiler process has no device for kernels with channels")
        with suppress(OSError):  # a folder that has gone is gone for the host's compiler, too
            os.chdir(ask.folder)
        made = do(driver, step)
        release(driver, made.handle)
        return m.StepDone(made.log, made.binary if driver.handover is not Handover.NOTHING else b"")


def limit_memory(size: int) -> None:
    """Let this process have that many bytes more than it has."""
    facts = Path("/proc/self/status").read_text()
    has = next(int(line.split()[1]) << 10 for line in facts.splitlines() if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = has + size if most == resource.RLIM_INFINITY else min(has + size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
