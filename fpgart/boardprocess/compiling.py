# SPDX-License-Identifier: Apache-2.0
"""A board process without a board: it compiles and links for a host, whose own engine loads the result."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidOperation, InvalidValue, OutOfHostMemory, without_frames
from fpgart.engine.build_step import StepDone
from fpgart.engine.choice import prepare
from fpgart.engine.driver import Driver, DriverError, open_driver
from fpgart.engine.interface import BuildFailed
from fpgart.engine.isolated import messages as m
from fpgart.engine.opencl_engine.steps import do, release
from fpgart.version import __version__


class Compiling:
    """Does the build steps of one host. Raises InvalidValue for a host of another version."""

    def __init__(self, ask: m.OpenCompiler) -> None:
        if (ask.version, ask.release) != (m.VERSION, __version__):
            raise InvalidValue(
                f"the host speaks version {ask.version} of fpgart {ask.release}, "
                f"the compiler process version {m.VERSION} of fpgart {__version__}"
            )
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # hosts expect that the compiler may crash: no core file
        self._driver: Driver | None = None
        self._missing = ""
        path = Path(ask.path)
        try:
            prepare(path, has_host=False)
            self._driver = open_driver(path)
        except (DriverError, CLError) as error:
            self._missing = str(error)
        if ask.memory:
            limit_memory(ask.memory)

    def ready(self) -> m.CompilerReady:
        """Returns the facts about the engine for the host."""
        driver = self._driver
        if driver is None:
            return m.CompilerReady("", self._missing)
        return m.CompilerReady(driver.text("clGetPlatformInfo", driver.platform, cl.CL_PLATFORM_VERSION), "")

    def answer(self, ask: m.DoStep) -> object:
        """Does a step and returns the answer for the host."""
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

    def _do(self, ask: m.DoStep) -> StepDone:
        driver, step = self._driver, ask.step
        if driver is not None and step.on_caller:
            driver = driver.on_caller
        if driver is None:
            raise InvalidOperation("the compiler process has no engine, or no device for kernels with channels")
        with suppress(OSError):  # the host's compiler would not find a removed folder either
            os.chdir(ask.folder)
        made = do(driver, step)
        release(driver, made.handle)
        return StepDone(made.log, made.binary)


def limit_memory(size: int) -> None:
    """Limits this process to `size` bytes of data more than it has."""
    facts = Path("/proc/self/status").read_text()
    has = next(int(line.split()[1]) << 10 for line in facts.splitlines() if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = has + size if most == resource.RLIM_INFINITY else min(has + size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
