# SPDX-License-Identifier: Apache-2.0
"""A captured launch as a folder: launch.json, the program, and the memories before and after, raw bytes each."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST = "launch.json"


class CaptureError(Exception):
    """A folder that holds no launch that could be read; the sentence says why."""


class ArgumentKind(str, enum.Enum):
    MEMORY = "memory"
    VALUE = "value"
    LOCAL = "local"
    NULL = "null"
    PIPE = "pipe"
    UNKNOWN = "unknown"
    """A pointer into memory that nobody knows the size of."""


class ProgramKind(str, enum.Enum):
    SOURCE = "source"
    IL = "il"
    BINARY = "binary"


@dataclass(slots=True)
class CapturedArgument:
    """`size` in bytes: of the value, of local memory, or what there is of `memory` from `offset` on."""

    kind: ArgumentKind
    name: str
    type_name: str
    size: int = 0
    memory: int = 0
    offset: int = 0
    value: str = ""
    """Of a value, in hexadecimal digits, lowest address first."""


@dataclass(slots=True)
class CapturedMemory:
    """A buffer or an allocation: `size` bytes in file `before`, and those after the launch in `after`.

    `after` empty: they were the same. `address` is where kernels saw it; where `fixed`, pointers to it may be
    stored in memory, so that it has to be there again.
    """

    what: str
    size: int
    address: int
    fixed: bool
    before: str
    after: str = ""


@dataclass(slots=True)
class CapturedProgram:
    kind: ProgramKind
    file: str
    options: str
    folder: str
    """Working directory of the process, which options like -I may refer to."""


@dataclass(slots=True)
class CapturedLaunch:
    """`status`: None while it has not ended; then 0 or a negative status."""

    kernel: str
    number: int
    board: str
    engine: str
    program: CapturedProgram
    offset: list[int]
    global_size: list[int]
    local_size: list[int]
    """Empty: none was given."""
    arguments: list[CapturedArgument]
    memories: list[CapturedMemory]
    status: int | None = None

    def save(self, folder: Path) -> None:
        """Raises OSError."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1)
        unfinished = folder / f".{MANIFEST}"
        unfinished.write_text(text + "\n")
        unfinished.replace(folder / MANIFEST)

    @classmethod
    def load(cls, folder: Path) -> CapturedLaunch:
        """Raises CaptureError."""
        try:
            facts = json.loads((folder / MANIFEST).read_text())
            if facts.pop("format") != FORMAT:
                raise CaptureError(f"{folder / MANIFEST} is of another version of fpgart")
            return cls(
                program=_program(facts.pop("program")),
                arguments=[_argument(each) for each in facts.pop("arguments")],
                memories=[CapturedMemory(**each) for each in facts.pop("memories")],
                **facts,
            )
        except OSError as error:
            raise CaptureError(f"{folder / MANIFEST}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CaptureError(f"{folder / MANIFEST} is no captured launch: {error}") from None


def _program(facts: dict[str, Any]) -> CapturedProgram:
    return CapturedProgram(ProgramKind(facts.pop("kind")), **facts)


def _argument(facts: dict[str, Any]) -> CapturedArgument:
    return CapturedArgument(ArgumentKind(facts.pop("kind")), **facts)
