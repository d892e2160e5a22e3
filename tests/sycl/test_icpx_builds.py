"""Ways to build programs of several sources with `icpx`: static and shared libraries, images, CMake, other outputs.

Signals end them without a trace.

They need the packages of fpgart[sycl] and clang++; where those are missing, the tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import finished, fpgart, output, quiet_output
from sycl_builds import NEEDS_COMPILERS, Icpx, alone, icpx_in, on_board

from fpgart.cli.running import environment
from fpgart.icpx import pieces
from fpgart.sdk.folder import lay_out

HEADER = """\
#pragma once
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
using Pipe = sycl::ext::intel::pipe<class PipeId, int, 2>;
SYCL_EXTERNAL int twice(int);
void consume(sycl::queue &queue, int *to);
"""
PRODUCER = """\
#include "shared.hpp"
#include <iostream>
class Produce;
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *to = sycl::malloc_shared<int>(4, queue);
  queue.single_task<Produce>([=] { for (int i = 0; i < 4; i++) Pipe::write(twice(i)); });
  consume(queue, to);
  queue.wait();
  for (int i = 0; i < 4; i++) std::cout << to[i] << " ";
  std::cout << std::endl;
  sycl::free(to, queue);
}
"""
CONSUMER = """\
#include "shared.hpp"
class Consume;
SYCL_EXTERNAL int twice(int x) { return 2 * x; }
void consume(sycl::queue &queue, int *to) {
  queue.single_task<Consume>([=] { for (int i = 0; i < 4; i++) to[i] = Pipe::read() + 1; });
}
"""
UNUSED = """\
#include <sycl/sycl.hpp>
class Unused;
void unused(sycl::queue &queue) { queue.single_task<Unused>([] {}); }
"""
SAYS = "1 3 5 7 \n"
ALONE = """\
#include <cstdlib>
#include <iostream>
#include "alone.hpp"
class Alone; class Sum;
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *to = sycl::malloc_shared<int>(4, queue);
  queue.single_task<Alone>([=] { for (int i = 0; i < 4; i++) to[i] = i; }).wait();
  queue.single_task<Sum>([=] { for (int i = 0; i < 4; i++) to[0] += to[i]; }).wait();
  std::cout << to[0] << std::endl;
  sycl::free(to, queue);
  of_library();
}
"""
LIBRARY = """\
#include <iostream>
#include "alone.hpp"
class OfLibrary;
extern "C" void of_library() {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *to = sycl::malloc_shared<int>(1, queue);
  queue.single_task<OfLibrary>([=] { *to = 42; }).wait();
  std::cout << *to << std::endl;
  sycl::free(to, queue);
}
"""
ALONE_HEADER = """\
#include <sycl/sycl.hpp>
extern "C" void of_library();
"""
LOADS = """\
#include <dlfcn.h>
int main() {
  void *library = dlopen("./libalone.so", RTLD_NOW);
  if (!library) return 1;
  reinterpret_cast<void (*)()>(dlsym(library, "of_library"))();
  return dlclose(library);
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(parts CXX)
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-Wall HAS_WALL)
check_cxx_compiler_flag(-Wno-such-warning-- HAS_NONSENSE)
if(NOT HAS_WALL OR HAS_NONSENSE)
  message(FATAL_ERROR "options are not detected")
endif()
list(FIND CMAKE_CXX_IMPLICIT_LINK_LIBRARIES sycl found)
if(found EQUAL -1)
  message(FATAL_ERROR "not among the libraries: ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES}")
endif()
add_library(objects OBJECT "con sumer.cpp")
add_library(static STATIC unused.cpp)
set_source_files_properties(unused.cpp PROPERTIES COMPILE_DEFINITIONS "TEXT=\\"a b\\"")
add_executable(parts producer.cpp $<TARGET_OBJECTS:objects>)
target_link_libraries(parts static)
"""

GLOBAL = """\
#include <sycl/sycl.hpp>
sycl::ext::oneapi::experimental::device_global<int> counter;
int main() { sycl::queue().single_task<class Count>([] { counter = 1; }).wait(); }
"""
SPECIALIZED = """\
#include <sycl/sycl.hpp>
constexpr sycl::specialization_id<int> id{7};
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *to = sycl::malloc_shared<int>(1, queue);
  queue.submit([&](sycl::handler &handler) {
    handler.single_task<class Specialized>([=](sycl::kernel_handler h) { *to = h.get_specialization_constant<id>(); });
  }).wait();
}
"""
OF_ANOTHER_VERSION = """\
from fpgart.icpx import device_compilers
device_compilers.SYCL_VERSION = "another"
from fpgart.sdk.icpx import main
main()
"""

pytestmark = NEEDS_COMPILERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, and the objects of the first three."""
    made = tmp_path_factory.mktemp("builds")
    for name, text in {
        "shared.hpp": HEADER, "producer.cpp": PRODUCER, "consumer.cpp": CONSUMER, "unused.cpp": UNUSED,
        "alone.hpp": ALONE_HEADER, "alone.cpp": ALONE, "library.cpp": LIBRARY, "loads.cpp": LOADS,
    }.items():  # fmt: skip
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def icpx(folder: Path) -> Icpx:
    return icpx_in(folder)


