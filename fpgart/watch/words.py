# SPDX-License-Identifier: Apache-2.0
"""Counts and places in words."""

from __future__ import annotations

from typing import Any

from fpgart.base.sizes import in_words


def times(count: int, thing: str) -> str:
    """Returns `1 call`, `2 calls`, `3 copies`, `4 launches`."""
    if count == 1:
        return f"1 {thing}"
    if thing.endswith("y"):
        return f"{count} {thing[:-1]}ies"
    return f"{count} {thing}{'es' if thing.endswith('ch') else 's'}"


def banks_in_words(first: int, last: int) -> str:
    """Returns `bank 1`, or `banks 1 to 2` for a block across several."""
    return f"bank {first}" if first == last else f"banks {first} to {last}"


def place_in_words(args: dict[str, Any]) -> str:
    """Returns the place of a block in its memory, from the facts of an event about it."""
    if "interleaved" in args:  # not in traces of older versions
        spread = args["interleaved"]
        return f"interleaved over {spread['banks']} banks, {in_words(spread['bytes'])} of each in turn"
    return banks_in_words(args["bank"], args.get("last_bank") or args["bank"])


def on_board(args: dict[str, Any], key: str = "address") -> int:
    """Returns an address of an event in the board's memory map; traces of older versions have no other."""
    return int(args.get(f"board_{key}", args[key]), 16)
