# SPDX-License-Identifier: Apache-2.0
"""The command line of `aoc`: every option of Intel's compiler, and its effect here."""

from __future__ import annotations

import difflib
import enum
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = (".cl", ".aoco", ".aocr", ".xml")


class UsageError(Exception):
    """Raised for an argument that `aoc` does not take; the sentence names it."""


class Last(enum.Enum):
    """The last step, by the ending of its output."""

    OBJECT = ".aoco"
    EARLY = ".aocr"
    IMAGE = ".aocx"


class Answer(enum.Enum):
    """A question that `aoc` answers without compiling."""

    HELP = enum.auto()
    VERSION = enum.auto()
    BOARDS = enum.auto()
    PACKAGES = enum.auto()


@dataclass
class CommandLine:
    sources: list[Path] = field(default_factory=list)
    output: Path | None = None
    last: Last = Last.IMAGE
    answer: Answer | None = None
    board: str = ""
    package: Path | None = None
    emulator: bool = False
    compiler: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    """Options that are recorded in the container and have no effect."""
    libraries: list[str] = field(default_factory=list)
    """-l and -L, unchanged."""
    separate: list[str] = field(default_factory=list)
    """Memories whose banks shall not be interleaved: names, "default", or "all"."""
    depths: str = ""
    """The depth of channels, as DepthMode names it; "" for that of the host's environment."""
    report: bool = False
    report_folder: Path | None = None
    verbose: bool = False


Setter = Callable[[CommandLine, str], None]


def _set(name: str, value: object) -> Setter:
    return lambda line, _: setattr(line, name, value)


def _take(name: str, kind: Callable[[str], object] = str) -> Setter:
    return lambda line, text: setattr(line, name, kind(text))


def _pass(option: str) -> Setter:
    return lambda line, text: line.compiler.append(option + text)


def _package(line: CommandLine, text: str) -> None:
    if not text:
        raise UsageError(
            "-board-package= names no folder: is AOCL_BOARD_PACKAGE_ROOT, or your variable for it, not set?"
        )
    line.package = Path(text)


def _march(line: CommandLine, text: str) -> None:
    if text not in ("emulator", "simulator"):
        raise UsageError(f"-march={text}: not one of emulator, simulator")
    line.emulator = text == "emulator"
    if not line.emulator:
        line.noted.append(f"-march={text}")


DEPTHS = {"default": "default", "strict": "strict", "ignore-depth": "ignoredepth"}


def _depths(line: CommandLine, text: str) -> None:
    if text not in DEPTHS:
        raise UsageError(f"-emulator-channel-depth-model={text}: not one of {', '.join(DEPTHS)}")
    line.depths = DEPTHS[text]


FLAGS: dict[str, Setter] = {
    "c": _set("last", Last.OBJECT),
    "rtl": _set("last", Last.EARLY),
    "report": _set("report", True),
    "v": _set("verbose", True),
    "h": _set("answer", Answer.HELP),
    "help": _set("answer", Answer.HELP),
    "version": _set("answer", Answer.VERSION),
    "list-boards": _set("answer", Answer.BOARDS),
    "list-board-packages": _set("answer", Answer.PACKAGES),
    "W": _pass("-w"),
    "w": _pass("-w"),
    "Werror": _pass("-Werror"),
}
VALUES: dict[str, Setter] = {
    "o": _take("output", Path),
    "board": _take("board"),
    "board-package": _package,
    "output-report-folder": _take("report_folder", Path),
    "march": _march,
    "emulator-channel-depth-model": _depths,
    "D": _pass("-D"),
    "I": _pass("-I"),
    "l": lambda line, text: line.libraries.append(f"-l{text}"),
    "L": lambda line, text: line.libraries.append(f"-L{text}"),
}
FOR_HARDWARE = {
    "bsp-flow", "clock", "const-cache-bytes", "dep-files", "fmax", "force-initial-dir",
    "ghdl-depth", "hash", "llc-arg", "num-reorder", "opt-arg", "parallel", "save-temps-folder", "seed", "sim-acl-arg",
    "sim-elab-arg", "sim-input-dir", "sysinteg-arg",
}  # fmt: skip
"""Options with a value that affect hardware only."""
FOR_HARDWARE_ALONE = {
    "S", "add-qsf", "analyze-area", "clock", "daz", "dep-files", "dot", "duplicate-ring", "ecc", "empty-kernel",
    "emulator", "estimate-throughput", "fast-compile", "fast-emulator", "force-single-store-ring", "fp-relaxed", "fpc",
    "g", "g0", "ghdl", "global-ring", "global-tree", "high-effort", "hyper-optimized-handshaking", "incremental",
    "legacy-emulator", "library-debug", "no-accessor-aliasing", "no-env-check", "parallel", "profile", "q", "quiet",
    "report-only", "rounding", "save-temps", "shared", "sim-elab-only", "tidy", "time", "time-passes",
    "use-partial-license",
}  # fmt: skip
"""The same without a value, or with one behind `=`."""
PREFIXES = (
    "disable-", "dont-error-if-", "enable-", "ffp-", "fp-", "global-", "hyper-optimized", "incremental-",
    "no-hardware-", "profile-", "report-", "reuse-", "sim-", "time-",
)  # fmt: skip
NEEDS_NO_NOTE = {"g", "g0", "q", "quiet", "fast-emulator", "legacy-emulator", "tidy", "time", "save-temps", "hash"}


