"""Python hosts whose interpreter is not the one that libfpgart.so was built for.

Interpreters are looked for in PATH, in /usr/bin and where pyenv keeps them; where there is none of
another version, a test is skipped.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import finished

LIBRARY = Path(__file__).resolve().parents[2] / "fpgart" / "libfpgart.so"
HOST = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
number = ctypes.c_uint(9)
for attempt in range(2):
    print("%d %d" % (lib.clGetPlatformIDs(0, None, ctypes.byref(number)), number.value))
"""
NOT_FOUND = -1001
DEVICE_NOT_FOUND = -1


def version_of(path: str) -> tuple[int, int] | None:
    program = "import sys; print('%d %d' % sys.version_info[:2])"
    try:
        result = finished(path, "-c", program)
    except OSError:
        return None
    words = result.stdout.split()
    return (int(words[0]), int(words[1])) if result.returncode == 0 and len(words) == 2 else None


def others() -> dict[tuple[int, int], str]:
    """One interpreter of each other version that is here."""
    found: dict[tuple[int, int], str] = {}
    named = [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    kept = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))
    for path in [*filter(None, named), *sorted(kept), *glob.glob("/usr/bin/python3.*[0-9]")]:
        version = version_of(path)
        if version is not None and version != sys.version_info[:2]:
            found.setdefault(version, path)
    return found


def run_host(python: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command, environment = [python, "-c", HOST, str(LIBRARY)], {**os.environ, **variables}
    return finished(*command, env=environment)


def test_a_python_of_another_version_gets_no_platform_and_one_clear_line() -> None:
    found = others()
    if not found:
        pytest.skip("no Python of another version is here")
    for version, python in found.items():
        result = run_host(python)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == [str(NOT_FOUND), "0"] * 2
        lines = result.stderr.splitlines()
        assert len(lines) == 1
        assert f"built for Python {sys.version_info.major}.{sys.version_info.minor}" in lines[0]
        assert f"runs Python {version[0]}.{version[1]}" in lines[0]


def test_a_statically_linked_python_of_the_same_version_is_a_host_like_others() -> None:
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    if version_of(python) != sys.version_info[:2]:
        pytest.skip(f"there is no {python}")
    linked = finished("ldd", python).stdout
    if "libpython" in linked:
        pytest.skip(f"{python} is linked with libpython")
    result = run_host(python)
    assert (result.stdout.split(), result.stderr) == (["0", "1"] * 2, "")


def test_a_library_without_its_package_gives_no_platform_and_one_clear_line(tmp_path: Path) -> None:
    """Init code that fails must not look like success."""
    for path in [*LIBRARY.parent.glob("libfpgart*.so"), LIBRARY.with_name("interpreter.cfg")]:
        shutil.copy2(path, tmp_path)
    alone = tmp_path / "libfpgart.so"
    source = tmp_path / "host.c"
    source.write_text(
        """#include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char **words) {
            void *library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
            int (*get)(unsigned, void *, unsigned *) = dlsym(library, "clGetPlatformIDs");
            unsigned number = 9;
            printf("%d", get(0, 0, &number));
            printf(" %u", number);
            return 0;
        }"""
    )
    subprocess.run(["gcc", "-w", "-o", str(tmp_path / "host"), str(source), "-ldl"], check=True)
    environment = {"PATH": os.defpath}
    result = finished(str(tmp_path / "host"), str(alone), cwd=tmp_path, env=environment)
    if result.stdout.split() == ["0", "1"]:
        pytest.skip("fpgart is also installed where any library finds it")
    assert result.stdout.split() == [str(NOT_FOUND), "0"]
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("fpgart: no platform: No module named 'fpgart'")


def test_a_platform_whose_driver_cannot_start_has_no_devices() -> None:
    """A loader gets the platform before the start; hosts that list the devices of all platforms then go on."""
    listing = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
platform, device, number = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
every = ctypes.c_uint64(0xFFFFFFFF)
print(lib.clIcdGetPlatformIDsKHR(1, ctypes.byref(platform), None))
print(lib.clGetDeviceIDs(platform, every, 0, None, ctypes.byref(number)))
print(lib.clGetDeviceIDs(platform, every, 1, ctypes.byref(device), None))
print(lib.clGetDeviceIDs(platform, every, 0, None, ctypes.byref(number)))
"""
    result = finished(sys.executable, "-c", listing, LIBRARY, env={**os.environ, "FPGART_BOARD": "usm_s11"})
    assert result.stdout.split() == ["0", "0", str(DEVICE_NOT_FOUND), str(DEVICE_NOT_FOUND)]
    assert result.stderr.startswith("fpgart: no platform: FPGART_BOARD=usm_s11: not one of ")


def test_an_option_that_makes_no_sense_gives_no_platform_and_one_clear_line() -> None:
    for name, value in (("FPGART_BOARD", "usm_s11"), ("FPGART_PLATFORM", "amd")):
        result = run_host(sys.executable, **{name: value})
        assert result.stdout.split() == [str(NOT_FOUND), "0"] * 2
        lines = result.stderr.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith(f"fpgart: no platform: {name}={value}: not one of ")
