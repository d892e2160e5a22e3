# SPDX-License-Identifier: Apache-2.0
"""Sources whose blocks mark bytes in a file that all processes of a test map."""

from __future__ import annotations

import ast

MARKED = "marked_blocks"
SIZE = 1 << 16
"""The most blocks."""
TESTING = "PROCESS_OF_TESTS"
"""The variable with the number of the process that runs the tests: it marks the second half of the file, for all others
the first."""
C_HEAD = f"extern unsigned char *{MARKED}; "
C = f"""
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char unmapped[{SIZE}];
unsigned char *{MARKED} = unmapped;
__attribute__((constructor)) static void map_marked_blocks(void)
{{
    int file = open("FILE", O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, 2 * {SIZE}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        return;
    const char *testing = getenv("{TESTING}");
    {MARKED} = (unsigned char *)mapped + (testing != NULL && atoi(testing) == getpid() ? {SIZE} : 0);
}}
"""
"""A file of core/, which is in each library and program that has C of these."""
PYTHON = f"""
import mmap
import os
try:
    file = os.open("FILE", os.O_RDWR)
    begin = {SIZE} if os.environ.get("{TESTING}") == str(os.getpid()) else 0
    {MARKED} = memoryview(mmap.mmap(file, 2 * {SIZE}))[begin : begin + {SIZE}]
    os.close(file)
except OSError:
    {MARKED} = bytearray({SIZE})
"""


def marked(name: str, source: str, first: int) -> tuple[str, dict[int, int]]:
    """Returns a file whose blocks mark bytes from `first` on, and the block of each line."""
    return (marked_c if name.endswith(".c") else marked_python)(source, first)


def marked_python(source: str, first: int) -> tuple[str, dict[int, int]]:
    tree, blocks, number = ast.parse(source), {}, first
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                begin = node.lineno if isinstance(node, ast.FunctionDef) else body[0].lineno
                blocks.update(dict.fromkeys(range(begin, body[-1].end_lineno + 1), number))
                has_words = isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
                body.insert(has_words, ast.parse(f"{MARKED}[{number}] = 1").body[0])
                number += 1
    words = [isinstance(each, ast.Expr) or getattr(each, "module", "") == "__future__" for each in tree.body]
    tree.body.insert(words.index(False), ast.parse(f"from fpgart.{MARKED} import {MARKED}").body[0])
    return ast.unparse(tree), blocks


def marked_c(source: str, first: int) -> tuple[str, dict[int, int]]:
    """Lines stay where they are. The file is formatted as clang-format does it."""
    lines, blocks, number = source.split("\n"), {}, first
    for at, line in enumerate(lines):
        code, begin = line.strip(), at
        while sum(each.count(")") - each.count("(") for each in lines[begin : at + 1]) > 0:
            begin -= 1
        is_head = code.endswith((") {", "do {", "else {")) and "switch" not in lines[begin]
        if line == "{" or is_head:
            indentation = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
            end = next(after for after in range(at + 1, len(lines)) if lines[after].startswith(indentation + "}"))
            blocks.update(dict.fromkeys(range(at + 2, end + 1), number))  # lines count from 1
            lines[at] += f" {MARKED}[{number}] = 1;"
            number += 1
    return C_HEAD + "\n".join(lines), blocks
