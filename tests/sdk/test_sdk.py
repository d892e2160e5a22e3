"""The SDK folder and `aocl`: hosts for Intel's boards are built by the answers alone, and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from processes import ROOT, finished, output

from fpgart import __version__
from fpgart.aocx.compiler import Options, compile_source
from fpgart.aocx.container import Container
from fpgart.board.catalogue import describe
from fpgart.engine.interface import Engine
from fpgart.sdk import aocl
from fpgart.sdk import folder as sdk

EXAMPLE = ROOT / "examples" / "intel-host"
SET_BY_US = ("INTELFPGAOCLSDKROOT", "ALTERAOCLSDKROOT", "AOCL_BOARD_PACKAGE_ROOT")
HOST = """
#include <CL/cl_ext_intelfpga.h>
#include <aocl_mmd.h>
#include <stdint.h>
#include <stdio.h>
void *acl_aligned_malloc(size_t);
void acl_aligned_free(void *);
int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    void *memory = acl_aligned_malloc(100);
    if (memory == NULL || clGetPlatformIDs(1, &platform, NULL))
        return 1;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    printf("%d %p\\n", (int)((uintptr_t)memory % 64), clGetBoardExtensionFunctionAddressIntelFPGA("none", device));
    acl_aligned_free(memory);
    return 0;
}
"""
OWN_DEFINITION = """
#include <CL/opencl.h>
#include <stdio.h>
#include <stdlib.h>
void *acl_aligned_malloc(size_t size) { puts("the host's own"); return malloc(size); }
int main(void)
{
    cl_uint count = 0;
    free(acl_aligned_malloc(8));
    return clGetPlatformIDs(0, NULL, &count) != CL_SUCCESS || !count;
}
"""


def environment(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in SET_BY_US}, **more}


def run(*words: object, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """A program in an environment that knows of no SDK."""
    return finished(*words, cwd=cwd, env=environment(**more))


def fpgart(*words: object, cwd: Path | None = None, **more: str) -> str:
    return output(processes.fpgart(*words, cwd=cwd, env=environment(**more)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sdk") / "20.4" / "hld"
    fpgart("sdk", root)
    return root


def in_sdk(folder: Path, *words: object, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """A program in a shell that has read the lines of `fpgart sdk`."""
    return run("sh", "-c", f'. "{folder}/init_opencl.sh"; exec "$@"', "sh", *words, cwd=cwd, **more)


def answer(folder: Path, *words: object, **more: str) -> str:
    """Returns the output of `aocl`, which must succeed."""
    return output(in_sdk(folder, "aocl", *words, **more))


# The folder


def test_the_lines_that_are_printed_are_all_that_a_shell_needs(tmp_path: Path) -> None:
    lines = fpgart("sdk", tmp_path / "a folder")
    script = f'{lines}which aoc aocl clocl cl6x; ls "$INTELFPGAOCLSDKROOT/host/include/CL/opencl.h"'
    assert output(run("sh", "-c", script)).count(str(tmp_path / "a folder" / "bin")) == 4


def test_every_fpga_board_has_a_package(folder: Path) -> None:
    for name in ("a10_ref", "usm_s10", "hetero"):
        assert (folder / "board" / name / "board_env.xml").exists()
        assert 'name="' in (folder / "board" / name / "board_spec.xml").read_text()


def test_the_libraries_to_link_with_are_there(folder: Path) -> None:
    for name in ("libOpenCL.so", "libalteracl.a"):
        assert (folder / "host" / "linux64" / "lib" / name).exists()


def test_a_folder_of_another_installation_is_brought_up_to_date(folder: Path, tmp_path: Path) -> None:
    root = sdk.lay_out(tmp_path)
    (root / "bin" / "aoc").write_text("#!/bin/sh\nexit 3\n")
    sdk.lay_out(root)
    assert "exit 3" in (root / "bin" / "aoc").read_text()
    (root / sdk.STAMP).write_text("{}")
    sdk.lay_out(root)
    assert "exit 3" not in (root / "bin" / "aoc").read_text()


def test_a_folder_that_was_moved_is_brought_up_to_date(tmp_path: Path) -> None:
    shutil.copytree(sdk.lay_out(tmp_path / "before"), tmp_path / "after", symlinks=True)
    sdk.lay_out(tmp_path / "after")
    assert "before" not in (tmp_path / "after" / "bin" / "aocl").read_text()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = processes.fpgart("sdk", tmp_path / "file" / "sdk", env=environment())
    assert result.returncode == 2
    assert result.stderr.startswith("fpgart: ")
    assert "Not a directory" in result.stderr


def test_a_program_is_run_without_the_folder_where_there_is_no_place_for_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    out = fpgart("run", "--", "sh", "-c", "echo ${INTELFPGAOCLSDKROOT:-none}", XDG_DATA_HOME=str(tmp_path / "file"))
    assert out == "none\n"


def test_a_user_without_a_home_gets_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("INTELFPGAOCLSDKROOT", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert sdk.sdk_variables() == {}


@pytest.mark.parametrize(("board", "package"), [("hetero", "hetero"), ("k2h", "usm_s10"), ("", "usm_s10")])
def test_run_sets_the_variables_for_its_program(tmp_path: Path, board: str, package: str) -> None:
    options = ["--board", board] if board else []
    script = 'echo "$INTELFPGAOCLSDKROOT" "$ALTERAOCLSDKROOT" "$AOCL_BOARD_PACKAGE_ROOT"; command -v aocl'
    out = fpgart("run", *options, "--", "sh", "-c", script, XDG_DATA_HOME=str(tmp_path))
    intel, altera, board_package, program = out.split()
    assert intel == altera
    assert intel.startswith(str(tmp_path))
    assert board_package == f"{intel}/board/{package}"
    assert program == f"{intel}/bin/aocl"


def test_the_tools_are_programs_for_run_itself(tmp_path: Path) -> None:
    assert fpgart("run", "--", "aocl", "ldlibs", XDG_DATA_HOME=str(tmp_path)) == "-lalteracl -lOpenCL\n"


def test_code_for_the_dsp_itself_is_refused_with_words(folder: Path) -> None:
    for arguments, what in ((["-mv6600", "-c", "filter.c"], "does not compile filter.c"), ([], "compiles nothing")):
        result = in_sdk(folder, "cl6x", *arguments)
        assert result.returncode == 1
        assert result.stderr == f"cl6x {what}: code for the DSP itself cannot run here; write it in OpenCL C\n"


def test_run_keeps_a_folder_that_was_laid_out_before(folder: Path) -> None:
    command = (sys.executable, "-m", "fpgart.cli", "run", "--", "sh", "-c", 'echo "$INTELFPGAOCLSDKROOT"')
    assert in_sdk(folder, *command).stdout == f"{folder}\n"


def test_files_in_the_working_folder_are_not_imported(folder: Path, tmp_path: Path) -> None:
    for name in ("click", "re", "fpgart"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    output(in_sdk(folder, "aocl", "version", cwd=tmp_path))


# Answers


def test_flags_are_those_of_the_folder(folder: Path) -> None:
    assert answer(folder, "compile-config").split() == [f"-I{folder}/host/include"]
    assert answer(folder, "ldflags") == f"-L{folder}/host/linux64/lib\n"
    assert answer(folder, "ldlibs") == "-lalteracl -lOpenCL\n"
    assert answer(folder, "link-config") == f"-L{folder}/host/linux64/lib -lalteracl -lOpenCL\n"
    assert answer(folder, "linkflags") == answer(folder, "link-config")


def test_the_example_makefile_asks_aocl(folder: Path) -> None:
    assert answer(folder, "makefile") == answer(folder, "example-makefile")
    assert "$(shell aocl compile-config)" in answer(folder, "makefile")


def test_the_version_has_the_form_that_scripts_take_apart(folder: Path) -> None:
    assert answer(folder, "version").startswith("aocl 20.4.0.0 (")


def test_devices_are_listed_with_their_boards(folder: Path) -> None:
    said = answer(folder, "list-devices", FPGART_BOARD="a10_ref,hetero")
    assert said.count("Device Name:") == 2
    assert "acl1" in said
    assert "fpgart_hetero" in said


def test_diagnose_ends_with_the_word_that_scripts_look_for(folder: Path) -> None:
    assert "DIAGNOSTIC_PASSED" in answer(folder, "diagnose")
    said = answer(folder, "diagnose", "all", FPGART_BOARD="hetero,k2h")
    assert said.count("DIAGNOSTIC_PASSED") == 2
    assert "HBM: 3 MiB written and read back" in said


def test_a_device_that_is_not_there_fails_the_diagnosis(folder: Path) -> None:
    result = in_sdk(folder, "aocl", "diagnose", "acl7")
    assert result.returncode == 1
    assert result.stderr.startswith("aocl: no device acl7; the devices are acl0")


@pytest.mark.parametrize("command", ["install", "uninstall", "flash", "initialize"])
def test_what_only_hardware_needs_succeeds_with_words(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert aocl.run([command, "acl0"]) == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_an_unknown_subcommand_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert aocl.run(["compile-conf"]) == 2
    assert "no subcommand compile-conf" in capsys.readouterr().err


@pytest.fixture
def container(engine: Engine, tmp_path: Path) -> Path:
    made = compile_source("kernel void k() {}", describe("a10_ref"), Options(("-DX=1",), ("-seed=3",)), engine)
    file = tmp_path / "k.aocx"
    file.write_bytes(made.encode())
    return file


def test_program_tells_whether_a_container_fits(folder: Path, container: Path) -> None:
    assert "Program succeed." in answer(folder, "program", "acl0", container, FPGART_BOARD="a10_ref")
    result = in_sdk(folder, "aocl", "program", "acl0", container, FPGART_BOARD="usm_s10")
    assert result.returncode == 1
    assert "compiled for board 'a10_ref', this one is 'usm_s10'" in result.stderr


def test_env_tells_with_what_a_container_was_compiled(container: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aocl.run(["env", str(container)]) == 0
    lines = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["INPUT_ARGS"] == "-DX=1 -seed=3"
    assert lines["BOARD"] == "a10_ref"


def test_hash_is_that_of_the_source(container: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aocl.run(["hash", str(container)]) == 0
    assert capsys.readouterr().out.strip() == Container.read(container).text(".acl.hash")


def test_binedit_lists_prints_gets_and_changes_sections(
    container: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aocl.run(["binedit", str(container), "list"]) == 0
    assert "  .acl.board, 7 bytes\n" in capsys.readouterr().out
    assert aocl.run(["binedit", str(container), "print", ".acl.board"]) == 0
    assert capsys.readouterr().out == "a10_ref"
    assert aocl.run(["binedit", str(container), "get", ".acl.board", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == b"a10_ref"
    assert aocl.run(["binedit", str(container), "add", ".note", str(tmp_path / "out")]) == 0
    assert Container.read(container)[".note"] == b"a10_ref"
    assert aocl.run(["binedit", str(container), "exists", ".note"]) == 0
    assert aocl.run(["binedit", str(container), "exists", ".other"]) == 1


def test_binedit_creates_a_container_for_sections(tmp_path: Path) -> None:
    file, data = tmp_path / "fpga.bin", tmp_path / "data"
    data.write_bytes(b"bits")
    assert aocl.run(["binedit", str(file), "create"]) == 0
    assert aocl.run(["binedit", str(file), "add", ".acl.rbf", str(data)]) == 0
    assert Container.read(file).sections == {".acl.rbf": b"bits"}


# Hosts


@pytest.fixture
def project(engine: Engine, tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("bin")))


def test_a_project_with_the_classic_makefile_is_built_and_run(folder: Path, project: Path) -> None:
    output(in_sdk(folder, "make", "all", "kernels", cwd=project))
    said = fpgart("run", "--board", "a10_ref", "--", project / "bin" / "host")
    assert said.startswith("device a10_ref")
    assert "binary vector_add.aocx" in said
    assert "65536 sums" in said
    assert "all right" in said


def test_make_within_run_needs_nothing_else(project: Path, tmp_path: Path) -> None:
    command = ("run", "--board", "hetero", "--", "make", "run", "BOARD=hetero")
    said = fpgart(*command, cwd=project, XDG_DATA_HOME=str(tmp_path))
    assert "all right" in said


def compiled(tmp_path: Path, source: str, before: str, after: str) -> Path:
    """A C host that is compiled and linked with some flags."""
    (tmp_path / "host.c").write_text(source)
    program = tmp_path / "host"
    options = ["-DCL_TARGET_OPENCL_VERSION=300", "-Wall", "-Werror"]
    output(run("gcc", *options, *before.split(), "-o", program, tmp_path / "host.c", *after.split()))
    return program


def test_functions_of_intels_runtime_link_beside_a_loader(folder: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, HOST, answer(folder, "compile-config"), answer(folder, "link-config"))
    assert fpgart("run", "--", program) == "0 (nil)\n"


def test_libraries_that_older_makefiles_name_are_linked_with(folder: Path, tmp_path: Path) -> None:
    libraries = f"{answer(folder, 'link-config')} -lacl_emulator_kernel_rt -lalterahalmmd"
    compiled(tmp_path, HOST, answer(folder, "compile-config"), libraries)


def test_hosts_that_count_on_the_headers_of_older_compilers_are_compiled(folder: Path, tmp_path: Path) -> None:
    source = (
        '#include "CL/opencl.h"\n#include <string>\n'
        "int main() { timespec now; if (clock_gettime(CLOCK_MONOTONIC, &now)) exit(1); return 0; }\n"
    )
    (tmp_path / "host.cpp").write_text(source)
    flags = answer(folder, "compile-config").split()
    output(run("g++", "-DCL_TARGET_OPENCL_VERSION=120", *flags, "-o", tmp_path / "host", tmp_path / "host.cpp"))


OLD_BINDINGS = """
#define __CL_ENABLE_EXCEPTIONS
#include <CL/cl.hpp>
#include <cstdio>
int main()
{
    VECTOR_CLASS<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    VECTOR_CLASS<cl::Device> devices;
    platforms[0].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    cl::Context context(devices);
    const char text[] = "kernel void k(global int *x) { x[0] = 7; }";
    cl::Program program(context, cl::Program::Sources(1, std::make_pair(text, sizeof text - 1)));
    program.build(devices);
    cl::CommandQueue queue(context, devices[0]);
    cl::Buffer buffer(context, CL_MEM_READ_WRITE, 4);
    cl::Kernel kernel(program, "k");
    kernel.setArg(0, buffer);
    queue.enqueueTask(kernel);
    int x = 0;
    queue.enqueueReadBuffer(buffer, CL_TRUE, 0, 4, &x);
    try {
        kernel.setArg(9, buffer);
    } catch (const cl::Error &error) {
        std::printf("%d %d\\n", x, error.err());
    }
}
"""


@pytest.mark.skipif(not Path("/usr/include/CL/opencl.hpp").exists(), reason="there are no C++ bindings")
def test_hosts_in_the_cpp_bindings_of_older_sdks_are_compiled_and_run(
    engine: Engine, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "host.cpp").write_text(OLD_BINDINGS)
    program = tmp_path / "host"
    flags = [*answer(folder, "compile-config").split(), "-o", program, tmp_path / "host.cpp"]
    output(run("g++", *flags, *answer(folder, "link-config").split()))
    assert fpgart("run", "--", program).split() == ["7", "-49"]


SHARED_MEMORY = """
#include <CL/opencl.h>
#include <stdint.h>
int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    char *memory;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    memory = clSVMAllocAltera(context, 0, 100, 1024);
    if (!memory || (uintptr_t)memory % 1024)
        return 2;
    memory[99] = 1;
    clSVMFreeAltera(context, memory);
    return clSetKernelArgSVMPointerAltera(NULL, 0, NULL) != CL_INVALID_KERNEL;
}
"""


def test_names_of_shared_memory_before_the_standard_had_them_are_known(folder: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, SHARED_MEMORY, answer(folder, "compile-config"), answer(folder, "link-config"))
    assert fpgart("run", "--", program) == ""


def test_a_hosts_own_definition_wins(folder: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, OWN_DEFINITION, answer(folder, "compile-config"), answer(folder, "link-config"))
    assert fpgart("run", "--", program) == "the host's own\n"


def test_cflags_and_libs_build_a_host_without_a_loader(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOST, fpgart("cflags"), fpgart("libs"))
    result = run(program)
    assert (result.returncode, result.stdout) == (0, "0 (nil)\n"), result.stderr


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="there is no pkg-config")
def test_pkg_config_finds_the_driver(tmp_path: Path) -> None:
    place = fpgart("libs", "--pkg-config-dir").strip()
    assert run("pkg-config", "--modversion", "fpgart", PKG_CONFIG_PATH=place).stdout.strip() == __version__
    flags = [
        run("pkg-config", option, "fpgart", PKG_CONFIG_PATH=place).stdout.strip() for option in ("--cflags", "--libs")
    ]
    assert run(compiled(tmp_path, HOST, *flags)).stdout == "0 (nil)\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_cmake_finds_the_driver(tmp_path: Path) -> None:
    (tmp_path / "host.c").write_text(HOST)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(host C)\nfind_package(fpgart REQUIRED)\n"
        "add_executable(host host.c)\ntarget_link_libraries(host fpgart::fpgart)\n"
    )
    place = fpgart("libs", "--cmake-dir").strip()
    output(run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dfpgart_DIR={place}"))
    output(run("cmake", "--build", tmp_path / "build"))
    assert run(tmp_path / "build" / "host").stdout == "0 (nil)\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_a_cmake_script_that_asks_aocl_finds_headers_and_library(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(host C)\n"
        "find_path(AOCL_FOLDER aocl PATHS ENV INTELFPGAOCLSDKROOT PATH_SUFFIXES bin NO_DEFAULT_PATH)\n"
        "execute_process(COMMAND ${AOCL_FOLDER}/aocl compile-config OUTPUT_VARIABLE FLAGS)\n"
        'string(REGEX MATCHALL "-I[^ \\t]+" FOLDERS "${FLAGS}")\n'
        'string(REPLACE "-I" "" FOLDERS "${FOLDERS}")\n'
        'if(NOT EXISTS "${FOLDERS}/CL/opencl.h")\n  message(FATAL_ERROR "no headers in ${FOLDERS}")\nendif()\n'
        "find_library(LOADER OpenCL PATHS ${AOCL_FOLDER}/../host/linux64/lib NO_DEFAULT_PATH)\n"
        'if(NOT LOADER)\n  message(FATAL_ERROR "no library")\nendif()\n'
    )
    output(in_sdk(folder, "cmake", "-S", tmp_path, "-B", tmp_path / "build"))


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/H\xe9"))
    sdk.lay_out(folder)
    assert bytes(folder) in (folder / "init_opencl.sh").read_bytes()
