# SPDX-License-Identifier: Apache-2.0
"""A captured launch as a folder: launch.json, the program, and the memories before and after, raw bytes each."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from fpgart.base.input_file import LARGEST_MANIFEST, read_input
from fpgart.base.json_input import parse_json, typed
from fpgart.base.user_error import UserError

FORMAT = 1
LAST_ADDRESS = (1 << 47) - 1
"""The last address of a process, on all supported machines."""
MANIFEST = "launch.json"


class CaptureError(UserError):
    """Raised for a folder that contains no readable launch; the sentence says why."""


class ArgumentKind(str, enum.Enum):
    MEMORY = "memory"
    VALUE = "value"
    LOCAL = "local"
    NULL = "null"
    PIPE = "pipe"
    UNKNOWN = "unknown"
    """A pointer into memory of unknown size."""


class ProgramKind(str, enum.Enum):
    SOURCE = "source"
    IL = "il"
    BINARY = "binary"


@dataclass(slots=True)
class CapturedArgument:
    """An argument. `size` in bytes: of the value, of local memory, or of `memory` from `offset` on."""

    kind: ArgumentKind
    name: str
    type_name: str
    size: int = 0
    memory: int = 0
    offset: int = 0
    value: str = ""
    """The bytes of a value in hexadecimal digits, lowest address first."""


@dataclass(slots=True)
class CapturedMemory:
    """A buffer or an allocation: `size` bytes in file `before`, and those after the launch in `after`.

    `after` is empty if the launch did not change them. `address` is the address that kernels saw; if `fixed`, pointers
    to it may be stored in memory, so that replaying has to use the same address.
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
    """A launch. `status`: None before its end; then 0 or a negative status."""

    kernel: str
    number: int
    board: str
    engine: str
    program: CapturedProgram
    offset: list[int]
    global_size: list[int]
    local_size: list[int]
    """Empty if none was given."""
    arguments: list[CapturedArgument]
    memories: list[CapturedMemory]
    status: int | None = None

    def save(self, folder: Path) -> None:
        """Writes the launch; raises OSError."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1)
        unfinished = folder / f".{MANIFEST}"
        unfinished.write_text(text + "\n")
        unfinished.replace(folder / MANIFEST)

    @classmethod
    def load(cls, folder: Path) -> CapturedLaunch:
        """Reads a launch; raises CaptureError."""
        try:
            return cls.decode(read_input(folder / MANIFEST, LARGEST_MANIFEST))
        except OSError as error:
            raise CaptureError(f"{folder / MANIFEST}: {error.strerror}") from None
        except ValueError as error:
            raise CaptureError(f"{folder / MANIFEST} is not a captured launch: {error}") from None

    @classmethod
    def decode(cls, data: bytes) -> CapturedLaunch:
        """Returns the launch in the text that save() wrote. Raises ValueError for anything else."""
        facts = parse_json(data)
        if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT}, which this version of fpgart reads")
        launch = typed(facts, cls, "the launch")
        launch.check()
        return launch

    def check(self) -> None:
        """Raises ValueError for facts that contradict each other, and for files outside of the launch's folder."""
        dimensions = len(self.global_size)
        if not 1 <= dimensions <= 3 or {len(self.offset), len(self.local_size)} - {0, dimensions}:
            raise ValueError(f"offset {self.offset}, size {self.global_size}, groups {self.local_size} do not match")
        if not all(0 <= size < 1 << 64 for size in (*self.offset, *self.global_size, *self.local_size)):
            raise ValueError("a size of the ND-range is not a number of 64 bits")
        for memory in self.memories:
            if memory.size < 1 or not 0 <= memory.address <= LAST_ADDRESS - memory.size:
                raise ValueError(f"{memory.size} bytes at {memory.address:#x} are no memory")
        for argument in self.arguments:
            self._check(argument)
        files = [self.program.file, *(memory.before for memory in self.memories)]
        for name in (*files, *(memory.after for memory in self.memories if memory.after)):
            if not name or "\0" in name or name == ".." or Path(name).name != name:
                raise ValueError(f"{name!r:.60} is not a file in the folder of the launch")

    def _check(self, argument: CapturedArgument) -> None:
        if argument.size < 0 or argument.offset < 0:
            raise ValueError(f"argument '{argument.name}' has {argument.size} bytes at {argument.offset}")
        bytes.fromhex(argument.value)
        if argument.kind is not ArgumentKind.MEMORY:
            return
        if not 0 <= argument.memory < len(self.memories):
            raise ValueError(f"argument '{argument.name}': there is no memory {argument.memory}")
        if argument.offset + argument.size > self.memories[argument.memory].size:
            raise ValueError(f"argument '{argument.name}' does not lie within memory {argument.memory}")
