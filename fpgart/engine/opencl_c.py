# SPDX-License-Identifier: Apache-2.0
"""What is read in OpenCL C besides the compiler: sizes of types, and buffer_location of kernel arguments.

Compilers for the CPU skip that attribute.

Not a compiler: comments go, macros without parameters (#define and -D) are put in, conditions are not
evaluated. That is how such attributes are written:

    kernel void k(global __attribute__((buffer_location("HBM"))) int *x, ...)
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache

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
        if token in ("__attribute__", "__attribute"):
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
        if tokens[index] in ("__attribute__", "__attribute"):
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


@lru_cache(maxsize=1024)
def size_of_type(name: str) -> int:
    """Bytes of a scalar or vector type of OpenCL C; 0 for any other type."""
    found = TYPE_NAME.fullmatch(name)
    return SCALARS[found[1]] * VECTORS[found[2] or ""] if found else 0


class Use(enum.IntFlag):
    """What a kernel does with the memory behind a pointer argument."""

    NONE = 0
    READ = 1
    WRITE = 2
    UNKNOWN = 4
    """It goes where it is not followed: into a function, a variable, a macro."""
    ATOMIC = 8
    """An atomic function gets it."""


ASSIGNING = frozenset("+-*/%&|^")
ATOMIC_NAME = re.compile(r"atom(ic)?_\w+")
FUNCTION_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+\(.*$", re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*")


def argument_uses(source: str, options: str = "") -> dict[str, tuple[Use, ...]]:
    """For each kernel what it does with each of its arguments, as far as it shows in `p[...]` and `*p`."""
    if "#include" in source or "# include" in source:
        return {}
    text = CONTINUED.sub(" ", source)
    hidden = {name for line in FUNCTION_MACRO.findall(text) for name in NAME.findall(line)}
    tokens = _tokens(source, options)
    found: dict[str, tuple[Use, ...]] = {}
    for index, token in enumerate(tokens):
        if token in ("kernel", "__kernel"):
            name, parameters = _kernel(tokens, index + 1)
            body = _body(tokens, index)
            if name and body:
                names = [_parameter_name(parameter) for parameter in parameters]
                found[name] = tuple(Use.UNKNOWN if p in hidden or not p else _use(body, p) for p in names)
    return found


def _body(tokens: list[str], begin: int) -> list[str]:
    """What is between the braces of the function that is declared from `begin`; nothing for a declaration."""
    depth = 0
    for index in range(begin, len(tokens)):
        token = tokens[index]
        if token == ";" and not depth:
            return []
        if token == "{":
            if not depth:
                begin = index + 1
            depth += 1
        elif token == "}":
            depth -= 1
            if not depth:
                return tokens[begin:index]
    return []


def _parameter_name(parameter: list[str]) -> str:
    words = [token for token in parameter if NAME.fullmatch(token)]
    return words[-1] if words and parameter[-1] == words[-1] else ""


def _use(body: list[str], name: str) -> Use:
    use = Use.NONE
    for index, token in enumerate(body):
        if token == name and body[index - 1 : index] != ["."] and body[index - 2 : index] != ["-", ">"]:
            use |= _use_at(body, index)
    return use


def _use_at(body: list[str], index: int) -> Use:
    """What one mention of a pointer does."""
    before = body[max(0, index - 3) : index]
    end = index + 1
    called = before[:-1] if before[-1:] == ["&"] else before
    if called[-1:] == ["("] and ATOMIC_NAME.fullmatch("".join(called[-2:-1])):
        return Use.ATOMIC
    if body[end : end + 1] == ["["]:
        while end < len(body) and body[end] in ("[", "."):
            end = _bracket(body, end) + 1 if body[end] == "[" else end + 2
        if before[-1:] == ["&"] and not _is_operand(before[:-1]):
            return Use.UNKNOWN
        if before[-2:] in (["+", "+"], ["-", "-"]):
            return Use.READ | Use.WRITE
    elif before[-1:] != ["*"] or _is_operand(before[:-1]):
        return Use.UNKNOWN
    after = body[end : end + 3]
    if after[:1] == ["-"] and after[1:2] == [">"]:
        return Use.UNKNOWN
    if after[:1] == ["="]:
        return Use.READ if after[1:2] == ["="] else Use.WRITE
    if after[:2] in (["+", "+"], ["-", "-"]) or (len(after) > 1 and after[0] in ASSIGNING and after[1] == "="):
        return Use.READ | Use.WRITE
    if after in (["<", "<", "="], [">", ">", "="]):
        return Use.READ | Use.WRITE
    return Use.READ


def _is_operand(before: list[str]) -> bool:
    """Whether what stands there ends a value, so that the operator behind it takes two."""
    return bool(before) and (before[-1] in (")", "]") or NAME.match(before[-1]) is not None or before[-1][0].isdigit())


def _bracket(tokens: list[str], begin: int) -> int:
    """Where the bracket that opens at `begin` is closed."""
    depth = 0
    for index in range(begin, len(tokens)):
        depth += {"[": 1, "]": -1}.get(tokens[index], 0)
        if depth == 0:
            return index
    return len(tokens)
