# SPDX-License-Identifier: Apache-2.0
"""Translates OpenCL C for FPGAs so that any compiler for the CPU accepts it.

Hints for hardware are removed, and pragmas that unroll large loops (kernels/unrolling.py). Address spaces that have
numbers get their keywords. Names that FPGAs' compilers predefine are defined in front of the program. The rest is
translated in the preprocessor's output: channels, pipes and variables (kernels/lowering.py), ap_int, and on request
local variables where OpenCL C allows none (kernels/local_variables.py). Programs that use none of these are not
preprocessed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import Sign, pattern
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.hardware_attributes import COMPUTED
from fpgart.kernels.signs import CHANNEL, LOCAL_DECLARATION, TABLE, UNROLL, LoweringError, may_be_lowered
from fpgart.kernels.source_text import DIRECTIVE, NAME, replaced, visible

if TYPE_CHECKING:
    from fpgart.kernels.lowering import Lowered
    from fpgart.kernels.preprocessing.files import Includes, Place

MAIN_FILE = "program.cl"
"""The name in messages of a program that has no file."""
APINT_HEADER = "ihc_apint.h"
WIDEST_APINT = 64
"""ihc_apint.h has names such as int24_t up to this width."""
STANDARD_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
APINT = Sign(("ap_int", "ap_uint", "ihc_apint"), r"\b(?:__)?ap_u?int\b|\bihc_apint\b")
INCLUDE = pattern(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
HINTS = (
    "nounroll|ii|ivdep|loop_coalesce|loop_fuse|speculated_iterations|disable_loop_pipelining|max_concurrency"
    "|max_interleaving|force_II|initiation_interval|nofusion"
)
PRAGMA = pattern(rf"^[ \t]*#[ \t]*pragma[ \t]+(?:{HINTS})\b(?:\\\r?\n|[^\n])*", re.MULTILINE)
OPERATOR_PRAGMA = pattern(rf'_Pragma\s*\(\s*"(?:unroll|{HINTS})\b[^"\n]*"\s*\)')
UNROLL_ATTRIBUTE = pattern(r"__attribute__\s*\(\(\s*(?:__)?opencl_unroll_hint(?:__)?\s*(?:\([^()\n]*\))?\s*\)\)")
HINTS_BY_WORD = (("_Pragma", OPERATOR_PRAGMA), ("opencl_unroll_hint", UNROLL_ATTRIBUTE))
"""Each with a word that is in all that it matches."""
AP_INT = pattern(r"\bap_(u?)int\s*<([^<>;{}\n]*)>")
AP_INT_ATTRIBUTE = pattern(
    r"\b(?P<type>(?:unsigned\s+|signed\s+)?(?:char|short|int|long)|u(?:char|short|int|long))\s+"
    r"__attribute(?:__)?\s*\(\(\s*__ap_int\s*\((?P<bits>[^()]*)\)\s*\)\)"
)
"""The attribute that declares such integers in headers of releases before 18."""
ADDRESS_SPACES = {"16776960": "__global", "16776961": "__local", "16776962": "__constant"}
"""By the numbers in messages of FPGAs' compilers, which sources have taken over."""
ADDRESS_SPACE = pattern(
    rf"__attribute(?:__)?\s*\(\(\s*address_space\s*\(\s*(?P<number>{'|'.join(ADDRESS_SPACES)})\s*\)\s*\)\)"
)
HALF = Sign(("half",), r"\bhalf(?:2|3|4|8|16)?\b")
HALF_EXTENSION = "cl_khr_fp16"