@pytest.fixture(scope="module")
def objects(folder: Path, icpx: Icpx) -> Path:
    """Compiles three sources with one command, and makes a library of two of them."""
    words = ["-fsycl", "-fintelfpga", "-MMD", "-fsycl-device-code-split=per_kernel"]
    made = icpx(*words, "-c", "producer.cpp", "consumer.cpp", "unused.cpp")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    subprocess.run(["ar", "rcs", "libmembers.a", "unused.o", "consumer.o"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def library(folder: Path, icpx: Icpx) -> Path:
    quiet_output(icpx("-fsycl", "-fintelfpga", "-fPIC", "-shared", "library.cpp", "-o", "libalone.so"))
    return folder / "libalone.so"


WITHOUT_EMULATOR = f"""\
from fpgart.icpx import device_compilers
device_compilers.candidates = lambda engine: ()
{OF_ANOTHER_VERSION}"""


@pytest.fixture(scope="module")
def by_extension(folder: Path) -> Icpx:
    """`icpx` for a runtime that is not the tested one: it calls the device compiler by the documented extension."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "user's cache")}

    def compile(*words: str) -> subprocess.CompletedProcess[str]:
        return finished(sys.executable, "-c", OF_ANOTHER_VERSION, *words, cwd=folder, env=variables)

    return compile


def test_the_documented_extension_compiles_sources_whose_kernels_share_pipes(folder: Path, by_extension: Icpx) -> None:
    quiet_output(by_extension("-fsycl", "-fintelfpga", "-c", "producer.cpp", "consumer.cpp"))
    (program,) = (folder / "user's cache" / "fpgart" / "icpx").iterdir()
    built = program.stat()
    quiet_output(by_extension("-fsycl", "-fintelfpga", "producer.o", "consumer.o", "-o", "by_extension"))
    assert on_board(folder / "by_extension") == SAYS
    assert program.stat() == built


def test_the_documented_extension_names_errors_by_the_lines_of_the_source(folder: Path, by_extension: Icpx) -> None:
    (folder / "wrong.cpp").write_text("int f() { return 0; }\nint main() { return missing; }\n")
    made = by_extension("-fsycl", "-c", "wrong.cpp")
    assert made.returncode == 1
    assert made.stderr.startswith(f"{folder}/wrong.cpp:2:21: error: use of undeclared identifier 'missing'\n")


def test_the_documented_extension_needs_an_opencl_device(folder: Path) -> None:
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "user's cache")}
    variables |= {"OCL_ICD_VENDORS": str(folder / "missing"), "OCL_ICD_FILENAMES": str(folder / "missing.so")}
    words = ["-fsycl", "-c", "unused.cpp", "-o", "without_device.o"]
    made = finished(sys.executable, "-c", WITHOUT_EMULATOR, *words, cwd=folder, env=variables)
    assert (made.returncode, made.stderr.count("\n")) == (1, 1)
    assert made.stderr.startswith("icpx: the SYCL runtime finds no OpenCL device")


@pytest.mark.parametrize("text", [GLOBAL, SPECIALIZED])
def test_the_documented_extension_refuses_what_it_does_not_describe(
    folder: Path, by_extension: Icpx, text: str
) -> None:
    (folder / "global.cpp").write_text(text)
    made = by_extension("-fsycl", "-c", "global.cpp")
    assert (made.returncode, made.stderr.count("\n")) == (1, 1)
    assert "does not describe specialization constants, device globals and host pipes" in made.stderr
    assert not (folder / "global.o").exists()


@pytest.mark.parametrize(("compiler", "text"), [("icpx", GLOBAL), ("by_extension", UNUSED)])
def test_a_source_is_in_a_folder_with_quotes_in_its_name(
    folder: Path, request: pytest.FixtureRequest, compiler: str, text: str
) -> None:
    source = folder / f"{compiler} 'quo\"tes" / "quotes.cpp"
    source.parent.mkdir()
    source.write_text(text)
    quiet_output(request.getfixturevalue(compiler)("-fsycl", "-c", str(source)))


def test_each_of_several_sources_has_its_object_and_its_dependencies(objects: Path) -> None:
    for name in ("producer", "consumer", "unused"):
        rule = (objects / f"{name}.d").read_text()
        assert rule.startswith(f"{name}.o:")
        assert f"/{name}.cpp" in rule
    assert "shared.hpp" in (objects / "consumer.d").read_text()


@pytest.mark.parametrize("given", [["./libmembers.a"], ["-L", ".", "-l", "members", "-Wl,--gc-sections"]])
def test_only_members_that_are_used_are_linked(objects: Path, icpx: Icpx, given: list[str]) -> None:
    """What they share with another source, a pipe and a function, is there on a board and on the emulator alone."""
    quiet_output(icpx("-fsycl", "-fintelfpga", "producer.o", *given, "-o", "members"))
    assert on_board(objects / "members") == alone(objects / "members") == SAYS
    content = (objects / "members").read_bytes()
    assert b"7Consume" in content
    assert b"6Unused" not in content


@pytest.mark.parametrize("division", ["", "=auto"])
def test_kernels_that_share_a_pipe_stay_in_one_image(objects: Path, icpx: Icpx, division: str) -> None:
    quiet_output(icpx("-fsycl", f"-fsycl-device-code-split{division}", "producer.o", "libmembers.a", "-o", "one"))
    assert on_board(objects / "one") == SAYS


@pytest.mark.parametrize("division", ["per_kernel", "per_source"])
def test_a_pipe_between_two_images_is_an_error(objects: Path, icpx: Icpx, division: str) -> None:
    made = icpx("-fsycl", f"-fsycl-device-code-split={division}", "producer.o", "libmembers.a", "-o", "two")
    assert (made.returncode, made.stderr.count("\n")) == (1, 1)
    assert "Produce and Consume, share a pipe" in made.stderr or "Consume and Produce, share a pipe" in made.stderr
    assert "without -fsycl-device-code-split" in made.stderr
    assert not (objects / "two").exists()


def test_response_files_have_words_with_spaces_and_name_each_other(folder: Path, icpx: Icpx) -> None:
    (folder / "sp ace").mkdir()
    (folder / "text.cpp").write_text("#include <cstdio>\nint main() { puts(TEXT); return OTHER; }\n")
    (folder / "sp ace" / "inner").write_text('-DTEXT="\\"a  b\\""\n\'-DOTHER=0\'\n')
    (folder / "outer").write_text('-fsycl "@sp ace/inner"\n-o "sp ace/text"\n')
    quiet_output(icpx("@outer", "text.cpp"))
    assert output(finished(folder / "sp ace" / "text")) == "a  b\n"


@pytest.mark.parametrize("hardware", [[], ["-Xshardware"]], ids=["", "for hardware"])
def test_an_early_image_of_a_library_that_is_named_by_an_option_is_whole(
    objects: Path, icpx: Icpx, hardware: list[str]
) -> None:
    made = icpx("-fintelfpga", *hardware, "-fsycl-link=early", "producer.o", "-L.", "-lmembers", "-o", "early.a")
    assert made.returncode == 0, made.stderr
    assert "early.prj/reports/report.html" in made.stderr
    page = (objects / "early.prj" / "reports" / "report.html").read_text()
    assert "Produce" in page
    assert "Consume" in page
    assert "Unused" not in page
    quiet_output(icpx("-fintelfpga", "-fsycl-link=image", "early.a", "-o", "image.a"))
    for image in ("early", "image"):
        quiet_output(icpx("-fintelfpga", f"{image}.a", "-o", f"from_{image}"))
        assert on_board(objects / f"from_{image}") == SAYS


def test_an_image_of_some_sources_is_linked_to_the_others(objects: Path, icpx: Icpx) -> None:
    quiet_output(icpx("-fintelfpga", "-fsycl-link=image", "consumer.o", "-o", "device.a"))
    assert not (objects / "device.prj").exists()
    quiet_output(icpx("-fintelfpga", "producer.o", "device.a", "-o", "with_image"))
    assert on_board(objects / "with_image") == SAYS


def test_a_shared_library_and_its_program_both_have_kernels(library: Path, icpx: Icpx) -> None:
    folder = library.parent
    words = ["-fsycl", "-fsycl-device-code-split=per_kernel", "alone.cpp", "-L.", "-lalone"]
    quiet_output(icpx(*words, "-Wl,-rpath,$ORIGIN", "-o", "alone"))
    trace = folder / "alone.json"
    assert on_board(folder / "alone", FPGART_TRACE=str(trace)) == "6\n42\n"
    assert "3 programs" in output(fpgart("report", trace)), "one for each kernel"


def test_a_shared_library_with_kernels_is_loaded_by_a_program_without(
    library: Path, icpx: Icpx, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_output(icpx("loads.cpp", "-o", "loads"))
    monkeypatch.chdir(library.parent)
    assert on_board(library.parent / "loads") == "42\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
@pytest.mark.parametrize(
    ("generator", "program"),
    [
        pytest.param("Ninja", "ninja", marks=pytest.mark.slow),
        ("Unix Makefiles", "make"),
    ],
)
def test_cmake_builds_object_and_static_libraries(
    folder: Path, icpx: Icpx, tmp_path: Path, generator: str, program: str
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    for name in ("producer.cpp", "shared.hpp", "unused.cpp"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copy(folder / "consumer.cpp", tmp_path / "con sumer.cpp")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    compiler = folder / "sdk" / "bin" / "icpx"
    words = ["-G", generator, f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-fsycl -fintelfpga"]
    place = tmp_path / "build"
    output(finished("cmake", "-S", tmp_path, "-B", place, *words))
    output(finished("cmake", "--build", place))
    assert on_board(place / "parts") == SAYS
    assert "Building" not in output(finished("cmake", "--build", place)), "dependencies are files that stay"
    os.utime(tmp_path / "shared.hpp", ns=(0, 2**62))
    told = output(finished("cmake", "--build", place, "--", "-n"))
    assert {"producer", "sumer"} == set(re.findall(r"Building CXX object .*?([a-z]+)\.cpp\.o", told)), told


# Other outputs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-E", "unused.cpp"], "void unused(sycl::queue &queue)"),
        (["-MM", "consumer.cpp"], "consumer.o: {folder}/consumer.cpp {folder}/shared.hpp"),
        (["-MM", "consumer.cpp", "-MT", "other", "-MP"], "other: {folder}/consumer.cpp {folder}/shared.hpp"),
        (["-dumpmachine"], "linux"),
        (["-print-file-name=libc.so.6"], "libc.so.6"),
    ],
)
def test_texts_for_build_systems_are_on_standard_output(folder: Path, icpx: Icpx, words: list[str], said: str) -> None:
    printed = quiet_output(icpx("-fsycl", "-fintelfpga", *words))
    assert said.format(folder=folder) in " ".join(printed.replace("\\\n", " ").split())
    assert "icpx-" not in printed or "-E" in words, "no temporary file"


def test_a_dry_run_makes_nothing(folder: Path, icpx: Icpx) -> None:
    made = icpx("-fsycl", "-fintelfpga", "-Xstarget=x", "-###", "-c", "unused.cpp", "-o", "dry.o")
    assert made.returncode == 0
    assert '"-cc1"' in made.stderr
    assert not (folder / "dry.o").exists()


def test_a_source_has_any_name_behind_x(folder: Path, icpx: Icpx) -> None:
    (folder / "odd.inc").write_text(UNUSED)
    quiet_output(icpx("-fsycl", "-x", "c++", "odd.inc", "-x", "none", "-fsyntax-only", "-MMD", "-MF", "odd.dep"))
    assert (folder / "odd.dep").read_text().split() == ["odd.o:", f"{folder}/odd.inc"]
    quiet_output(icpx("-fsycl", "-xc++", "odd.inc", "-S"))
    assert "unused" in (folder / "odd.s").read_text()
    assert not (folder / "odd.o").exists()


# Bad input


def test_a_function_that_no_source_has_for_devices_is_named(objects: Path, icpx: Icpx) -> None:
    (objects / "host.cpp").write_text(
        "namespace sycl { inline namespace _V1 { class queue; } }\n"
        "int twice(int x) { return 2 * x; }\nvoid consume(sycl::queue &, int *) {}\n"
    )
    assert icpx("-c", "host.cpp", "-o", "host.o").returncode == 0
    made = icpx("-fsycl", "producer.o", "host.o", "-o", "undefined")
    assert (made.returncode, made.stderr.count("\n")) == (0, 1)
    assert made.stderr.startswith("icpx: warning: no source defines twice for devices (SYCL_EXTERNAL)")


def test_an_engine_without_spirv_is_named_with_the_remedy(objects: Path, icpx: Icpx) -> None:
    """As where no emulator is installed; the SYCL runtime shows a number only."""
    quiet_output(icpx("-fsycl", "producer.o", "consumer.o", "-o", "refused"))
    done = finished(objects / "refused", env={**os.environ, **environment({"FPGART_ENGINE": "pocl"})})
    if done.returncode == 0:
        pytest.skip("this PoCL accepts SPIR-V")
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("fpgart: "))
    assert "engine 'pocl' does not accept intermediate language, which SYCL programs are" in line
    assert "pip install 'fpgart[sycl]'" in line


# Ends

HANGS = """\
#!/bin/sh
case "$*" in *{word}*) exec 3> {pipe}; sleep 1000 ;; esac
exec {compiler} "$@"
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def heeded() -> Iterator[None]:
    """Has programs of the test heed the signals, also if the tests run behind nohup or in a shell's background."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def ended_in_the_host_compiler(folder: Path, word: str, number: int, *words: str) -> tuple[int, str]:
    """Runs `icpx`, and sends it a signal while the host's compiler runs with a word among its arguments.

    Returns the status and the text on stderr, behind the end of the compiler's own processes.
    """
    folder.joinpath("temporary").mkdir()
    pipe, compiler = folder / "pipe", folder / "compiler"
    os.mkfifo(pipe)
    compiler.write_text(HANGS.format(word=word, pipe=pipe, compiler=pieces.host_compiler()))
    compiler.chmod(0o755)
    command = [lay_out(folder / "sdk") / "bin" / "icpx", "-fsycl", f"-fsycl-host-compiler={compiler}", *words]
    variables = {**os.environ, "TMPDIR": str(folder / "temporary")}
    with (
        subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True) as running,
        pipe.open("rb") as compilers,
    ):
        running.send_signal(number)
        told = running.communicate()[1]
        assert compilers.read() == b"", "the compiler's processes have ended"
    return running.returncode, told


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("word", ["emulator_clock.o", "-lsycl"])
def test_a_signal_in_a_link_ends_all_and_leaves_nothing(
    objects: Path, tmp_path: Path, word: str, number: signal.Signals
) -> None:
    parts = [str(objects / name) for name in ("producer.o", "consumer.o")]
    assert ended_in_the_host_compiler(tmp_path, word, number, *parts, "-o", "program") == (-number, "")
    assert {each.name for each in tmp_path.iterdir()} == {"pipe", "compiler", "sdk", "temporary"}
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.usefixtures("heeded")
def test_a_signal_in_the_host_pass_ends_all_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.cpp").write_text("int main() {}\n")
    words = ["-c", "-MMD", "p.cpp"]
    assert ended_in_the_host_compiler(tmp_path, "p.cpp", signal.SIGINT, *words) == (-signal.SIGINT, "")
    assert {each.name for each in tmp_path.iterdir()} == {"p.cpp", "pipe", "compiler", "sdk", "temporary"}
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_the_device_pass_ends_all_and_leaves_nothing(
    folder: Path, icpx: Icpx, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, number: signal.Signals
) -> None:
    """The compiler waits for a header, which is a pipe."""
    sources = tmp_path_factory.mktemp("sources")
    (sources / "p.cpp").write_text('#include "pipe"\n')
    os.mkfifo(sources / "pipe")
    command = [folder / "sdk" / "bin" / "icpx", "-fsycl", sources / "p.cpp", "-o", "program"]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with (
        subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True) as running,
        (sources / "pipe").open("wb"),
    ):
        assert running.poll() is None
        assert (next(tmp_path.glob("icpx-*")).stat().st_mode & 0o777) == 0o700
        running.send_signal(number)
        assert running.communicate()[1] == ""
    assert running.returncode == -number
    assert not list(tmp_path.iterdir())


def test_a_signal_that_is_ignored_ends_nothing(folder: Path, icpx: Icpx) -> None:
    """As behind nohup."""
    script = "trap '' HUP; \"$@\" 3>&1 & wait $!"
    (folder / "hangs_up.sh").write_text(f'#!/bin/sh\nkill -HUP $PPID\nexec {pieces.host_compiler()} "$@"\n')
    (folder / "hangs_up.sh").chmod(0o755)
    words = ["-fsycl", f"-fsycl-host-compiler={folder / 'hangs_up.sh'}", "-fsyntax-only", "unused.cpp"]
    quiet_output(finished("/bin/sh", "-c", script, "sh", folder / "sdk" / "bin" / "icpx", *words, cwd=folder))
