# SPDX-License-Identifier: Apache-2.0
"""The OpenCL API as include/CL declares it, read with a C parser.

From these prototypes build_icd.py makes the exported C entry points, the dispatch table and what cffi
parses, so that there is one source for all three.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import calcsize

from pycparser import c_ast, c_generator, c_parser

HANDLES = {
    "cl_platform_id": "PLATFORM",
    "cl_device_id": "DEVICE",
    "cl_context": "CONTEXT",
    "cl_command_queue": "QUEUE",
    "cl_mem": "MEM",
    "cl_program": "PROGRAM",
    "cl_kernel": "KERNEL",
    "cl_event": "EVENT",
    "cl_sampler": "SAMPLER",
}
SCALARS = {
    **dict.fromkeys(("cl_char", "cl_uchar"), "int8_t"),
    "cl_short": "int16_t",
    "cl_ushort": "uint16_t",
    "cl_int": "int32_t",
    "cl_uint": "uint32_t",
    "cl_long": "int64_t",
    "cl_ulong": "uint64_t",
    "cl_half": "uint16_t",
    "cl_float": "float",
    "cl_double": "double",
    "cl_GLint": "int",
    "cl_GLuint": "unsigned int",
    "cl_GLenum": "unsigned int",
}
LONG = "long" if calcsize("l") == calcsize("P") else "long long"
"""The type with the size of a pointer, on the system that builds the driver."""
STANDARD = {
    "size_t": f"unsigned {LONG}",
    "intptr_t": LONG,
    "uintptr_t": f"unsigned {LONG}",
    "int8_t": "signed char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": LONG,
    "uint64_t": f"unsigned {LONG}",
}
HEADERS = (
    "cl.h",
    "cl_ext.h",
    "cl_ext_intelfpga.h",
    "cl_ext_ti.h",
    "cl_gl.h",
    "cl_egl.h",
    "cl_function_types.h",
    "cl_icd.h",
)
OPAQUE_POINTEES = {"void", "char", "unsigned char"}
OPAQUE = {*HANDLES, "cl_GLsync", "CLeglDisplayKHR", "CLeglImageKHR", "CLeglSyncKHR"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter and its C type for Python."""

    name: str
    python_type: str


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function of the API; `declaration` is its head in C."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    declaration: str

    @property
    def returns_object(self) -> bool:
        return self.returns in HANDLES or self.returns.endswith("*")

    @property
    def for_python(self) -> str:
        """Returns the prototype of Python's function: handles and opaque pointers are integers."""
        returns = "uintptr_t" if self.returns_object else self.returns
        parameters = ", ".join(f"{p.python_type} {p.name}" for p in self.parameters) or "void"
        return f"{returns} py_{self.name}({parameters})"


@dataclass(frozen=True, slots=True)
class Api:
    functions: dict[str, Prototype]
    typedefs: dict[str, str]
    dispatch_members: tuple[str, ...]


DEFAULTS = ("CL_TARGET_OPENCL_VERSION=300", "CL_USE_DEPRECATED_OPENCL_1_0_APIS")


def preprocessed(
    include: Path, compiler: Sequence[str], headers: tuple[str, ...] = HEADERS, defines: tuple[str, ...] = DEFAULTS
) -> str:
    """Returns the text of OpenCL headers after the preprocessor, without other headers and without attributes."""
    program = "".join(f"#include <CL/{header}>\n" for header in headers if (include / "CL" / header).exists())
    result = subprocess.run(
        [*compiler, "-E", *(f"-D{define}" for define in defines), "-I", str(include), "-x", "c", "-"],
        input=program,
        capture_output=True,
        text=True,
        check=True,
    )
    kept, wanted = [], False
    for line in result.stdout.splitlines():
        if line.startswith("# "):
            path = line.split('"')[1] if '"' in line else ""
            wanted = Path(path).name in headers and Path(path).parent.name == "CL"
        elif wanted:
            kept.append(line)
    return without_attributes("\n".join(kept).replace("__extension__", ""))


def without_attributes(text: str) -> str:
    """Removes attributes, which pycparser does not know and prototypes do not need."""
    while (start := text.find("__attribute__")) >= 0:
        depth, end = 0, text.index("(", start)
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        text = text[:start] + text[end:]
    return text


def read_api(include: Path, compiler: Sequence[str] = ("cc",)) -> Api:
    """Parses include/CL. Raises subprocess.CalledProcessError, or a parse error with the line."""
    prelude = "".join(f"typedef {base} {name};\n" for name, base in {**STANDARD, **SCALARS}.items())
    text = preprocessed(include, compiler)
    tree = c_parser.CParser().parse(prelude + text, "include/CL")
    functions: dict[str, Prototype] = {}
    typedefs: dict[str, str] = {}
    members: tuple[str, ...] = ()
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef) and isinstance(node.type, c_ast.TypeDecl):
            inner = node.type.type
            if isinstance(inner, c_ast.IdentifierType) and node.name not in STANDARD:
                typedefs[node.name] = " ".join(inner.names)
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            functions[node.name] = _prototype(node)
        struct = _dispatch_struct(node)
        if struct is not None:
            members = tuple(member.name for member in struct.decls)
    return Api(functions, {n: t for n, t in typedefs.items() if n not in HANDLES}, members)


def read_functions(header: Path, compiler: Sequence[str] = ("cc",)) -> list[Prototype]:
    """Returns the functions of one header, in order. Of other headers only the types in STANDARD are known."""
    text = header.read_text()
    plain = re.sub(r"^[ \t]*#[ \t]*include.*$", "", text, flags=re.MULTILINE)
    result = subprocess.run(
        [*compiler, "-E", "-P", "-x", "c", "-"], input=plain, capture_output=True, text=True, check=True
    )
    prelude = "".join(f"typedef {base} {name};\n" for name, base in STANDARD.items())
    tree = c_parser.CParser().parse(prelude + without_attributes(result.stdout), header.name)
    return [_prototype(n) for n in tree.ext if isinstance(n, c_ast.Decl) and isinstance(n.type, c_ast.FuncDecl)]


def _dispatch_struct(node: c_ast.Node) -> c_ast.Struct | None:
    declared = getattr(node, "type", None)
    if isinstance(declared, c_ast.TypeDecl):
        declared = declared.type
    if isinstance(declared, c_ast.Struct) and declared.name == "_cl_icd_dispatch" and declared.decls:
        return declared
    return None


def _prototype(node: c_ast.Decl) -> Prototype:
    declared = node.type
    parameters = []
    for index, parameter in enumerate(declared.args.params if declared.args else ()):
        if isinstance(parameter, c_ast.Typename) and _name(parameter.type) == "void":
            continue
        parameters.append(Parameter(parameter.name or f"argument{index}", _python_type(parameter.type)))
    node.storage = []
    head = str(c_generator.CGenerator().visit(node))
    return Prototype(node.name, _spelled(declared.type), tuple(parameters), head)


def _name(node: c_ast.Node) -> str:
    if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
        return " ".join(node.type.names)
    return ""


def _spelled(node: c_ast.Node) -> str:
    return _spelled(node.type) + " *" if isinstance(node, c_ast.PtrDecl) else _name(node)


def _python_type(node: c_ast.Node) -> str:
    if isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
        pointee = node.type
        if isinstance(pointee, c_ast.PtrDecl) or _name(pointee) in HANDLES:
            return "uintptr_t *"
        name = _name(pointee)
        return "uintptr_t" if not name or name in OPAQUE_POINTEES or name.startswith("cl_image") else f"{name} *"
    name = _name(node)
    return "uintptr_t" if not name or name in OPAQUE else name
