# SPDX-License-Identifier: Apache-2.0
"""Build the compiled parts of fpgart, into the package folder.

libfpgart.so       what hosts and loaders open: a door for each entry point, and the search for a Python (icd/shim/)
libfpgart.3.12.so  the OpenCL driver behind it, for one series of Python (cffi embedding): entry points that call into
                   fpgart.api
fpgart-board       the program of the board process, which runs the engine where hosts are kept apart from it; behind it
                   libfpgart_board.3.12.so, for one series of Python
libfpgart_mmd.so   the boards behind the interface of aocl_mmd.h, the same way: functions that call into fpgart.mmd
_native.abi3.so    an ordinary extension module: copies without the GIL, calls into the engine's driver
libalteracl.a      what hosts for Intel's boards link with besides OpenCL
include/           the OpenCL headers, copied

Only what embeds an interpreter is made for each series: it sets CPython's own structures (PyConfig, the list of
interpreters), whose layout differs between series, and cffi compiles embedding libraries without the limited API.
Nothing is linked with a libpython.

Run by pip's build (setup.py) and by `make build`; by hand: python build_icd.py [--into FOLDER]
FPGART_BUILD_PYTHONS: further interpreters, divided by colons, whose series the driver is to serve (`make wheels`).
CC, CFLAGS, LDFLAGS: the compiler, and options of it behind those that are needed (`make sanitize`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cffi import FFI

ROOT = Path(__file__).resolve().parent
ICD = ROOT / "icd"
ENTRY = ICD / "entry"
CORE = ROOT / "core"
BOARD = ROOT / "fpgart/board"
INCLUDE = ROOT / "include"
sys.path[:0] = [str(ENTRY), str(ROOT)]

ERRORS = [f"-Werror={each}" for each in ("implicit", "int-conversion", "incompatible-pointer-types")]
"""What GCC 14 and later refuse, refused by every compiler: what one builds, all build."""
WARNINGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", *ERRORS]
FLAGS = [*WARNINGS, "-g0", "-fPIC", "-DNDEBUG"]
LIBRARIES = ["-lpthread", "-ldl"]
OTHER_PYTHONS = "FPGART_BUILD_PYTHONS"


DEPRECATED_TOO = [
    (f"CL_USE_DEPRECATED_OPENCL_{version}_APIS", None) for version in ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2")
]
OPENCL_3 = [("CL_TARGET_OPENCL_VERSION", "300"), *DEPRECATED_TOO]


INIT_CODE = """
import gc
from {module} import lib
gc.disable()  # what is imported leaves next to nothing to collect
try:
    from {package} import {first}
    {first}.register({functions!r})
except Exception as error:
    # What the user can put right is said in one line; anything else is a bug, and wants its traceback.
    if not isinstance(error, ImportError) and type(error).__name__ != "OptionError":
        raise
    lib.fpgart_refuse(str(error).encode(errors="replace"))
finally:
    gc.enable()
