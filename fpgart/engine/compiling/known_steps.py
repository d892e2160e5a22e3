# SPDX-License-Identifier: Apache-2.0
"""The results of a compiler process's steps, kept beside the kernels that the engine keeps.

Such a step is known to end: the host loads the object that is its result, or does the step itself, and starts no
process.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from fpgart.base.digests import sha256
from fpgart.base.patterns import pattern
from fpgart.engine.build_step import BUILD, LINK, BuildStep, ProgramInput, StepDone
from fpgart.engine.isolated.codec import ProtocolError, decoded, encoded
from fpgart.version import __version__

FOLDER = "fpgart"
VARIABLES = ("POCL_", "CL_CONFIG_")
"""Prefixes of the names of variables that engines obey."""
SPLICE = pattern(rb"(?:\\|\?\?/)[ \t]*\r?\n")
DEPENDS = pattern(
    rb"(?:#|%:|\?\?=)(?:\s|/\*.*?\*/)*(?:include|import)|__has_include|__DATE__|__TIME__|__TIMESTAMP__", re.DOTALL
)
"""Finds text whose meaning depends on other files or on the time."""
INCLUDES = "-i"
"""Prefix of the options that make the compiler include files: -include, -imacros."""


class KnownSteps:
    """Stores the results of build steps of one engine in a folder, so that later hosts need not run the compiler.

    A result that cannot be read counts as missing. One that cannot be written is not stored.
    """

    def __init__(self, cache: str, engine: tuple[str, ...]) -> None:
        """`cache`: the folder of compiled kernels, "" for none; `engine`: the texts that identify this engine."""
        self._folder = os.path.join(cache, FOLDER) if cache else ""
        self._engine = engine

    def find(self, step: BuildStep) -> StepDone | None:
        """Returns the result of the step; None if it is not known."""
        if not self._folder or not stands_alone(step):
            return None
        with suppress(OSError, ProtocolError, UnicodeError), open(self._file(step), "rb") as opened:
            return decoded(StepDone, opened.read())
        return None

    def keep(self, step: BuildStep, done: StepDone) -> None:
        """Keeps the result of the step.

        If a build has made an object and linked it, this includes the linking of that object.
        """
        if not self._folder or not stands_alone(step):
            return
        with suppress(OSError):
            os.makedirs(self._folder, 0o700, exist_ok=True)
            self._write(step, done)
            if step.call == BUILD and done.binary:
                linking = BuildStep(LINK, (ProgramInput(binary=done.binary),), "", (), step.on_caller)
                self._write(linking, done._replace(log="", binary=b""))

    def _write(self, step: BuildStep, done: StepDone) -> None:
        file = self._file(step)
        unfinished = f"{file}.{os.urandom(8).hex()}"
        with open(unfinished, "xb") as opened:
            opened.write(encoded(done))
        os.replace(unfinished, file)

    def _file(self, step: BuildStep) -> str:
        variables = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(VARIABLES))
        about = "\0".join((__version__, *self._engine, *variables)).encode(errors="surrogateescape")
        return os.path.join(self._folder, sha256(about + b"\0" + encoded(step)).hexdigest())


def stands_alone(step: BuildStep) -> bool:
    """True if the result of a step depends on nothing but the step and the engine."""
    sources = (each.source for each in (*step.inputs, *(header for _, header in step.headers)))
    texts = (step.options.encode(errors="surrogateescape"), *(SPLICE.sub(b"", source) for source in sources))
    return INCLUDES not in step.options and not any(DEPENDS.search(text) for text in texts)
