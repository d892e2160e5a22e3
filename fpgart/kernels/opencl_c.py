# SPDX-License-Identifier: Apache-2.0
"""Properties that are read from OpenCL C without the compiler: sizes of types, and buffer_location of arguments.

Compilers for the CPU ignore that attribute.

Comments are removed, and macros without parameters (#define and -D) expanded. Only a source with conditions is
preprocessed; if that fails, all its branches are read. Such attributes are written in this way:

    kernel void k(global __attribute__((buffer_location("HBM"))) int *x, ...)
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import pattern
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.hardware_attributes import KERNEL_ATTRIBUTES
from fpgart.kernels.signs import PreprocessorError
from fpgart.kernels.source_text import ATTRIBUTES, COMMENT, CONTINUED, DIRECTIVE, INCLUDE, NAME, blank, visible

DEFINE = pattern(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])(.*)$", re.MULTILINE)
CONDITION = pattern(r"^[ \t]*#[ \t]*if", re.MULTILINE)
TOKEN = pattern(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d\w*|\\.|\S')
BETWEEN_WORDS = pattern(r"(?<!\w) | (?!\w)")
"""A space that separates no two words."""
DEEPEST = 32
MOST_EXPANSIONS = 1 << 19
"""The most tokens that macros may produce."""
KERNELS = frozenset(("kernel", "__kernel"))
ENDS = KERNELS | {"{", "}", ";"}
"""Tokens that end a declaration."""
ATTRIBUTE = "buffer_location"
AUTORUN = "autorun"


def buffer_locations(source: str, options: str = "") -> dict[str, tuple[str, ...]]:
    """Returns, for each kernel whose arguments have a buffer_location, one per argument, "" for none."""
    if ATTRIBUTE not in source and ATTRIBUTE not in options:
        return {}
    found = {}
    for kernel in _kernels(_tokens(source, options)):
        locations = tuple(_location(parameter) for parameter in kernel.parameters)
        if any(locations):
            found[kernel.name] = locations
    return found


def kernel_attributes(source: str, options: str = "") -> dict[str, dict[str, tuple[int, ...]]]:
    """Returns, by kernel, the numbers of those attributes that boards know; () for one without numbers.

    An attribute whose numbers need headers of the host is left out.
    """
    if not any(name in source or name in options for name in (*KERNEL_ATTRIBUTES, AUTORUN, "include", "##")):
        return {}  # preprocessing takes long
    return attributes_in(_text_with_attributes(source, options))


def attribute_words(source: str, options: str = "") -> dict[str, str]:
    """Returns, by kernel, the text of its attributes for CL_KERNEL_ATTRIBUTES (OpenCL 3.0, 5.9.4)."""
    return {
        name: " ".join(found) for name, found in _by_kernel(_text_with_attributes(source, options), _worded).items()
    }


def _text_with_attributes(source: str, options: str) -> str:
    """Returns the preprocessed text; "" if it has no attributes."""
    if "__attribute" not in source and "__attribute" not in options and not INCLUDE.search(source):
        return ""
    from fpgart.kernels.functions import plain_text  # most programs have no attributes

    return plain_text(source, options) or visible(source)


Attributes = dict[str, tuple[int, ...]]
"""The numbers of attributes, by name."""


def attributes_in(text: str) -> dict[str, Attributes]:
    """Returns the attributes of each kernel in a preprocessed text, whose numbers are digits (attribute_numbers.py)."""
    return _by_kernel(text, _numbered)


def autorun_units(text: str) -> dict[str, tuple[int, ...]]:
    """Returns the compute units in each dimension of each autorun kernel in a text, as attributes_in() reads it."""
    found = attributes_in(text).items()
    return {name: attributes.get("num_compute_units", (1,)) for name, attributes in found if "autorun" in attributes}


def _by_kernel(text: str, read: Callable[[list[str], int, int, dict[int, int]], Attributes]) -> dict[str, Attributes]:
    """Returns, by kernel, what `read` finds between two positions of the tokens that may have attributes."""
    tokens = TOKEN.findall(blank(DIRECTIVE, text))
    closed = _closings(tokens)
    found: dict[str, Attributes] = {}
    pending: Attributes = {}
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token in ATTRIBUTES:
            end = _group(tokens, index + 1, closed)
            pending |= read(tokens, index, end, closed)
            index = end
        elif token in KERNELS:
            kernel = _kernel(tokens, index, closed)
            if kernel.name:
                own = pending | read(tokens, index + 1, kernel.opens - 1, closed)
                behind = _behind_attributes(tokens, kernel.end, closed)
                own |= read(tokens, kernel.end, behind, closed)
                found[kernel.name] = found.get(kernel.name, {}) | own
            pending = {}
            index = kernel.end - 1
        elif token in (";", "}"):
            pending = {}
        index += 1
    return found


def _worded(tokens: list[str], begin: int, end: int, closed: dict[int, int]) -> Attributes:
    """Returns attributes with their values as names, such as `reqd_work_group_size(8,1,1)`; none has numbers."""
    found: Attributes = {}
    index = begin
    while index < end:
        if tokens[index] in ATTRIBUTES:
            last = _group(tokens, index + 1, closed)
            for words in filter(None, _split(tokens[index + 3 : last - 1])):
                found[BETWEEN_WORDS.sub("", " ".join((words[0].strip("_"), *words[1:])))] = ()
            index = last
        index += 1
    return found


def _numbered(tokens: list[str], begin: int, end: int, closed: dict[int, int]) -> Attributes:
    found: Attributes = {}
    index = begin
    while index < end:
        name = tokens[index].strip("_")
        if name == AUTORUN:
            found[name] = ()
        elif name in KERNEL_ATTRIBUTES:
            last = _group(tokens, index + 1, closed)
            numbers = tokens[index + 2 : last : 2]
            if numbers and all(map(str.isdecimal, numbers)) and {*tokens[index + 3 : last : 2]} <= {","}:
                found[name] = tuple(map(int, numbers))
            index = last
        index += 1
    return found


def _tokens(source: str, options: str) -> list[str]:
    """Returns the source without comments and directives, with macros expanded."""
    if CONDITION.search(source):
        source = _chosen(source, options)
    text = COMMENT.sub(lambda found: found[1] or found[2] or " ", CONTINUED.sub(" ", source))
    defined = DEFINE.findall(text) + [*CompilerOptions.read(options).macros.items()]
    macros = {name: TOKEN.findall(body) for name, body in defined}
    return _Expansion(macros).of(TOKEN.findall(DIRECTIVE.sub("", text)))


def _chosen(source: str, options: str) -> str:
    """Returns the branches that hold, with macros expanded; the source itself if the preprocessor refuses it."""
    from fpgart.kernels.preprocessing.files import Includes
    from fpgart.kernels.preprocessing.preprocessor import preprocess

    try:
        return preprocess(source, "", Includes(), CompilerOptions.read(options).defines).text
    except (PreprocessorError, OSError):
        return source


class _Expansion:
    """Expands macros, except those that would produce very many tokens."""

    def __init__(self, macros: dict[str, list[str]]) -> None:
        self._macros = macros
        self._left = MOST_EXPANSIONS

    def of(self, tokens: list[str]) -> list[str]:
        return list(self._expanded(tokens, 0))

    def _expanded(self, tokens: list[str], depth: int) -> Iterator[str]:
        for token in tokens:
            self._left -= depth > 0
            if token in self._macros and depth < DEEPEST and self._left > 0:
                yield from self._expanded(self._macros[token], depth + 1)
            else:
                yield token


def _closings(tokens: list[str], pair: str = "()") -> dict[int, int]:
    """Returns, by the position of each parenthesis that is closed, where it is."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token == pair[0]:
            opened.append(index)
        elif token == pair[1] and opened:
            found[opened.pop()] = index
    return found


