# SPDX-License-Identifier: Apache-2.0
"""The program that calls the device compiler in libsycl-jit.so.

    python private_entry.py LIBRARY FOLDER SOURCE OPTION...

It writes FOLDER/<number>.spv, a device image each, FOLDER/images.json: for each image its file, its symbols and its
properties, and FOLDER/device.bc: the code before it is divided into images, as LLVM's bitcode. The compiler's log goes
to stderr. Exit status 1: the compiler refused the program.

It is a separate process because the compiler may end its process, and must not share it with other libraries.
The structures are those of intel-sycl-rt 2025.3.3, whose interface is not documented. Their layout is that of C++
compilers for x86-64 and AArch64: views are passed in registers, the result through a hidden pointer,
as ctypes does with structures of these sizes.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

SPIRV = 2
"""The format of the requested images."""


class Array(ctypes.Structure):
    """A pointer to elements, and their number: spans, views and the result's own arrays."""

    _fields_ = [("first", ctypes.c_void_p), ("count", ctypes.c_size_t)]


class File(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("text", ctypes.c_char_p)]


class Value(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("is_integer", ctypes.c_bool),
        ("integer", ctypes.c_uint32),
        ("bytes", Array),
    ]


class PropertySet(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("values", Array)]


class Image(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_uint32),
        ("address_bits", ctypes.c_uint64),
        ("code", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        ("symbols", Array),
        ("properties", Array),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int),
        ("images", Array),
        ("options", ctypes.c_char_p),
        ("intermediate", Array),
        ("log", ctypes.c_char_p),
    ]


def elements(kind: Any, array: Array) -> Any:
    """Returns the elements of an array, each of a ctypes type."""
    return (kind * array.count).from_address(array.first) if array.count else ()


def compile_source(library: Path, source: Path, options: list[str]) -> Result:
    file = File(os.fsencode(source), source.read_bytes())
    function = ctypes.CDLL(str(library)).compileSYCL
    function.restype = Result
    function.argtypes = [File, Array, Array, Array, ctypes.c_bool, ctypes.c_uint32]
    words = (ctypes.c_char_p * len(options))(*(os.fsencode(option) for option in options))
    nothing = Array(None, 0)
    given = Array(ctypes.cast(words, ctypes.c_void_p), len(options))
    made = function(file, nothing, given, nothing, True, SPIRV)
    assert isinstance(made, Result)
    return made


def described(image: Image, file: str) -> dict[str, object]:
    """Returns the entry of an image in images.json."""
    sets = {
        properties.name.decode(): {
            value.name.decode(): value.integer if value.is_integer else list(elements(ctypes.c_uint8, value.bytes))
            for value in elements(Value, properties.values)
        }
        for properties in elements(PropertySet, image.properties)
    }
    symbols = [symbol.decode() for symbol in elements(ctypes.c_char_p, image.symbols)]
    return {"file": file, "symbols": symbols, "properties": sets}


def main() -> int:
    library, folder, source, *options = sys.argv[1:]
    made = compile_source(Path(library), Path(source), options)
    if made.log:
        sys.stderr.write(made.log.decode(errors="replace"))
        sys.stderr.flush()
    if made.code:
        return 1
    images = []
    for number, image in enumerate(elements(Image, made.images)):
        name = f"{number}.spv"
        Path(folder, name).write_bytes(ctypes.string_at(image.code, image.size))
        images.append(described(image, name))
    Path(folder, "images.json").write_text(json.dumps(images))
    bitcode = ctypes.string_at(made.intermediate.first, made.intermediate.count) if made.intermediate.count else b""
    Path(folder, "device.bc").write_bytes(bitcode)
    return 0


if __name__ == "__main__":
    try:
        status = main()
    except OSError as error:
        sys.stderr.write(f"error: {error.filename or sys.argv[2]}: {error.strerror}\n")
        status = 1
    sys.stdout.flush()
    os._exit(status)  # the result must not be destroyed, and the compiler's own exit handlers take long
