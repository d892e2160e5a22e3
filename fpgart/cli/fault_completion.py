# SPDX-License-Identifier: Apache-2.0
"""Shell completion of FPGART_FAULTS' language (docs/faults.md): `call:action:condition=value`, by clauses."""

from __future__ import annotations

import re

import click
from click.shell_completion import CompletionItem

from fpgart.base import opencl as cl
from fpgart.board.fault_rules import CONDITIONS, POSSIBLE, STATUSES, VALUES, Action, Call, Ecc

SIGN = re.compile(r"[;:,=]")
API = Call.API.value


def faults(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Returns completions of the word that is being typed, in each form that is valid there."""
    signs = list(SIGN.finditer(typed))
    before = typed[: signs[-1].end()] if signs else ""
    last = typed[len(before) :]
    found = words_behind(before.rpartition(";")[2])
    return [CompletionItem(before + each) for each in found if each.startswith(last)]


def words_behind(clause: str) -> list[str]:
    """Returns the words that may follow the beginning of a clause, which ends in a sign or is empty."""
    parts = clause.split(":")
    named, key = parts[0].split(","), parts[-1]
    if len(parts) == 1:
        return [call.value for call in Call if call.value not in named]
    if named == [API]:
        return _of_the_api(parts)
    calls = {call for call in Call if call.value in named}
    if len(parts) == 2:
        if key.startswith(f"{Action.ECC.value}="):
            return [kind.name.lower() for kind in Ecc]
        possible = [action for action in Action if calls <= POSSIBLE[action]]
        return [f"{action.value}=" if action in VALUES else action.value for action in possible] if not key else []
    action = Action(parts[1].partition("=")[0]) if parts[1].partition("=")[0] in {a.value for a in Action} else None
    return _conditions(calls, action, parts[2:])


def _of_the_api(parts: list[str]) -> list[str]:
    """Returns functions, then a status, then conditions."""
    if len(parts) == 2:
        return ["*", *sorted(cl.FALLIBLE)]
    if len(parts) == 3:
        return sorted(STATUSES)
    return _conditions({Call.API}, Action.FAIL, parts[3:])


def _conditions(calls: set[Call], action: Action | None, given: list[str]) -> list[str]:
    if "=" in given[-1] or (action is not None and not calls <= POSSIBLE[action]):
        return []
    names = {part.partition("=")[0] for part in given[:-1]}
    return [
        f"{name}="
        for name, condition in CONDITIONS.items()
        if name not in names and calls <= set(condition.calls) and (action is None or action in condition.actions)
    ]
