# SPDX-License-Identifier: Apache-2.0
"""A folder of temporary files that does not outlive its process, however that ends."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REMOVE = 'read -r end; exec rm -rf -- "$0"'


@contextmanager
def private_folder() -> Iterator[Path]:
    """Makes a folder that only this user can read; removes it at the end of the block or of this process.

    A process that gets SIGKILL can remove nothing. A shell therefore removes the folder: it waits for the end of a pipe
    that this process alone keeps open, in a session of its own, so that no signal to this process's group reaches it.
    Programs that are run within the block have it as TMPDIR, so that their temporary files are removed, too.
    Raises OSError.
    """
    folder = tempfile.mkdtemp(prefix="icpx-")
    before = os.environ.get("TMPDIR")
    with subprocess.Popen(["/bin/sh", "-c", REMOVE, folder], stdin=subprocess.PIPE, start_new_session=True):
        os.environ["TMPDIR"] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ["TMPDIR"]
            if before is not None:
                os.environ["TMPDIR"] = before
