# SPDX-License-Identifier: Apache-2.0
"""Host programs in C and C++ (folder c/) on the driver that `--driver` names.

They are compiled here, go through the system's OpenCL loader (or open the driver's library, where the
rule is about that) and know nothing of the driver that they run on.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest
from compilation import compiled

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "c"
INCLUDE = HERE.parent / "include"
EXAMPLES = HERE.parent / "examples"
NOT_SUPPORTED = 77

Environment = dict[str, str]

# What PoCL 3.0 or 3.1 does not do as the specification says, found with the program itself. Each pattern leaves
# out the cases of bad_input that it matches.
POCL_CRASHES = (
    "clBuildProgram/3/NULL",
    "clCompileProgram/[36]/NULL",
    "clCompileProgram/headers *",
    "clCreateContextFromType/no such device",
    "clCreateContextFromType/unknown type",
    "clCreateProgramWithBinary/no binaries",
    "clCreateProgramWithBuiltInKernels/3/NULL",
    "clCreateProgramWithSource/no list of strings",
    "clEnqueueCopyBufferRect/[23]/NULL",
    "clEnqueueCopyBufferToImage/2/NULL",
    "clEnqueueCopyImageToBuffer/3/NULL",
    "clEnqueueNDRangeKernel/2/NULL",
    "clEnqueueNDRangeKernel/local size 0",
    "clEnqueueSVMMemFill/no pattern",
    "clEnqueueTask/2/NULL",
    "clLinkProgram/6/NULL",
)
POCL_ENDS_THE_PROCESS_AS_UNIMPLEMENTED = (
    "clCreateCommandQueueWithProperties/in-order queue on the device",
    "clEnqueueWaitForEvents/*",
    "clSetCommandQueueProperty/*",
    "cl*GL*",
)
POCL_3_1_CRASHES = (  # 3.0 answers these right
    "clEnqueueNDRangeKernel/1/NULL",
    "clEnqueueNDRangeKernel/waits/*",
    "clEnqueueTask/1/NULL",
    "clEnqueueTask/waits/*",
)
POCL_HANGS = ("cl*/blocking behind a failed event",)
POCL_ANSWERS_WRONGLY = (
    "clCompileProgram/header of another context",
    "clCompileProgram/list of no headers",
    "clCompileProgram/names of no headers",
    "clCreateCommandQueueWithProperties/size for a host queue",
    "clCreateContextFromType/type 0",
    "clCreateSubBuffer/origin plus size overflows",
    "clCreateSubBuffer/unknown flag",
    "clEnqueueCopyBufferRect/waits/*",
    "clEnqueueCopyBufferToImage/waits/*",
    "clEnqueueCopyImage/waits/*",
    "clEnqueueCopyImageToBuffer/waits/*",
    "clEnqueueMapBuffer/invalidate and *",
    "clEnqueueMapBuffer/unknown flag",
    "clEnqueueNDRangeKernel/global offset overflows",
    "clEnqueue*BufferRect/buffer row pitch SIZE_MAX",
    "clEnqueueSVMMap/unknown flag",
    "clGetContextInfo/1/NULL",
    "clGetDeviceIDs/type 0",
    "clGetDeviceIDs/unknown type",
    "clGetEventInfo/1/NULL",
    "clGetEventProfilingInfo/1/NULL",
    "clGetImageInfo/a buffer",
    "clGetProgramInfo/constructors *",
    "clGetProgramInfo/destructors *",
    "clGetSupportedImageFormats/read-only and write-only",
    "clGetSupportedImageFormats/unknown flag",
    "clLinkProgram/program of another context",
    "clSVMAlloc/unknown flag",
    "clSetKernelExecInfo/*",
    "reference counts are as before",
)
POCL_LEFT_OUT = (
    *POCL_CRASHES,
    *POCL_3_1_CRASHES,
    *POCL_ENDS_THE_PROCESS_AS_UNIMPLEMENTED,
    *POCL_HANGS,
    *POCL_ANSWERS_WRONGLY,
)


@cache
def build(name: str) -> Path:
    """Compiles a program of c/, or the example host."""
    if name == "bad_input":
        sources = sorted(SOURCES.glob("bad_input*.c"))
    elif name == "host":
        sources = [EXAMPLES / "host.c"]
    else:
        sources = [SOURCES / f"{name}.cpp"] if (SOURCES / f"{name}.cpp").is_file() else [SOURCES / f"{name}.c"]
    return compiled(sources, loader=name not in ("bad_input", "rtld_local"))


@pytest.fixture
def driver(driver_library: str) -> Path:
    return Path(driver_library)


def finished(*command: str | Path, environment: Environment, status: int = 0) -> str:
    """Runs a host to its end; gives what it printed."""
    result = subprocess.run(
        [str(part) for part in command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == NOT_SUPPORTED != status:
        pytest.skip(result.stdout.strip())
    tail = "\n".join((result.stdout + result.stderr).splitlines()[-40:])
    assert result.returncode == status, f"exit status {result.returncode}\n{tail}"
    assert "Traceback" not in result.stderr, result.stderr
    return result.stdout


class Run(Protocol):
    def __call__(self, program: str, *arguments: str | Path, status: int = 0, **variables: str) -> str: ...


@pytest.fixture
def run(driver_environment: Environment) -> Run:
    """`run(program, *arguments, **variables)`: what the program of c/ prints, which is compiled first."""

    def printed(program: str, *arguments: str | Path, status: int = 0, **variables: str) -> str:
        return finished(build(program), *arguments, environment={**driver_environment, **variables}, status=status)

    return printed


# -- Bad input --


@pytest.fixture
def bad_input(driver: Path, is_fpgart: bool, driver_environment: Environment) -> Callable[..., None]:
    """`bad_input(*options)`: walks all cases that the driver can answer."""

    def walk(*options: str) -> None:
        command = [str(build("bad_input")), str(driver), *options]
        if not is_fpgart:
            command.append("--no-garbage")
        if "pocl" in driver.name:
            for pattern in POCL_LEFT_OUT:
                command += ["--skip", pattern]
        result = subprocess.run(command, env=driver_environment, capture_output=True, text=True, check=False)
        lines = result.stdout.splitlines()
        failed = [line for line in lines if "FAIL" in line]
        report = "\n".join([*failed, *lines[-3:], *result.stderr.splitlines()[-5:]])
        assert result.returncode == 0, f"exit status {result.returncode}\n{report}"
        assert "Traceback" not in result.stderr, result.stderr
        passed = re.search(r"^(\d+) passed, 0 failed$", lines[-1])
        assert passed is not None, report
        assert int(passed[1]) > 700, report

    return walk


def test_every_function_of_the_dispatch_table_is_walked(driver: Path) -> None:
    listed = finished(build("bad_input"), driver, "--list-functions", environment=dict(os.environ)).split()
    header = next(
        folder / "CL" / "cl_icd.h"
        for folder in (INCLUDE, Path("/usr/include"))
        if (folder / "CL" / "cl_icd.h").is_file()
    )
    table = header.read_text().split("struct _cl_icd_dispatch", 1)[1]
    members = set(re.findall(r"\b(cl[A-Z]\w+)\s*(?:\)\s*\(|;)", table))
    expected = {name for name in members if "D3D1" not in name and "DX9" not in name}
    assert len(expected) > 110
    assert expected - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_bad_input_gives_the_specified_error(bad_input: Callable[..., None]) -> None:
    bad_input()


def test_bad_input_gives_the_specified_error_in_eight_threads(bad_input: Callable[..., None]) -> None:
    bad_input("--threads", "8")


@pytest.mark.usefixtures("fpgart_alone")
def test_bad_input_leaks_nothing(bad_input: Callable[..., None]) -> None:
    bad_input("--repeat", "6")


# What PoCL reads although no argument of the call has it.
POCL_READS_BEYOND = (
    "a wait list that does not begin with an event",
    "clCreateContext/no device",
    "clEnqueueMigrateMemObjects/no memory object",
    "clSetKernelArg/* of a wrong size",
    "clSetKernelExecInfo/wrong size of a boolean",
    "clWaitForEvents/no event",
)


def test_nothing_is_touched_but_what_the_arguments_have(driver: Path, run: Run) -> None:
    left_out = POCL_READS_BEYOND if "pocl" in driver.name else ()
    told = run("guard_pages", *(word for pattern in left_out for word in ("--skip", pattern)))
    assert int(told.split()[0]) > 80


# -- Ordinary hosts --

HOSTS = {
    "example": "host",
    "minimal": "minimal_platform",
    "nothing released": "return_with_nothing_released",
    "asked again": "asked_again",
    "callbacks": "callbacks_reenter",
    "svm": "svm_list",
    "svm freed by commands": "svm_freed",
    "c++": "clhpp",
    "threads": "threads",
    "buffers": "buffer_life",
    "first uses at once": "used_first",
    "released in flight": "released_in_flight",
    "retries": "retries",
    "large groups": "large_groups",
}
# Those that start the driver, use it and end in different ways, to be tried in odd surroundings.
STARTERS = ("example", "minimal", "nothing released")


@pytest.mark.parametrize("name", HOSTS)
def test_host_runs_through_the_loader(run: Run, name: str) -> None:
    run(HOSTS[name])


def test_host_runs_when_loaded_with_rtld_local(driver: Path, run: Run) -> None:
    run("rtld_local", driver)


@pytest.mark.parametrize("how", ["finish", "poll", "callback", "wait"])
def test_what_follows_another_threads_blocking_write_runs(run: Run, how: str) -> None:
    run("shared_queue", how)


@pytest.mark.parametrize("how", ["flushed", "blocking", "finish_other"])
def test_what_is_flushed_runs_beside_a_kernel_that_waits_for_it(run: Run, how: str) -> None:
    run("progress", how)


def test_transfers_that_never_pause_do_not_starve_launches_of_programs_in_turn(run: Run) -> None:
    run("turns")


def test_launches_that_recur_work_on_what_was_set_when_they_were_enqueued(run: Run) -> None:
    run("recurring", "2")


def test_launches_that_are_waited_for_run_once_while_others_ask_for_their_events(run: Run) -> None:
    run("waited", "1")


def test_a_kernel_that_was_always_short_may_wait_for_a_thread_that_asks_for_its_event(run: Run) -> None:
    run("suddenly_long")


def test_a_host_that_waits_for_the_first_of_two_kernels_may_do_what_the_second_waits_for(run: Run) -> None:
    run("first_of_two")


@pytest.mark.parametrize(
    "part",
    [
        "queries",
        "clones",
        "all kernels",
        "arguments",
        "two contexts",
        "program goes first",
        "regions",
        "refused regions",
        "buffer goes first",
        "mapped regions",
        "queues",
        "threads",
        "built anew",
    ],
)
def test_objects_like_others_that_were_made_before_are_their_own(driver: Path, run: Run, part: str) -> None:
    if "pocl" in driver.name and part in ("two contexts", "refused regions"):
        pytest.skip("it takes buffers of other contexts as arguments, and regions with more access than their buffer")
    run("made_again", part)


def test_threads_that_share_queues_get_right_results_under_signals(run: Run) -> None:
    run("soak", "1")


def test_commands_run_although_for_a_while_no_thread_can_be_made(run: Run) -> None:
    run("no_thread")


def test_objects_are_found_while_other_threads_make_and_destroy_some(driver: Path, run: Run) -> None:
    apart = ["apart"] if "pocl" in driver.name else []  # it forgets one of two mappings of a buffer at an address
    run("registries", "1", *apart)


def test_python_host_gets_right_results(driver_environment: Environment) -> None:
    """Through the system's loader: the one that pyopencl's wheel brings also finds the driver beside it."""
    pytest.importorskip("pyopencl")
    environment = {**driver_environment, "LD_PRELOAD": "libOpenCL.so.1"}
    output = finished(sys.executable, EXAMPLES / "host.py", environment=environment)
    assert output.count("right") == 2


# -- Boards --


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("boards", ["usm_s10", "a10_ref,a10_ref", "hetero,usm_s10,a10_ref", "k2h", "k2h_low,a10_ref"])
def test_buffers_keep_their_contents_on_boards_of_all_kinds(run: Run, boards: str) -> None:
    run("buffer_life", FPGART_BOARD=boards)


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("boards", ["a10_ref", "hetero,usm_s10", "soc_a10,s10_520n", "k2h,k2h_low"])
def test_buffers_that_are_released_in_flight_leave_their_memory_on_boards_of_all_kinds(
    run: Run, boards: str, isolated: str
) -> None:
    run("released_in_flight", FPGART_BOARD=boards, FPGART_ISOLATE=isolated)


@pytest.mark.usefixtures("fpgart_alone")
def test_groups_above_the_engines_limit_run_where_the_board_has_no_limit(run: Run) -> None:
    run("large_groups", FPGART_BOARD="k2h")


@pytest.mark.usefixtures("fpgart_alone")
def test_buffers_of_simulators_keep_their_contents(run: Run) -> None:
    run("buffer_life", CL_CONTEXT_MPSIM_DEVICE_INTELFPGA="2")


FAULTS = [
    # faults, fewest failed commands and exceptions that the host has to see
    ("read,write,copy,kernel,alloc:fail:fraction=0.3;program:fail:nth=1;seed=5", 60, 0),
    ("write,kernel:fail:every=2;read,copy:delay=1ms:every=7", 60, 0),
    ("kernel:hang:limit=5ms:every=4;read:ecc=correctable:every=8", 10, 10),
    ("read,write,copy,kernel:delay=200us:fraction=0.2", 0, 0),
]


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("boards", ["usm_s10", "hetero"])
@pytest.mark.parametrize(("faults", "failures", "exceptions"), FAULTS)
def test_a_host_that_tries_again_gets_right_results_on_a_board_with_faults(
    run: Run, boards: str, faults: str, failures: int, exceptions: int
) -> None:
    told = run("retries", FPGART_BOARD=boards, FPGART_FAULTS=faults)
    seen = [int(number) for number in re.findall(r"\d+", told)]
    assert seen[0] >= failures
    assert seen[1] >= exceptions


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize(("board", "what"), [("a10_ref", "places"), ("a10_small", "exhaustion"), ("usm_s10", "places")])
def test_banks_and_locations_are_granted_or_refused(run: Run, board: str, what: str) -> None:
    run("buffer_places", what, FPGART_BOARD=board)


TWICE = """
kernel void twice(global int *x)
{
    size_t i = get_global_id(0) + get_global_id(1) * get_global_size(0);
    x[i] *= 2;
}
"""


def compile_for(board: str, source: Path, program: Path, environment: Environment) -> None:
    """Makes an .aocx of a source for a board."""
    command = (sys.executable, "-m", "fpgart.cli", "aoc", source, "-o", program, f"-board={board}")
    finished(*command, environment={**environment, "FPGART_BOARD": board, "PYTHONPATH": str(HERE.parent)})


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("board", ["a10_ref", "usm_s10", "hetero"])
def test_a_compiled_program_runs_on_the_board_it_was_compiled_for(
    driver_environment: Environment, run: Run, tmp_path: Path, board: str
) -> None:
    source, program = tmp_path / "twice.cl", tmp_path / "twice.aocx"
    source.write_text(TWICE)
    compile_for(board, source, program, driver_environment)
    run("aocx_host", program, FPGART_BOARD=board)
    other = {"a10_ref": "hetero"}.get(board, "a10_ref")
    run("aocx_host", program, FPGART_BOARD=other, status=1)


# A 66AK2x of a 64th of the size: 32 MiB where the real one has 2 GiB.
SMALL_66AK2X = """<keystone name="k2h_small">
  <cmem from="8:2500:0000" to="8:27FF:FFFF"/>
  <cmem from="8:8000:0000" to="8:9FFF:FFFF"/>
  <fixed from="A000:0000" to="A7FF:FFFF"/>
  <destination from="8000:0000" to="807F:FFFF"/>
  <destination from="C000:0000" to="C0FF:FFFF"/>
