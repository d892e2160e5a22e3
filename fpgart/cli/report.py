# SPDX-License-Identifier: Apache-2.0
"""What `fpgart info` shows."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

from fpgart import __version__, config
from fpgart.board.catalogue import chosen_boards
from fpgart.board.description import BOARDS, BoardDescription
from fpgart.cli.registration import LIBRARY
from fpgart.engine.choice import candidates, choose_engine
from fpgart.watch.summary import in_words


def _board(board: BoardDescription) -> dict[str, Any]:
    return {
        "name": board.name,
        "vendor": board.vendor,
        "memories": [
            {
                "name": memory.name,
                "begin": memory.begin,
                "end": memory.end,
                "size": memory.size,
                "banks": memory.banks,
                "interleaved": memory.interleaved,
            }
            for memory in board.memories
        ],
    }


def collect() -> dict[str, Any]:
    """Everything, as plain data."""
    engine = choose_engine()
    return {
        "fpgart": __version__,
        "python": platform.python_version(),
        "library": str(LIBRARY),
        "library_built": LIBRARY.exists(),
        "boards": [_board(board) for board in BOARDS.values()],
        "chosen_boards": [board.name for board in chosen_boards()],
        "engines": [{"name": name, "path": str(path)} for name, path in candidates("auto")],
        "chosen_engine": {"name": engine.name, "version": engine.version, "path": engine.path},
        "environment": [
            {
                "name": option.name,
                "value": os.environ.get(option.name),
                "default": option.default,
                "sentence": option.sentence,
            }
            for option in config.OPTIONS.values()
        ],
    }


def as_json() -> str:
    return json.dumps(collect(), indent=2) + "\n"


def as_text() -> str:
    """For people."""
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
            banks = f"{memory['banks']} banks" if memory["banks"] > 1 else "1 bank"
            lines.append(f"     {memory['name']:<8} {in_words(memory['size'])}, {banks}, from {memory['begin']:#x}")
    lines += ["", "engines (* in use)"]
    chosen = facts["chosen_engine"]
    for engine in facts["engines"]:
        mark = "*" if engine["path"] == chosen["path"] else " "
        version = f"  {chosen['version']}" if mark == "*" else ""
        lines.append(f" {mark} {engine['name']:<7} {engine['path']}{version}")
    if not facts["engines"]:
        lines.append("   none: kernels cannot be built; pip install 'pyopencl[pocl]' brings one")
    lines += ["", "environment"]
    for option in facts["environment"]:
        value = option["value"] if option["value"] else f"(not set; {option['default']!r})"
        lines += [f"   {option['name']} = {value}", f"      {option['sentence']}"]
    return "\n".join(lines) + "\n"
