# SPDX-License-Identifier: Apache-2.0
"""Writes each MMD call as a line of the file FPGART_MMD_CALLS, without host addresses, which differ between runs."""

from __future__ import annotations

import os
import stat

from fpgart.base import config
from fpgart.base.output_file import KeptOutput, open_output


class CallLog:
    """The file, if the option names one. Any thread may call note(), which writes a line at once."""

    def __init__(self) -> None:
        """Raises OptionError if the file cannot be written."""
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
        """Writes a call with its arguments and its result. A line without result is a call of the host's handler."""
        if self._file is None:
            return
        words = [call, *(f"{name}={fact}" for name, fact in facts.items())]
        if result is not None:
            words += ["=", str(result)]
        self._file.write((" ".join(words) + "\n").encode(errors="replace"))
