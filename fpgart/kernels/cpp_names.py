# SPDX-License-Identifier: Apache-2.0
"""Names of C++ functions as their source has them, from the symbols of executables."""

from __future__ import annotations

import re
from functools import cache

MANGLED = "_Z"
LIBRARY = "libstdc++.so.6"
INLINE_NAMESPACE = "_V1::"
"""Part of SYCL's names that no source contains."""
PIPE_STORAGE = "::m_Storage"
SYMBOL = re.compile(r"(?:_ZTS|_ZN\w+m_Storage)\w+")
"""Finds the symbols of SYCL kernels, which are those of the types that name them, and of pipes."""
BEHIND = (" const", " volatile", " &", " &&")
"""Text that may follow the parameters of a member function."""


def plain(symbol: str) -> str:
    """Returns `space::Class::function` without parameters; other symbols, and all without libstdc++, unchanged."""
    if not symbol.startswith(MANGLED):
        return symbol
    return without_parameters(_demangled(symbol) or symbol)


def without_parameters(name: str) -> str:
    """Returns a function's name without the parentheses at its end."""
    bare = name
    while bare.endswith(BEHIND):
        bare = bare.rpartition(" ")[0]
    if not bare.endswith(")"):
        return name
    depth = 0
    for index in range(len(bare) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(bare[index], 0)
        if not depth:
            return bare[:index] or name
    return name


@cache
def _demangled(symbol: str) -> str:
    import ctypes  # for hosts in C++ only

    try:
        demangle = ctypes.CDLL(LIBRARY)["__cxa_demangle"]
    except OSError:
        return ""
    free = ctypes.CDLL(None).free
    status = ctypes.c_int()
    demangle.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    made = demangle(symbol.encode(errors="surrogateescape"), None, None, ctypes.byref(status))
    try:
        return ctypes.string_at(made).decode(errors="replace") if made else ""
    finally:
        free(made)


def kernel_name(symbol: str) -> str:
    """Returns the type that names a SYCL kernel or pipe; other symbols as plain() does."""
    name = plain(symbol).removeprefix("typeinfo name for ").removesuffix(PIPE_STORAGE)
    return name.replace(INLINE_NAMESPACE, "")


def with_kernel_names(text: str) -> str:
    """Returns a text with the names of the source for SYCL kernels and pipes."""
    return SYMBOL.sub(lambda found: kernel_name(found[0]), text)