"""


START = "int fpgart_start_embedding(void) { return cffi_start_python(); }\n"
INTERPRETER = ("interpreter/interpreter.c", "interpreter/guest.c", "interpreter/switcher.c")
"""The sources that every library with an interpreter has, and that are compiled for each series of Python."""
PLACE = ("interpreter/place.c", "interpreter/secure.c")
"""What they and the shim need of the system."""
SHIM = ("shim/behind.c", "shim/python.c", *PLACE)


class BuildError(Exception):
    """What is missing on this machine, and which package brings it."""


def compiler() -> list[str]:
    """The command of the C compiler, with the options that CC may have."""
    for candidate in (os.environ.get("CC", ""), sysconfig.get_config_var("CC") or "", "cc", "gcc", "clang"):
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return command
    raise BuildError("no C compiler found (Debian, Ubuntu: apt install gcc)")


def asked_for(variable: str) -> list[str]:
    """Options of the compiler that the environment adds: CFLAGS where it compiles, LDFLAGS where it links."""
    return shlex.split(os.environ.get(variable, ""))


@dataclass(frozen=True)
class Python:
    """An interpreter whose series the driver is built for."""

    series: str
    include: str
    """The folder of Python.h."""

    def check(self) -> None:
        header = Path(self.include) / "Python.h"
        if not header.exists():
            raise BuildError(f"{header} is missing (Debian, Ubuntu: apt install libpython{self.series}-dev)")


QUESTION = """
import json, sys, sysconfig as s
print(json.dumps([sys.version_info[:2], s.get_paths()["include"], s.get_config_var("Py_GIL_DISABLED")]))
"""


def asked(executable: str) -> Python:
    """What an interpreter says of itself."""
    try:
        said = subprocess.run([executable, "-c", QUESTION], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{executable} is no Python that can be asked: {error}") from None
    (major, minor), include, has_no_lock = json.loads(said)
    if has_no_lock:
        raise BuildError(f"{executable} is free-threaded; the driver relies on the interpreter's lock")
    return Python(f"{major}.{minor}", include)


def pythons() -> list[Python]:
    """The interpreter that runs this and those of FPGART_BUILD_PYTHONS, one of each series."""
    others = os.environ.get(OTHER_PYTHONS, "").split(":")
    found = {python.series: python for python in map(asked, [sys.executable, *filter(None, others)])}
    for python in found.values():
        python.check()
    return list(found.values())


def quoted(*words: str) -> str:
    """C strings, divided by commas."""
    return ", ".join(f'"{word}"' for word in words)


def option_names() -> list[tuple[str, str]]:
    """Macros for the options that C code reads before an interpreter has started (icd/entry/before_start.c)."""
    from fpgart.base import config
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
        ("FPGART_FAULTS", quoted(config.FAULTS.name)),
        ("FPGART_CALLS", quoted(config.CALLS.name)),
        ("FPGART_DEVICE_NUMBERS", quoted(*(option.name for option in numbers))),
    ]


def defined(macros: Iterable[tuple[str, str | None]]) -> list[str]:
    return [f"-D{name}={value or 1}" for name, value in macros]


def compiled(sources: Iterable[Path], work: Path, options: list[str]) -> list[Path]:
    """The object files of C sources, compiled at the same time as far as there are processors."""

    def compile_one(source: Path) -> Path:
        made = work / f"{source.stem}.o"
        run([*compiler(), "-c", *FLAGS, *options, *asked_for("CFLAGS"), "-o", made, source])
        return made

    work.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, sources))


def run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)


def linked(made: Path, objects: list[Path], exports: str) -> Path:
    """A shared library; `exports`: the symbols that others see, with wildcards."""
    script = objects[0].with_name(f"{made.stem}.map")
    script.write_text(f"{{ global: {exports}; local: *; }};\n")
    options = ["-shared", "-Wl,-z,nodelete", "-Wl,-Bsymbolic", f"-Wl,--version-script={script}"]
    run([*compiler(), *options, *asked_for("LDFLAGS"), "-o", made, *objects, *LIBRARIES])
    return made


@dataclass(frozen=True)
class Library:
    """A library with an interpreter behind doors."""

    name: str
    """libfpgart, say."""
    exports: str
    """What hosts see of the doors."""
    doors: str
    """The C source of the doors."""
    source: str
    """The C source that cffi makes: how Python is called and started."""
    sources: tuple[Path, ...]
    """The rest of it, apart from what all libraries with an interpreter have."""
    options: tuple[str, ...]
    program: str = ""
    """The name of the program that the doors are of, if they are no library's."""

    def build(self, into: Path, work: Path, series: Iterable[Python]) -> list[Path]:
        """The shim, and one library for each series."""
        options = [*(f"-I{folder}" for folder in (ICD / "interpreter", CORE, INCLUDE)), *self.options]
        work.mkdir()
        shim = self._shim(work, options)
        if self.program:
            made = [into / self.program]
            run([*compiler(), "-rdynamic", *asked_for("LDFLAGS"), "-o", made[0], *shim, *LIBRARIES])
        else:
            made = [linked(into / f"{self.name}.so", shim, self.exports)]
        common = compiled([*self.sources, *(ICD / name for name in PLACE)], work / "common", options)
        embedding = work / "embedding.c"
        embedding.write_text(self.source)
        for python in series:
            of_python = [*options, f"-I{python.include}"]
            inner = compiled([embedding, *(ICD / name for name in INTERPRETER)], work / python.series, of_python)
            made.append(linked(into / f"{self.name}.{python.series}.so", [*common, *inner], "fpgart_doors"))
        return made

    def _shim(self, work: Path, options: list[str]) -> list[Path]:
        doors = work / "doors.c"
        doors.write_text(self.doors)
        sources = [doors, *(ICD / name for name in SHIM)]
        return compiled(sources, work / "shim", [f"-I{ICD / 'shim'}", "-fvisibility=hidden", *options])


