# SPDX-License-Identifier: Apache-2.0
"""Translates channels, pipes and program-scope variables of OpenCL C so that any CPU compiler accepts them.

A channel becomes a constant that describes it, a pipe argument a pointer, a variable in the global address
space a macro; the functions on them become calls of operation() in channels/channels.c. Its address is at
one place in every process, so that compiled kernels can be kept.

    channel int c[N] __attribute__((depth(4)));
    kernel void k(read_only pipe int p, ...) { write_channel_intel(c[0], ...); read_pipe(p, &x); }
    global int table[16];

Declarations are found in the output of the preprocessor (kernels/preprocessing/). Lines keep their
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from fpgart.base.patterns import pattern
from fpgart.kernels.interface import PipeArgument
from fpgart.kernels.shadowing import Uses
from fpgart.kernels.signs import DECLARE, TABLE, LoweringError
from fpgart.kernels.source_text import (
    ATTRIBUTES,
    NAME_AND_SIZES,
    SIZES,
    WORD,
    Lines,
    attributes_of,
    bare_code,
    behind_blanks,
    closing,
    replaced,
    split,
    visible,
    without_attributes,
)

BEFORE = pattern(r"\s+|\b(?:static|extern|const|volatile)\b|(?P<attribute>__attribute(?:__)?\s*\()")
"""Text that may precede a declaration's first word."""
BRACKETS = pattern(r"[{}();]")
VALUE_OR_BODY = pattern(r"[;={]")
TYPE = pattern(r"\s*(?!.*\btypedef\b)(?:\w[\w\s]*(?:\*[\s\w]*)*)?", re.DOTALL)
"""The text before `global` in the declaration of a variable: qualifiers, its type, or nothing."""
LONGEST_TYPE = 4096
ADDRESS_SPACE = pattern(r"\b(?:__)?global\b")
UNSIZED = pattern(r"\[\s*\]")
UNTYPED = pattern(r"\b(?:static|extern)\b")
QUALIFIER = pattern(r"\b(?:const|volatile)\b")
ATOMIC = pattern(r"\batomic_((?:u?(?:int|long|intptr_t))|float|double|size_t|ptrdiff_t)\b")
UNATOMIC = r"\1"
PIPE = pattern(
    r"\s*(?:const\s+)?(?:(?:__)?(?P<access>read|write)_only\s+)?pipe\s+(?:(?:__)?(?P<after>read|write)_only\s+)?(?=\w)"
)

