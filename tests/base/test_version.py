"""One version: all that name it say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fpgart.base.personality import PERSONALITIES
from fpgart.version import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (.+)$"),
        ("fpgart/share/pkgconfig/fpgart.pc", r"^Version: (.+)$"),
        ("fpgart/share/cmake/fpgart/fpgartConfigVersion.cmake", r'PACKAGE_VERSION "(.+)"'),
    ],
)
def test_files_that_cannot_ask_have_the_version_of_the_package(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == __version__


def test_the_platform_has_the_version_of_the_package() -> None:
    assert PERSONALITIES["fpgart"].version == f"OpenCL 3.0 fpgart {__version__}"


def test_the_changes_of_a_release_stand_under_its_number() -> None:
    """Until it is made, they are unreleased."""
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] in ("Unreleased", __version__) or heads[0].startswith(f"{__version__} ")
