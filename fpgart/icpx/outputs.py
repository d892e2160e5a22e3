# SPDX-License-Identifier: Apache-2.0
"""Writes the outputs of `icpx`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile

from fpgart.icpx.errors import IcpxError
from fpgart.icpx.private_folder import signals_held


def write_output(made: Path, output: Path) -> None:
    """Copies a file to the output, which is the old one or whole at any time. Raises IcpxError."""
    try:
        if output.exists() and not output.is_file():
            shutil.copyfile(made, output)  # a device or a pipe
            return
        with signals_held(), NamedTemporaryFile(prefix=".icpx-", dir=output.parent, delete=False) as new:
            try:
                new.write(made.read_bytes())
                new.close()
                shutil.copymode(made, new.name)
                os.replace(new.name, output)
            except BaseException:
                os.unlink(new.name)
                raise
    except OSError as error:
        raise IcpxError(f"{output}: {error.strerror}") from None
