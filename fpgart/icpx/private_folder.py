# SPDX-License-Identifier: Apache-2.0
"""A folder of temporary files that does not outlive its process, however that ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fpgart.icpx.errors import IcpxError, PassFailed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which users end a compilation."""
FULL = (errno.ENOSPC, errno.EDQUOT)
REMOVE = 'read -r end; PATH=$PATH:/usr/bin:/bin; exec rm -rf -- "$0"'


@contextmanager
def private_folder() -> Iterator[Path]:
    """Makes a folder that only this user can read; removes it at the end of the block or of this process.

    A process that gets SIGKILL can remove nothing. A shell therefore removes the folder: it waits for the end of a pipe
    that this process alone keeps open, in a session of its own, so that no signal to this process's group reaches it.
    Programs that are run within the block have it as TMPDIR, so that their temporary files are removed, too.
    If there is no room, an IcpxError or the log of a PassFailed says so. Raises OSError.
    """
    before = os.environ.get("TMPDIR")
    with ExitStack() as stack:
        with signals_held():
            folder = tempfile.mkdtemp(prefix="icpx-")
            words = ["/bin/sh", "-c", REMOVE, folder]
            stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True))
        no_room = f"{Path(folder).parent}: {os.strerror(errno.ENOSPC)}; TMPDIR names the folder for temporary files"
        os.environ["TMPDIR"] = folder
        try:
            yield Path(folder)
        except OSError as error:
            if error.errno in FULL:
                raise IcpxError(no_room) from None
            raise
        except PassFailed as failed:
            if any(os.strerror(number) in str(failed) for number in FULL):
                raise PassFailed(f"{failed}icpx: {no_room}\n") from None
            raise
        finally:
            del os.environ["TMPDIR"]
            if before is not None:
                os.environ["TMPDIR"] = before


@contextmanager
def signals_held() -> Iterator[None]:
    """Has signals of users wait until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
