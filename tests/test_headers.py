"""include/CL against Debian's opencl-c-headers: what both define agrees.

The C compiler judges: constants and sizes are printed by one program compiled against each, and our
prototypes are declared once more behind Debian's, which is an error if they differ.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ROOT / "include"
THEIRS = Path("/usr/include")
HEADERS = ("cl.h", "cl_ext.h", "cl_gl.h", "cl_egl.h", "cl_icd.h")
DEFINES = [f"-DCL_USE_DEPRECATED_OPENCL_{v}_APIS" for v in ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2")]
COMPILE = ["gcc", "-xc", "-w", "-DCL_TARGET_OPENCL_VERSION=300", *DEFINES]
INCLUDES = "".join(f"#include <CL/{name}>\n" for name in HEADERS)

sys.path.insert(0, str(ROOT / "icd"))

pytestmark = pytest.mark.skipif(not (THEIRS / "CL/cl.h").exists(), reason="Debian's opencl-c-headers are not installed")


def preprocess(include: Path, *options: str) -> str:
    """What the preprocessor makes of all headers in a folder."""
    command = [*COMPILE, "-nostdinc", "-isystem", str(include), *options, "-E", "-"]
    command.remove("-nostdinc")
    return subprocess.run(command, input=INCLUDES, capture_output=True, text=True, check=True).stdout


def constants(include: Path) -> set[str]:
    """Names of macros that have a value, not parameters or attributes."""
    found = re.findall(r"^#define (CL_\w+) (\S.*)$", preprocess(include, "-dM"), re.MULTILINE)
    return {name for name, value in found if not value.startswith("__attribute__")}


def structures(include: Path) -> set[str]:
    text = preprocess(include)
    named = set(re.findall(r"}\s*(cl_\w+)\s*;", text)) | set(re.findall(r"typedef struct \w+ (cl_\w+);", text))
    return {name for name in named if not name.startswith("cl_icd_dispatch")} | set(
        re.findall(r"typedef [\w\s]+ (cl_\w+)\s*(?:__attribute__.*)?;", text)
    )


def functions(include: Path) -> set[str]:
    return set(re.findall(r"\b(cl[A-Z]\w+)\s*\(", preprocess(include)))


def printed(tmp_path: Path, include: Path, expressions: dict[str, str]) -> dict[str, str]:
    """What a program compiled against a folder's headers prints for expressions."""
    lines = "".join(
        f'    printf("%s %lld/%.17g\\n", "{name}", (long long)({text}), (double)({text}));\n'
        for name, text in expressions.items()
    )
    program = tmp_path / f"{include.name}-{len(expressions)}"
    source = f"{INCLUDES}#include <stdio.h>\nint main(void)\n{{\n{lines}    return 0;\n}}\n"
    subprocess.run([*COMPILE, "-isystem", str(include), "-o", str(program), "-"], input=source, text=True, check=True)
    output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in output.splitlines())


def test_constants_agree(tmp_path: Path) -> None:
    both = sorted(constants(OURS) & constants(THEIRS))
    assert len(both) > 640
    expressions = {name: name for name in both}
    assert printed(tmp_path, OURS, expressions) == printed(tmp_path, THEIRS, expressions)


def test_sizes_of_types_agree(tmp_path: Path) -> None:
    both = sorted(structures(OURS) & structures(THEIRS))
    assert {"cl_buffer_region", "cl_name_version", "cl_image_desc", "cl_mem_flags", "cl_int"} <= set(both)
    expressions = {name: f"sizeof({name})" for name in both}
    assert printed(tmp_path, OURS, expressions) == printed(tmp_path, THEIRS, expressions)


def test_prototypes_agree() -> None:
    from prototypes import read_api

    declarations = read_api(OURS).functions
    both = sorted(declarations.keys() & functions(THEIRS))
    assert len(both) > 110
    source = INCLUDES + "".join(f"{declarations[name].declaration};\n" for name in both)
    result = subprocess.run(
        [*COMPILE, "-isystem", str(THEIRS), "-fsyntax-only", "-"], input=source, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_no_function_of_opencl_3_is_missing() -> None:
    text = (THEIRS / "CL/cl.h").read_text()
    promised = set(re.findall(r"^(cl[A-Z]\w+)\(", text, re.MULTILINE))
    assert len(promised) > 110
    assert promised - functions(OURS) == set()


def test_the_headers_are_usable_by_themselves(tmp_path: Path) -> None:
    names = ("cl.h", "cl_ext.h", "cl_ext_intelfpga.h", "cl_ext_ti.h", "cl_icd.h", "opencl.h")
    for name in (*(f"CL/{each}" for each in names), "aocl_mmd.h"):
        for language, standard in (("c", "c99"), ("c++", "c++11")):
            subprocess.run(
                [
                    "gcc", f"-x{language}", f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    "-DCL_TARGET_OPENCL_VERSION=300", f"-I{OURS}", "-fsyntax-only", "-",
                ],
                input=f"#include <{name}>\n",
                text=True,
                check=True,
            )  # fmt: skip


@pytest.mark.parametrize("version", [100, 110, 120, 200, 210, 220, 300])
@pytest.mark.parametrize("function", ["clCreateImage2D", "clCreateCommandQueue", "clGetExtensionFunctionAddress"])
def test_functions_are_deprecated_for_the_same_versions(version: int, function: str) -> None:
    source = f"#include <CL/cl.h>\nvoid *f(void) {{ return (void *){function}; }}\n"

    def warns(include: Path) -> bool:
        options = [f"-DCL_TARGET_OPENCL_VERSION={version}", "-isystem", str(include), "-fsyntax-only"]
        command = ["gcc", "-xc", *options, "-"]
        result = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
        return "deprecated" in result.stderr

    assert warns(OURS) == warns(THEIRS)


def test_a_host_that_names_no_version_uses_all_functions_without_a_warning() -> None:
    source = "#define CL_VERSION_2_0\n#include <CL/opencl.h>\nvoid *f(void) { return (void *)clCreateCommandQueue; }\n"
    command = ["gcc", "-xc", "-Wall", "-Werror", "-fsyntax-only", f"-I{OURS}", "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
