# SPDX-License-Identifier: Apache-2.0
"""Build the compiled parts of fpgart, into the package folder.

libfpgart.so      the OpenCL driver itself (cffi embedding): C entry points that call into fpgart.api
libfpgart_mmd.so  the boards behind the interface of aocl_mmd.h, the same way: C entry points that call into fpgart.mmd
_native.*.so      an ordinary extension module: copies without the GIL, calls into the engine's driver
libalteracl.a     what hosts for Intel's boards link with besides OpenCL
include/          the OpenCL headers, copied

Run by pip's build (setup.py) and by `make build`; by hand: python build_icd.py [--into FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ICD = ROOT / "icd"
INCLUDE = ROOT / "include"
sys.path[:0] = [str(ICD), str(ROOT)]

WARNINGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter"]


DEPRECATED_TOO = [
    (f"CL_USE_DEPRECATED_OPENCL_{version}_APIS", None) for version in ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2")
]
OPENCL_3 = [("CL_TARGET_OPENCL_VERSION", "300"), *DEPRECATED_TOO]


INIT_CODE = """
import gc
from {module} import lib
gc.disable()  # what is imported leaves next to nothing to collect
try:
    from {package} import start
    start.register({parameters!r})
except Exception as error:
    # What the user can put right is said in one line; anything else is a bug, and wants its traceback.
    if not isinstance(error, ImportError) and type(error).__name__ != "OptionError":
        raise
    lib.fpgart_refuse(str(error).encode(errors="replace"))
finally:
    gc.enable()
