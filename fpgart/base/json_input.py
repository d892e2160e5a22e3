# SPDX-License-Identifier: Apache-2.0
"""Reads JSON that others may have made: limits its depth, and checks the types of its values.

The standard library's parser recurses by the depth of its input, so deeper texts are refused before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

DEEPEST = 32
"""The limit of nested objects and arrays; those that fpgart writes are nested up to 6."""
NESTING = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
MOST_DIGITS = 20
STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
T = TypeVar("T")


def fastest() -> Callable[[bytes], Any]:
    """Returns the parser for large texts: orjson's if it is installed.

    It may raise ValueError, or RecursionError, for texts that parse_json() accepts.
    """
    try:
        import orjson
    except ImportError:
        return json.loads
    loads: Callable[[bytes], Any] = orjson.loads
    return loads


def parse_json(text: str | bytes) -> Any:
    """Returns the value of a JSON text. Raises ValueError for any other text, and for one deeper than DEEPEST."""
    if isinstance(text, bytes):
        text = text.decode()
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise ValueError(f"objects and arrays are more than {DEEPEST} deep within each other")
    return json.loads(text)


def _depth(text: str) -> int:
    """Returns the depth of nested objects and arrays. Brackets in strings do not count."""
    depth = deepest = 0
    for found in NESTING.finditer(text):
        depth += STEP.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest


def typed(value: Any, kind: type[T], place: str = "the value") -> T:
    """Converts a value of JSON to a number, a text, an enumeration's member, an object, or a list, tuple or dict of
    these.

    Objects are dataclasses and named tuples. Raises ValueError, with the place, for a value of another type, and for
    fields that are missing or unknown.
    """
    found: T = _typed(value, kind, place)
    return found


def untyped(value: Any) -> Any:
    """Returns the JSON value from which typed() makes `value` again."""
    if _is_dataclass(value):
        from dataclasses import fields

        return {each.name: untyped(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "_asdict"):
        return {name: untyped(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return {key: untyped(each) for key, each in value.items()}
    return [untyped(each) for each in value] if isinstance(value, (list, tuple)) else value


def _is_dataclass(value: Any) -> bool:
    """Returns True for dataclasses and their objects, without the module, which takes 5 ms to import."""
    return hasattr(value, "__dataclass_fields__")


def _typed(value: Any, kind: Any, place: str) -> Any:
    if _is_dataclass(kind) or hasattr(kind, "_fields"):
        return _object(value, kind, place)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in parts else _typed(value, parts[0], place)
    if origin in (list, tuple):
        return origin(_items(value, kind, parts, place))
    if origin in (dict, Mapping):
        keys = _keys(value, place)
        return {_key(key, parts[0], place): _typed(value[key], parts[1], f"{place}, {key}") for key in keys}
    if isinstance(kind, type) and issubclass(kind, Enum):
        if value not in [member.value for member in kind]:
            raise ValueError(f"{place}: {value!r:.60} is none of {', '.join(str(member.value) for member in kind)}")
        return kind(value)
    if type(value) is not kind:
        raise ValueError(f"{place}: {value!r:.60} is not of type {kind.__name__}")
    return value


def _keys(value: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        raise ValueError(f"{place}: {value!r:.60} is not an object")
    return list(value)


def _key(text: str, kind: Any, place: str) -> Any:
    """Returns a key as a text, or as a number from 0 if `kind` is not str."""
    if kind is str:
        return text
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise ValueError(f"{place}: {text!r:.60} is not a number")
    return int(text)


def _items(value: Any, kind: Any, parts: tuple[Any, ...], place: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{place}: {value!r:.60} is not an array")
    if get_origin(kind) is list or parts[-1] is Ellipsis:
        parts = (parts[0],) * len(value)
    if len(value) != len(parts):
        raise ValueError(f"{place}: {len(value)} values are there instead of {len(parts)}")
    return [
        _typed(each, part, f"{place}, {index}") for index, (each, part) in enumerate(zip(value, parts, strict=True))
    ]


def _object(value: Any, kind: Any, place: str) -> Any:
    names = _keys(value, place)
    types = _types(kind)
    for name in names:
        if name not in types:
            raise ValueError(f"{place}: there is no field {name!r:.60}")
    for name in _needed(kind):
        if name not in names:
            raise ValueError(f"{place}: field '{name}' is missing")
    return kind(**{name: _typed(value[name], types[name], f"{place}, {name}") for name in names})


@cache
def _needed(kind: Any) -> list[str]:
    """Returns the names of the fields without a default."""
    if not _is_dataclass(kind):
        return [name for name in kind._fields if name not in kind._field_defaults]
    from dataclasses import MISSING, fields

    return [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
