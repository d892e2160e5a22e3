# SPDX-License-Identifier: Apache-2.0
"""The language of FPGART_FAULTS: which calls of a board or of the API fail, take longer or report an error, and when.

    write:fail:nth=3; read,copy:delay=5ms:every=10; kernel:hang:name=vadd:limit=2s; seed=7
    api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3

Semicolons separate clauses. A clause is a seed, or calls, an action on them, and conditions (docs/faults.md).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from typing import TypeVar

from fpgart.base import opencl as cl
from fpgart.base import option_values
from fpgart.base.named_tuples import NamedTuple

T = TypeVar("T")
DEFAULT_LIMIT_S = 10.0


class FaultSyntaxError(ValueError):
    """The error of a text that describes no faults; the message says what is wrong and what would be right."""


class Call(enum.Enum):
    """The calls that faults can concern: the MMD's, allocating board memory, running a kernel, the API's."""

    OPEN = "open"
    WRITE = "write"
    READ = "read"
    COPY = "copy"
    PROGRAM = "program"
    HOST_ALLOC = "host_alloc"
    SHARED_ALLOC = "shared_alloc"
    ALLOC = "alloc"
    KERNEL = "kernel"
    API = "api"


class Action(enum.Enum):
    FAIL = "fail"
    DELAY = "delay"
    ECC = "ecc"
    HANG = "hang"


class Ecc(enum.IntEnum):
    """The errors of a board's memory. Each number is the bit of its exception in cl_ext_intelfpga.h."""

    CORRECTABLE = 1
    NON_CORRECTABLE = 2


TRANSFERS = frozenset({Call.WRITE, Call.READ, Call.COPY})
ALLOCATIONS = frozenset({Call.HOST_ALLOC, Call.SHARED_ALLOC, Call.ALLOC})
OF_BOARDS = frozenset(Call) - {Call.API}
POSSIBLE: dict[Action, frozenset[Call]] = {
    Action.FAIL: frozenset(Call),
    Action.DELAY: OF_BOARDS - {Call.ALLOC},
    Action.ECC: TRANSFERS | {Call.KERNEL},
    Action.HANG: frozenset({Call.KERNEL}),
}
"""The calls that each action is possible for."""


class Rule(NamedTuple):
    """One clause: calls, an action, conditions. Missing conditions are 0, "" or None.

    `nth`, `every` and `fraction` select among the calls that meet the other conditions.
    """

    text: str
    calls: frozenset[Call]
    action: Action
    delay: float = 0.0
    """In seconds."""
    ecc: Ecc | None = None
    limit: float = DEFAULT_LIMIT_S
    """The seconds after which a kernel that hangs is stopped."""
    device: int | None = None
    name: str = ""
    """The kernel's name."""
    size: int = 0
    """The least number of bytes."""
    total: int = 0
    """The bytes in use on the device above which an allocation fails."""
    nth: int = 0
    every: int = 0
    fraction: float = 0.0
    times: int = 0
    """The largest number of injections."""
    functions: frozenset[str] = frozenset()
    """The functions of the API; empty for all."""
    status: int = 0
    """The status that the host gets from a call of the API."""
    thread: int | None = None
    """The number of the calling thread, in the order of their first calls."""


class Plan(NamedTuple):
    rules: tuple[Rule, ...] = ()
    seed: int = 0


def parse(text: str) -> Plan:
    """Returns the faults that a text in FPGART_FAULTS' language describes. Raises FaultSyntaxError."""
    rules: list[Rule] = []
    seeds: list[int] = []
    for clause in filter(None, map(str.strip, text.split(";"))):
        key, equals, value = clause.partition("=")
        if equals and key.strip() == "seed":
            seeds.append(_read(clause, "seed", _number, value.strip()))
        else:
            rules.append(_rule(clause))
    if len(seeds) > 1:
        raise FaultSyntaxError("the seed is given twice")
    if not rules:
        raise FaultSyntaxError("no fault is given; an example is write:fail:nth=3")
    return Plan(tuple(rules), seeds[0] if seeds else 0)


# The values of conditions


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("a number from 0 is expected")
    return int(text)


def _count(text: str) -> int:
    value = _number(text) if text.isascii() and text.isdigit() else 0
    if not value:
        raise ValueError("a number from 1 is expected")
    return value


def _bytes(text: str) -> int:
    if not (value := option_values.size(text)):
        raise ValueError("a number of bytes above 0 is expected")
    return value


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError("a number above 0 and up to 1 is expected, such as 0.01")
    return value


def _duration(text: str) -> float:
    """Returns a time in seconds."""
    units = {"us": 1e6, "ms": 1e3, "s": 1.0}
    number = text.rstrip("mus")
    try:
        value = float(number) / units[text[len(number) :]]
    except (KeyError, ValueError):
        value = -1.0
    if not 0 <= value < 1e6:
        raise ValueError("a time is expected, such as 50us, 5ms or 2s")
    return value


def _name(text: str) -> str:
    if not text:
        raise ValueError("a kernel's name is expected")
    return text


def _ecc(text: str) -> Ecc:
    names = {kind.name.lower(): kind for kind in Ecc}
    if text not in names:
        raise ValueError(f"one of {', '.join(names)} is expected")
    return names[text]


