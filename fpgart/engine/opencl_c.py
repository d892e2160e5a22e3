# SPDX-License-Identifier: Apache-2.0
"""What is read in OpenCL C besides the compiler: sizes of types, and buffer_location of kernel arguments.

Compilers for the CPU skip that attribute.

Not a compiler: comments go, macros without parameters (#define and -D) are put in, conditions are not
evaluated. That is how such attributes are written:

    kernel void k(global __attribute__((buffer_location("HBM"))) int *x, ...)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
CONTINUED = re.compile(r"\\\r?\n")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])(.*)$", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d\w*|\S')
DEEPEST = 32
ATTRIBUTE = "buffer_location"


def buffer_locations(source: str, options: str = "") -> dict[str, tuple[str, ...]]:
    """For each kernel whose arguments have a buffer_location: one per argument, "" for none."""
    if ATTRIBUTE not in source and ATTRIBUTE not in options:
        return {}
    tokens = _tokens(source, options)
    found = {}
    for index, token in enumerate(tokens):
        if token in ("kernel", "__kernel"):
            name, parameters = _kernel(tokens, index + 1)
            locations = tuple(_location(parameter) for parameter in parameters)
            if name and any(locations):
                found[name] = locations
    return found


NUMBERED = ("max_global_work_dim", "num_simd_work_items", "max_work_group_size", "uses_global_work_offset", "autorun",
            "reqd_work_group_size", "num_compute_units")  # fmt: skip


def kernel_attributes(source: str, options: str = "") -> dict[str, dict[str, tuple[int, ...]]]:
    """By kernel, the numbers of those attributes that boards know; () for one without numbers."""
    tokens = _tokens(source, options)
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    pending: dict[str, tuple[int, ...]] = {}
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token == "__attribute__":
            end = _group(tokens, index + 1)
            pending |= _numbered(tokens[index:end])
            index = end
        elif token in ("kernel", "__kernel"):
            name, _ = _kernel(tokens, index + 1)
            head = tokens[index + 1 : tokens.index(name, index)] if name else []
            if name:
                found[name] = pending | _numbered(head)
            pending = {}
        elif token in (";", "}"):
            pending = {}
        index += 1
    return found


def _numbered(tokens: list[str]) -> dict[str, tuple[int, ...]]:
    found = {}
    for index, token in enumerate(tokens):
        if token.strip("_") in NUMBERED:
            end = _group(tokens, index + 1) if tokens[index + 1 : index + 2] == ["("] else index
            numbers = [int(t, 0) for t in tokens[index + 2 : end] if t.isdigit()]
            found[token.strip("_")] = tuple(numbers)
    return found


def _tokens(source: str, options: str) -> list[str]:
    """The source without comments and directives, with macros put in."""
    text = COMMENT.sub(lambda found: found[1] or " ", CONTINUED.sub(" ", source))
    macros = {name: TOKEN.findall(body) for name, body in DEFINE.findall(text)} | _macros_of(options)
    return list(_expanded(TOKEN.findall(DIRECTIVE.sub("", text)), macros))


def _macros_of(options: str) -> dict[str, list[str]]:
    try:
        words = shlex.split(options)
    except ValueError:  # a quote without its end; the compiler will say so
        words = options.split()
    found = {}
    for index, word in enumerate(words):
        if word.startswith("-D"):
            name, _, value = (word[2:] or " ".join(words[index + 1 : index + 2])).partition("=")
            found[name] = TOKEN.findall(value)
    return found


def _expanded(tokens: list[str], macros: dict[str, list[str]], depth: int = 0) -> Iterator[str]:
    for token in tokens:
        if token in macros and depth < DEEPEST:
            yield from _expanded(macros[token], macros, depth + 1)
        else:
            yield token


def _group(tokens: list[str], begin: int) -> int:
    """Where the group that opens at `begin` is closed."""
    depth = 0
    for index in range(begin, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index], 0)
        if depth == 0:
            return index
    return len(tokens)


def _kernel(tokens: list[str], begin: int) -> tuple[str, list[list[str]]]:
    """Name and parameters of the function that is declared from `begin`; no name if it is none."""
    index = begin
    while index < len(tokens) and tokens[index] not in ("{", "}", ";"):
        if tokens[index] == "__attribute__":
            index = _group(tokens, index + 1) + 1
            continue
        if tokens[index] == "(":
            return tokens[index - 1], _split(tokens[index + 1 : _group(tokens, index)])
        index += 1
    return "", []


def _split(tokens: list[str]) -> list[list[str]]:
    """Parameters, by the commas that are not within parentheses."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _location(parameter: list[str]) -> str:
    """The first string behind the attribute's name."""
    for index, token in enumerate(parameter):
        if token == ATTRIBUTE:
            text = next((t for t in parameter[index:] if t.startswith('"')), "")
            return text[1:-1]
    return ""


SCALARS = {"char": 1, "short": 2, "int": 4, "long": 8, "half": 2, "float": 4, "double": 8}
VECTORS = {"": 1, "2": 2, "3": 4, "4": 4, "8": 8, "16": 16}
TYPE_NAME = re.compile(r"(?:u|unsigned )?(char|short|int|long|half|float|double)(2|3|4|8|16)?")


def size_of_type(name: str) -> int:
    """Bytes of a scalar or vector type of OpenCL C; 0 for any other type."""
    found = TYPE_NAME.fullmatch(name)
    return SCALARS[found[1]] * VECTORS[found[2] or ""] if found else 0
