# SPDX-License-Identifier: Apache-2.0
"""The order of steps that write the same files of PoCL's cache, in whichever process or thread.

PoCL removes a file before it replaces it. If two of its builds do so at once, one fails with CL_BUILD_PROGRAM_FAILURE
and an empty log.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from fpgart.base.digests import sha256
from fpgart.engine.compiling.cache import cache_folder
from fpgart.engine.driver import DriverError

FOLDER = "fpgart"
DIGITS = 2
"""The digits of the digest in the name of a lock file: few, so that few files remain, but enough that unrelated
steps seldom share one."""


@contextmanager
def one_at_a_time(kind: str, contents: Iterable[bytes]) -> Iterator[None]:
    """Waits until no other step of the same kind and contents runs. Without a folder for the lock there is no order.

    A step of one kind may begin within one of another kind in one direction only; otherwise two steps could wait for
    each other.
    """
    with ExitStack() as held:
        with suppress(OSError, DriverError):
            held.callback(os.close, _locked(kind, contents))
        yield


def _locked(kind: str, contents: Iterable[bytes]) -> int:
    digest = sha256()
    for each in contents:
        digest.update(each)
    folder = os.path.join(cache_folder().folder, FOLDER)
    os.makedirs(folder, 0o700, exist_ok=True)
    file = os.path.join(folder, f"{kind}-{digest.hexdigest()[:DIGITS]}.lock")
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
