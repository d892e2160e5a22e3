"""From handles to objects (fpgart/bridge/handles.py), beside a double of C's table of handles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest
from c_hosts import build
from machine import Machine
from processes import finished

HANDLE = 0x1000


class Table:
    """The functions of icd/entry/handles.c, with the host's references to one handle, the last of which was put off."""

    def __init__(self, *released: int) -> None:
        self.references = 1
        self.released = list(released)

    def fpgart_handle_is_held(self, handle: int) -> bool:
        return self.references > 0

    def fpgart_handle_free(self, handle: int) -> None:
        """Nobody makes another one."""

    def fpgart_next_released(self) -> int:
        return self.released.pop(0) if self.released else 0

    def fpgart_callbacks_are_left(self, flag: int) -> None:
        pass

    def fpgart_released_done(self) -> None:
        """Nobody waits."""


def test_a_callback_of_a_release_that_was_put_off_may_wait_for_a_thread_that_calls(
    boards: Callable[..., Machine], imported: Callable[..., ModuleType]
) -> None:
    machine, table = boards("hetero"), Table(HANDLE)
    handles = imported("bridge.handles", table)
    ended: list[bool] = []

    def destroyed() -> None:
        other = threading.Thread(target=handles.reap, daemon=True)  # each call into Python begins so
        other.start()
        other.join()
        ended.append(True)

    buffer = machine.buffer(64)
    buffer.when_destroyed(destroyed)
    handles._hold(buffer, HANDLE)
    del buffer
    table.references = 0
    handles.reap()
    assert ended == [True]


def test_a_wrong_handle_is_told_with_what_it_is(
    boards: Callable[..., Machine], imported: Callable[..., ModuleType]
) -> None:
    buffer, handles = boards("hetero").buffer(64), imported("bridge.handles", Table())
    assert handles.in_words(HANDLE, buffer, "Event") == "0x1000 is a buffer, not an event"
    assert handles.in_words(HANDLE, None, "Context") == "0x1000 is not a context"
    assert handles.in_words(0, None, "Event") == "NULL is not an event"
    handles._DEAD[HANDLE] = handles.Event
    assert handles.in_words(HANDLE, None, "Event") == "0x1000 is the handle of an event that was released"


def test_the_log_says_why_the_host_has_no_reference_to_release(tmp_path: Path) -> None:
    result = finished(build("counts_refused", tmp_path), FPGART_LOG="stderr")
    assert result.returncode == 0, result.stderr
    event, buffer, device, sampler, context = result.stderr.splitlines()
    assert event.startswith("fpgart: clReleaseEvent: CL_INVALID_EVENT: 0x")
    assert event.endswith(" is the handle of an event that was released")
    assert buffer.startswith("fpgart: clRetainMemObject: CL_INVALID_MEM_OBJECT: 0x")
    assert buffer.endswith(" is a command queue, not a buffer")
    assert device.startswith("fpgart: clReleaseDevice: CL_INVALID_DEVICE: 0x")
    assert device.endswith(" is a buffer, not a device")
    assert sampler.startswith("fpgart: clRetainSampler: CL_INVALID_SAMPLER: 0x")
    assert sampler.endswith(" is a buffer, not a sampler")
    assert context.startswith("fpgart: clReleaseContext: CL_INVALID_CONTEXT: 0x")
    assert context.endswith(" is the handle of a context that was released")


def test_the_log_says_that_a_function_which_c_calls_failed(
    imported: Callable[..., ModuleType], capfd: pytest.CaptureFixture[str]
) -> None:
    library = Mock()
    imported("bridge.entry", ffi=library).called_by_c("fpgart_reap", int)
    assert library.def_extern.return_value.call_args.args == (int,)
    error = KeyError("no such object")
    assert library.def_extern.call_args.kwargs["onerror"](KeyError, error, None) is None, "C gets 0"
    assert capfd.readouterr().err.splitlines() == [
        "fpgart: fpgart_reap failed; this is a bug of the driver",
        "fpgart: KeyError: 'no such object'",
    ]
