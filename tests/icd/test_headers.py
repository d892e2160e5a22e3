"""include/CL against the headers of Debian's opencl-c-headers: a host cannot tell which of them it was compiled with.

The compiler judges values, sizes and offsets, pycparser (declarations.py) types of functions and which names there are.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest
from declarations import (
    HEADERS,
    INCLUDES,
    NO_NATIVE_VECTORS,
    ROOT,
    Declarations,
    constants,
    declarations,
    macros,
    target,
)

OURS = ROOT / "include"
THEIRS = Path("/usr/include")
VERSIONS = (100, 110, 120, 200, 210, 220, 300)
DEPRECATED = tuple(f"CL_USE_DEPRECATED_OPENCL_{v}_APIS" for v in ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2"))
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
ROUNDINGS = ("CL_HALF_RTE", "CL_HALF_RTZ", "CL_HALF_RTP", "CL_HALF_RTN")

NOT_OFFERED = (
    *("cl_khr_command_buffer", "cl_khr_semaphore", "cl_khr_external_", "cl_khr_subgroup_named_barrier"),
    *("cl_khr_egl_", "cl_khr_gl_sharing", "cl_apple_", "cl_amd_", "cl_arm_", "cl_img_", "cl_qcom_"),
    *("cl_ext_cxx_for_opencl", "cl_ext_image_", "cl_ext_migrate_memobject"),
    *("cl_intel_accelerator", "cl_intel_advanced_motion", "cl_intel_command_queue_families", "cl_intel_motion"),
    *("cl_intel_device_attribute_query", "cl_intel_device_partition_by_names", "cl_intel_driver_diagnostics"),
    *("cl_intel_egl_image_yuv", "cl_intel_exec_by_local_thread", "cl_intel_mem_force_host_memory"),
    *("cl_intel_packed_yuv", "cl_intel_queue_no_sync", "cl_intel_sharing_format", "cl_intel_simultaneous_sharing"),
)
"""Extensions that the driver does not have: a header without them makes hosts do without them at compile time."""

reference = pytest.mark.skipif(not (THEIRS / "CL/cl.h").exists(), reason="Debian's opencl-c-headers are not installed")


def are_newer() -> bool:
    """True if Debian's headers are newer than 2023, and have a macro for each extension's name."""
    header = THEIRS / "CL" / "cl_ext.h"
    return header.exists() and "CL_KHR_FP64_EXTENSION_NAME" in header.read_text()


same_release = pytest.mark.skipif(
    are_newer(), reason="Debian's opencl-c-headers are of a newer release than include/CL, and have more names"
)


@cache
def declared(include: Path, *defines: str) -> Declarations:
    return declarations(include, *defines)


@cache
def names(include: Path, *defines: str) -> set[str]:
    """All names that a host may use: of constants, types, functions."""
    return declared(include, *defines).names | constants(include, *defines)


def compiled(include: Path, source: str, *options: str, language: str = "c") -> str:
    """Returns the compiler's messages for a source; "" for none."""
    compiler = {"c": "gcc", "c++": "g++"}[language]
    command = [compiler, f"-x{language}", *options, f"-I{include}", "-fsyntax-only", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True).stderr


