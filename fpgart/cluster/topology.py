# SPDX-License-Identifier: Apache-2.0
"""The connections between I/O channels of boards: files and names of topologies (docs/clusters.md).

Boards have numbers from 0. A cable of two ports, `0:ch0-1:ch1`, has two directions; `0:out->1:in`, with the names of
channels, has one. `n01:acl0:ch2` is port ch2 of the first board in the second machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fpgart.base.config import OptionError
from fpgart.base.input_file import LARGEST_DESCRIPTION, read_text
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.toml_file import read_toml

END = r"(?:n(?P<{0}n>\d+):acl(?P<{0}a>\d+)|(?P<{0}b>\d+)):(?P<{0}c>\S+?)"
CABLE = re.compile(rf"{END.format('x')}\s*(?P<way>->|-)\s*{END.format('y')}")
SHAPE = re.compile(r"(?P<name>[a-z]+)(?::(?P<sizes>\d+(?:x\d+)*))?")
KEYS = {"boards", "shape", "cables", "ports", "depth", "devices", "boards_per_machine"}


class TopologyError(OptionError):
    """Raised for a text that describes no topology; the sentence says why."""


class End(NamedTuple):
    """An I/O channel of a board."""

    board: int
    channel: str


@dataclass(frozen=True, slots=True)
class Cable:
    """One direction between two boards. `depth`: the packets that it holds, 0 for a depth that is fast."""

    source: End
    target: End
    depth: int = 0

    def __str__(self) -> str:
        source, target = self.source, self.target
        return f"cable from '{source.channel}' of board {source.board} to '{target.channel}' of board {target.board}"


@dataclass(frozen=True, slots=True)
class Ports:
    """The names of the two channels of a port; {} stands for the port's name."""

    output: str = "kernel_output_{}"
    input: str = "kernel_input_{}"

    def both_ways(self, first: End, second: End) -> Iterator[Cable]:
        """Yields the directions of a cable between two ports."""
        for source, target in ((first, second), (second, first)):
            yield Cable(
                End(source.board, self.output.replace("{}", source.channel)),
                End(target.board, self.input.replace("{}", target.channel)),
            )


@dataclass(frozen=True, slots=True)
class Topology:
    """Cables between so many boards. `shared`: processes see all boards of their machine, and choose among them."""

    boards: int
    cables: tuple[Cable, ...]
    shared: bool = False

    def __post_init__(self) -> None:
        taken: dict[End, Cable] = {}
        for cable in self.cables:
            for end in (cable.source, cable.target):
                if not 0 <= end.board < self.boards:
                    raise TopologyError(f"{cable}: there are boards 0 to {self.boards - 1}")
                if end in taken:
                    raise TopologyError(f"{cable}: the {taken[end]} is already plugged in there")
                taken[end] = cable


def read(text: str, boards: int) -> Topology:
    """Returns the topology of a file, of a name (`ring`, `ring:4`, `torus:2x4`) or of a list of cables with commas.

    `boards`: their number, if the text does not give it. Raises TopologyError.
    """
    try:
        if text.endswith((".toml", ".yaml", ".yml")):
            return _of_file(Path(text), boards)
        if ":" in text and "-" in text:
            return _of_mapping({"cables": [part.strip() for part in text.split(",") if part.strip()]}, boards)
        return _of_mapping({"shape": text}, boards)
    except TopologyError as error:
        raise TopologyError(f"topology {text}: {error}") from None


def _of_file(file: Path, boards: int) -> Topology:
    try:
        said = read_toml(file) if file.suffix == ".toml" else _read_yaml(file)
    except OSError as error:
        raise TopologyError(str(error.strerror)) from None
    except ValueError as error:
        raise TopologyError(" ".join(str(error).split())) from None
    except RecursionError:
        raise TopologyError("it is nested too deeply") from None
    if not isinstance(said, dict):
        raise TopologyError(f"a mapping with {', '.join(sorted(KEYS))} is expected")
    return _of_mapping(said, boards)


def _read_yaml(file: Path) -> object:
    try:
        import yaml
    except ImportError:
        raise TopologyError("YAML needs pyyaml (pip install 'fpgart[yaml]'); TOML needs nothing") from None
    try:
        return yaml.safe_load(read_text(file, LARGEST_DESCRIPTION))
    except yaml.YAMLError as error:
        raise ValueError(error) from None


def _of_mapping(said: Mapping[str, Any], boards: int) -> Topology:
    unknown = sorted(_text(key) for key in said.keys() - KEYS)
    if unknown:
        raise TopologyError(f"{', '.join(unknown)}: not one of {', '.join(sorted(KEYS))}")
    ports = _ports(said.get("ports", {}))
    depth = _number(said, "depth", 0)
    cables = list(_cables(said.get("cables", ()), ports, _number(said, "boards_per_machine", 0)))
    boards = _number(said, "boards", max([boards, *(1 + end.board for each in cables for end in _ends(each))]))
    shared = _is_shared(said.get("devices", "own"))
    if shared and "boards" not in said:
        raise TopologyError("devices: machine needs the number of all boards, as in boards: 8")
    if "shape" in said:
        shape, boards = _shape(_text(said["shape"]), boards)
        cables += [cable for first, second in shape for cable in ports.both_ways(first, second)]
    with_depth = tuple(replace(cable, depth=cable.depth or depth) for cable in cables)
    return Topology(boards, with_depth, shared=shared)


def _ends(cable: Cable) -> tuple[End, End]:
    return cable.source, cable.target


