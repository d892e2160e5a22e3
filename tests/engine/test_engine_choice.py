"""The choice of the engine: a driver that builds kernels for this machine's processor."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import get_ident

import pytest
from c_hosts import shared_library
from processes import finished, quiet_output

from fpgart.cli import doctor
from fpgart.engine import choice
from fpgart.engine.driver import compiles_for_no_processor
from fpgart.engine.interface import NoEngine

UNABLE = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
ABLE = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-znver3"
# A driver with one platform and one device, of which it knows the version.
SOURCE = """
#include <string.h>
static int answer(const char *text, size_t size, void *value, size_t *needed)
{
    if (value != 0 && size > strlen(text))
        strcpy(value, text);
    if (needed != 0)
        *needed = strlen(text) + 1;
    return 0;
}
static int platform_info(void *p, unsigned query, size_t size, void *value, size_t *needed)
{
    return answer("OpenCL 3.0", size, value, needed);
}
static int device_info(void *d, unsigned query, size_t size, void *value, size_t *needed)
{
    return answer(query == 0x102F ? VERSION : "", size, value, needed);
}
static int devices(void *p, unsigned long kind, unsigned count, void **found, unsigned *number)
{
    if (found != 0)
        found[0] = found;
    if (number != 0)
        *number = 1;
    return 0;
}
static void *context(void *p, unsigned n, void *d, void *f, void *data, int *status)
{
    *status = 0;
    return d;
}
static void *dispatch[200] = {0, platform_info, devices, device_info, context};
static void *platform = dispatch;
int clIcdGetPlatformIDsKHR(unsigned count, void **found, unsigned *number)
{
    if (found != 0)
        found[0] = &platform;
    if (number != 0)
        *number = 1;
    return 0;
}
"""
MakeDriver = Callable[[str], Path]


@pytest.fixture
def driver_of(tmp_path: Path) -> MakeDriver:
    """`driver_of(version)`: the file of a driver with this CL_DEVICE_VERSION."""

    def make(version: str) -> Path:
        return shared_library(SOURCE, tmp_path / f"lib{version.rpartition('-')[2]}.so", f'-DVERSION="{version}"')

    return make


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`install(path, ...)`: these PoCLs are on this machine, and no other engine; `wanted` is FPGART_ENGINE."""

    def make(*paths: Path, wanted: str = "auto") -> None:
        monkeypatch.setattr(choice, "wanted_engine", lambda: wanted)
        monkeypatch.setattr(choice, "pocl_libraries", lambda: iter(paths))
        monkeypatch.setattr(choice, "of_intel", lambda _: iter(()))

    return make


@pytest.mark.parametrize(
    ("version", "builds_nothing"),
    [
        (UNABLE, True),
        ("OpenCL 3.0 PoCL HSTR: cpu-i686-pc-linux-gnu-generic ", True),
        (ABLE, False),
        ("OpenCL 3.0 PoCL HSTR: pthread-aarch64-unknown-linux-gnu-generic", False),
        ("OpenCL 3.0 (Build 0)", False),
        ("", False),
    ],
)
def test_pocl_for_an_unknown_x86_processor_is_told_by_its_version(version: str, builds_nothing: bool) -> None:
    assert compiles_for_no_processor(version) is builds_nothing


@pytest.mark.parametrize("wanted", ["auto", "pocl"])
def test_a_pocl_that_builds_nothing_here_is_passed_over_for_the_next(
    driver_of: MakeDriver, install: Callable[..., None], wanted: str
) -> None:
    unable, able = driver_of(UNABLE), driver_of(ABLE)
    install(unable, able, wanted=wanted)
    chosen = choice.choose()
    assert chosen.engine.path == str(able)
    assert [each.path for each in chosen.passed_over] == [unable]
    assert UNABLE in chosen.passed_over[0].reason


