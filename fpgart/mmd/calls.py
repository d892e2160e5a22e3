# SPDX-License-Identifier: Apache-2.0
"""The file of FPGART_MMD_CALLS: a line for each call, without addresses of the host, so that runs can be compared."""

from __future__ import annotations

import os
import stat

from fpgart.base import config
from fpgart.base.output_file import KeptOutput, open_output


class CallLog:
    """The file; nothing is written where none is asked for. Any thread may call: a line is written at once."""

    def __init__(self) -> None:
        """Raises OptionError for a file that cannot be written."""
        self._file: KeptOutput | None = None
        path = config.MMD_CALLS.value
        if path:
            try:
                self._file = KeptOutput(open_output(path))
                if stat.S_ISREG(os.fstat(self._file.descriptor).st_mode):
                    os.ftruncate(self._file.descriptor, 0)
            except OSError as error:
                raise config.OptionError(f"{config.MMD_CALLS.name}={path}: {error.strerror}") from None

    def note(self, call: str, result: int | None = None, **facts: object) -> None:
        """A call with what it was given, and what it returned; without a result it is one of the host's handlers."""
        if self._file is None:
            return
        words = [call, *(f"{name}={fact}" for name, fact in facts.items())]
        if result is not None:
            words += ["=", str(result)]
        self._file.write((" ".join(words) + "\n").encode(errors="replace"))