def _number(said: Mapping[str, Any], key: str, default: int) -> int:
    value = said.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TopologyError(f"{key}: {_text(value)} is not a number from 0")
    return value


def _text(value: object) -> str:
    """Returns a value in words. Lists that contain each other would become too long."""
    return str(value) if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"


def _is_shared(value: object) -> bool:
    if value not in ("own", "machine"):
        raise TopologyError(f"devices: {_text(value)} is not one of own, machine")
    return value == "machine"


def _ports(said: object) -> Ports:
    if not isinstance(said, dict) or said.keys() - {"output", "input"}:
        raise TopologyError("ports: output and input are expected, each with {} for a port's name")
    found = Ports(**{key: _text(value) for key, value in said.items()})
    for pattern in (found.output, found.input):
        if "{}" not in pattern:
            raise TopologyError(f"ports: {pattern} has no {{}} for a port's name")
    return found


def _cables(said: object, ports: Ports, per_machine: int) -> Iterator[Cable]:
    if not isinstance(said, (list, tuple)):
        raise TopologyError("cables: a list is expected")
    hits = [_cable(each) for each in said]
    boards = [int(hit[side + "a"]) for hit, _ in hits for side in "xy" if hit[side + "a"] is not None]
    if per_machine and boards and max(boards) >= per_machine:
        raise TopologyError(f"boards_per_machine is {per_machine}, there is no acl{max(boards)} then")
    machine = per_machine or max(boards, default=0) + 1
    for hit, depth in hits:
        first, second = _end(hit, "x", machine), _end(hit, "y", machine)
        found = [Cable(first, second)] if hit["way"] == "->" else list(ports.both_ways(first, second))
        unique = dict.fromkeys(found)  # a port that is connected with itself has one direction
        yield from (replace(cable, depth=depth) for cable in unique)


def _cable(said: object) -> tuple[re.Match[str], int]:
    depth = 0
    if isinstance(said, dict) and set(said) <= {"cable", "depth"}:
        depth, said = _number(said, "depth", 0), said.get("cable")
    said = _text(said)
    hit = CABLE.fullmatch(said.strip())
    if hit is None:
        raise TopologyError(f"{said} is not a cable; 0:ch0-1:ch1, n00:acl0:ch0-n01:acl0:ch1 or 0:out->1:in are")
    return hit, depth


def _end(hit: re.Match[str], side: str, per_machine: int) -> End:
    if hit[side + "b"] is not None:
        return End(int(hit[side + "b"]), hit[side + "c"])
    return End(int(hit[side + "n"]) * per_machine + int(hit[side + "a"]), hit[side + "c"])


# Shapes

PortCables = Iterable[tuple[End, End]]


def _shape(text: str, boards: int) -> tuple[PortCables, int]:
    """Returns the cables between ports of a shape, and the number of boards."""
    hit = SHAPE.fullmatch(text)
    if hit is None or hit["name"] not in SHAPES:
        raise TopologyError(f"shape {text}: not one of {', '.join(SHAPES)}, with the number of boards behind a colon")
    sizes = [int(size) for size in (hit["sizes"] or "").split("x") if size]
    if len(sizes) > (2 if hit["name"] == "torus" else 1):
        raise TopologyError(f"shape {text}: these are too many sizes")
    for size in sizes:
        boards = size if size is sizes[0] else boards * size
    if not boards:
        raise TopologyError(f"shape {text}: there is no board")
    return SHAPES[hit["name"]](boards, sizes), boards


def _loop(boards: int, sizes: list[int]) -> PortCables:
    for board in range(boards):
        yield End(board, "ch0"), End(board, "ch1")
        yield End(board, "ch2"), End(board, "ch3")


def _pair(boards: int, sizes: list[int]) -> PortCables:
    """Yields the cables between boards 0 and 1, 2 and 3, ...: each port to the same one of the other board."""
    if boards % 2:
        raise TopologyError(f"pair: {boards} is an odd number of boards")
    for board in range(0, boards, 2):
        for port in range(4):
            yield End(board, f"ch{port}"), End(board + 1, f"ch{port}")


def _ring(boards: int, sizes: list[int]) -> PortCables:
    """Yields two cables between neighbours: ch0 and ch2 lead to ch1 and ch3 of the next board."""
    for board in range(boards):
        onwards = (board + 1) % boards
        yield End(board, "ch0"), End(onwards, "ch1")
        yield End(board, "ch2"), End(onwards, "ch3")


def _torus(boards: int, sizes: list[int]) -> PortCables:
    """Yields the cables of rows of boards: ch0 leads to ch1 of the next in the row, ch2 to ch3 in the next row."""
    if len(sizes) < 2:
        raise TopologyError(f"torus: rows and columns are expected for {boards} boards, as in torus:2x4")
    rows, columns = sizes
    for row in range(rows):
        for column in range(columns):
            board = row * columns + column
            yield End(board, "ch0"), End(row * columns + (column + 1) % columns, "ch1")
            yield End(board, "ch2"), End((row + 1) % rows * columns + column, "ch3")


def _clique(boards: int, sizes: list[int]) -> PortCables:
    """Yields a cable between any two boards: port ch0 leads to the lowest of the others, ch1 to the next, ..."""
    for low in range(boards):
        for high in range(low + 1, boards):
            yield End(low, f"ch{high - 1}"), End(high, f"ch{low}")


SHAPES: dict[str, Callable[[int, list[int]], PortCables]] = {
    "loop": _loop,
    "pair": _pair,
    "ring": _ring,
    "torus": _torus,
    "clique": _clique,
}
