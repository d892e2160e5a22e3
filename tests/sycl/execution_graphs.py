# SPDX-License-Identifier: Apache-2.0
"""Execution graphs of the programs in graph_steps.toml: DPC++'s, read from its .dot files, and those of fpgart.sycl.

A graph has a list of lines for each step of its program, an allocation's lines before the others:

    a: allocate c [linked]      a: copy host c      a: map c      a: unmap c      a: run c      a: write back

`python tests/sycl/execution_graphs.py FOLDER` runs the programs on DPC++ and writes dpcpp_graphs.json. It needs the
packages of fpgart[sycl] and clang++.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tomllib

from fpgart.engine.choice import candidates
from fpgart.icpx import pieces
from fpgart.icpx.errors import IcpxError
from fpgart.sdk.folder import lay_out

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORED = HERE / "dpcpp_graphs.json"
DIFFERENCES = HERE / "graph_differences.toml"
NODE = re.compile(r'^"(?P<id>0x\w+)" \[.*?label="ID = \w+ ?(?:\\n|;) ?(?P<label>.*)"\];', re.MULTILINE)
EDGE = re.compile(
    r'^ *"(?P<later>0x\w+)" -> "(?P<earlier>0x\w+)" \[ label = "[^"]*MemObj: (?P<object>0x\w+)', re.MULTILINE
)
BOARDS = "usm_s10,soc_a10"

Graph = list[list[str]]


def closed(steps: list[str]) -> list[str]:
    """Returns the steps of a program, with one for each buffer that is still open at their end, sub-buffers first."""
    made = [step.split()[1] for kind in ("part", "buffer") for step in steps if step.startswith(f"{kind} ")]
    return steps + [f"close {name}" for name in made if f"close {name}" not in steps]


def programs() -> dict[str, list[str]]:
    return {name: closed(steps) for name, steps in tomllib.loads((HERE / "graph_steps.toml").read_text()).items()}


def of_fpgart(lists: list[list[str]]) -> list[Graph]:
    """Returns the graphs of fpgart.sycl on two boards."""
    result = subprocess.run(
        [sys.executable, "-m", "fpgart.cli", "run", "--", sys.executable, "-W", "ignore", HERE / "play_steps.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FPGART_BOARD": BOARDS},
        input=json.dumps(lists),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise RuntimeError(result.stderr)
    graphs = json.loads(result.stdout)
    return [[in_order(step) for step in as_seen(*each)] for each in zip(lists, graphs, strict=True)]


def as_seen(steps: list[str], graph: Graph) -> Graph:
    """Returns the graph with the commands of update_host in the next step: DPC++ writes no file behind update_host."""
    found: Graph = []
    late: list[str] = []
    for step, lines in zip(steps, graph, strict=True):
        is_late = step.startswith("update ")
        found.append([] if is_late else late + lines)
        late = late + lines if is_late else []
    return found


def in_order(lines: list[str]) -> list[str]:
    """Returns the lines of a step by object, allocations first: no order is defined among those that are not linked."""

    def place(line: str) -> tuple[str, bool, bool, str]:
        allocates = line.split()[1] == "allocate"
        return line.split(":")[0], not allocates, "linked" in line, line if allocates else ""

    return sorted(lines, key=place)


# DPC++


def why_not_installed() -> str:
    """Returns what icpx or the programs that it makes lack here, or an empty string."""
    try:
        pieces.sycl_runtime()
        pieces.host_compiler()
    except IcpxError as error:
        return str(error)
    return "" if candidates("emulator") else "Intel's FPGA emulator is not installed"


def compiled(folder: Path) -> Path:
    """Compiles graph_steps.cpp with icpx."""
    program = folder / "graph_steps"
    icpx = lay_out(folder / "sdk") / "bin" / "icpx"
    words = ["-fsycl", "-fintelfpga", "-std=c++20", "-DFPGA_EMULATOR", HERE / "graph_steps.cpp", "-o", program]
    subprocess.run([icpx, *words], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return program


def of_dpcpp(program: Path, steps: list[str]) -> Graph:
    """Runs a program on DPC++, which has the boards of fpgart and Intel's runtime for processors; returns its graph."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [program],
            input="\n".join(steps),
            cwd=folder,
            env=surroundings(Path(folder)),
            capture_output=True,
            text=True,
        )
        if result.returncode or len(result.stdout.splitlines()) != len(steps):
            raise RuntimeError(f"status {result.returncode}: {result.stderr}")
        files = sorted(Path(folder).glob("*.dot"), key=lambda file: int(re.findall(r"\d+", file.name)[0]))
        return Reader(steps, result.stdout.splitlines()).graph([file.read_text() for file in files])


