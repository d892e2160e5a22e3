"""Code for a system or a processor is in the files that docs/portability.md lists, and AArch64 compiles."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ROOT, finished, output

sys.path.insert(0, str(ROOT))

from build_icd import OPENCL_3, WARNINGS, option_names

CROSS_COMPILER = shutil.which("aarch64-linux-gnu-gcc")
OF_A_SYSTEM = re.compile(
    r"\b(memfd_create|fallocate|mlock2|madvise|process_vm_readv|getauxval|MAP_FIXED_NOREPLACE|dl_iterate_phdr|dladdr"
    r"|dlinfo|dlvsym|pthread_atfork|sched_getaffinity|LD_PRELOAD|futex)\b(?=\(|\"|\s*\|)|/proc/"
)
OF_A_PROCESSOR = re.compile(r"__x86_64__|__aarch64__|x86_64-linux-gnu|__asm__")
WORDS = re.compile(r"/\*.*?\*/|#[^\n]*|\"\"\".*?\"\"\"", re.DOTALL)


def sources() -> Iterator[Path]:
    for folder in ("icd", "fpgart"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".py") and "include" not in path.parts:
                yield path


def code_of(path: Path) -> str:
    """The text without comments and docstrings; directives of C's preprocessor stay."""
    pattern = re.compile(r"/\*.*?\*/", re.DOTALL) if path.suffix != ".py" else WORDS
    return pattern.sub("", path.read_text())


@pytest.mark.parametrize("pattern", [OF_A_SYSTEM, OF_A_PROCESSOR], ids=["system", "processor"])
def test_what_is_not_portable_stands_in_the_table(pattern: re.Pattern[str]) -> None:
    table = (ROOT / "docs" / "portability.md").read_text()
    found = {str(path.relative_to(ROOT)) for path in sources() if pattern.search(code_of(path))}
    assert found
    assert {path for path in found if path not in table} == set()


def c_sources() -> list[Path]:
    return [path for path in sources() if path.suffix == ".c"]


@pytest.mark.skipif(CROSS_COMPILER is None, reason="Debian's gcc-aarch64-linux-gnu is not installed")
@pytest.mark.parametrize("path", c_sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_c_file_compiles_for_aarch64_without_a_warning(path: Path, tmp_path: Path) -> None:
    """With this machine's Python.h: the sizes that it states are those of any 64-bit Linux."""
    defines = [*OPENCL_3, *option_names()]
    folders = [
        *(ROOT / name for name in ("include", "core", "fpgart/base", "icd/mmd", "icd/shim")),
        *{source.parent for source in c_sources()},
    ]
    python = Path(sysconfig.get_paths()["include"])
    machine = python.parent / str(sysconfig.get_config_var("MULTIARCH")) / python.name / "pyconfig.h"
    if machine.exists():  # Debian's pyconfig.h includes that of the machine which it is compiled for
        own = tmp_path / "aarch64-linux-gnu" / python.name
        own.mkdir(parents=True)
        shutil.copy(machine, own)
    includes = [f"-I{folder}" for folder in (*folders, python, tmp_path)]
    macros = [f"-D{name}={value or 1}" for name, value in defines]
    command = [
        CROSS_COMPILER or "",
        *WARNINGS,
        "-Werror",
        "-fPIC",
        *includes,
        *macros,
        "-c",
        "-o",
        "/dev/null",
        str(path),
    ]
    output(finished(*command))
