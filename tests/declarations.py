# SPDX-License-Identifier: Apache-2.0
"""The declarations of a folder of OpenCL headers, preprocessed by the compiler and read with pycparser."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "icd" / "entry"))

from prototypes import STANDARD, preprocessed  # noqa: E402

HEADERS = (
    "cl_version.h",
    "cl_platform.h",
    "cl.h",
    "cl_ext.h",
    "cl_gl.h",
    "cl_egl.h",
    "cl_function_types.h",
    "cl_icd.h",
    "cl_half.h",
    "opencl.h",
)
INCLUDES = "".join(f"#if __has_include(<CL/{name}>)\n#include <CL/{name}>\n#endif\n" for name in HEADERS)
NO_NATIVE_VECTORS = ("-U__SSE__", "-U__SSE2__", "-U__MMX__", "-U__AVX__", "-U__ALTIVEC__", "-U__VEC__")
"""The reference adds the compiler's own vector types to the unions where the processor has them."""
NOT_VALUES = re.compile(r"CL_(API|EXT)_(PREFIX|SUFFIX)|CL_API_(CALL|ENTRY)|CL_CALLBACK")


def target(version: int) -> str:
    """Returns the macro of a host for a version of OpenCL: 100 to 300."""
    return f"CL_TARGET_OPENCL_VERSION={version}"


@dataclass
class Declarations:
    """Names with their types, typedefs resolved down to the types of the compiler and the tags of structures."""

    types: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Members of structures and unions, by the typedef's name or else by the tag with its keyword."""
    enumerators: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        return self.types.keys() | self.functions.keys() | self.members.keys() | self.enumerators


def declarations(include: Path, *defines: str) -> Declarations:
    """All that the headers of a folder declare to a host that defines `defines`."""
    text = preprocessed(include, ["gcc"], HEADERS, defines)
    prelude = "".join(f"typedef {base} {name};\n" for name, base in {**STANDARD, "uint8_t": "unsigned char"}.items())
    reader = _Reader()
    for node in c_parser.CParser().parse(prelude + _without_bodies(text), str(include)).ext:
        reader.read(node)
    for name in (*STANDARD, "uint8_t"):
        del reader.found.types[name]
    return reader.found


def _without_bodies(text: str) -> str:
    """Inline functions as prototypes: what is in them is nobody's interface."""
    return re.sub(r"^(static inline [^{;]*?\))\s*\{.*?^\}", r"\1;", text, flags=re.DOTALL | re.MULTILINE)


class _Reader:
    def __init__(self) -> None:
        self.found = Declarations()

    def read(self, node: c_ast.Node) -> None:
        if isinstance(node, c_ast.Typedef):
            self.found.types[node.name] = self.resolved(node.type)
            self.note_members(node.name, node.type)
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            self.found.functions[node.name] = self.resolved(node.type)
        elif isinstance(node, c_ast.Decl):
            self.note_members("", node.type)

    def note_members(self, name: str, node: c_ast.Node) -> None:
        """Keeps the members of what is defined here, and an enumeration's constants."""
        while isinstance(node, c_ast.TypeDecl):
            node = node.type
        if isinstance(node, c_ast.Enum) and node.values:
            self.found.enumerators |= {each.name for each in node.values.enumerators}
        if isinstance(node, (c_ast.Struct, c_ast.Union)) and node.decls:
            self.found.members[name or self.resolved(node)] = tuple(self.member_names(node))

    def member_names(self, node: c_ast.Node) -> list[str]:
        """Names by which a host reaches members; those of anonymous structures count as the outer one's."""
        names = []
        for member in node.decls:
            names += [member.name] if member.name else self.member_names(member.type)
        return names

    def resolved(self, node: c_ast.Node) -> str:
        """A type in one spelling, without names of parameters."""
        qualifiers = "".join(f"{word} " for word in getattr(node, "quals", ()))
        match node:
            case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl():
                return qualifiers + self.resolved(node.type)
            case c_ast.IdentifierType():
                text = " ".join(node.names)
                return self.found.types.get(text, text)
            case c_ast.PtrDecl():
                return f"{self.resolved(node.type)} *{qualifiers}"
            case c_ast.ArrayDecl():
                size = c_generator.CGenerator().visit(node.dim) if node.dim else ""
                return f"{self.resolved(node.type)} [{size}]"
            case c_ast.FuncDecl():
                parameters = node.args.params if node.args else []
                return f"{self.resolved(node.type)} ({', '.join(self.resolved(each.type) for each in parameters)})"
            case c_ast.Struct() | c_ast.Union() | c_ast.Enum():
                return f"{type(node).__name__.lower()} {node.name or ''}".strip()
        raise TypeError(f"{node.coord}: {type(node).__name__} in a type")


def preprocess(include: Path, *options: str) -> str:
    """Returns the preprocessed text of all headers in a folder, the system's included."""
    command = ["gcc", "-xc", "-w", *options, "-isystem", str(include), "-E", "-"]
    return subprocess.run(command, input=INCLUDES, capture_output=True, text=True, check=True).stdout


def macros(include: Path, *defines: str) -> dict[str, str]:
    """Macros of the headers themselves without parameters, and their text."""
    text = preprocess(include, "-dD", *(f"-D{define}" for define in defines))
    found: dict[str, str] = {}
    wanted = False
    for line in text.splitlines():
        if line.startswith("# "):
            path = Path(line.split('"')[1] if '"' in line else "")
            wanted = path.name in HEADERS and path.parent.name == "CL"
        elif wanted and (match := re.match(r"#define (\w+)(?: (.*))?$", line)):
            found[match[1]] = match[2] or ""
        elif wanted and (match := re.match(r"#undef (\w+)$", line)):
            found.pop(match[1], None)
    return found


def constants(include: Path, *defines: str) -> set[str]:
    """Names of macros that stand for a value."""
    return {
        name
        for name, text in macros(include, *defines).items()
        if text and not name.startswith("_") and not NOT_VALUES.match(name) and not text.startswith("__")
    }