def surroundings(folder: Path) -> dict[str, str]:
    made = {**os.environ, "PYTHONPATH": str(ROOT), "FPGART_BOARD": BOARDS, "FPGART_ENGINE": "emulator"}
    vendors = folder / "vendors"
    vendors.mkdir()
    (vendors / "fpgart.icd").write_text(f"{ROOT / 'fpgart' / 'libfpgart.so'}\n")
    processor = Path(sys.prefix) / "lib" / "libintelocl.so"
    (vendors / "processor.icd").write_text(f"{processor}\n")
    made |= {"OCL_ICD_VENDORS": f"{vendors}/", "ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    made |= {"SYCL_PRINT_EXECUTION_GRAPH": "always", "SYCL_DISABLE_EXECUTION_GRAPH_CLEANUP": "1"}
    return made


@dataclass
class Node:
    """A command of DPC++'s graph."""

    label: str
    objects: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.label.partition("\\n")[0]


class Reader:
    """Finds the commands that each step of a program has added to the graph."""

    def __init__(self, steps: list[str], printed: list[str]) -> None:
        self.steps = steps
        self.counts = [int(line.split()[-1]) for line in printed]
        self.names = {
            line.split()[0]: step.split()[1]
            for step, line in zip(steps, printed, strict=True)
            if step.startswith("buffer ")
        }
        self.contexts = {step.split()[1]: step.split()[2] for step in steps if step.startswith("queue ")}
        self.places: dict[str, str] = {}
        """Contexts of allocations, by their identifiers."""
        self.linked: dict[str, str] = {}
        """Contexts in which an object has a linked allocation."""
        self.known: dict[str, Node] = {}

    def graph(self, texts: list[str]) -> Graph:
        found = []
        begin = 0
        for step, end in zip(self.steps, self.counts, strict=True):
            latest: dict[str, Node] = {}
            for text in texts[begin:end]:
                latest |= nodes(text)
            found.append(in_order(list(self._lines(step, latest))))
            begin = end
        return found

    def _lines(self, step: str, latest: dict[str, Node]) -> Iterator[str]:
        what, name, *_ = step.split()
        new = {identifier: node for identifier, node in latest.items() if not self._is_known(identifier, node)}
        self.known |= latest
        for identifier, node in new.items():
            if node.label.startswith("ALLOCA"):
                self.places[identifier] = "host" if "ON HOST" in node.label else self.contexts[name]
        seen: set[str] = set()
        for identifier in sorted_by_dependence(new):
            yield from self._line(new[identifier], step, seen | (set(self.known) - set(new)))
            seen.add(identifier)
        if what == "close" and latest:  # without a command, the runtime may keep the nodes
            gone = next(address for address, buffer in self.names.items() if buffer == name)
            self.known = {i: node for i, node in self.known.items() if set(node.objects) != {gone}}

    def _is_known(self, identifier: str, node: Node) -> bool:
        """False also if another command had the identifier, an address, before a buffer was closed."""
        return identifier in self.known and self.known[identifier].kind == node.kind

    def _line(self, node: Node, step: str, before: set[str]) -> Iterator[str]:
        kind = node.label
        # an edge to a command of a host accessor that has ended may have any address
        names = [self.names[address] for address in dict.fromkeys(node.objects) if address in self.names]
        if kind.startswith("ALLOCA"):
            place = "host" if "ON HOST" in kind else self.contexts[step.split()[1]]
            link = re.search(r"Link : (0x\w+)", kind)
            linked = link is not None and link[1] in before
            if linked and link is not None:
                self.linked[names[0]] = place if place != "host" else self.places[link[1]]
            sub = " part" if "SUB" in kind else ""
            yield f"{names[0]}: allocate{sub} {place}" + (" linked" if linked else "")
        elif kind.startswith("MEMCPY HOST"):
            yield f"{names[0]}: write back"
        elif kind.startswith("MEMCPY"):
            ends = [self.places[identifier] for identifier in re.findall(r"(?:From|To): (0x\w+)", kind)]
            yield f"{names[0]}: copy {' '.join(ends)}"
        elif kind.startswith(("MAP", "UNMAP")):
            yield f"{names[0]}: {kind.split()[0].lower()} {self.linked[names[0]]}"
        elif kind.startswith("EXEC CG"):
            of_runtime = "host task" in kind and not step.startswith("task")  # waits for another context
            place = "host" if "ON HOST" in kind else self.contexts[step.split()[1]]
            if not of_runtime:
                yield from (f"{name}: run {place}" for name in names)


def nodes(text: str) -> dict[str, Node]:
    """Reads a file: its nodes by identifier."""
    found = {match["id"]: Node(match["label"]) for match in NODE.finditer(text)}
    for match in EDGE.finditer(text):
        found[match["later"]].objects.append(match["object"])
        found[match["later"]].after.append(match["earlier"])
    for node in found.values():
        node.objects += re.findall(r"MemObj : (0x\w+)", node.label)
    return found


def sorted_by_dependence(new: dict[str, Node]) -> list[str]:
    """Returns identifiers in an order in which each command is behind those that it waits for."""
    done: list[str] = []
    left = sorted(new, key=lambda identifier: new[identifier].label)
    while left:
        ready = [i for i in left if not any(other in left for other in new[i].after)]
        done += ready
        left = [i for i in left if i not in ready]
    return done


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = compiled(folder)
    made = {name: of_dpcpp(program, steps) for name, steps in programs().items()}
    lines = (
        f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(step)}" for step in graph) + "\n ]"
        for name, graph in made.items()
    )
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
