# SPDX-License-Identifier: Apache-2.0
"""Draws which modules of fpgart.runtime import each other: `draw_imports.py FOLDER > picture.svg`.

FOLDER holds the package `fpgart` (a checkout). grimp reads the imports, Graphviz's `dot` draws them. An import that
lies on a cycle is red.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import grimp

PACKAGE = "fpgart.runtime"
STYLE = (
    "ranksep=0.6; nodesep=0.1; splines=line; bgcolor=white;"
    'node [shape=box, height=0.25, margin="0.06,0.02", fontname=Helvetica, fontsize=10];'
    "edge [color=gray60, arrowsize=0.5];"
)


def modules(graph: grimp.ImportGraph) -> list[str]:
    """Returns the modules of the runtime; packages have no code of their own."""
    inside = graph.find_descendants(PACKAGE)
    return sorted(name for name in inside if not graph.find_children(name))


def drawing(graph: grimp.ImportGraph) -> Iterator[str]:
    """Returns the lines of a graph for `dot`: a frame per package of the runtime."""
    names = modules(graph)
    yield f"digraph runtime {{ {STYLE}"
    for package in sorted({name.rpartition(".")[0] for name in names}):
        title = package.removeprefix(PACKAGE).lstrip(".")
        if title:
            yield f'subgraph "cluster_{title}" {{ label="{title}/"; color=gray80; fontname=Helvetica; fontsize=12;'
        for name in names:
            if name.rpartition(".")[0] == package:
                yield f'"{name}" [label="{name.rpartition(".")[2]}"];'
        if title:
            yield "}"
    for name in names:
        for imported in sorted(graph.find_modules_directly_imported_by(name) & set(names)):
            circular = graph.find_shortest_chain(imported, name) is not None
            yield f'"{name}" -> "{imported}"{" [color=red]" if circular else ""};'
    yield "}"


def main() -> int:
    sys.path.insert(0, sys.argv[1])
    graph = grimp.build_graph("fpgart", cache_dir=None)
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input="\n".join(drawing(graph)), text=True, check=True, stdout=subprocess.PIPE
    )
    print(re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n", "", drawn.stdout, flags=re.DOTALL), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