def read_command_line(words: list[str]) -> CommandLine:
    """Reads options as `aoc` spells them, `-name=value` or `-name value`, with one or two dashes; raises UsageError."""
    made = CommandLine()
    rest = _Words(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            made.sources.append(Path(word))
        else:
            _read_option(made, word, rest)
    return made


class _Words:
    """The words of a command line, of which an option may take the next."""

    def __init__(self, words: list[str]) -> None:
        self._rest = deque(words)

    def __iter__(self) -> Iterator[str]:
        while self._rest:
            yield self._rest.popleft()

    def value(self, word: str) -> str:
        if not self._rest:
            raise UsageError(f"{word} needs a value")
        return self._rest.popleft()

    def value_unless_source(self) -> str:
        """Returns the next word, if it is neither an option nor a file to compile; else ""."""
        if not self._rest or self._rest[0].startswith("-") or self._rest[0].endswith(SOURCES):
            return ""
        return self._rest.popleft()


def _read_option(made: CommandLine, word: str, rest: _Words) -> None:
    option = word.removeprefix("-").removeprefix("-")
    name, given, value = option.partition("=")
    if name == "no-interleaving":
        memory = value if given else rest.value_unless_source()
        made.separate.append(memory or "all")
        made.noted.append(f"-no-interleaving={memory}" if memory else "-no-interleaving")
    elif name in FLAGS and not given:
        FLAGS[name](made, "")
    elif name in VALUES:
        VALUES[name](made, value if given else rest.value(word))
    elif name.startswith("cl-"):
        made.compiler.append(f"-{option}")
    elif option[:1] in ("D", "I", "L", "l") and not _is_known(name):
        VALUES[option[0]](made, option[1:])
    elif name in FOR_HARDWARE_ALONE or name.startswith(PREFIXES):
        made.noted.append(f"-{option}")
    elif name in FOR_HARDWARE:
        made.noted.append(f"-{name}={value if given else rest.value(word)}")
    else:
        near = difflib.get_close_matches(name, [*FLAGS, *VALUES, *FOR_HARDWARE, *FOR_HARDWARE_ALONE], 1)
        raise UsageError(f"{word} is not an option of aoc" + (f"; did you mean -{near[0]}?" if near else ""))


def _is_known(name: str) -> bool:
    return name in FLAGS or name in FOR_HARDWARE or name in FOR_HARDWARE_ALONE or name.startswith(PREFIXES)


def changes_nothing(made: CommandLine) -> list[str]:
    """Returns the options that get a note: recorded in the container, and without effect on this board."""
    return [
        word
        for word in made.noted
        if not word.startswith("-no-interleaving") and word[1:].partition("=")[0] not in NEEDS_NO_NOTE
    ]
