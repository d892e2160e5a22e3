# SPDX-License-Identifier: Apache-2.0
"""Mutants of functions that are imported already: their code is exchanged.

That serves where one function differs, and nothing that the import of its module runs.
"""

from __future__ import annotations

import gc
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

_SHAPE = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable",
)  # fmt: skip
"""The attributes in which two codes must agree, apart from their constants; lines do not count."""


@dataclass(frozen=True)
class Swap:
    """The code of one function of a module, as it is and as the mutant has it."""

    before: CodeType
    after: CodeType


def swap_of(path: Path, source: str, mutated: str) -> Swap | None:
    """Returns the function in which a mutant differs; None if several differ, or code that the import runs."""
    before, after = (compile(text, path.resolve(), "exec", dont_inherit=True) for text in (source, mutated))
    changed = _changed_functions(before, after)
    if changed is None or len(changed) != 1 or changed[0].before.co_freevars != changed[0].after.co_freevars:
        return None
    return changed[0]


def _changed_functions(before: CodeType, after: CodeType) -> list[Swap] | None:
    """Returns the functions of a module or class, and of classes in it, that differ; None if the bodies differ."""
    if not _have_same_shape(before, after):
        return None
    found: list[Swap] = []
    for was, now in zip(before.co_consts, after.co_consts, strict=True):
        if not (isinstance(was, CodeType) and isinstance(now, CodeType)):
            if not _are_same(was, now):
                return None
        elif was.co_flags & inspect.CO_OPTIMIZED:  # bodies of classes are not
            if not _are_same(was, now):
                found.append(Swap(was, now))
        else:
            inner = _changed_functions(was, now)
            if inner is None:
                return None
            found += inner
    return found


def _have_same_shape(one: CodeType, other: CodeType) -> bool:
    return len(one.co_consts) == len(other.co_consts) and all(
        getattr(one, name, None) == getattr(other, name, None) for name in _SHAPE
    )


def _are_same(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        pairs = zip(one.co_consts, other.co_consts, strict=False)
        return _have_same_shape(one, other) and all(_are_same(was, now) for was, now in pairs)
    return type(one) is type(other) and repr(one) == repr(other)  # 1, 1.0 and True are equal, but not the same


class Functions:
    """All functions that are there, whatever wraps them."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[str, int, str], list[FunctionType]] = {}
        gc.unfreeze()  # get_objects() leaves out what tests/conftest.py has frozen
        for each in gc.get_objects():
            if type(each) is FunctionType:
                self._by_place.setdefault(_place(each.__code__), []).append(each)

    def of(self, code: CodeType) -> list[FunctionType]:
        """Returns the functions that have this code, however it was compiled."""
        return [each for each in self._by_place.get(_place(code), ()) if _are_same(each.__code__, code)]


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name
