# SPDX-License-Identifier: Apache-2.0
"""The output of `fpgart info`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from fpgart.base import config
from fpgart.base.personality import PERSONALITIES
from fpgart.base.registration import LIBRARY
from fpgart.base.sizes import in_words
from fpgart.board.catalogue import chosen_boards, chosen_personality, describe, shipped
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import AllocationType
from fpgart.cli.kept_files import places, temporary
from fpgart.cli.settings import ORIGINS
from fpgart.engine.choice import candidates, choose, wanted_engine
from fpgart.engine.interface import NoEngine
from fpgart.engine.known_faults import Product, product_behind
from fpgart.engine.known_faults import in_words as engine_in_words
from fpgart.version import __version__

KINDS = (AllocationType.HOST, AllocationType.SHARED, AllocationType.DEVICE)


def _board(board: BoardDescription) -> dict[str, Any]:
    return {
        "name": board.name,
        "vendor": board.vendor,
        "full_duplex": board.full_duplex,
        "unified_memory": board.unified_memory,
        "memories": [
            {
                "name": memory.name,
                "begin": memory.begin,
                "end": memory.end,
                "size": memory.size,
                "banks": memory.banks,
                "interleaved_bytes": memory.interleaved_bytes if memory.interleaved else 0,
                "buffers": memory.is_device_private,
                "usm": [kind.name.lower() for kind in KINDS if kind in memory.allocation_types and kind.name],
            }
            for memory in board.memories
        ],
    }


def collect() -> dict[str, Any]:
    """Returns all facts, as plain data."""
    choice = choose()
    engine = choice.engine
    unable = {each.path: each.reason for each in choice.passed_over}
    chosen, faults = chosen_boards()
    boards = {name: describe(name) for name in shipped()} | {board.name: board for board in chosen}
    return {
        "fpgart": __version__,
        "python": platform.python_version(),
        "library": str(LIBRARY),
        "library_built": LIBRARY.exists(),
        "boards": [_board(board) for board in boards.values()],
        "chosen_boards": [board.name for board in chosen],
        "platforms": [{"key": key, **personality._asdict()} for key, personality in PERSONALITIES.items()],
        "chosen_platform": chosen_personality(chosen)._asdict(),
        "board_faults": [str(fault) for fault in faults],
        "engines": [
            {"name": name, "path": str(path), "passed_over": unable.get(path, "")} for name, path in _engines()
        ],
        "chosen_engine": {
            "name": engine.name,
            "version": engine.version,
            "path": engine.path,
            "product": product_behind(engine),
            "reason": engine.reason if isinstance(engine, NoEngine) else "",
        },
        "places": [{"purpose": place.purpose, "path": place.path, "fault": place.fault()} for place in places()]
        + [{"purpose": "a run's own files, while it runs", "path": temporary(), "fault": ""}],
        "environment": [
            {
                "name": option.name,
                "value": os.environ.get(option.name),
                "default": option.default,
                "origin": ORIGINS.get(option.name) or ("environment" if option.name in os.environ else "default"),
                "sentence": option.sentence,
            }
            for option in config.OPTIONS.values()
        ],
    }


def _engines() -> list[tuple[str, Path]]:
    """Returns name and file of the engines that are installed, best first, and of the one that is asked for."""
    found: dict[Path, str] = {}
    for wanted in ("auto", "oclgrind", wanted_engine()):
        for name, path in candidates(wanted):
            found.setdefault(path, name)
    return [(name, path) for path, name in found.items()]


def serving_engines() -> list[tuple[str, Path]]:
    """Returns name and file of the drivers that work as engine here, best first, whatever FPGART_ENGINE is.

    Another process opens them, so that this one and those that it starts stay unchanged.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FPGART")}
    command = [sys.executable, "-m", "fpgart.cli", "info", "--json"]
    told = subprocess.run(command, env=inherited, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout
    engines = [engine for engine in json.loads(told)["engines"] if engine["name"] != "oclgrind"]
    return [(engine["name"], Path(engine["path"])) for engine in engines if not engine["passed_over"]]


def as_json() -> str:
    return json.dumps(collect(), indent=2) + "\n"


def _memory_in_words(memory: dict[str, Any]) -> str:
    parts = [in_words(memory["size"])]
    if memory["banks"] > 1:
        spread = f"interleaved by {memory['interleaved_bytes']} bytes" if memory["interleaved_bytes"] else "separate"
        parts.append(f"{memory['banks']} banks of {in_words(memory['size'] // memory['banks'])}, {spread}")
    parts.append(f"from {memory['begin']:#x}")
    if memory["buffers"]:
        parts.append("buffers")
    if memory["usm"]:
        parts.append(f"USM: {', '.join(memory['usm'])}")
    return f"{memory['name']:<8} {'; '.join(parts)}"


def as_text(*, origin: bool) -> str:
    """Returns the facts for people; `origin`: with the origin of each value."""
    facts = collect()
    lines = [
        f"fpgart {facts['fpgart']}, Python {facts['python']}",
        f"library  {facts['library']}{'' if facts['library_built'] else '  (not built)'}",
        "",
        "boards (* in use)",
    ]
    for board in facts["boards"]:
        mark = "*" if board["name"] in facts["chosen_boards"] else " "
        lines.append(f" {mark} {board['name']:<12} {board['vendor']}")
        for memory in board["memories"]:
            lines.append(f"     {_memory_in_words(memory)}")
    lines += [f" ! {fault}" for fault in facts["board_faults"]]
    lines += ["", "platforms (* in use)"]
    for personality in facts["platforms"]:
        mark = "*" if personality["name"] == facts["chosen_platform"]["name"] else " "
        lines += [f" {mark} {personality['key']:<9} {personality['name']}", f"             {personality['words']}"]
    lines += ["", "engines (* in use)"]
    chosen = facts["chosen_engine"]
    width = max((len(engine["name"]) for engine in facts["engines"]), default=0)
    for engine in facts["engines"]:
        mark = "*" if engine["path"] == chosen["path"] else " "
        version = f"  {chosen['version']}" if mark == "*" else ""
        lines.append(f" {mark} {engine['name']:<{width}} {engine['path']}{version}")
        if mark == "*":
            lines += [f"     {line}" for line in engine_in_words(Product(*chosen["product"]))]
        if engine["passed_over"]:
            lines.append(f"     passed over: {engine['passed_over']}")
    if chosen["reason"]:
        lines.append(f"   none is in use, so kernels cannot be built: {chosen['reason']}")
    lines += ["", "files and folders"]
    for place in facts["places"]:
        lines.append(f"   {place['path']}  {place['purpose']}")
        if place["fault"]:
            lines.append(f"      unsafe: {place['fault']}")
    lines += ["", "environment"]
    for option in facts["environment"]:
        default = as_typed(option["default"])
        value = option["value"] or (f"(not set; {default})" if default else "(not set)")
        source = f"  ({option['origin']})" if origin else ""
        lines += [f"   {option['name']} = {value}{source}", f"      {option['sentence']}"]
    return "\n".join(lines) + "\n"


def as_typed(value: object) -> str:
    """Returns a default as a user would type it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ("/" if value and isinstance(value[0], int) else ",").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
