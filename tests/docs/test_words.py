# SPDX-License-Identifier: Apache-2.0
"""Phrases that readers outside of the project would not understand, and modules that do not name their subject."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("fpgart/**/*.py", "fpgart/**/*.[ch]", "core/*.[ch]", "icd/**/*.[ch]", "docs/**/*.md", "README.md")
PHRASES = {
    r"\blet pass\b": "what happens, in OpenCL's words",
    r"\bfor Python to say\b|\bis for Python\b": "left to Python",
}
"""Those that `make lint` cannot know, because its dictionary (docs/dev/words.txt) has single words."""
NO_SUBJECT = re.compile(r"(?:What|Whether|Who|Where|How|Which|When|That)\b")
ROOMS = ("fpgart/**/*.py", "icd/**/*.py")
"""The files whose functions, classes and attributes have first lines with a subject."""


def sources() -> Iterator[Path]:
    return (path for pattern in SOURCES for path in ROOT.glob(pattern) if "include/CL" not in path.as_posix())


@pytest.mark.parametrize("pattern", PHRASES)
def test_no_text_has_a_phrase_of_the_project_alone(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not found, f"write instead: {PHRASES[pattern]}"


def test_the_first_line_of_a_module_names_its_subject() -> None:
    texts = {path: ast.get_docstring(ast.parse(path.read_text())) or "" for path in ROOT.glob("fpgart/**/*.py")}
    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if NO_SUBJECT.match(text)] == []


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yields the docstrings of a module's functions, classes and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


@pytest.mark.parametrize("room", ROOMS)
def test_the_first_line_of_a_docstring_has_a_subject(room: str) -> None:
    paths = list(ROOT.glob(room))
    found = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {str(text.value).splitlines()[0]}"
        for path in paths
        for text in texts(ast.parse(path.read_text()))
        if NO_SUBJECT.match(str(text.value).strip())
    ]
    assert paths
    assert found == []