# Not inline: PoCL from 4.0 to 6.0 mistakes assembly in a kernel for a call of its own function, and aborts.
PRELUDE = """\
#ifndef __FPGART_OPERATION
#define __FPGART_OPERATION (*(__constant ulong *)%#xUL)
#if defined(__AVX512F__)
#define __FPGART_VECTORS "xmm0","xmm1","xmm2","xmm3","xmm4","xmm5","xmm6","xmm7","xmm8","xmm9","xmm10","xmm11", \\
 "xmm12","xmm13","xmm14","xmm15","xmm16","xmm17","xmm18","xmm19","xmm20","xmm21","xmm22","xmm23","xmm24","xmm25", \\
 "xmm26","xmm27","xmm28","xmm29","xmm30","xmm31","k1","k2","k3","k4","k5","k6","k7"
#else
#define __FPGART_VECTORS "xmm0","xmm1","xmm2","xmm3","xmm4","xmm5","xmm6","xmm7","xmm8","xmm9","xmm10","xmm11", \\
 "xmm12","xmm13","xmm14","xmm15"
#endif
static __attribute__((noinline)) ulong __fpgart_call(ulong a, ulong b, ulong c, ulong d)
{
#if defined(__x86_64__)
    ulong result;
    __asm__ volatile("movq %%%%rsp, %%%%rbx\\n\\tsubq $128, %%%%rsp\\n\\tandq $-64, %%%%rsp\\n\\tcall *%%[f]\\n\\t"
        "movq %%%%rbx, %%%%rsp" : "=a"(result), "+D"(a), "+S"(b), "+d"(c), "+c"(d) : [f] "r"(__FPGART_OPERATION)
        : "rbx", "r8", "r9", "r10", "r11", "cc", "memory", __FPGART_VECTORS);
    return result;
#elif defined(__aarch64__)
    __asm__ volatile("mov x0, %%0\\n\\tmov x1, %%1\\n\\tmov x2, %%2\\n\\tmov x3, %%3\\n\\tblr %%4\\n\\tmov %%0, x0"
        : "+r"(a) : "r"(b), "r"(c), "r"(d), "r"(__FPGART_OPERATION)
        : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
          "x17", "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19",
          "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    return a;
#else
#error "channels, pipes and program-scope variables are known on x86-64 and AArch64 alone"
#endif
}
#define __FPGART_TYPE(c) __typeof__(*(c).type)
#define read_channel_intel(c) ({ __FPGART_TYPE(c) __v; \\
    __fpgart_call(0, (ulong)&(c), (ulong)&__v, 0); __v; })
#define read_channel_nb_intel(c, valid) ({ __FPGART_TYPE(c) __v = {0}; \\
    *(valid) = (bool)__fpgart_call(1, (ulong)&(c), (ulong)&__v, 0); __v; })
#define write_channel_intel(c, ...) ({ __FPGART_TYPE(c) __v = (__VA_ARGS__); \\
    (void)__fpgart_call(2, (ulong)&(c), (ulong)&__v, 0); })
#define write_channel_nb_intel(c, ...) ({ __FPGART_TYPE(c) __v = (__VA_ARGS__); \\
    (bool)__fpgart_call(3, (ulong)&(c), (ulong)&__v, 0); })
#define read_channel_altera read_channel_intel
#define read_channel_nb_altera read_channel_nb_intel
#define write_channel_altera write_channel_intel
#define write_channel_nb_altera write_channel_nb_intel
#define read_pipe(p, to) ((int)__fpgart_call(4, (ulong)(p), (ulong)(to), sizeof(*(p))))
#define write_pipe(p, from) ((int)__fpgart_call(5, (ulong)(p), (ulong)(from), sizeof(*(p))))
#define get_pipe_num_packets(p) ((uint)__fpgart_call(6, (ulong)(p), 0, 0))
#define get_pipe_max_packets(p) ((uint)__fpgart_call(7, (ulong)(p), 0, 0))
#define __fpgart_variable(name, size, from) __fpgart_call(8, (ulong)(name), (size), (ulong)(from))
#define get_compute_id(dimension) ((int)((__fpgart_call(9, 0, 0, 0) >> (20 * (dimension))) & 0xFFFFF))
#endif
#line 1
"""
DEPTHS = pattern(
    r"^[ \t]*#[ \t]*pragma[ \t]+fpgart[ \t]+channel_depths[ \t]+(default|strict|ignoredepth)\b", re.MULTILINE
)


@dataclass(slots=True)
class Lowered:
    """The translated source, the channels and variables by name, and by kernel the arguments that are pipes."""

    source: str
    channels: list[str] = field(default_factory=list)
    hosted: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    pipes: dict[str, dict[int, PipeArgument]] = field(default_factory=dict)
    table: int = TABLE
    autorun: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By autorun kernel, its compute units; set when the program is built."""
    depths: str = ""
    """The depths that `aoc -emulator-channel-depth-model` gives channels, as DepthMode names them."""

    def notes(self) -> dict[str, Any]:
        """Returns all but the source, for JSON."""
        from fpgart.base.json_input import untyped  # few programs are lowered

        kept: dict[str, Any] = untyped(self)
        del kept["source"]
        return kept

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> Lowered:
        """Reads the result of notes(); raises ValueError for anything else."""
        from fpgart.base.json_input import typed

        made = typed({"source": "", **notes}, cls, "the notes")
        if not 0 <= made.table < 1 << 64:
            raise ValueError(f"the notes have their table at {made.table:#x}")
        return made


def lower(source: str, table: int = TABLE) -> Lowered | None:
    """Returns the translated source; None if it has no channels, pipes or program-scope variables.

    Raises LoweringError.
    """
    lowering = _Lowering(source, bare_code(source))
    found = lowering.run()
    if not (found.channels or found.variables or found.pipes):
        return None
    found.table = table
    depths = DEPTHS.search(source)
    found.depths = depths[1] if depths else ""
    found.source = PRELUDE % table + found.source + _declaration(found, lowering.hidden)
    return found


def depth_pragma(depths: str) -> str:
    """Returns a line with the depths of the program's channels."""
    return f"#pragma fpgart channel_depths {depths}\n"