class _Condition(NamedTuple):
    """The reader of a condition's value, and the calls and actions that it applies to."""

    read: Callable[[str], object]
    calls: Collection[Call] = frozenset(Call)
    actions: Collection[Action] = frozenset(Action)


CONDITIONS = {
    "nth": _Condition(_count),
    "every": _Condition(_count),
    "fraction": _Condition(_fraction),
    "times": _Condition(_count),
    "device": _Condition(_number, OF_BOARDS),
    "size": _Condition(_bytes, TRANSFERS | ALLOCATIONS),
    "total": _Condition(_bytes, frozenset({Call.ALLOC})),
    "name": _Condition(_name, frozenset({Call.KERNEL})),
    "limit": _Condition(_duration, actions=frozenset({Action.HANG})),
    "thread": _Condition(_number, frozenset({Call.API})),
}
VALUES: dict[Action, Callable[[str], object]] = {Action.DELAY: _duration, Action.ECC: _ecc}
ALL = "*"
CHOOSERS = ("nth", "every", "fraction")
STATUSES = {name: status for status, name in cl.NAMES_OF_STATUS.items()}


def _read(clause: str, key: str, read: Callable[[str], T], value: str) -> T:
    """Returns the value of `key` in a clause, as `read` converts it. Raises FaultSyntaxError if `read` refuses it."""
    try:
        return read(value)
    except ValueError as error:
        raise FaultSyntaxError(f"'{clause}': {key}={value}: {error}") from None


def _rule(clause: str) -> Rule:
    parts = [part.strip() for part in clause.split(":")]
    if parts[0] == Call.API.value:
        return _rule_of_the_api(clause, parts[1:])
    calls = frozenset(_call(clause, name.strip()) for name in parts[0].split(","))
    if len(parts) < 2:
        raise FaultSyntaxError(f"'{clause}': name an effect: one of {_listed(Action)}, as in {parts[0]}:fail")
    action, values = _action(clause, parts[1], calls)
    values |= _conditions(clause, parts[2:], calls, action)
    return Rule(clause, calls, action, **values)  # type: ignore[arg-type]


def _rule_of_the_api(clause: str, parts: list[str]) -> Rule:
    """Returns the rule of `clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3`: functions, status, conditions; a number is nth."""
    names, status, *conditions = (*parts, "", "")[: max(2, len(parts))]
    if status not in STATUSES:
        raise FaultSyntaxError(
            f"'{clause}': '{status}' is no status of an error; an example is api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3"
        )
    functions = frozenset(name.strip() for name in names.split(","))
    for name in sorted(functions - {*cl.FALLIBLE, ALL}):
        raise FaultSyntaxError(f"'{clause}': there is no function '{name}' that says whether it failed")
    calls = frozenset({Call.API})
    spelt_out = [f"nth={part}" if part.isdigit() else part for part in conditions]
    values = _conditions(clause, spelt_out, calls, Action.FAIL)
    named = frozenset() if ALL in functions else functions
    return Rule(clause, calls, Action.FAIL, functions=named, status=STATUSES[status], **values)  # type: ignore[arg-type]


def _conditions(clause: str, parts: list[str], calls: frozenset[Call], action: Action) -> dict[str, object]:
    values: dict[str, object] = {}
    for part in parts:
        key, value = _condition(clause, part, calls, action)
        if key in values:
            raise FaultSyntaxError(f"'{clause}': {key} is given twice")
        values[key] = value
    chosen = [key for key in CHOOSERS if key in values]
    if len(chosen) > 1:
        raise FaultSyntaxError(f"'{clause}': {' and '.join(chosen)} contradict each other")
    return values


def _listed(names: type[enum.Enum]) -> str:
    return ", ".join(str(each.value) for each in names)


def _call(clause: str, name: str) -> Call:
    try:
        call = Call(name)
    except ValueError:
        raise FaultSyntaxError(f"'{clause}': no call '{name}'; there are {_listed(Call)}") from None
    if call is Call.API:
        raise FaultSyntaxError(f"'{clause}': {name} stands alone, as in api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3")
    return call


def _action(clause: str, part: str, calls: frozenset[Call]) -> tuple[Action, dict[str, object]]:
    word, equals, value = (text.strip() for text in part.partition("="))
    try:
        action = Action(word)
    except ValueError:
        raise FaultSyntaxError(f"'{clause}': '{word}' is not an effect; the effects are {_listed(Action)}") from None
    for call in Call:
        if call in calls - POSSIBLE[action]:
            raise FaultSyntaxError(f"'{clause}': {word} is not possible for {call.value}")
    if action not in VALUES:
        if equals:
            raise FaultSyntaxError(f"'{clause}': {word} takes no value")
        return action, {}
    return action, {word: _read(clause, word, VALUES[action], value)}


def _condition(clause: str, part: str, calls: frozenset[Call], action: Action) -> tuple[str, object]:
    key, _, value = (text.strip() for text in part.partition("="))
    condition = CONDITIONS.get(key)
    if condition is None:
        raise FaultSyntaxError(f"'{clause}': no condition '{key}'; there are {', '.join(CONDITIONS)}")
    for call in Call:
        if call in calls and call not in condition.calls:
            raise FaultSyntaxError(f"'{clause}': {call.value} has no {key}")
    if action not in condition.actions:
        raise FaultSyntaxError(f"'{clause}': {action.value} has no {key}")
    return key, _read(clause, key, condition.read, value)
