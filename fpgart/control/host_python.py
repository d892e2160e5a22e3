# SPDX-License-Identifier: Apache-2.0
"""Calls into the host's Python, which has an interpreter of its own."""

from __future__ import annotations

import threading

from _fpgart_icd import ffi, lib


def ask_host(module: str, function: str, request: bytes, *, only_if_imported: bool = False) -> bytes | None:
    """Calls a function of a module in the host's interpreter, which takes and returns bytes.

    Returns None if it raised an exception, which is printed; with `only_if_imported`, also if the host does not use
    that module. A host that is not written in Python has one interpreter, and nothing is called. The function runs on a
    thread of the driver: on the host's main thread, signal handlers could run and raise exceptions, which would not
    arrive where the host waits for them.
    """
    if not lib.fpgart_is_guest() or (only_if_imported and not lib.fpgart_host_imported(module.encode())):
        return None
    answers: list[bytes | None] = []

    def ask() -> None:
        answers.append(_ask(module, function, request))

    thread = threading.Thread(target=ask, name=f"fpgart asks {module}", daemon=True)
    thread.start()
    thread.join()
    return answers[0]


def _ask(module: str, function: str, request: bytes) -> bytes | None:
    length = ffi.new("size_t *")
    answer = lib.fpgart_ask_host(module.encode(), function.encode(), request, len(request), length)
    if answer == ffi.NULL:
        return None
    try:
        return bytes(ffi.buffer(answer, length[0]))
    finally:
        lib.fpgart_answer_read(answer)