@pytest.mark.parametrize("data", ["", "kernel-x86_64.bc"], ids=["without its data", "with its data"])
def test_a_pocl_of_the_system_is_passed_over_without_its_data_alone(
    driver_of: MakeDriver, install: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    libraries, share = tmp_path / "lib" / "x86_64-linux-gnu", tmp_path / "share" / "pocl"
    libraries.mkdir(parents=True)
    share.mkdir(parents=True)
    if data:
        (share / data).touch()
    monkeypatch.setattr(choice, "LIBRARY_FOLDERS", (str(libraries),))
    newest, able = libraries / "libpocl.so.2.14", driver_of(ABLE)
    shutil.copy(able, newest)
    install(newest, able)
    chosen = choice.choose()
    assert chosen.engine.path == str(newest if data else able)
    reasons = [f"{newest}: its data are not in {share}; on Debian: apt install --reinstall libpocl2-common"]
    assert [str(each) for each in chosen.passed_over] == ([] if data else reasons)


def test_what_is_to_be_done_meanwhile_is_done_on_a_thread_of_its_own(
    driver_of: MakeDriver, install: Callable[..., None]
) -> None:
    threads: Queue[int] = Queue()
    install(driver_of(ABLE))
    choice.choose(meanwhile=lambda: threads.put(get_ident()))
    assert threads.get() != get_ident()


def test_where_no_other_is_installed_the_words_name_what_was_tried_and_what_to_install(
    driver_of: MakeDriver, install: Callable[..., None]
) -> None:
    unable = driver_of(UNABLE)
    install(unable)
    engine = choice.choose_engine()
    assert isinstance(engine, NoEngine)
    assert f"{unable}: its compiler does not know the processor of this machine" in engine.reason
    assert "for newer processors, apt install libpocl2" in engine.reason
    assert "pip install 'fpgart[intel]'" in engine.reason


def test_doctor_names_the_engine_and_what_was_passed_over(driver_of: MakeDriver, install: Callable[..., None]) -> None:
    unable, able = driver_of(UNABLE), driver_of(ABLE)
    install(unable, able)
    first, *about = doctor.check_engine().splitlines()
    named, passed_over = first.split("; passed over: ")
    assert len(about) == 3
    assert named.startswith(f"pocl: {able} (OpenCL ")
    assert passed_over.startswith(f"{unable}: its compiler does not know")
    assert "install" not in passed_over  # an engine is there already


def test_an_engine_given_by_its_path_is_used_as_it_is(driver_of: MakeDriver, install: Callable[..., None]) -> None:
    unable = driver_of(UNABLE)
    install(driver_of(ABLE), wanted=str(unable))
    chosen = choice.choose()
    assert (chosen.engine.path, chosen.passed_over) == (str(unable), ())


def installed(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize(
    ("system", "first"),
    [
        (["libpocl.so.2.10.0"], "libpocl.so.2.10.0"),  # PoCL 3.1
        (["libpocl.so.2.10.0", "libpocl.so.2.13.0"], "libpocl.so.2.13.0"),
        (["libpocl.so.2.8.0"], "libpocl-0123abcd.so"),  # PoCL 1.8
        ([], "libpocl-0123abcd.so"),
    ],
)
def test_the_newest_pocl_of_the_system_and_of_the_wheel_is_tried_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: list[str], first: str
) -> None:
    installed(tmp_path / "wheel" / "pyopencl" / ".libs", "libpocl-0123abcd.so")
    installed(tmp_path / "system", *system)
    monkeypatch.setattr(choice, "wheel_folders", lambda: [tmp_path / "wheel"])
    monkeypatch.setattr(choice, "LIBRARY_FOLDERS", (str(tmp_path / "system"),))
    found = [path.name for path in choice.pocl_libraries()]
    assert found[0] == first
    assert sorted(found) == sorted([*system, "libpocl-0123abcd.so"])


def test_links_to_a_library_count_with_the_version_of_what_they_lead_to(tmp_path: Path) -> None:
    installed(tmp_path / "system", "libpocl.so.2.10.0")
    link = tmp_path / "libpocl.so.2"
    link.symlink_to(tmp_path / "system" / "libpocl.so.2.10.0")
    assert choice.library_version(link) == (2, 10, 0)


def cut_off(library: Path) -> str:
    size = library.stat().st_size
    with library.open("r+b") as file:
        file.truncate(size // 2)
    return f"is cut off: it has {size // 2} bytes of the "


def for_another_processor(library: Path) -> str:
    with library.open("r+b") as file:
        file.seek(18)
        file.write(struct.pack("<H", 21))
    return "is for another processor: ppc64le, and this machine is "


def of_text(library: Path) -> str:
    library.write_text("/* GNU ld script */\n")
    return "is no shared library: it has 20 bytes and does not begin with an ELF header"


def empty(library: Path) -> str:
    library.write_bytes(b"")
    return "is no shared library: it has 0 bytes"


def program(library: Path) -> str:
    with library.open("r+b") as file:
        file.seek(16)
        file.write(struct.pack("<H", 2))
    return "is no shared library: its ELF type is 2, not 3"


def without_opencl(library: Path) -> str:
    shared_library("int nothing;", library)
    return "offers no OpenCL platform"


DAMAGES = [cut_off, for_another_processor, of_text, empty, program, without_opencl]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_an_engine_that_cannot_be_opened_gives_one_line_with_the_reason_and_what_to_do(
    driver_of: MakeDriver, damage: Callable[[Path], str]
) -> None:
    library = driver_of(ABLE)
    reason = damage(library)
    script = "from fpgart.engine.choice import choose; print(choose().engine.reason)"
    # In a process of its own, because the loader would end it where a library is cut off.
    (line,) = quiet_output(finished(sys.executable, "-c", script, env={"FPGART_ENGINE": str(library)})).splitlines()
    assert line.startswith(f"FPGART_ENGINE={library}: {reason}")
    assert line.endswith("; name another driver, or leave FPGART_ENGINE unset for the engine that fpgart chooses")


def test_an_installed_engine_that_is_cut_off_is_passed_over_for_the_next(
    driver_of: MakeDriver, install: Callable[..., None], tmp_path: Path
) -> None:
    able = driver_of(ABLE)
    broken = Path(shutil.copy(able, tmp_path / "libbroken.so"))
    cut_off(broken)
    install(broken, able)
    chosen = choice.choose()
    assert chosen.engine.path == str(able)
    assert [each.path for each in chosen.passed_over] == [broken]