def emitted(ffi: FFI, into: Path) -> str:
    """The C source that cffi makes."""
    with redirect_stdout(None):
        ffi.emit_c_code(str(into))
    return into.read_text()


def calls_at_once(source: str, declared: str) -> str:
    """The C source that cffi made, where callers of the `declared` functions keep the interpreter's lock.

    cffi has all C functions called without it. What a later version of cffi writes otherwise stays as it is.
    """
    for name in re.findall(r"(\w+)\(", declared):
        begin = source.find(f"_cffi_f_{name}(PyObject *self")
        end = source.find("\n}\n", begin)
        if begin >= 0:
            body = source[begin:end].replace("  Py_BEGIN_ALLOW_THREADS\n", "").replace("  Py_END_ALLOW_THREADS\n", "")
            source = source[:begin] + body + source[end:]
    return source


def shim_head(loss: str, behind: str, *headers: str) -> str:
    """The beginning of the C source of doors."""
    lines = [f"#include <{header}>" for header in headers]
    return "\n".join([*lines, f'const char fpgart_loss[] = "{loss}";', f'const char fpgart_behind[] = "{behind}";', ""])


def driver(work: Path) -> Library:
    """libfpgart: the OpenCL driver."""
    from cffi import FFI
    from generate import (
        CONTROL,
        DECLARED_IN_C,
        answered_without_driver,
        called_at_once,
        declarations,
        doors,
        entry_points,
        implemented_in_python,
        platform_words,
        table_behind,
    )
    from prototypes import read_api

    api = read_api(INCLUDE, compiler())
    functions = [*api.functions.values(), *CONTROL]
    headers = ("CL/cl.h", "CL/cl_ext.h", "CL/cl_ext_intelfpga.h", "CL/cl_ext_ti.h", "CL/cl_gl.h", "CL/cl_egl.h")
    included = "\n".join(f"#include <{header}>" for header in headers)
    texts = {
        "entry_points.c": entry_points(api),
        "platform_words.c": platform_words(),
        "table.c": table_behind(functions, included),
    }
    for name, text in texts.items():
        (work / name).write_text(text)
    ffi = FFI()
    ffi.embedding_api("")
    ffi.cdef(declarations(api))
    in_python = implemented_in_python(api)
    listed = "\n".join(f"{f.name};{','.join(p.name for p in f.parameters)};{f.returns}" for f in in_python)
    ffi.embedding_init_code(
        INIT_CODE.format(module="_fpgart_icd", package="fpgart.startup", first="first", functions=listed)
    )
    ffi.set_source("_fpgart_icd", DECLARED_IN_C + START)
    return Library(
        name="libfpgart",
        exports="cl*; fpgart_control*; __malloc_*; __free_*; __is_in_malloced_region",
        doors=doors(functions, shim_head("no platform", "libfpgart", *headers), answered_without_driver),
        source=calls_at_once(emitted(ffi, work / "_fpgart_icd.c"), called_at_once()),
        sources=(
            *(work / name for name in texts),
            *sorted(ENTRY.glob("*.c")),
            *sorted(CORE.glob("*.c")),
            *(BOARD / name for name in ("board_memory.c", "copies.c", "first_fit.c", "pages.c")),
        ),
        options=(
            *(f"-I{folder}" for folder in (ENTRY, ROOT / "fpgart/base", ROOT / "fpgart/engine", BOARD)),
            *defined([*OPENCL_3, *option_names()]),
        ),
    )


