# SPDX-License-Identifier: Apache-2.0
"""The documentation site: `make site` builds it into build/site, with words for every link that leads nowhere."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))
from fpgart.cli.main import cli
from fpgart.version import __version__

for name in cli.list_commands(click.Context(cli)):  # sphinx_click knows those only that are in cli.commands
    cli.add_command(cli.get_command(click.Context(cli), name), name)

os.environ["COLUMNS"] = "80"  # of click's help texts

project = "fpgart"
author = "fpgart developers"
copyright = "fpgart developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["descriptions"]
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]
smartquotes = False  # they make one dash of the two before a program's name
default_role = "code"  # `names` in docstrings

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"fpgart {__version__}"
html_copy_source = False

man_pages = [("cli", "fpgart", "an OpenCL driver for accelerator boards that you do not have", author, 1)]

PAGES = {"../CHANGELOG.md": "changes.md", "../CONTRIBUTING.md": "contributing.md", "../SECURITY.md": "security.md"}
"""Where the files of the repository's root stand on the site."""
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r"\[([^\]\n]*)\]\((\.\./[^)#\s]*|docs/[^)#\s]*)(#[^)\s]*)?\)")


def as_on_the_site(_app: Sphinx, _page: str, source: list[str]) -> None:
    """The pages are written for readers of the repository; links out of docs/ become links within the site."""
    text = ANCHOR.sub(r"[]{#\1}", source[0])
    source[0] = LINK.sub(_link, text)


def _link(found: re.Match[str]) -> str:
    words, target, anchor = found[1], found[2], found[3] or ""
    if target in PAGES:
        return f"[{words}]({PAGES[target]}{anchor})"
    # Sources come along as downloads; folders have no page.
    path = Path(__file__).parent / target
    return found[0] if path.is_file() and path.suffix != ".md" else words


def with_code(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Indented paragraphs of docstrings are code."""
    told, before = [], ""
    for line in lines:
        if line.startswith("    ") and before == "" and not any(each.startswith("    ") for each in told[-2:]):
            told += [".. code-block:: python", ""]
        told.append(line)
        before = line.strip()
    lines[:] = told


def setup(app: Sphinx) -> None:
    app.connect("source-read", as_on_the_site)
    app.connect("include-read", lambda app, _path, _page, source: as_on_the_site(app, "", source))
    app.connect("autodoc-process-docstring", with_code)
