"""The file that the code at an address comes from."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from processes import finished

from fpgart.watch.modules import Mapping, mappings

HOST = """
import ctypes, sys
from fpgart.watch.modules import Modules
function = ctypes.cast(ctypes.CDLL(sys.argv[1]).cos, ctypes.c_void_p).value
print(Modules().find(function)[0] == sys.argv[1])
"""


@pytest.mark.parametrize("name", [b"\xff.so", b"\xc2\x85.so", b"a b.so"], ids=["not UTF-8", "a line's end", "a space"])
def test_a_file_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    library = next(each.path for each in mappings(Path("/proc/self/maps").read_text()) if "libm.so" in each.path)
    copy = os.fsdecode(bytes(tmp_path) + b"/" + name)
    shutil.copy(library, copy)
    done = finished(sys.executable, "-c", HOST, copy)
    assert done.stdout == "True\n", done.stderr


def test_only_code_of_files_counts() -> None:
    text = "1000-2000 r-xp 00000010 08:01 7  /a\n2000-3000 r--p 00000000 08:01 7  /a\n3000-4000 r-xp 00000000 00:00 0\n"
    assert mappings(text) == [Mapping(0x1000, 0x2000, 0x10, "/a")]
