# SPDX-License-Identifier: Apache-2.0
"""The first module of a board process. It loads the engine's libraries while the other modules are imported.

Both take about 35 ms. The dynamic linker loads one library at a time. So extension modules are imported first: an
import that waits for the engine's libraries would delay all others.
"""

from __future__ import annotations

import array  # noqa: F401
import bisect  # noqa: F401
import fcntl  # noqa: F401
import hashlib  # noqa: F401
import math  # noqa: F401
import resource  # noqa: F401
import select  # noqa: F401
import socket  # noqa: F401
import struct  # noqa: F401
import threading

from fpgart._native import ffi, lib


def serve(descriptor: int, secure: int, engine: str) -> None:
    """Serves the host at the other end of a socket until it closes that. `engine`: the driver's file, or "".

    `secure`: the process runs with other rights than its user's, as the host does; it loads nothing before it has
    stopped reading its environment.
    """
    loading = None
    if not secure:
        lib.environment_is_ours()
        if engine:
            loading = threading.Thread(target=load, args=(engine,), daemon=True)
            loading.start()
    from fpgart.boardprocess.session import serve_session

    serve_session(descriptor, secure, loading)


def load(engine: str) -> None:
    """Loads the driver's libraries. A failure is reported when the driver is opened."""
    path = engine.encode()
    lib.signals_remember()
    lib.driver_open(path, ffi.new("char[]", 1), 1)
    lib.signals_give_back(path)