"""


START = "int fpgart_start_embedding(void) { return cffi_start_python(); }\n"
INTERPRETER = ("interpreter.c", "guest.c", "secure.c", "usher.c")
"""The sources that every library with an interpreter has."""


class BuildError(Exception):
    """What is missing on this machine, and which package brings it."""


def compiler() -> str:
    command = shlex.split(os.environ.get("CC", "") or sysconfig.get_config_var("CC") or "cc")[0]
    for candidate in (command, "cc", "gcc", "clang"):
        if shutil.which(candidate):
            return candidate
    raise BuildError("no C compiler found (Debian, Ubuntu: apt install gcc)")


def check_python() -> None:
    series = f"{sys.version_info.major}.{sys.version_info.minor}"
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        raise BuildError(f"{header} is missing (Debian, Ubuntu: apt install libpython{series}-dev)")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise BuildError(
            f"{sys.executable} was built without a shared libpython, which the driver has to link with; "
            f"use the system's Python (Debian, Ubuntu: apt install python3 python3-venv libpython3-dev), "
            f"or rebuild this one with --enable-shared"
        )
    library = sysconfig.get_config_var("LDLIBRARY")
    places = [sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL")]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        places.append(f"/usr/lib/{multiarch}")
    if not any(place and Path(place, library).exists() for place in places):
        raise BuildError(f"{library} is missing (Debian, Ubuntu: apt install libpython{series}-dev)")


def link_options() -> list[str]:
    """Where libpython is at run time; relative places serve a wheel that is installed elsewhere."""
    library = sysconfig.get_config_var("LIBDIR")
    return [f"-Wl,-rpath,{library}:$ORIGIN/../../..:$ORIGIN/../../../../lib"]


def export_options(exports: Path) -> list[str]:
    """How a library with an interpreter is linked; `exports` says which symbols hosts see."""
    return [f"-Wl,--version-script={exports}", "-Wl,-Bsymbolic", "-Wl,-z,nodelete", *link_options()]


def quoted(*words: str) -> str:
    """C strings, divided by commas."""
    return ", ".join(f'"{word}"' for word in words)


def places() -> list[tuple[str, str]]:
    """Macros for where packages are installed, and for what cffi brings along there."""
    import _cffi_backend

    return [
        ("FPGART_SITE", quoted(sysconfig.get_paths()["platlib"])),
        ("FPGART_CFFI", quoted(Path(_cffi_backend.__file__).name)),
    ]


def option_names() -> list[tuple[str, str]]:
    """Macros for the options that C code reads before an interpreter has started (icd/lobby.c)."""
    from fpgart import config
    from fpgart.board.keystone import partition

    numbers = (config.SIMULATOR_DEVICES, config.EMULATOR_DEVICES, config.CPU_EMULATE_DEVICES)
    return [
        ("FPGART_PERSONALITY", quoted(config.PLATFORM.name)),
        ("FPGART_DEVICE_NUMBERS_ARE_OF", quoted("intel", "any", "emulator")),
        ("FPGART_TI_BOARDS", quoted(*partition.shipped())),
        ("FPGART_BOARDS", quoted(config.BOARD.name)),
        ("FPGART_ENGINE", quoted(config.ENGINE.name)),
        ("FPGART_RUN", quoted(config.RUN)),
        ("FPGART_PREFIX", quoted(config.PREFIX)),
        ("FPGART_OWN_NAMES", quoted(*sorted(config.OWN_NAMES))),
        ("FPGART_OPTIONS", quoted(*sorted(config.OPTIONS))),
        ("FPGART_OFFLINE_DEVICE", quoted(config.OFFLINE_DEVICE.name)),
        ("FPGART_DEVICE_NUMBERS", quoted(*(option.name for option in numbers))),
    ]


def build_driver(into: Path, work: Path) -> Path:
    """Compile libfpgart.so into the folder `into`."""
    from cffi import FFI
    from generate import declarations, entry_points, implemented_in_python, platform_words
    from prototypes import read_api

    api = read_api(INCLUDE, compiler())
    generated = work / "entry_points.c"
    generated.write_text(entry_points(api))
    said = work / "platform_words.c"
    said.write_text(platform_words())
    exports = work / "exports.map"
    exports.write_text("{ global: cl*; fpgart_control*; __malloc_*; __free_*; __is_in_malloced_region; local: *; };\n")
    ffi = FFI()
    ffi.embedding_api("")
    ffi.cdef(declarations(api))
    parameters = [(f.name, [p.name for p in f.parameters], f.returns) for f in implemented_in_python(api)]
    ffi.embedding_init_code(INIT_CODE.format(module="_fpgart_icd", package="fpgart.api", parameters=parameters))
    ffi.set_source(
        "_fpgart_icd",
        '#include "icd.h"\n' + START,
        sources=[str(generated), str(said), *map(str, sorted(ICD.glob("*.c")))],
        include_dirs=[str(ICD), str(INCLUDE)],
        define_macros=[*OPENCL_3, *places(), *option_names()],
        extra_compile_args=WARNINGS,
        extra_link_args=export_options(exports),
        libraries=["pthread", "dl"],
    )
    made = Path(ffi.compile(tmpdir=str(work), target="libfpgart.so", verbose=False))
    return Path(shutil.copy2(made, into / "libfpgart.so"))


def build_mmd(into: Path, work: Path) -> Path:
    """Compile libfpgart_mmd.so into the folder `into`."""
    from cffi import FFI

    header = (ICD / "mmd/mmd.h").read_text()
    exports = work / "exports_mmd.map"
    exports.write_text("{ global: aocl_mmd_*; local: *; };\n")
    ffi = FFI()
    ffi.embedding_api("")
    ffi.cdef('extern "Python+C" {\n' + header.split("/* python */")[1] + "}\n" + header.split("/* c */")[1])
    ffi.embedding_init_code(INIT_CODE.format(module="_fpgart_mmd", package="fpgart.mmd", parameters=[]))
    ffi.set_source(
        "_fpgart_mmd",
        '#include "mmd.h"\n' + START,
        sources=[str(ICD / "mmd/entry_points.c"), *(str(ICD / name) for name in INTERPRETER)],
        include_dirs=[str(ICD), str(ICD / "mmd"), str(INCLUDE)],
        define_macros=places(),
        extra_compile_args=WARNINGS,
        extra_link_args=export_options(exports),
        libraries=["pthread", "dl"],
    )
    made = Path(ffi.compile(tmpdir=str(work), target="libfpgart_mmd.so", verbose=False))
    return Path(shutil.copy2(made, into / "libfpgart_mmd.so"))


def build_native(into: Path, work: Path) -> Path:
    """Compile fpgart/_native, the extension module below the driver."""
    from cffi import FFI

    parts = (
        "board/copies.c",
        "board/pages.c",
        "check/contents.c",
        "check/faults.c",
        "engine/calls.c",
        "engine/channels.c",
        "engine/fifo_log.c",
        "engine/environment.c",
        "engine/signals.c",
        "engine/stacks.c",
    )
    inner = (  # which C alone calls
        "check/code.c",
        "check/fault_table.c",
        "check/fault_words.c",
        "engine/fifo.c",
        "engine/io_file.c",
        "engine/network.c",
        "engine/waiting.c",
    )
    interfaces = [ROOT / "fpgart" / part for part in parts]
    sources = [*interfaces, *(ROOT / "fpgart" / part for part in inner)]
    ffi = FFI()
    for source in interfaces:
        ffi.cdef(source.with_suffix(".h").read_text().split("/* cffi */")[1])
    ffi.set_source(
        "_native",
        "".join(f'#include "{source.with_suffix(".h").name}"\n' for source in interfaces),
        sources=[*map(str, sources)],
        include_dirs=[str(INCLUDE), *(str(source.parent) for source in sources)],
        define_macros=OPENCL_3,
        extra_compile_args=WARNINGS,
        libraries=["pthread", "dl"],
    )
    made = Path(ffi.compile(tmpdir=str(work), verbose=False))
    return Path(shutil.copy2(made, into / made.name))


def build_preload(into: Path, name: str) -> Path:
    """Compile a library that `fpgart run` preloads; it is not linked with Python."""
    made = into / f"libfpgart-{name}.so"
    source = ICD / "preload" / f"{name}.c"
    subprocess.run([compiler(), "-shared", "-fPIC", *WARNINGS, "-o", made, source, "-ldl"], check=True)
    return made


def build_host_library(into: Path, work: Path) -> Path:
    """Compile libalteracl.a, which hosts link with; an archive, so that they need nothing of it when they run."""
    compiled = work / "alteracl.o"
    source = ICD / "host" / "alteracl.c"
    defines = [f"-D{name}={value or 1}" for name, value in OPENCL_3]
    command = [compiler(), "-c", "-fPIC", f"-I{INCLUDE}", *defines, *WARNINGS, "-o", compiled, source]
    subprocess.run(command, check=True)
    made = into / "libalteracl.a"
    made.unlink(missing_ok=True)
    subprocess.run([os.environ.get("AR", "ar"), "rcsD", made, compiled], check=True)
    return made


def copy_headers(into: Path) -> None:
    """Put include/ into the package, for hosts that are compiled with it."""
    shutil.copytree(INCLUDE, into / "include", dirs_exist_ok=True)


def build(into: Path) -> list[Path]:
    """Build everything into `into`; raises BuildError where the machine lacks something."""
    compiler()
    check_python()
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fpgart-build-") as work:
        try:
            made = [build_driver(into, Path(work)), build_mmd(into, Path(work)), build_native(into, Path(work))]
            made += [build_preload(into, name) for name in ("only", "yield")]
            made.append(build_host_library(into, Path(work)))
        except subprocess.CalledProcessError as error:
            raise BuildError(f"the compiler failed: {error.stderr or error}") from error
    (into / "fpgart.icd").write_text("libfpgart.so\n")
    copy_headers(into)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "fpgart", help="folder (default: the package)")
    try:
        for path in build(parser.parse_args().into):
            print(path)
    except BuildError as error:
        print(f"build_icd.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
