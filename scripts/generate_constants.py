# SPDX-License-Identifier: Apache-2.0
"""Writes fpgart/base/opencl.py, the constants of include/CL that Python files name, and all statuses.

python scripts/generate_constants.py [--check]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ("cl.h", "cl_ext.h", "cl_ext_intelfpga.h", "cl_ext_ti.h")
TARGET = ROOT / "fpgart" / "base" / "opencl.py"
DEFINE = re.compile(r"^#define (CL_\w+) (\S.*)$")
COMMENT = re.compile(r"^/\* (.*) \*/$")
FUNCTION = re.compile(r"^extern CL_API_ENTRY ([\w *]+?) ?CL_API_CALL\s+(cl\w+)\(", re.MULTILINE)
NUMBER = re.compile(r"-?(0x[0-9A-Fa-f]+|\d+)")
SHIFT = re.compile(r"\((?:\(cl_bitfield\))?1 << (\d+)\)")
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Constants of the OpenCL API. Made by scripts/generate_constants.py from include/CL; do not edit."""

from __future__ import annotations

from typing import Final
'''
NAMES = '''
_STATUSES = {
    value: name for name, value in reversed(list(globals().items())) if isinstance(value, int) and value < 0
}
NAMES_OF_STATUS: Final[dict[int, str]] = dict(sorted(_STATUSES.items(), reverse=True))
FALLIBLE: Final = frozenset(
    """'''
LAST = '"""Functions that return a status or an object."""\n'
USERS = ("fpgart", "tests", "conformance", "benchmarks")
"""Folders with the Python files that name constants."""
USED = re.compile(r"\bCL_\w+")
OF_EXTENSION = re.compile(r"_(EXT|IMG|INTEL|INTELFPGA|KHR|TI)$")
WIDTH = 120


def value_of(text: str) -> str | None:
    """Returns a constant's value as Python spells it; None if it is no integer."""
    shift = SHIFT.fullmatch(text)
    if shift:
        return f"1 << {shift[1]}"
    return text if NUMBER.fullmatch(text) else None


def wanted() -> Callable[[str, str], bool]:
    """Returns a function for names and values of constants.

    It is true for statuses, and for what Python files name, whole or by its begin (`CL_DEVICE_`). A begin does not
    stand for constants of extensions, except commands.
    """
    files = [path for folder in USERS for path in (ROOT / folder).rglob("*.py") if path != TARGET]
    named = {name for path in files for name in USED.findall(path.read_text())}
    begins = tuple(name for name in named if name.endswith("_"))

    def is_wanted(name: str, value: str) -> bool:
        if name in named or value.startswith("-"):
            return True
        return name.startswith(begins) and (name.startswith("CL_COMMAND_") or not OF_EXTENSION.search(name))

    return is_wanted


def generate() -> str:
    """Returns the text of fpgart/base/opencl.py."""
    lines = [HEAD]
    is_wanted = wanted()
    seen: set[str] = set()
    heading = ""
    for header in HEADERS:
        for line in (ROOT / "include" / "CL" / header).read_text().splitlines():
            comment, define = COMMENT.match(line), DEFINE.match(line)
            if comment:
                heading = comment[1]
            elif define and define[1] not in seen and (value := value_of(define[2])) is not None:
                if not is_wanted(define[1], value):
                    continue
                seen.add(define[1])
                if heading:
                    lines += ["", f"# {heading}"]
                    heading = ""
                lines.append(f"{define[1]}: Final = {value}")
    return "\n".join([*lines, NAMES, *wrap(" ".join(fallible()), WIDTH), '""".split()', ")"]) + "\n" + LAST


def fallible() -> list[str]:
    """Returns the functions of the headers whose result says whether they failed."""
    texts = [(ROOT / "include" / "CL" / header).read_text() for header in HEADERS]
    found = [match.groups() for text in texts for match in FUNCTION.finditer(text)]
    return [name for result, name in found if result != "void" and "FunctionAddress" not in name]


def main() -> int:
    text = generate()
    if "--check" in sys.argv:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