PRELUDE = """\
#pragma clang diagnostic ignored "-Wunknown-attributes"
#pragma clang diagnostic ignored "-Wignored-attributes"
#pragma clang diagnostic ignored "-Wignored-pragmas"
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#define CLK_CHANNEL_MEM_FENCE CLK_GLOBAL_MEM_FENCE
#define __fpga_reg(...) (__VA_ARGS__)
#define __burst_coalesced_load(pointer) (*(pointer))
#define __burst_coalesced_cached_load(pointer, bytes) (*(pointer))
#define __prefetching_load(pointer) (*(pointer))
#define __pipelined_load(pointer) (*(pointer))
#define __burst_coalesced_store(pointer, ...) (*(pointer) = (__VA_ARGS__))
#define __pipelined_store(pointer, ...) (*(pointer) = (__VA_ARGS__))
#if __clang_major__ >= 14
#define __fpgart_int(bits) _BitInt(bits)
#define __fpgart_uint(bits) unsigned _BitInt(bits)
#else
#define __fpgart_int(bits) _ExtInt(bits)
#define __fpgart_uint(bits) unsigned _ExtInt(bits)
#endif
"""
COMPUTE_ID = "#define get_compute_id(dimension) 0\n"
"""Without autorun kernels, there is one compute unit."""

OF_ONE = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 exp10 expm1 fabs floor log log2 log10 log1p "
    "rint round rsqrt sin sinh sqrt tan tanh trunc"
)
OF_TWO = "atan2 copysign fdim fmax fmin fmod hypot pow max min"
OF_THREE = "fma mad clamp mix"
WIDTHS = (2, 3, 4, 8, 16)


def half_prelude(words: Container[str]) -> str:
    """Returns half arithmetic for a compiler without it: in float, rounded after each operation."""
    lines = [f"#pragma OPENCL EXTENSION {HALF_EXTENSION} : {word}" for word in ("begin", "end", "enable")]
    lines += [f"typedef half half{n} __attribute__((ext_vector_type({n})));" for n in WIDTHS]
    lines.append("#define __FPGART_INLINE static inline __attribute__((overloadable, always_inline))")
    for count, names in enumerate((OF_ONE, OF_TWO, OF_THREE), 1):
        given, passed = ", ".join(f"half {x}" for x in "abc"[:count]), ", ".join(f"(float){x}" for x in "abc"[:count])
        lines += [
            f"__FPGART_INLINE half {n}({given}) {{ return (half){n}({passed}); }}" for n in names.split() if n in words
        ]
    lines.append("__FPGART_INLINE float convert_float(half a) { return a; }")
    lines.append("#define convert_half(a) ((half)(a))")
    for n in WIDTHS:
        for to, of in (("float", "half"), ("half", "float")):
            words = f"{{ return __builtin_convertvector(a, {to}{n}); }}"
            lines.append(f"__FPGART_INLINE {to}{n} convert_{to}{n}({of}{n} a) {words}")
        for space in ("__global", "__local", "__private"):
            load = f"half{n} a; for (int i = 0; i < {n}; i++) a[i] = p[at * {n} + i]; return a;"
            store = f"for (int i = 0; i < {n}; i++) p[at * {n} + i] = a[i];"
            lines.append(f"__FPGART_INLINE half{n} vload{n}(size_t at, const {space} half *p) {{ {load} }}")
            lines.append(f"__FPGART_INLINE void vstore{n}(half{n} a, size_t at, {space} half *p) {{ {store} }}")
    return "\n".join([*lines, ""])


def apint_header() -> str:
    """Returns ihc_apint.h: names for integers of 1 to 64 bits."""
    lines = ["#pragma once"]
    for bits in range(1, WIDEST_APINT + 1):
        known = STANDARD_INTEGERS.get(bits)
        lines.append(f"typedef {f'u{known}' if known else f'__fpgart_uint({bits})'} uint{bits}_t;")
        if bits > 1:  # C's integers have a bit for the sign and one more
            lines.append(f"typedef {known or f'__fpgart_int({bits})'} int{bits}_t;")
    return "\n".join([*lines, ""])


class Compiler(NamedTuple):
    """The facts about the engine's compiler that a translation uses.

    `macros`: its predefined macros, which conditions use, by the options. `table`: the address at which kernels find
    operation(), None if kernels do not run at the same time. `half`: true if it has half arithmetic.
    """

    macros: Callable[[str], Mapping[str, str]]
    table: int | None
    half: bool


