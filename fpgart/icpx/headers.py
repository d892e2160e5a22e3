# SPDX-License-Identifier: Apache-2.0
"""Copies of installed headers, made for each compilation, that accept what Intel's compilers for FPGAs accepted.

SYCL: kernel functors whose member get(properties_tag) is not const. ac_types: constexpr objects, because functions and
constructors are constexpr if the compiler allows uninitialized variables in them: clang++ does, others from C++20 on.
"""

from __future__ import annotations

import re
from pathlib import Path

from fpgart.icpx.pieces import SyclRuntime

HEADER = Path("sycl", "detail", "kernel_launch_helper.hpp")
DEMAND = re.compile(
    r"static_assert\(\s*\(ext::oneapi::experimental::detail::HasKernelPropertiesGetMethod<"
    r'[^;]*?must be declared as a const member function"\);'
)
AC_HEADERS = ("ac_int.h", "ac_fixed.h")
CONSTEXPR = "FPGART_CONSTEXPR"
DEFINITION = f"""\
#if defined(__clang__) || __cplusplus >= 202002L
#define {CONSTEXPR} constexpr
#else
#define {CONSTEXPR}
#endif
"""
INLINE = re.compile(r"^(\s*(?:template ?<[^;{]*> *)*)(?=inline (?!.*std::))", re.MULTILINE)
"""The place before `inline` of functions, except those with strings and streams."""
MEMBER = re.compile(
    r"^(\s+)(?=(?:iv|iv_conv|iv_base|ac_fixed|ac_int|ac_bitref"
    r"|(?:const )?(?:ac_bitref|bool) operator ?\[\]|operator bool)"
    r" ?\([^;{}]*\)\s*(?:const\s*)?(?::[^;{}]*)?\{)",
    re.MULTILINE,
)
"""The place before constructors and operators in a class that have no `inline`."""
FLOOR = "{ return floor(d); }"
CONSTANT_FLOOR = """\
{
    if (!__builtin_is_constant_evaluated()) return floor(d);
    if (d >= 0x1p62 || d <= -0x1p62) return d;
    return (double)(Slong)d - ((double)(Slong)d > d);
  }"""


def write_headers(runtime: SyclRuntime, ac_types: Path | None, folder: Path) -> Path:
    """Writes the headers below a folder, which precedes the installed ones; returns the folder."""
    made = folder / "headers"
    file, installed = made / HEADER, runtime.headers / HEADER
    file.parent.mkdir(parents=True)
    if installed.exists():  # the versions before 2025.3 neither have it nor demand anything
        file.write_text(DEMAND.sub("", installed.read_text()))
    if ac_types is not None:
        for name in AC_HEADERS:
            (made / name).write_text(with_constexpr((ac_types / name).read_text()))
    return made


def with_constexpr(text: str) -> str:
    """Returns a header of ac_types whose functions and constructors are constexpr."""
    for place in (INLINE, MEMBER):
        text = place.sub(rf"\1{CONSTEXPR} ", text)
    return DEFINITION + text.replace(FLOOR, CONSTANT_FLOOR)