</keystone>"""


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("way", ["sub_buffers 32 4", "ping_pong 8 5", "tasks 4 8", "tasks 2 16"])
def test_vectors_larger_than_what_a_dsp_sees_are_added(run: Run, tmp_path: Path, way: str) -> None:
    board = tmp_path / "small.xml"
    board.write_text(SMALL_66AK2X)
    run("vecadd_mpax", *way.split(), FPGART_BOARD=str(board))


# -- Channels --

CHANNEL_PARTS = ("producer_and_consumer", "systolic_pipeline", "host_pipes", "variables", "pipe_objects")


@pytest.fixture
def channels(fpgart_alone: None) -> None:
    """For tests that need channels."""
    if "intel" in os.environ.get("FPGART_ENGINE", ""):
        pytest.skip("channels need PoCL as engine")


@pytest.mark.usefixtures("channels")
@pytest.mark.parametrize("part", CHANNEL_PARTS)
@pytest.mark.parametrize("mode", ["ignoredepth", "strict"])
def test_kernels_talk_through_channels_and_pipes(run: Run, part: str, mode: str) -> None:
    run("channels", part, CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE=mode)


@pytest.mark.usefixtures("channels")
@pytest.mark.parametrize("part", ["systolic_pipeline", "pipe_objects", "variables"])
def test_channel_programs_run_from_their_binaries(run: Run, part: str) -> None:
    run("channels", part, "again")


@pytest.mark.usefixtures("channels")
@pytest.mark.parametrize(("mode", "depth"), [("ignoredepth", "8192"), ("default", "2"), ("strict", "2")])
def test_channels_are_as_deep_as_the_mode_says(run: Run, mode: str, depth: str) -> None:
    told = run("channels", "depth", CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE=mode)
    assert told.split() == [depth, "ok"]


@pytest.mark.usefixtures("channels")
def test_channels_have_names_of_any_length(run: Run) -> None:
    run("long_names")


@pytest.mark.usefixtures("channels")
def test_a_pipe_lives_as_long_as_the_commands_that_use_it(run: Run) -> None:
    run("pipe_life")


@pytest.mark.usefixtures("channels")
def test_a_deadlock_is_an_error_that_names_kernels_and_channels(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run("channels", "feedback", FPGART_DEADLOCK_SECONDS="0.3", FPGART_LOG=str(log))
    words = log.read_text()
    assert "kernel 'ping' waits to read from 'back', which is empty" in words
    assert "kernel 'pong' waits to read from 'there', which is empty" in words


@pytest.mark.usefixtures("channels")
@pytest.mark.parametrize("board", ["a10_ref", "usm_s10", "hetero"])
def test_compiled_channel_programs_run(driver_environment: Environment, run: Run, tmp_path: Path, board: str) -> None:
    source, program = tmp_path / "channels.cl", tmp_path / "channels.aocx"
    source.write_text(run("channels", "source"))
    compile_for(board, source, program, driver_environment)
    for part in ("systolic_pipeline", "pipe_objects"):
        run("channels", part, program, FPGART_BOARD=board)


# -- Unified shared memory --

# Sentences of the extension's specification that do not hold on Intel's CPU runtime 2026 (docs/fidelity.md).
INTEL_TOLERATED = 10


@pytest.mark.parametrize("boards", ["usm_s10", "a10_ref,usm_s10"])
def test_every_error_sentence_of_unified_shared_memory_holds(is_fpgart: bool, run: Run, boards: str) -> None:
    options = () if is_fpgart else ("--tolerate", str(INTEL_TOLERATED))
    output = run("usm_errors", *options, FPGART_BOARD=boards)
    assert re.search(r"^\d{3} hold, ", output, re.MULTILINE), output


@pytest.mark.parametrize(
    ("boards", "pointers", "part"),
    [
        ("usm_s10", "mapped", "full"),
        ("a10_ref", "mapped", "full"),
        ("usm_s10,a10_ref", "mapped", ""),
        ("usm_s10,usm_s10", "encoded", "encoded"),
    ],
)
def test_unified_shared_memory_works(is_fpgart: bool, run: Run, boards: str, pointers: str, part: str) -> None:
    if not is_fpgart and part:
        pytest.skip("a promise of boards")
    run("usm_life", *filter(None, [part]), FPGART_BOARD=boards, FPGART_USM_POINTERS=pointers)


@pytest.mark.parametrize(("boards", "part"), [("usm_s10", "all"), ("a10_ref", "")])
def test_unified_shared_memory_is_as_its_specification_says(is_fpgart: bool, run: Run, boards: str, part: str) -> None:
    if not is_fpgart and part:
        pytest.skip("also what other drivers refuse")
    run("usm_sentences", *filter(None, [part]), FPGART_BOARD=boards)


# -- Surroundings --


@pytest.mark.parametrize("name", STARTERS)
def test_host_runs_without_any_environment(driver: Path, driver_environment: Environment, name: str) -> None:
    kept = [f"OCL_ICD_VENDORS={driver_environment['OCL_ICD_VENDORS']}"]
    if "pocl" in driver.name:
        kept.append(f"PATH={os.defpath}")  # PoCL starts `ld` for each kernel
    finished("/usr/bin/env", "-i", *kept, build(HOSTS[name]), environment={})


@pytest.mark.parametrize("name", STARTERS)
def test_host_runs_with_another_python_first_in_path(
    driver_environment: Environment, run: Run, tmp_path: Path, name: str
) -> None:
    used = tmp_path / "used"
    for alias in ("python", "python3", f"python3.{sys.version_info.minor}"):
        script = tmp_path / alias
        script.write_text(f"#!/bin/sh\ntouch {used}\nexit 1\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    run(HOSTS[name], PATH=f"{tmp_path}:{driver_environment.get('PATH', os.defpath)}")
    assert not used.exists()


@pytest.mark.parametrize("name", STARTERS)
def test_host_runs_with_python_variables_that_lead_nowhere(run: Run, tmp_path: Path, name: str) -> None:
    for module in ("site", "encodings", "os", "cffi", "fpgart", "numpy", "threading"):
        (tmp_path / f"{module}.py").write_text(f"raise SystemExit('the wrong {module}')\n")
    run(
        HOSTS[name],
        VIRTUAL_ENV="/nonexistent/venv",
        PYTHONHOME="/nonexistent/home",
        PYTHONPATH=f"/nonexistent/path:{tmp_path}",
        PYTHONSTARTUP="/nonexistent/startup.py",
        PYTHONPLATLIBDIR="nonexistent",
        PYTHONEXECUTABLE="/nonexistent/python",
        PYTHONMALLOC="garbage",
        PYTHONUTF8="garbage",
    )


@pytest.mark.parametrize("name", STARTERS)
def test_host_runs_in_the_loader_that_pyopencl_brings(
    driver_environment: Environment, tmp_path: Path, name: str
) -> None:
    pyopencl = pytest.importorskip("pyopencl")
    loaders = sorted(Path(pyopencl.__file__).parent.glob(".libs/libOpenCL*.so*"))
    if not loaders:
        pytest.skip("this pyopencl uses the system's loader")
    (tmp_path / "libOpenCL.so.1").symlink_to(loaders[0])
    # That loader also looks for drivers beside the pyopencl that loads it.
    environment = {**driver_environment, "LD_LIBRARY_PATH": str(tmp_path), "PYOPENCL_HOME": str(tmp_path)}
    assert str(tmp_path / "libOpenCL.so.1") in finished("ldd", build(HOSTS[name]), environment=environment)
    finished(build(HOSTS[name]), environment=environment)


def test_what_belongs_to_the_host_process_stays_its_own(driver: Path, run: Run) -> None:
    if "pocl" in driver.name:
        pytest.skip("PoCL's compiler installs signal handlers")
    for kind in ("default", "own"):
        run("signal_handlers_stay", kind)


# -- The end of the process --


@pytest.mark.parametrize("place", ["main", "thread", "callback"])
def test_exit_with_work_in_flight_ends_with_the_hosts_own_status(run: Run, place: str) -> None:
    run("exit_with_work_in_flight", place, status=7)


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("waits", [(), ("thread",)], ids=["nobody waits", "a thread waits"])
def test_what_was_flushed_before_main_returns_ends_before_later_handlers_of_exit(
    run: Run, waits: tuple[str, ...]
) -> None:
    run("return_with_flushed_work", *waits, FPGART_EXIT_TIMEOUT="300")


@pytest.mark.parametrize("end", ["_exit", "exit", "exec"])
@pytest.mark.parametrize("work", ["idle", "busy"])
def test_fork_leaves_the_parent_working_and_the_child_without_hang(
    is_fpgart: bool, run: Run, work: str, end: str
) -> None:
    if end != "exec" and not is_fpgart:
        pytest.skip("a promise of fpgart alone")
    run("fork_after_loading", work, end)


@pytest.mark.parametrize("where", ["kernel", "event", "host"])
def test_ctrl_c_kills_the_host_as_usual(driver_environment: Environment, where: str) -> None:
    with subprocess.Popen(
        [str(build("ctrl_c")), where], env=driver_environment, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout is not None
        try:
            assert host.stdout.readline().strip() == "running"
            host.send_signal(signal.SIGINT)
            assert host.wait() == -signal.SIGINT
        finally:
            host.kill()


def test_no_program_is_left_out() -> None:
    """Each source in c/ is compiled by a test here, needs containers (test_board_traffic.py), or measures."""
    programs = {path.stem for path in SOURCES.iterdir() if path.suffix in (".c", ".cpp")}
    used = set(re.findall(r'(?:build|run)\("(\w+)"', Path(__file__).read_text())) | {*HOSTS.values()}
    assert {name for name in programs if not name.startswith("bad_input_")} == used - {"host"} | {
        "board_traffic",
        "limits",
    }