class Translation(NamedTuple):
    """A program for the engine's compiler, with the remaining options; `bare` is without the prelude."""

    text: str
    options: str
    bare: str
    lowered: Lowered | None = None


def translate(
    source: str, options: str, headers: Mapping[str, str], compiler: Compiler, *, everything: bool = False
) -> Translation:
    """Returns the program translated for the compiler.

    `headers`: those that the host gives by name. `everything`: also translates what the compiler refused. Raises
    PreprocessorError, LoweringError, or OSError.
    """
    everything = everything or _has_local_variables(source)
    read = CompilerOptions.read(options)
    text = source
    is_preprocessed = everything or needs_preprocessor(source, read, headers)
    if is_preprocessed:
        text, options = _preprocessed(source, read, headers, compiler.macros(options))
    text = with_named_spaces(with_ap_int(_without_large_unrolling(without_hints(text), read.macros)))
    if everything:
        from fpgart.kernels.local_variables import with_local_variables

        text = with_local_variables(text)
    lowered = None
    if is_preprocessed and compiler.table is not None:
        lowered = _lowered(text, compiler.table, everything=everything)
    lacks_half = not compiler.half and HALF.is_in(text)
    prelude = PRELUDE + (half_prelude(set(NAME.findall(text))) if lacks_half else "")
    if lowered is None:
        return Translation(f"{prelude}{COMPUTE_ID}#line 1\n{text}", options, text)
    return Translation(prelude + lowered.source, options, text, lowered)


def _has_local_variables(source: str) -> bool:
    if not LOCAL_DECLARATION.is_in(source):
        return False
    from fpgart.kernels.local_variables import has_local_variables

    return has_local_variables(source)


def _preprocessed(
    source: str, read: CompilerOptions, headers: Mapping[str, str], macros: Mapping[str, str]
) -> tuple[str, str]:
    """Returns the preprocessed program, and the options that are left."""
    import shlex

    from fpgart.kernels.attribute_numbers import with_numbers
    from fpgart.kernels.preprocessing.preprocessor import preprocess

    made = preprocess(source, MAIN_FILE, _includes(read, headers), read.defines, macros)
    return with_numbers(made.text), shlex.join(read.others)


def _includes(read: CompilerOptions, headers: Mapping[str, str]) -> Includes:
    from fpgart.kernels.preprocessing.files import Includes

    return Includes(read.folders, {APINT_HEADER: apint_header(), **headers})


def _without_large_unrolling(text: str, macros: dict[str, str]) -> str:
    if "unroll" not in text or not UNROLL.search(text):
        return text
    from fpgart.kernels.unrolling import without_large_unrolling

    return without_large_unrolling(text, macros)


def has_channels(text: str) -> bool:
    """True if the text has channels or pipes; raises LoweringError."""
    found = _lowered(text, TABLE)
    return found is not None and bool(found.channels or found.pipes)


def _lowered(text: str, table: int, *, everything: bool = False) -> Lowered | None:
    """`everything`: the compiler has refused the text, which may need it without a sign."""
    if not (everything or may_be_lowered(text)):
        return None
    from fpgart.kernels.lowering import lower

    return lower(text, table)


def with_ap_int(text: str) -> str:
    """Returns the text with __fpgart_int(N) and __fpgart_uint(N) in place of Intel's types of N bits."""
    if "ap_" not in text:
        return text

    def of_attribute(found: re.Match[str]) -> str:
        kind = "uint" if found["type"].startswith("u") else "int"
        return f"__fpgart_{kind}({found['bits'].strip()})" + "\n" * found[0].count("\n")

    return AP_INT.sub(r"__fpgart_\1int(\2)", AP_INT_ATTRIBUTE.sub(of_attribute, text))