def boards(work: Path) -> Library:
    """libfpgart_mmd: the boards behind the interface of aocl_mmd.h."""
    from cffi import FFI
    from generate import answered_without_boards, doors, table_behind
    from prototypes import read_functions

    functions = read_functions(INCLUDE / "aocl_mmd.h", compiler())
    header = (ICD / "mmd/mmd.h").read_text()
    (work / "mmd_table.c").write_text(table_behind(functions, "#include <aocl_mmd.h>"))
    ffi = FFI()
    ffi.embedding_api("")
    ffi.cdef('extern "Python+C" {\n' + header.split("/* python */")[1] + "}\n" + header.split("/* c */")[1])
    ffi.embedding_init_code(INIT_CODE.format(module="_fpgart_mmd", package="fpgart.mmd", first="start", functions=""))
    ffi.set_source("_fpgart_mmd", '#include "mmd.h"\n' + START)
    return Library(
        name="libfpgart_mmd",
        exports="aocl_mmd_*",
        doors=doors(functions, shim_head("no board", "libfpgart_mmd", "aocl_mmd.h"), answered_without_boards),
        source=emitted(ffi, work / "_fpgart_mmd.c"),
        sources=(work / "mmd_table.c", ICD / "mmd/entry_points.c"),
        options=(f"-I{ICD / 'mmd'}",),
    )


def board_process(work: Path) -> Library:
    """fpgart-board: the program of the board process, and libfpgart_board behind it."""
    return Library(
        name="libfpgart_board",
        exports="",
        doors=(ICD / "process/main.c").read_text(),
        source=(ICD / "process/board.c").read_text(),
        sources=(),
        options=(f"-I{ICD / 'process'}",),
        program="fpgart-board",
    )


def build_native(into: Path, work: Path, python: Python) -> Path:
    """Compile fpgart/_native, the extension module below the driver, with the limited API: it serves all series."""
    from cffi import FFI

    parts = (
        "board/board_memory.c",
        "board/copies.c",
        "board/first_fit.c",
        "board/pages.c",
        "check/contents.c",
        "check/pages/faults.c",
        "engine/isolated/apart.c",
        "engine/calls.c",
        "engine/carrier.c",
        "check/pages/marks.c",
        "channels/links.c",
        "channels/channels.c",
        "engine/containment/crash.c",
        "channels/fifo_log.c",
        "engine/containment/environment.c",
        "engine/containment/exits.c",
        "engine/containment/interrupts.c",
        "engine/isolated/lanes.c",
        "engine/isolated/ring.c",
        "engine/containment/redirect.c",
        "engine/containment/signals.c",
        "engine/containment/stacks.c",
        "channels/stream_clock.c",
    )
    inner = (  # which C alone calls
        "check/pages/code.c",
        "check/pages/fault_table.c",
        "check/pages/fault_words.c",
        "engine/containment/diagnostics.c",
        "channels/fifo.c",
        "channels/io_file.c",
        "channels/network.c",
        "engine/isolated/outlet.c",
        "engine/isolated/ring_board.c",
        "channels/waiting.c",
    )
    core = sorted(CORE.glob("*.c"))
    outer = [ROOT / "fpgart" / part for part in parts]
    sources = [*core, *outer, *(ROOT / "fpgart" / part for part in inner)]
    headers = [CORE / "core.h", *(source.with_suffix(".h") for source in outer)]
    ffi = FFI()
    declared = "".join(header.read_text().split("/* cffi */")[1] for header in headers)
    ffi.cdef(re.sub(r"^(FOR_PYTHON|AT_ONCE) ", "", declared, flags=re.MULTILINE))
    ffi.set_source("_native", "".join(f'#include "{header.name}"\n' for header in headers))
    module = work / "_native.c"
    at_once = "".join(re.findall(r"^AT_ONCE ([^;]*;)", declared, re.MULTILINE))
    module.write_text(calls_at_once(emitted(ffi, module), at_once))
    folders = dict.fromkeys(
        [str(INCLUDE), str(ROOT / "fpgart/base"), *(str(source.parent) for source in sources), python.include]
    )
    options = [*(f"-I{folder}" for folder in folders), *defined(OPENCL_3)]
    return linked(into / "_native.abi3.so", compiled([module, *sources], work / "native", options), "PyInit__native")