def _declaration(found: Lowered, hidden: Container[str]) -> str:
    """Returns the kernel DECLARE; declarations that #if removes from the source are removed from it."""
    calls = [f"#ifdef __FPGART_HAS_{name}\n__fpgart_call(10, (ulong)&{name}, sizeof({name}), 0);\n#endif\n"
             for name in found.hosted]  # fmt: skip
    macros = [macro_of(name, hidden) for name in found.variables]
    calls += [f"#ifdef {macro}\n(void)(ulong)&{macro};\n#endif\n" for macro in macros]
    return f"\nkernel void {DECLARE}(void) {{\n{''.join(calls)}}}\n" if calls else ""


def macro_of(name: str, hidden: Container[str]) -> str:
    """Returns the macro that a variable becomes: of its own name, unless something else has that name, too."""
    return f"__fpgart_at_{name}" if name in hidden else name


class _Lowering:
    """One walk over the declarations of a source; `bare` is the source without comments, strings and directives."""

    def __init__(self, source: str, bare: str) -> None:
        self.source = source
        self.bare = bare
        self.result = Lowered("")
        self.parts: list[str] = []
        self.copied = 0
        self.lines = Lines(source)
        self.hidden: set[str] = set()
        """The variables whose names members, parameters or variables of blocks have, too."""
        self.is_type = False
        """True once the program has a type of its own that is called `channel`."""

    def run(self) -> Lowered:
        statement = at = 0
        types = False
        while hit := WORD.search(self.bare, at):
            word, at = hit[0], hit.end()
            if word == "{":
                statement = at = closing(self.bare, hit.start(), "{}") + 1
            elif word in (";", "}"):
                statement, types = at, False
            elif word == "typedef":
                types = True
            elif word == "channel" and types:
                self.is_type = True
            elif word == "channel" and not self.is_type and self._begins(statement, hit.start()):
                self._channel(statement, hit.start())
                statement = at = self.copied
            elif word in ("global", "__global") and self._is_variable(statement, hit.start()):
                self._variable(statement, hit)
                statement = at = self.copied
            elif word in ATTRIBUTES:
                opening = self.bare.find("(", at)
                at = closing(self.bare, opening) + 1 if opening >= 0 else at
            elif word == "(":
                at = closing(self.bare, hit.start())
                self._parameters(hit.start(), at, statement)
        self.parts.append(self.source[self.copied :])
        self.result.source = self._with_shadowing("".join(self.parts))
        return self.result

    def _with_shadowing(self, text: str) -> str:
        """Returns the text in which macros of variables do not replace members and other variables of their names."""
        if not self.result.variables:
            return text
        uses = Uses(visible(text), frozenset(self.result.variables))
        self.hidden = uses.hidden
        return replaced(
            text, [(begin, end, macro_of(name, uses.hidden)) for name in uses.hidden for begin, end in uses.found[name]]
        )

    def _begins(self, statement: int, at: int) -> bool:
        """True if a declaration begins with the word at `at`; attributes may come first."""
        place = statement
        while place < at:
            hit = BEFORE.match(self.bare, place)
            if hit is None:
                return False
            place = closing(self.bare, hit.end() - 1) + 1 if hit["attribute"] else hit.end()
        return True

    def _is_variable(self, statement: int, at: int) -> bool:
        """True if it declares a variable, not a function that returns a pointer."""
        if at - statement > LONGEST_TYPE or not TYPE.fullmatch(without_attributes(self.bare[statement:at])):
            return False
        end = VALUE_OR_BODY.search(self.bare, at)
        head = without_attributes(self.bare[at : end.start() if end else len(self.bare)])
        first = SIZES.sub("", head).partition(",")[0]  # the others may be pointers, too
        return not set("()*[") & set(first)

    def _end_of(self, at: int) -> int:
        """Returns the position of the semicolon that ends the declaration at `at`."""
        depth = 0
        for hit in BRACKETS.finditer(self.bare, at):
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(hit[0], 0)
            if hit[0] == ";" and depth == 0:
                return hit.start()
        raise LoweringError(f"{self.lines.of(at)}: a declaration without its semicolon")

    def _put(self, begin: int, end: int, words: str) -> None:
        """Replaces the source from `begin` to `end` by `words`, on as many lines."""
        missing = self.source.count("\n", begin, end) - words.count("\n")
        self.parts += [self.source[self.copied : begin], words, "\n" * max(missing, 0)]
        if missing < 0:
            self.parts.append(f"\n#line {self.lines.of(end)}\n")
        self.copied = end

    # Channels

    def _channel(self, statement: int, at: int) -> None:
        end = self._end_of(at)
        text = self.source[at + len("channel") : end]
        shared = attributes_of(self.source[statement:at])
        type_name = ""
        words = []
        for declarator in split(text):
            attributes = shared | attributes_of(declarator)
            hosted = "intel_host_accessible" in attributes
            depth = attributes.get("depth", "-1")
            parsed = NAME_AND_SIZES.fullmatch(without_attributes(declarator).strip())
            if parsed is None:
                raise LoweringError(
                    f"{self.lines.of(at)}: this is not a declaration of a channel: {declarator.strip()}"
                )
            type_name = parsed["type"].strip() or type_name
            name, sizes = parsed["name"], _sizes(parsed["sizes"])
            value = (
                f'{{"{name}{"[]" if sizes else ""}", {"" if sizes else "&"}{name}, {depth}, sizeof({type_name}), '
                f"{int(hosted)}, 0, {attributes.get('io', '0')}}}"
            )
            for size in reversed(sizes):
                value = f"{{[0 ... ({size}) - 1] = {value}}}"
            words.append(
                # Hidden: otherwise a channel named `link` or `read` is the C library's function on PoCL 6.
                '__constant __attribute__((visibility("hidden"))) '
                "struct { __constant char *name; __constant void *first; long depth; ulong packet; "
                f"ulong hosted; __private {type_name} *type; __constant char *io; }} {name}{parsed['sizes']} = {value};"
            )
            self.result.channels.append(name)
            if hosted:
                self.result.hosted.append(name)
                words.append(f"\n#define __FPGART_HAS_{name} 1\n")
        self._put(at, end + 1, "".join(words))

    # Program-scope variables

    def _variable(self, statement: int, word: re.Match[str]) -> None:
        """Replaces a declaration with the words before `global`: they would count for the next declaration.

        If these say that the first variable is a pointer, the others have the type in front of its star. Pointers
        behind the first one point to the global address space, and are in it.
        """
        at = behind_blanks(self.bare, statement, word.end())
        end = self._end_of(at)
        words = []
        declarators = self._declarators(word.end(), end)
        before = _type_before(self.bare[statement : word.start()])
        pointed_to, star, _ = before.partition("*")
        base = ADDRESS_SPACE.sub(" ", pointed_to).strip() if star else ""
        declarators[0] = f"{before} {declarators[0]}"
        for index, declarator in enumerate(declarators):
            head, _, value = declarator.partition("=")
            if index:
                stars, last, rest = head.rpartition("*")
                type_before = pointed_to if last else base
                head = f"{type_before} {stars}{last} {ADDRESS_SPACE.sub(' ', rest)}"
            parsed = NAME_AND_SIZES.fullmatch(head.strip())
            if parsed is None:
                raise LoweringError(f"{self.lines.of(at)}: this is not a declaration of a variable: {head.strip()}")
            type_name = parsed["type"].strip()
            if not base:
                pointed_to, base = f"__global {type_name}", type_name
            name, sizes = parsed["name"], parsed["sizes"].strip()
            words += _translated(type_name, name, sizes, value.strip())
            self.result.variables.append(name)
        self._put(at, end + 1, "".join(words))

    def _declarators(self, begin: int, end: int) -> list[str]:
        """Returns the declarators between two positions, without attributes. Literals in them may have commas."""
        found = []
        for part in split(self.bare[begin:end]):
            found.append(without_attributes(self.source[begin : begin + len(part)]))
            begin += len(part) + 1
        return found

    # Pipes

    def _parameters(self, at: int, end: int, statement: int) -> None:
        """Replaces the parameters that are pipes by pointers."""
        if not re.search(r"\bpipe\b", self.bare[at:end]):
            return
        head = without_attributes(self.bare[statement:at]).split()
        is_kernel = bool({"kernel", "__kernel"} & set(head))
        pipes: dict[int, PipeArgument] = {}
        begin = at + 1
        for index, parameter in enumerate(split(self.bare[at + 1 : end])):
            stop = begin + len(parameter)
            hit = PIPE.match(without_attributes(parameter, in_place=" "))
            if hit is not None:
                name, pipe = self._pipe(hit, self.source[begin:stop], begin)
                pipes[index] = pipe
                self._put(begin, stop, f" __global {pipe.type_name} *{name}")
            begin = stop + 1
        if is_kernel and pipes:
            self.result.pipes[head[-1]] = pipes

    def _pipe(self, hit: re.Match[str], text: str, at: int) -> tuple[str, PipeArgument]:
        attributes = attributes_of(text)
        parsed = NAME_AND_SIZES.fullmatch(without_attributes(text[hit.end() :]).strip())
        if parsed is None or not parsed["type"].strip():
            raise LoweringError(f"{self.lines.of(at)}: this is not a pipe: {text.strip()}")
        depth = attributes.get("depth", "0").strip()
        return parsed["name"], PipeArgument(
            parsed["type"].strip(),
            "write" in (hit["access"], hit["after"]),
            "blocking" in attributes,
            "intel_host_accessible" in attributes,
            int(depth) if depth.isdecimal() else 0,
        )