def _group(tokens: list[str], begin: int, closed: dict[int, int]) -> int:
    """Returns where the group that opens at `begin` is closed."""
    return closed.get(begin, len(tokens)) if tokens[begin : begin + 1] == ["("] else begin


def _behind_attributes(tokens: list[str], begin: int, closed: dict[int, int]) -> int:
    """Returns where attributes end that begin there; only declarations have them behind their parameters."""
    while tokens[begin : begin + 1] and tokens[begin] in ATTRIBUTES:
        begin = _group(tokens, begin + 1, closed) + 1
    return begin


class _Kernel(NamedTuple):
    """A kernel's declaration; without a name if it is none. `opens`: its parenthesis; `end`: behind the declaration."""

    name: str
    parameters: list[list[str]]
    opens: int
    end: int


def _kernels(tokens: list[str]) -> Iterator[_Kernel]:
    """Yields the kernels that are declared, in their order."""
    closed = _closings(tokens)
    index = 0
    while index < len(tokens):
        if tokens[index] in KERNELS:
            kernel = _kernel(tokens, index, closed)
            if kernel.name:
                yield kernel
            index = kernel.end - 1
        index += 1


def _kernel(tokens: list[str], begin: int, closed: dict[int, int]) -> _Kernel:
    """Returns the function that is declared from the word `kernel` at `begin`."""
    index = begin + 1
    while index < len(tokens) and tokens[index] not in ENDS:
        if tokens[index] in ATTRIBUTES:
            index = _group(tokens, index + 1, closed) + 1
            continue
        if tokens[index] == "(":
            end = _group(tokens, index, closed)
            return _Kernel(tokens[index - 1], _split(tokens[index + 1 : end]), index, end + 1)
        index += 1
    return _Kernel("", [], index, index)


