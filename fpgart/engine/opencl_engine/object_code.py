# SPDX-License-Identifier: Apache-2.0
"""PoCL's binary of a compiled object: its intermediate code, and the variables that it declares."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from fpgart.base import log
from fpgart.kernels.bitcode import Damaged, global_variables

U32 = Struct("<I")
FILE_OF_CODE = b"/program.bc"
"""The name of the file with the intermediate code in PoCL's binaries, before the file's size and content."""
LARGEST = (1 << 64) - 1
"""The largest value of an answer."""


def intermediate_code(binary: bytes) -> bytes:
    """Returns the content of FILE_OF_CODE in PoCL's binary of an object; b"" if it is not found."""
    begin = binary.find(FILE_OF_CODE) + len(FILE_OF_CODE)
    if begin < len(FILE_OF_CODE) or begin + U32.size > len(binary):
        return b""
    size = int(U32.unpack_from(binary, begin)[0])
    found = binary[begin + U32.size :][:size]
    return found if len(found) == size else b""


def local_variables(objects: Sequence[bytes], kernel: str) -> int:
    """Returns the bytes of the variables that a kernel declares in local memory; 0 if no code can be read.

    Clang makes a global variable of each, with the kernel's name before its own. Names stand in the code as they are
    (LLVM's STRTAB), so code without such a name need not be decoded.
    """
    prefix = f"{kernel}."
    codes = [code for code in map(intermediate_code, objects) if prefix.encode() in code]
    try:
        variables = [variable for code in codes for variable in global_variables(code)]
    except Damaged as error:
        log.note(f"the local variables of kernel '{kernel}' cannot be counted: {error}")
        return 0
    own = (each.size for each in variables if each.name.startswith(prefix) and not each.is_constant)
    return min(sum(own), LARGEST)
