# SPDX-License-Identifier: Apache-2.0
"""Functions that boards lack, and that have no entry point of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from fpgart.base.errors import InvalidContext, InvalidOperation

OTHER = InvalidOperation.status
NO_CONTEXT = InvalidContext.status


@pytest.fixture
def refuse(imported: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """`refuse("clNew", ["context"], "cl_int", 0)`: what C returns if the call raises, and what the call returns."""
    absent = imported("api.absent")
    bound: dict[str, tuple[Any, Any]] = {}
    monkeypatch.setattr(absent, "bind", lambda name, function, error: bound.update({name: (error, function)}))
    monkeypatch.setattr(absent, "failed", lambda error, name, item: error.status)
    monkeypatch.setattr(absent, "find", lambda handle, kind: handle or no_context())

    def call(name: str, parameters: list[str], returned: str, *arguments: Any) -> tuple[Any, Any]:
        bound.clear()
        absent.refuse_the_rest([("clGetImageInfo", ["image"], "cl_int"), (name, parameters, returned)])
        assert list(bound) == [name]  # clGetImageInfo has an entry point
        error, function = bound[name]
        return error, function(*arguments)

    return call


def no_context() -> None:
    raise InvalidContext("0 is not a context")


@pytest.mark.parametrize(
    ("parameters", "returned", "results"),
    [
        (["platform"], "cl_int", (OTHER, OTHER)),
        (["platform"], "void *", (0, 0)),
        (["platform"], "cl_bool", (0, 0)),
        (["platform"], "void", (None, None)),
        ([""], "cl_int", (OTHER, OTHER)),
    ],
)
def test_a_function_without_an_entry_point_fails_as_its_type_can_say(
    refuse: Callable[..., tuple[Any, Any]], parameters: list[str], returned: str, results: tuple[Any, Any]
) -> None:
    assert refuse("clNew", parameters, returned, 1) == results


def test_a_function_without_an_entry_point_checks_its_first_handle(refuse: Callable[..., tuple[Any, Any]]) -> None:
    assert refuse("clNew", ["context", "size"], "cl_int", 0, 1) == (OTHER, NO_CONTEXT)
    assert refuse("clOther", ["size", "context"], "cl_int", 0, 1) == (OTHER, OTHER)


@pytest.mark.parametrize(("context", "status"), [(0, NO_CONTEXT), (1, OTHER)])
def test_a_function_without_an_entry_point_that_creates_an_object_writes_its_status(
    refuse: Callable[..., tuple[Any, Any]], context: int, status: int
) -> None:
    errcode_ret = [0]
    assert refuse("clNew", ["context", "errcode_ret"], "cl_mem", context, errcode_ret) == (0, 0)
    assert errcode_ret == [status]
