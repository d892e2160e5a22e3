# SPDX-License-Identifier: Apache-2.0
"""The functions of an OpenCL C source, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fpgart.kernels.attribute_numbers import with_numbers
from fpgart.kernels.call_graph import function_named
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.dialect import predefined_macros
from fpgart.kernels.preprocessing.files import Includes
from fpgart.kernels.preprocessing.preprocessor import preprocess
from fpgart.kernels.signs import PreprocessorError
from fpgart.kernels.source_text import DIRECTIVE, WORD, Lines, blank, closings, end_of_statement, visible

KERNEL = re.compile(r"\b(?:__)?kernel\b")
CALLED = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a preprocessed source; its body contains pragmas, but no comments."""

    name: str
    parameters: str
    body: str
    is_kernel: bool
    begin: int = 0
    lines: Lines | None = None
    """The position at which the body begins in the text, and the lines of the text."""


def functions(source: str, options: str) -> list[Function]:
    """Returns all functions; none if the preprocessor needs headers of the host."""
    return list(functions_in(plain_text(source, options)))


def plain_text(source: str, options: str = "") -> str:
    """Returns a preprocessed source without comments and literals, and with numbers as arguments of attributes.

    It is "" if the source needs headers of the host.
    """
    read = CompilerOptions.read(options)
    macros = predefined_macros("", "", options)
    try:
        text = preprocess(source, "kernels", Includes(read.folders, {}), read.defines, macros).text
    except (PreprocessorError, OSError):
        return ""
    return visible(with_numbers(text, strict=False))


def functions_in(text: str) -> Iterator[Function]:
    """Yields the functions of a plain_text()."""
    plain = blank(DIRECTIVE, text)
    closed = closings(plain)
    lines = Lines(text)
    at = 0
    while (brace := plain.find("{", at)) >= 0:
        end = end_of_statement(plain, brace, closed)
        head = plain[at:brace].rpartition(";")[2].rpartition("}")[2]
        name = function_named(WORD.findall(head))
        if name:
            opened = next((called for called in CALLED.finditer(head) if called["name"] == name), None)
            ended = closings(head).get(opened.end() - 1, len(head)) if opened else 0
            parameters = head[opened.end() : ended] if opened else ""
            yield Function(name, parameters, text[brace:end], KERNEL.search(head) is not None, brace, lines)
        at = end
