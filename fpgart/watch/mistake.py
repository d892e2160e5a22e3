# SPDX-License-Identifier: Apache-2.0
"""A mistake of the host, as checks find it and as reports show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake; findings add the places of the calls in the host's code (docs/checks.md).

    `check` is the family that found it, as FPGART_CHECK names it, and `rule` the kind of mistake. `object` is the
    object concerned, `made_by` the API call that created it ("": none), and `misused_by` the call or access that used
    it wrongly. `words` says what is wrong, and `fix` what to do.
    """

    check: str
    rule: str
    object: str
    made_by: str
    misused_by: str
    words: str
    fix: str


def mistake_in(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those of the facts of a finding that are a mistake's. Raises KeyError if one is missing."""
    return {each.name: facts[each.name] for each in fields(Mistake)}