def with_named_spaces(text: str) -> str:
    """Returns the text with the keywords of address spaces in place of their numbers."""
    if "address_space" not in text:
        return text
    return ADDRESS_SPACE.sub(lambda found: ADDRESS_SPACES[found["number"]] + "\n" * found[0].count("\n"), text)


def without_hints(text: str) -> str:
    """Returns the text without hints for the hardware of its loops; lines keep their numbers."""
    if "pragma" in text and PRAGMA.search(text):
        edits = []
        for found in PRAGMA.finditer(visible(text)):  # a comment may hide a pragma, or begin in its line
            written = found[0].rstrip()
            edits.append((found.start(), found.start() + len(written), "\n" * written.count("\n")))
        text = replaced(text, edits)
    for word, hint in HINTS_BY_WORD:
        if word in text:
            text = hint.sub(lambda found: "\n" * found[0].count("\n"), text)
    return text


def needs_preprocessor(source: str, options: CompilerOptions, headers: Mapping[str, str]) -> bool:
    """True if the program, a macro of its options, or a header that it may include has words of FPGAs."""
    if any(map(CHANNEL.is_in, options.defines)) or has_words_of_fpgas(source):
        return True
    return "include" in source and _headers_have_words_of_fpgas(source, _includes(options, headers))


def _headers_have_words_of_fpgas(source: str, includes: Includes) -> bool:
    seen: set[Place] = set()
    waiting: list[tuple[str, Place | None]] = [(source, None)]
    while waiting:
        text, includer = waiting.pop()
        for name in INCLUDE.findall(text):
            place = includes.find(name, includer)
            if place is None or place in seen:
                continue
            seen.add(place)
            header = includes.text(place)
            if has_words_of_fpgas(header):
                return True
            waiting.append((header, place))
    return False


def has_words_of_fpgas(text: str) -> bool:
    """True if a text has channels, pipes, program-scope variables, ap_int, or attributes with numbers.

    Macros are not expanded: their definitions are searched instead.
    """
    if APINT.is_in(text) or COMPUTED.is_in(text):
        return True
    if not may_be_lowered(text):
        return False
    if CHANNEL.is_in("".join(DIRECTIVE.findall(visible(text)))):
        return True
    from fpgart.kernels.lowering import lower

    try:
        return lower(text) is not None
    except LoweringError:
        return True


DOUBLE_EXTENSION = "cl_khr_fp64"
EXTENSION_NAME = pattern(r"cl_\w+")
STANDARD = pattern(r"-cl-std=CL(\d)\.(\d)")
VERSIONS = ("1.0", "1.1", "1.2", "2.0", "3.0")


def predefined_macros(device_version: str, extensions: str, options: str) -> dict[str, str]:
    """Returns the macros that the OpenCL C specification demands, and the host's processor's."""
    from fpgart.kernels.constant_macros import constant_macros  # few programs are preprocessed

    chosen = STANDARD.search(options)
    language = int(chosen[1]) * 100 + int(chosen[2]) * 10 if chosen else 120
    numbers = re.search(r"(\d)\.(\d)", device_version)
    found = constant_macros(double=DOUBLE_EXTENSION in extensions)
    found |= dict.fromkeys(EXTENSION_NAME.findall(extensions), "1")
    found |= {f"CL_VERSION_{version.replace('.', '_')}": version.replace(".", "") + "0" for version in VERSIONS}
    found["__OPENCL_VERSION__"] = f"{numbers[1]}{numbers[2]}0" if numbers else "120"
    found["__OPENCL_C_VERSION__"] = str(language)
    found |= dict.fromkeys(("__ENDIAN_LITTLE__", "__clang__", "__LP64__"), "1")
    for option, macro in (("-cl-fast-relaxed-math", "__FAST_RELAXED_MATH__"),
                          ("-cl-finite-math-only", "__FINITE_MATH_ONLY__")):  # fmt: skip
        if option in options:
            found[macro] = "1"
    return found