def build_preload(into: Path, name: str) -> Path:
    """Compile a library that `fpgart run` preloads; it is not linked with Python."""
    made = into / f"libfpgart-{name}.so"
    source = ICD / "preload" / f"{name}.c"
    run([*compiler(), "-shared", *FLAGS, *asked_for("CFLAGS"), *asked_for("LDFLAGS"), "-o", made, source, "-ldl"])
    return made


def build_host_library(into: Path, work: Path) -> Path:
    """Compile libalteracl.a, which hosts link with; an archive, so that they need nothing of it when they run."""
    objects = compiled([ICD / "host" / "alteracl.c"], work / "host", [f"-I{INCLUDE}", *defined(OPENCL_3)])
    made = into / "libalteracl.a"
    made.unlink(missing_ok=True)
    run([*shlex.split(os.environ.get("AR", "ar")), "rcsD", made, *objects])
    return made


def build_c_host(into: Path) -> Path:
    """Compile the C host that `fpgart doctor` runs, so that it needs no compiler."""
    made = into / "c-host"
    options = [f"-I{INCLUDE}", *defined(OPENCL_3)]
    added = [*asked_for("CFLAGS"), *asked_for("LDFLAGS")]
    run([*compiler(), *FLAGS, *options, *added, "-o", made, ICD / "host" / "probe.c", "-ldl"])
    return made


def copy_headers(into: Path) -> None:
    """Put include/ into the package, for hosts that are compiled with it."""
    shutil.copytree(INCLUDE, into / "include", dirs_exist_ok=True)


def remove_earlier(into: Path) -> None:
    """What an earlier build left: libraries for series that are not built now would be opened too."""
    for pattern in ("libfpgart.3.*.so", "libfpgart_mmd.3.*.so", "libfpgart_board.3.*.so", "_native.*.so"):
        for path in into.glob(pattern):
            path.unlink()


def record_interpreter(into: Path) -> None:
    """Note for which Python a package is that lies among its sources: its path does not tell (interpreter/place.h)."""
    import _cffi_backend

    notes = {
        "home": str(Path(os.path.realpath(sys.executable)).parent),
        "version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "packages": str(Path(_cffi_backend.__file__).parent),
    }
    (into / "interpreter.cfg").write_text("".join(f"{key} = {value}\n" for key, value in notes.items()))


def build(into: Path, work: Path | None = None) -> list[Path]:
    """Build everything into `into`, where nothing changes before all is made; raises BuildError where the machine lacks
    something. What the compiler reads and makes lies in `work`, a new folder, else in a temporary one."""
    compiler()
    series = pythons()
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fpgart-build-") as folder:
        work = work or Path(folder)
        staged = work / "staged"
        staged.mkdir(parents=True)
        try:
            made = [
                path
                for library in (driver, boards, board_process)
                for path in build_library(library, staged, work, series)
            ]
            made.append(build_native(staged, work, series[0]))
            made += [build_preload(staged, name) for name in ("only", "yield")]
            made += [build_host_library(staged, work), build_c_host(staged)]
        except subprocess.CalledProcessError as error:
            raise BuildError(f"the compiler failed: {error.stderr or error}") from error
        remove_earlier(into)
        moved = [put(path, into) for path in made]
    (into / "fpgart.icd").write_text("libfpgart.so\n")
    copy_headers(into)
    return moved


def put(file: Path, into: Path) -> Path:
    """A copy in the place of an earlier one, which processes that have it open keep."""
    target = into / file.name
    target.unlink(missing_ok=True)
    return Path(shutil.copy2(file, target))


def build_library(described: Callable[[Path], Library], into: Path, work: Path, series: Iterable[Python]) -> list[Path]:
    library = described(work)
    return library.build(into, work / library.name, series)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "fpgart", help="folder (default: the package)")
    parser.add_argument("--work", type=Path, help="a new folder for generated sources and objects, which stays there")
    chosen = parser.parse_args()
    try:
        for path in build(chosen.into, chosen.work):
            print(path)
        record_interpreter(chosen.into)
    except BuildError as error:
        print(f"build_icd.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