def _split(tokens: list[str]) -> list[list[str]]:
    """Splits parameters at the commas that are not within parentheses."""
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
    """Returns the first string behind the attribute's name."""
    for index, token in enumerate(parameter):
        if token == ATTRIBUTE:
            text = next((t for t in parameter[index:] if t.startswith('"')), "")
            return text[1:-1]
    return ""


SCALARS = {"char": 1, "short": 2, "int": 4, "long": 8, "half": 2, "float": 4, "double": 8}
VECTORS = {"": 1, "2": 2, "3": 4, "4": 4, "8": 8, "16": 16}
TYPE_NAME = pattern(r"(?:u|unsigned )?(char|short|int|long|half|float|double)(2|3|4|8|16)?")


@lru_cache(maxsize=1024)
def size_of_type(name: str) -> int:
    """Returns the bytes of a scalar or vector type of OpenCL C; 0 for any other type."""
    found = TYPE_NAME.fullmatch(name)
    return SCALARS[found[1]] * VECTORS[found[2] or ""] if found else 0


class Use(enum.IntFlag):
    """A kernel's uses of the memory behind a pointer argument."""

    NONE = 0
    READ = 1
    WRITE = 2
    UNKNOWN = 4
    """It is passed to a function, a variable or a macro, which is not followed."""
    ATOMIC = 8
    """An argument of an atomic function."""


ASSIGNING = frozenset("+-*/%&|^")
ATOMIC_NAME = pattern(r"atom(ic)?_\w+")
FUNCTION_MACRO = pattern(r"^[ \t]*#[ \t]*define[ \t]+\w+\(.*$", re.MULTILINE)


def argument_uses(source: str, options: str = "") -> dict[str, tuple[Use, ...]]:
    """Returns, for each kernel, its uses of each of its arguments, as far as `p[...]` and `*p` show them."""
    if INCLUDE.search(source):
        return {}
    text = CONTINUED.sub(" ", source)
    hidden = {name for line in FUNCTION_MACRO.findall(text) for name in NAME.findall(line)}
    tokens = _tokens(source, options)
    closed = _closings(tokens, "{}")
    found: dict[str, tuple[Use, ...]] = {}
    behind = 0
    for kernel in _kernels(tokens):
        if kernel.opens < behind:  # in the body of another kernel
            continue
        begin, behind = _body(tokens, kernel.end, closed)
        if begin < behind:
            names = [_parameter_name(parameter) for parameter in kernel.parameters]
            uses = _uses(tokens[begin:behind], frozenset(names) - hidden)
            found[kernel.name] = tuple(Use.UNKNOWN if p in hidden or not p else uses[p] for p in names)
    return found


def _body(tokens: list[str], begin: int, closed: dict[int, int]) -> tuple[int, int]:
    """Returns the begin and the end of the body of the function whose head ends at `begin`; equal for a declaration."""
    for index in range(begin, len(tokens)):
        if tokens[index] == "{":
            return (index + 1, closed[index]) if index in closed else (len(tokens), len(tokens))
        if tokens[index] in ENDS:
            break
    return (begin, begin)


def _parameter_name(parameter: list[str]) -> str:
    words = [token for token in parameter if NAME.fullmatch(token)]
    return words[-1] if words and parameter[-1] == words[-1] else ""


def _uses(body: list[str], names: frozenset[str]) -> dict[str, Use]:
    uses = dict.fromkeys(names, Use.NONE)
    closed = _closings(body, "[]")
    for index, token in enumerate(body):
        if token in uses and body[index - 1 : index] != ["."] and body[index - 2 : index] != ["-", ">"]:
            uses[token] |= _use_at(body, index, closed)
    return uses


def _use_at(body: list[str], index: int, closed: dict[int, int]) -> Use:
    """Returns the use by one mention of a pointer."""
    before = body[max(0, index - 3) : index]
    end = index + 1
    called = before[:-1] if before[-1:] == ["&"] else before
    if called[-1:] == ["("] and ATOMIC_NAME.fullmatch("".join(called[-2:-1])):
        return Use.ATOMIC
    if body[end : end + 1] == ["["]:
        while end < len(body) and body[end] in ("[", "."):
            end = closed.get(end, len(body)) + 1 if body[end] == "[" else end + 2
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
    """True if a value ends there, so that the operator behind it is binary."""
    return bool(before) and (before[-1] in (")", "]") or NAME.match(before[-1]) is not None or before[-1][0].isdigit())