def _type_before(text: str) -> str:
    """Returns the type that precedes the address space of a variable; "" if it follows."""
    words = UNTYPED.sub("", without_attributes(text))
    return words.strip() if "*" in words else QUALIFIER.sub("", words).strip()


def _translated(type_name: str, name: str, sizes: str, value: str) -> list[str]:
    """Returns the parts of a variable's translation: its value, and a macro of its name."""
    if "*" in type_name:
        return [_pointer(type_name, name, sizes, value)]
    kept = f"__fpgart_initial_{name}"
    given = [f"__constant {ATOMIC.sub(UNATOMIC, type_name)} {kept}{sizes} = {value};"] if value else []
    if value and UNSIZED.match(sizes):
        others = UNSIZED.sub("", sizes)
        sizes = f"[sizeof({kept}) / sizeof({type_name} {others})]{others}"
    call = _call(type_name, name, sizes, f"&{kept}" if value else "0")
    return [*given, f"\n#define {name} (*(__global {type_name} (*){sizes}){call})\n"]


def _pointer(type_name: str, name: str, sizes: str, value: str) -> str:
    """Returns the macro of a pointer. Its value may be an address, which is no constant expression."""
    place = f"({type_name} __global (*){sizes})"
    if not value:
        return f"\n#define {name} (*{place}{_call(type_name, name, sizes, '0')})\n"
    line = value.replace("\n", " ")
    return (
        f"\n#define {name} (*({{ {type_name} __fpgart_value{sizes} = {line}; "
        f"{place}{_call(type_name, name, sizes, '&__fpgart_value')}; }}))\n"
    )


def _call(type_name: str, name: str, sizes: str, initial: str) -> str:
    return f'__fpgart_variable((__constant char *)"{name}", sizeof({type_name} {sizes}), {initial})'


def _sizes(text: str) -> list[str]:
    """Returns the texts in the brackets behind a name."""
    return re.findall(r"\[([^\]]*)\]", text)