def printed(folder: Path, include: Path, statements: list[str]) -> list[str]:
    """Returns the output of a program that is compiled with a folder's headers and runs these statements."""
    program = folder / f"prints-{include.parent.name}"
    source = f"{INCLUDES}#include <stdio.h>\n#include <stddef.h>\n#include <string.h>\nint main(void)\n{{\n"
    source += "".join(f"    {statement}\n" for statement in statements) + "    return 0;\n}\n"
    defines = [f"-D{name}" for name in (target(300), *DEPRECATED)]
    command = ["gcc", "-xc", "-w", *NO_NATIVE_VECTORS, *defines, "-isystem", str(include), "-o", str(program), "-"]
    subprocess.run(command, input=source, text=True, check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()


@reference
def test_constants_have_the_same_value_and_type(tmp_path: Path) -> None:
    mine, other = (macros(include, target(300)) for include in (OURS, THEIRS))
    both = sorted(constants(OURS, target(300)) & constants(THEIRS, target(300)))
    assert len(both) > 690
    numbers = [name for name in both if not mine[name].startswith('"')]
    assert [mine[name] for name in both if name not in numbers] == [other[name] for name in both if name not in numbers]
    statements = [
        f'printf("%s %lld %.17g %zu %d\\n", "{name}", (long long)({name}), (double)({name}), sizeof({name}),'
        f" (__typeof__({name}))-1 < 0);"
        for name in numbers
        if name != "CL_NAN"
    ]
    assert printed(tmp_path, OURS, statements) == printed(tmp_path, THEIRS, statements)


@reference
def test_types_have_the_same_size_alignment_kind_and_sign(tmp_path: Path) -> None:
    both = sorted(
        name
        for name in declared(OURS, target(300)).types.keys() & declared(THEIRS, target(300)).types.keys()
        if not name.endswith(("_fn", "_t")) and name.startswith(("cl_", "CL"))
    )
    assert len(both) > 130
    statements = []
    for name in both:
        kind = f"__builtin_classify_type(*({name} *)0)"
        statements.append(f'printf("{name} %zu %zu %d", sizeof({name}), _Alignof({name}), {kind});')
        arithmetic = not declared(OURS, target(300)).types[name].startswith(("struct", "union"))
        statements.append(f'printf(" %d\\n", {f"({name})-1 < ({name})1" if arithmetic else "0"});')
    assert printed(tmp_path, OURS, statements) == printed(tmp_path, THEIRS, statements)


@reference
def test_members_of_structures_lie_at_the_same_offsets(tmp_path: Path) -> None:
    mine, other = (declared(include, target(300)).members for include in (OURS, THEIRS))
    statements = []
    for name in sorted(mine.keys() & other.keys()):
        assert set(other[name]) - set(mine[name]) <= {"v2", "v4", "v8", "v16"}, name
        for member in other[name]:
            if member in mine[name]:
                place = f"offsetof({name}, {member}), sizeof((({name} *)0)->{member})"
                statements.append(f'printf("{name}.{member} %zu %zu\\n", {place});')
    assert len(statements) > 600
    assert printed(tmp_path, OURS, statements) == printed(tmp_path, THEIRS, statements)


@reference
def test_typedefs_stand_for_the_same_types() -> None:
    mine, other = (declared(include, target(300), *DEPRECATED).types for include in (OURS, THEIRS))
    both = mine.keys() & other.keys()
    assert len([name for name in both if name.endswith("_fn")]) > 25
    assert {name: mine[name] for name in both} == {name: other[name] for name in both}


@reference
def test_functions_have_the_same_results_and_parameters() -> None:
    mine, other = (declared(include, target(300), *DEPRECATED).functions for include in (OURS, THEIRS))
    both = mine.keys() & other.keys()
    assert len(both) > 150
    assert {name: mine[name] for name in both} == {name: other[name] for name in both}


@reference
def test_the_dispatch_table_has_the_same_functions_in_the_same_places() -> None:
    mine, other = (declared(include, target(300)).members for include in (OURS, THEIRS))
    # Newer headers have unions at two places: of a function, and of the tag of cl_khr_icd 2.
    functions = tuple(name for name in other["cl_icd_dispatch"] if not name.endswith("_icd2_tag"))
    assert mine["struct _cl_icd_dispatch"] == functions


@reference
@same_release
def test_nothing_of_opencl_3_is_missing() -> None:
    core = {"cl.h", "cl_platform.h", "cl_version.h", "cl_half.h", "opencl.h"}
    text = "".join((THEIRS / "CL" / header).read_text() for header in core)
    missing = names(THEIRS, target(300), *DEPRECATED) - names(OURS, target(300), *DEPRECATED)
    inner = {"cl_half_handle_overflow", "cl_half_handle_underflow"}
    comments = {"CL_PROGRAM_STRING_DEBUG_INFO"}
    assert {name for name in missing if name in text and not name.startswith("__cl_")} - inner - comments == set()


@reference
@same_release
def test_what_is_missing_belongs_to_extensions_that_are_not_offered() -> None:
    marks = [name for name, text in macros(THEIRS, target(300)).items() if text == "1" and name.startswith("cl_")]
    ours = macros(OURS, target(300))
    missing = {name.lower() for name in marks if name not in ours}
    assert {name for name in missing if not name.startswith(NOT_OFFERED)} == set()


@reference
@same_release
@pytest.mark.parametrize("version", VERSIONS)
def test_names_are_there_for_the_same_versions(version: int) -> None:
    """Types of arguments are always there: the dispatch table has functions of all versions."""
    compared = names(OURS, target(300)) & names(THEIRS, target(300)) - declared(OURS, target(100)).types.keys()
    assert names(OURS, target(version)) & compared == names(THEIRS, target(version)) & compared


@reference
@same_release
@pytest.mark.parametrize("version", [*VERSIONS, 130])
def test_versions_define_the_same_macros(version: int) -> None:
    def about_versions(include: Path) -> dict[str, str]:
        found = macros(include, target(version))
        return {n: t for n, t in found.items() if n.startswith(("CL_VERSION_", "CL_USE_DEPRECATED", "CL_TARGET"))}

    mine = about_versions(OURS)
    assert mine.keys() == about_versions(THEIRS).keys()
    assert [name for name in mine if name.startswith("CL_VERSION_") and name[11:12].isdigit()]


@reference
@same_release
def test_guards_have_the_same_names() -> None:
    for header in set(HEADERS) & {path.name for path in (THEIRS / "CL").iterdir()} - {"cl_function_types.h"}:
        guard = next(
            line.split()[1] for line in (THEIRS / "CL" / header).read_text().splitlines() if line.startswith("#ifndef")
        )
        assert guard in macros(OURS, target(300)), header


@reference
@same_release
def test_both_sets_of_headers_may_meet_in_one_source() -> None:
    first = "".join(f'#include "{OURS}/CL/{name}"\n' for name in ("cl.h", "cl_ext.h", "cl_gl.h", "cl_half.h"))
    second = "".join(f'#include "{THEIRS}/CL/{name}"\n' for name in ("cl.h", "cl_ext.h", "cl_gl.h", "cl_half.h"))
    for source in (first + second, second + first):
        assert compiled(OURS, source, "-w", f"-D{target(300)}") == ""


@pytest.mark.parametrize("asked", ["CL_NO_PROTOTYPES", "CL_NO_CORE_PROTOTYPES", "CL_NO_EXTENSION_PROTOTYPES"])
def test_a_host_that_wants_no_prototypes_gets_none(asked: str) -> None:
    everything, rest = declared(OURS, target(300)), declared(OURS, target(300), asked)
    functions = {name for name in rest.functions if name.startswith("cl") and not name.startswith("cl_")}
    assert rest.types == everything.types
    hidden = everything.functions.keys() - functions
    assert ("clCreateBuffer" in hidden) == (asked != "CL_NO_EXTENSION_PROTOTYPES")
    assert ("clMemFreeINTEL" in hidden) == (asked != "CL_NO_CORE_PROTOTYPES")
    assert asked != "CL_NO_PROTOTYPES" or functions == set()


@reference
def test_halves_are_rounded_to_the_same_bits(tmp_path: Path) -> None:
    """Every half, and doubles and floats around each of them, in each rounding mode."""
    hashed = "h = (h ^ (unsigned long long)({0})) * 1099511628211ULL;"
    into = "cl_float f = cl_half_to_float((cl_half)i); cl_uint u; memcpy(&u, &f, 4); {" + hashed.format("u") + "}"
    near = "cl_double d = f * (1 + k * 0x1p-12); cl_float g = (cl_float)d;"
    both = "".join(
        hashed.format(f"cl_half_from_{kind}({value}, {mode})")
        for mode in ROUNDINGS
        for kind, value in (("double", "d"), ("double", "d * 0x1p-30"), ("double", "d * d"), ("float", "g"))
    )
    statements = [
        "unsigned long long h = 14695981039346656037ULL;",
        f"for (int i = 0; i < 65536; i++) {{ {into} for (int k = -3; k <= 3; k++) {{ {near} {both} }}",
        '    if (i % 256 == 0) printf("%d %llx\\n", i, h); }',
    ]
    assert printed(tmp_path, OURS, statements) == printed(tmp_path, THEIRS, statements)


NAMES = sorted(path.name for path in (OURS / "CL").glob("*.h"))


STANDARDS = ("c99", "c11", "c17", "gnu11", "c++11", "c++14", "c++17", "c++20")


@pytest.mark.parametrize(
    ("standard", "version"),
    [*((each, None) for each in STANDARDS), *((each, version) for each in ("c99", "c++11") for version in VERSIONS)],
)
def test_hosts_of_each_language_and_version_compile_without_a_warning(standard: str, version: int | None) -> None:
    source = "".join(f"#include <CL/{name}>\n" for name in NAMES) + "#include <aocl_mmd.h>\n"
    options = [f"-D{target(version)}"] if version else []
    language = "c++" if standard.startswith("c++") else "c"
    assert compiled(OURS, source, f"-std={standard}", *STRICT, *options, language=language) == ""


@pytest.mark.parametrize("name", [*(f"CL/{name}" for name in NAMES), "aocl_mmd.h"])
def test_each_header_is_usable_by_itself(name: str) -> None:
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        source = f"#include <{name}>\nextern int something;\n"
        assert compiled(OURS, source, f"-std={standard}", *STRICT, f"-D{target(300)}", language=language) == ""


@pytest.mark.skipif(not (THEIRS / "CL/opencl.hpp").exists(), reason="Debian's opencl-clhpp-headers are not installed")
@pytest.mark.parametrize(("standard", "version"), [("c++11", 120), ("c++11", 200), ("c++20", 300)])
def test_the_cpp_bindings_compile_over_these_headers(standard: str, version: int) -> None:
    source = f"#include <CL/cl.h>\n#include <{THEIRS}/CL/opencl.hpp>\n"
    source += "int main() { cl::Buffer b; cl::Context c; return b() != nullptr; }\n"
    options = [f"-D{target(version)}", f"-DCL_HPP_TARGET_OPENCL_VERSION={version}"]
    options += ["-DCL_HPP_MINIMUM_OPENCL_VERSION=110", "-DCL_HPP_ENABLE_EXCEPTIONS", f"-std={standard}", "-w"]
    assert compiled(OURS, source, *options, language="c++") == ""


@reference
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("function", ["clCreateImage2D", "clCreateCommandQueue", "clGetExtensionFunctionAddress"])
def test_functions_are_deprecated_for_the_same_versions(version: int, function: str) -> None:
    source = f"#include <CL/cl.h>\nvoid *f(void) {{ return (void *){function}; }}\n"
    warned = ["deprecated" in compiled(include, source, f"-D{target(version)}") for include in (OURS, THEIRS)]
    assert warned[0] == warned[1]


def test_a_host_that_names_no_version_uses_all_functions_without_a_warning() -> None:
    source = "#define CL_VERSION_2_0\n#include <CL/opencl.h>\nvoid *f(void) { return (void *)clCreateCommandQueue; }\n"
    assert compiled(OURS, source, "-Wall", "-Werror") == ""
