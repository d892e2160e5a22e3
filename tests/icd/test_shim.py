"""The libpython of a C host: that of the Python with the package, a named one, or an error message."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from c_hosts import library_that_creates
from processes import finished
from test_secure_execution import NOBODY, open_folder, set_user_id  # noqa: F401

from fpgart.base import registration

PACKAGE = Path(__file__).resolve().parents[2] / "fpgart"
SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"
HOME = Path(os.path.realpath(sys.executable)).parent
LIBPYTHON = Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("LDLIBRARY")
UNKNOWN = "3.99"
"""A series of which no machine has a libpython."""

HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words)
{
    void *library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return puts(dlerror());
    int (*platforms)(unsigned, void **, unsigned *) = dlsym(library, "clGetPlatformIDs");
    void *(*make)(void *, unsigned, void *, void *, void *, int *) = dlsym(library, "clCreateContext");
    unsigned number = 9;
    int status = platforms(0, 0, &number), error = 0;
    printf("%d %u", status, number);
    if (status != 0) {
        void *context = make(0, 0, 0, 0, 0, &error);
        printf(" %d %d", context != NULL, error);
    }
    return 0;
}
"""
FOUND = "0 1"
REFUSED = "-1001 0 0 -5"
"""No platform; no context, and CL_OUT_OF_RESOURCES."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("host") / "host"
    subprocess.run(["gcc", "-w", "-xc", "-o", program, "-", "-ldl"], input=HOST, text=True, check=True)
    return program


def libraries(folder: Path, series: str = SERIES) -> Path:
    """libfpgart.so in a folder, and the library behind it as if it were for `series`; returns the former."""
    folder.mkdir(parents=True)
    shutil.copy2(PACKAGE / f"libfpgart.{SERIES}.so", folder / f"libfpgart.{series}.so")
    return Path(shutil.copy2(PACKAGE / "libfpgart.so", folder))


def installation(prefix: Path) -> Path:
    """The package and cffi as in a virtual environment; returns libfpgart.so."""
    packages = prefix / "lib" / f"python{SERIES}" / "site-packages"
    shutil.copytree(PACKAGE, packages / "fpgart", ignore=shutil.ignore_patterns("include", "interpreter.cfg"))
    import _cffi_backend
    import cffi

    for part in (Path(_cffi_backend.__file__), Path(cffi.__file__).parent):
        (packages / part.name).symlink_to(part)
    return packages / "fpgart" / "libfpgart.so"


def run(host: Path, library: Path, **variables: str) -> tuple[str, list[str]]:
    """Returns the output of the host, and the lines on stderr."""
    environment = {"PATH": os.defpath, **variables}
    result = finished(host, library, cwd="/", env=environment)
    return result.stdout.strip(), result.stderr.splitlines()


def test_the_python_of_a_virtual_environment_is_found_by_its_path(host: Path, tmp_path: Path) -> None:
    library = installation(tmp_path / "venv")
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {HOME}\nversion = {SERIES}.0\n")
    assert run(host, library) == (FOUND, [])
    moved = (tmp_path / "venv").rename(tmp_path / "elsewhere")
    assert run(host, moved / library.relative_to(tmp_path / "venv")) == (FOUND, [])


def test_where_that_python_has_no_library_the_named_one_is_taken(host: Path, tmp_path: Path) -> None:
    library = installation(tmp_path / "venv")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /nonexistent/bin\n")
    assert run(host, library, FPGART_LIBPYTHON=str(LIBPYTHON)) == (FOUND, [])


def test_where_the_path_does_not_tell_the_command_notes_for_which_python_the_package_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries(tmp_path / "fpgart")
    monkeypatch.setattr(registration, "PACKAGE", tmp_path / "fpgart")
    registration.note_interpreter()
    noted = (tmp_path / "fpgart" / "interpreter.cfg").read_text()
    assert noted.splitlines()[:2] == [f"home = {HOME}", f"version = {SERIES}"]
    installed = installation(tmp_path / "venv").parent
    monkeypatch.setattr(registration, "PACKAGE", installed)
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"platlib": str(installed.parent)})
    registration.note_interpreter()
    assert not (installed / "interpreter.cfg").exists()


def test_nothing_is_noted_of_a_python_for_which_the_package_has_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries(tmp_path / "fpgart", "3.0")
    monkeypatch.setattr(registration, "PACKAGE", tmp_path / "fpgart")
    registration.note_interpreter()
    assert not (tmp_path / "fpgart" / "interpreter.cfg").exists()


def test_the_noted_python_is_taken(host: Path, tmp_path: Path) -> None:
    packages = installation(tmp_path / "venv").parents[1].rename(tmp_path / "folder")
    (packages / "fpgart" / "interpreter.cfg").write_text(f"home = {HOME}\nversion = {SERIES}\n")
    assert run(host, packages / "fpgart" / "libfpgart.so", HOME="/nonexistent") == (FOUND, [])


def test_what_is_named_and_is_no_libpython_is_told(host: Path, tmp_path: Path) -> None:
    library = libraries(tmp_path / "python" / "fpgart", UNKNOWN)
    said, (told, *rest) = run(host, library, FPGART_LIBPYTHON="/nonexistent/libpython.so")
    assert said == REFUSED
    assert told.startswith("fpgart: no platform: FPGART_LIBPYTHON=/nonexistent/libpython.so: ")
    assert len(rest) == 1


def test_without_any_libpython_one_line_says_what_to_install(host: Path, tmp_path: Path) -> None:
    library = libraries(tmp_path / f"lib/python{UNKNOWN}/site-packages/fpgart", UNKNOWN)
    said, (told,) = run(host, library)
    assert said == REFUSED
    assert told.startswith(f"fpgart: no platform: no libpython{UNKNOWN}.so was found, which programs")
    assert f"({tmp_path}/bin)" in told
    assert f"apt install libpython{UNKNOWN}" in told


def test_a_series_that_the_package_does_not_serve_is_told(host: Path, tmp_path: Path) -> None:
    library = libraries(tmp_path / "lib/python3.9/site-packages/fpgart")
    said, (told,) = run(host, library)
    assert said == REFUSED
    assert f"built for Python {SERIES}, but it is installed for Python 3.9;" in told


def test_a_shim_that_is_alone_says_what_belongs_beside_it(host: Path, tmp_path: Path) -> None:
    said, (told,) = run(host, Path(shutil.copy2(PACKAGE / "libfpgart.so", tmp_path)))
    assert said == REFUSED
    assert "libfpgart.3.*.so, the libraries for each Python version, are missing beside" in told


def test_nothing_is_linked_with_a_libpython() -> None:
    for path in PACKAGE.glob("*.so"):
        needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        assert "libpython" not in needed, path
        assert "RUNPATH" not in needed, path


@set_user_id
def test_a_program_with_other_rights_obeys_no_name_of_a_libpython(host: Path, open_folder: Path) -> None:  # noqa: F811
    library = libraries(open_folder / "root" / "fpgart", UNKNOWN)
    mark = open_folder / "ran"
    open_folder.chmod(0o777)
    variables = {"FPGART_LIBPYTHON": str(library_that_creates(mark, open_folder / "libpython3.so"))}
    run(host, library, **variables)
    assert mark.exists()  # for everybody else the name counts
    mark.unlink()
    program = Path(shutil.copy2(host, open_folder / "root"))
    program.chmod(0o4755)
    command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", program, library]
    result = finished(*command, env={"PATH": os.defpath, **variables})
    assert result.stdout.strip() == REFUSED
    assert not mark.exists()
