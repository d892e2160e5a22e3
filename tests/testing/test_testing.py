"""The pytest plugin, as projects use it: each test here is a small project whose tests run in a pytest of their own."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from fpgart.watch import report

pytest.importorskip("pyopencl")

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "fpgart.testing.plugin"
COMMON = """
import os, subprocess, sys
import numpy as np
import pyopencl as cl
import pytest

RW = cl.mem_flags.READ_WRITE
DATA = np.arange(256, dtype=np.int32)
SOURCE = "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }"
HOST = [sys.executable, "-c", '''
import sys
import numpy as np, pyopencl as cl
print([platform.name for platform in cl.get_platforms()])
context = cl.Context(cl.get_platforms()[0].get_devices())
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
cl.enqueue_copy(cl.CommandQueue(context), buffer, np.zeros(int(sys.argv[1]), np.uint8))
print(context.devices[0].name)
''']
"""
LIST_DEVICES = "import pyopencl; print(*[d.name for p in pyopencl.get_platforms() for d in p.get_devices()])"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project; fpgart need not be installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.delenv("FPGART_BOARD", raising=False)
    monkeypatch.setenv("FPGART_PLATFORM", "fpgart")  # devices are then called as their boards are
    return pytester


def run(project: pytest.Pytester, tests: str = "", *options: str, board: str = "usm_s10") -> pytest.RunResult:
    """The result of pytest; `tests` are the project's, which begin with what is common to all."""
    if tests:
        project.makepyfile(COMMON + tests)
    named = [f"--fpgart-board={board}"] if board else []
    return project.runpytest_subprocess("-p", PLUGIN, *named, "-p", "no:cacheprovider", *options)


def test_projects_that_do_not_use_the_fixtures_pay_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import os, sys

        def test_nothing_of_the_driver_is_here():
            names = [name for name in sys.modules if name.split(".")[0] in ("fpgart", "_fpgart_icd")]
            assert sorted(names) == ["fpgart", "fpgart.testing", "fpgart.testing.plugin", "fpgart.version"]
            assert "OCL_ICD_VENDORS" not in os.environ
        """
    )
    run(project, board="").assert_outcomes(passed=1)


def test_naming_a_board_does_not_load_the_driver(project: pytest.Pytester) -> None:
    project.makepyfile("import sys\ndef test_it(): assert '_fpgart_icd' not in sys.modules")
    result = run(project, board="a10_ref,hetero")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines("fpgart: a10_ref, hetero")


def test_a_misspelt_board_ends_pytest_with_the_names_that_there_are(project: pytest.Pytester) -> None:
    result = run(project, board="usm_s11")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*FPGART_BOARD=usm_s11: not one of *usm_s10*")


def test_without_a_board_the_fixture_fails_and_says_how_to_name_one(project: pytest.Pytester) -> None:
    result = run(project, "def test_it(fpga): pass", board="")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*pytest --fpgart-board usm_s10*")


def test_the_ini_file_may_name_board_and_platform(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nfpgart_board = hetero\nfpgart_platform = emulator")
    tests = """
def test_it(fpga):
    assert fpga.boards == ("hetero",)
    assert fpga.platform.name == "Intel(R) FPGA Emulation Platform for OpenCL(TM)"
"""
    run(project, tests, board="").assert_outcomes(passed=1)


def test_a_boards_file_is_found_from_wherever_programs_run(project: pytest.Pytester) -> None:
    """Given in the ini file: beside it. Given as an option: from where pytest was started."""
    shutil.copy(ROOT / "fpgart" / "board" / "boards" / "hetero.xml", project.path / "own.xml")
    project.makeini("[pytest]\nfpgart_board = own.xml")
    folder = project.mkdir("tests")
    (folder / "test_it.py").write_text(
        f"""
import sys
HOST = {LIST_DEVICES!r}

def test_it(fpga, tmp_path):
    assert fpga.device.name == "hetero"
    assert fpga.run([sys.executable, "-c", HOST], cwd=tmp_path).stdout == "hetero\\n"
"""
    )
    run(project, board="").assert_outcomes(passed=1)
    os.chdir(folder)
    run(project, board="../own.xml").assert_outcomes(passed=1)


def test_a_conftest_may_bring_the_plugin(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nfpgart_board = hetero")
    project.makeconftest(f"pytest_plugins = [{PLUGIN!r}]")
    project.makepyfile("def test_it(fpga): assert fpga.device.name == 'hetero'")
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_fpgart_run_hides_other_platforms_from_the_tests_too(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import subprocess, sys
        LIST = "import pyopencl; print([platform.name for platform in pyopencl.get_platforms()])"

        def test_it(fpga):
            import pyopencl
            assert pyopencl.get_platforms() == [fpga.platform]
            assert fpga.run([sys.executable, "-c", LIST]).stdout == "['fpgart']\\n"
        """
    )
    command = [sys.executable, "-m", "fpgart.cli", "run", "--", sys.executable, "-m", "pytest", "-p", PLUGIN]
    project.run(*command, "--fpgart-board=a10_ref").assert_outcomes(passed=1)


def test_a_trace_of_the_whole_session_is_not_disturbed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = """
@pytest.mark.parametrize("turn", range(2))
def test_it(fpga, fpga_trace, turn):
    context = cl.Context([fpga.device])
    cl.enqueue_copy(cl.CommandQueue(context), cl.Buffer(context, RW, DATA.nbytes), DATA)
    assert fpga_trace.bytes("write") == 1024
    assert len(fpga_trace.calls("clCreateBuffer")) == 1
"""
    monkeypatch.setenv("FPGART_TRACE", str(project.path / "session-%p.json"))
    run(project, tests).assert_outcomes(passed=2)
    (file,) = project.path.glob("session-*.json")
    found = report.read(file)
    assert found.whole
    assert found.calls["clCreateBuffer"] == 2
    assert found.traffic[0, "aocl_mmd_write"].bytes == 2048


def test_hosts_that_take_the_first_platform_get_the_boards(project: pytest.Pytester) -> None:
    tests = """
FIRST = cl.get_platforms()[0]  # when tests are collected, before any fixture

def test_it(fpga):
    assert FIRST == fpga.platform
    assert cl.create_some_context(interactive=False).devices == [fpga.device]
    assert [device.name for device in fpga.devices] == ["a10_ref", "hetero"]
"""
    run(project, tests, board="a10_ref,hetero").assert_outcomes(passed=1)


PASSING = """
import fpgart.faults

def test_traces_tell_bytes_copies_kernels_and_calls(fpga, fpga_trace):
    context = cl.Context([fpga.device])
    queue = cl.CommandQueue(context)
    first, second = (cl.Buffer(context, RW, DATA.nbytes) for _ in range(2))
    window = first.get_sub_region(0, 512)
    program = cl.Program(context, SOURCE).build(cache_dir=False)
    cl.enqueue_copy(queue, first, DATA, is_blocking=False)
    cl.enqueue_copy(queue, second, first)
    program.twice(queue, DATA.shape, (16,), second)
    cl.enqueue_copy(queue, np.empty_like(DATA), second)

    assert fpga_trace.bytes("write") == 1024
    assert fpga_trace.bytes("write", of=first) == 1024
    assert fpga_trace.bytes("write", of=second) == 0
    assert [call.name for call in fpga_trace.transfers(of=second)] == ["copy", "read"]
    assert [copy.what for copy in fpga_trace.copies(of=first)] == ["WRITE_BUFFER", "COPY_BUFFER from buffer 1"]
    assert fpga_trace.copies(of=window) == fpga_trace.copies(of=first) == fpga_trace.copies(of=1)
    (kernel,) = fpga_trace.kernels()
    assert (kernel.name, kernel.device, kernel.size, kernel.local, kernel.buffers) == ("twice", 0, (256,), (16,), (2,))
    assert fpga_trace.kernels("thrice") == []
    assert len(fpga_trace.calls("clCreateBuffer")) == 2
    assert fpga_trace.errors() == []
    assert fpga_trace.advice() == []

    fpga_trace.clear()
    assert (fpga_trace.bytes("write"), fpga_trace.kernels(), fpga_trace.calls()) == (0, [], [])
    with pytest.raises(cl.LogicError):
        cl.enqueue_copy(queue, first, DATA, dst_offset=4096)
    assert [words.split(":")[:2] for words in fpga_trace.errors()] == [["clEnqueueWriteBuffer", " CL_INVALID_VALUE"]]
    assert [life.number for life in fpga_trace.unreleased()] == []

def test_questions_about_traces_that_cannot_be_answered(fpga, fpga_trace):
    with pytest.raises(ValueError, match="'wrte' is not a call of the MMD: write, read"):
        fpga_trace.bytes("wrte")
    with pytest.raises(LookupError, match="no buffer 7 in the trace; its buffers: none"):
        fpga_trace.copies(of=7)
    with pytest.raises(TypeError, match="a buffer's number or an object of pyopencl"):
        fpga_trace.copies(of="first")

def test_advice_names_a_needless_copy(fpga, fpga_trace):
    context = cl.Context([fpga.device])
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, RW, DATA.nbytes)
    cl.enqueue_copy(queue, buffer, DATA)
    cl.enqueue_copy(queue, buffer, DATA)
    (advice,) = fpga_trace.advice()
    assert (advice.copies, advice.bytes) == (1, DATA.nbytes)

@pytest.mark.xfail
def test_a_test_that_is_expected_to_fail_is_not_blamed_for_what_its_traceback_holds(fpga):
    buffer = cl.Buffer(cl.Context([fpga.device]), RW, 64)
    raise AssertionError

@pytest.fixture
def buffer(fpga):
    return cl.Buffer(cl.Context([fpga.device]), RW, 64)

def test_what_fixtures_hold_is_no_leak(buffer):
    pass

def test_what_cycles_hold_is_no_leak(fpga):
    owner = type("Owner", (), {})()
    owner.itself, owner.buffer = owner, cl.Buffer(cl.Context([fpga.device]), RW, 64)

def test_programs_run_on_boards_of_their_own_with_a_trace_each(fpga, fpga_trace):
    small = fpga.run([*HOST, "100"], check=True)
    large = fpga.run([*HOST, "4096"], board="hetero", check=True)
    assert small.stdout.split() == ["['fpgart']", "usm_s10"]
    assert large.stdout.split() == ["['fpgart']", "hetero"]
    assert (small.trace.bytes("write"), large.trace.bytes("write")) == (100, 4096)
    assert fpga_trace.bytes("write") == 4196
    assert large.trace.bytes("write", of=1) == 4096
    with pytest.raises(LookupError, match="2 processes have a buffer 1"):
        fpga_trace.bytes("write", of=1)

def test_programs_that_the_test_starts_itself_show_in_its_trace(fpga, fpga_trace):
    both = " ; ".join(f"'{HOST[0]}' -c \\"$HOST\\" {size}" for size in (10, 20))
    subprocess.run(["sh", "-c", both], env={**fpga.env, "HOST": HOST[2]}, check=True)
    assert fpga_trace.bytes("write") == 30
    assert "FPGART_TRACE" not in os.environ

def test_a_program_that_crashes_leaves_its_trace_up_to_then(fpga):
    host = fpga.run([*HOST[:2], HOST[2] + "import os; os.abort()", "100"])
    assert host.returncode < 0
    assert host.trace.bytes("write") == 100
    assert [life.size for life in host.trace.unreleased()] == [4096]
    with pytest.raises(subprocess.TimeoutExpired):
        fpga.run([*HOST[:2], "import time; time.sleep(100)"], timeout=0.1)
    with pytest.raises(subprocess.CalledProcessError):
        fpga.run([*HOST[:2], "raise SystemExit(3)"], check=True)

def written(device):
    context = cl.Context([device])
    cl.enqueue_copy(cl.CommandQueue(context), cl.Buffer(context, RW, DATA.nbytes), DATA)

def test_faults_strike_in_the_tests_process_and_in_programs(fpga, fpga_trace, fpga_faults):
    (fault,) = fpga_faults.add("write:fail")
    with pytest.raises(cl.Error, match="OUT_OF_RESOURCES"):
        written(fpga.device)
    assert fpga_faults.injected == fault.injected == 2  # pyopencl tries twice
    assert {(f.rule, f.call, f.device) for f in fpga_trace.faults()} == {("write:fail", "write", 0)}
    assert fpga.run([*HOST, "100"]).returncode != 0
    assert fpga_faults.injected == 4
    fpga_faults.clear()
    written(fpga.device)
    assert fpga.run([*HOST, "100"], check=True).trace.faults() == []
    assert (fpga_trace.bytes("write"), len(fpga_trace.faults())) == (1024 + 100, 4)
    with pytest.raises(ValueError, match="no call 'wrte'"):
        fpga_faults.add("wrte:fail")
    fpga_faults.add("write:fail; seed=1")
    with pytest.raises(ValueError, match="the seed is given twice"):  # in what programs get
        fpga_faults.add("write:fail; seed=1")
    fpgart.faults.add("read:fail")  # by hand, and never taken out

def test_faults_end_with_the_test(fpga, fpga_trace, fpga_faults):
    assert fpgart.faults.active() == ()
    written(fpga.device)
    assert fpga.run([*HOST, "100"], check=True).trace.bytes("write") == 100
    assert (fpga_faults.injected, fpga_trace.bytes("write")) == (0, 1124)

@pytest.fixture(scope="module")
def context():
    return cl.create_some_context(interactive=False)

@pytest.fixture(scope="module")
def table(context):
    return cl.Buffer(context, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=DATA)

@pytest.fixture(scope="module")
def twice(context):
    return cl.Kernel(cl.Program(context, SOURCE).build(cache_dir=False), "twice")

@pytest.mark.parametrize("turn", range(3))
def test_every_test_has_fresh_boards(table, context, twice, fpga, fpga_trace, turn):
    # Memory reads as 0 at the same address, without a program; what wider fixtures hold is where it was.
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, RW, DATA.nbytes)
    found = np.full_like(DATA, 7)
    cl.enqueue_copy(queue, found, buffer)
    assert not found.any()
    twice(queue, DATA.shape, None, buffer)
    cl.enqueue_copy(queue, buffer, DATA)
    assert fpga_trace.transfers("read")[0].address == (1 << 48) + 1024
    assert fpga_trace.bytes("program") > 0

    fpga_trace.clear()
    cl.enqueue_copy(queue, found, table)
    assert (found == DATA).all()
    twice(queue, DATA.shape, None, table)
    cl.enqueue_copy(queue, found, table)
    assert (found == 2 * DATA).all()
    cl.enqueue_copy(queue, table, DATA)
    assert [call.name for call in fpga_trace.transfers(of=table)] == ["read", "read", "write"]
    assert fpga_trace.bytes("read") == 2 * DATA.nbytes
"""


def test_a_project_of_tests_that_pass(project: pytest.Pytester) -> None:
    run(project, PASSING, "-W", "error").assert_outcomes(passed=13, xfailed=1)


def test_the_calls_of_the_trace_are_those_of_the_mmd() -> None:
    from typing import get_args

    from fpgart.board.simulated_board import CALLS
    from fpgart.testing.traced import MmdName

    assert get_args(MmdName) == CALLS


def test_checks_find_no_mistake_in_what_makes_boards_fresh(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = """
@pytest.fixture(scope="module")
def context():
    return cl.create_some_context(interactive=False)

@pytest.fixture(scope="module")
def table(context):
    return cl.Buffer(context, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=DATA[:100])

@pytest.mark.parametrize("turn", range(3))
def test_it(table, context, fpga, turn):
    queue = cl.CommandQueue(context)
    cl.Kernel(cl.Program(context, SOURCE).build(cache_dir=False), "twice")(queue, (100,), None, table)
    queue.finish()
"""
    findings = project.path / "findings"
    monkeypatch.setenv("FPGART_CHECK", "usm,buffers,order")
    monkeypatch.setenv("FPGART_FINDINGS", str(findings))
    run(project, tests).assert_outcomes(passed=3)
    assert findings.read_text() == ""


def test_fresh_boards_take_the_same_time_in_every_test(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the model of time, where it is known: programming counts anew."""
    tests = """
TIMES = set()

@pytest.mark.parametrize("turn", range(3))
def test_it(fpga, turn):
    context = cl.Context([fpga.device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    buffer = cl.Buffer(context, RW, DATA.nbytes)
    cl.enqueue_copy(queue, buffer, DATA)
    twice = cl.Kernel(cl.Program(context, SOURCE).build(cache_dir=False), "twice")
    ran = twice(queue, DATA.shape, None, buffer)
    ran.wait()
    TIMES.add(ran.profile.end - ran.profile.submit)
    assert len(TIMES) == 1
"""
    monkeypatch.setenv("FPGART_TIME", "model")
    run(project, tests).assert_outcomes(passed=3)


def test_what_a_failed_test_held_makes_room_and_stays_usable(project: pytest.Pytester) -> None:
    tests = """
KEPT = []

def fill(device):
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    large = cl.Buffer(context, RW, 100 << 20)  # of 128 MiB
    cl.enqueue_copy(queue, large, DATA)
    return queue, large

def test_failure(fpga):
    held = fill(fpga.device)
    KEPT.extend(held)
    assert not held

def test_next(fpga):
    fill(fpga.device)
    found = np.empty_like(DATA)
    cl.enqueue_copy(KEPT[0], found, KEPT[1])
    assert (found == DATA).all()
"""
    run(project, tests, board="a10_small").assert_outcomes(failed=1, passed=1)


LEAKS = """
KEPT = []

def test_leak(fpga):
    context = cl.Context([fpga.device])
    KEPT.append(cl.Buffer(context, RW, 3 << 20))
    cl.enqueue_copy(cl.CommandQueue(context), KEPT[0], DATA)

def test_next(fpga):
    found = np.empty_like(DATA)
    cl.enqueue_copy(cl.CommandQueue(KEPT[0].context), found, KEPT[0])
    assert (found == DATA).all()
"""


LEAVING = (
    LEAKS
    + """
from fpgart import usm

def test_command(fpga):
    context = cl.Context([fpga.device])
    queue, gate = cl.CommandQueue(context), cl.UserEvent(context)
    KEPT[:] = queue, gate, cl.enqueue_marker(queue, wait_for=[gate])

def test_that_left_nothing(fpga):
    pass

def test_after_the_command(fpga):
    KEPT[1].set_status(cl.command_execution_status.COMPLETE)
    KEPT[0].finish()

def test_usm(fpga):
    context = cl.Context([fpga.device])
    queue = cl.CommandQueue(context)
    array = usm.device_empty(context, DATA.shape, DATA.dtype)
    usm.memcpy(queue, array, DATA)
    KEPT[:] = queue, array

def test_after_usm(fpga):
    found = np.empty_like(DATA)
    usm.memcpy(KEPT[0], found, KEPT[1])
    assert (found == DATA).all()

def test_part(fpga):
    KEPT[:] = [cl.Buffer(cl.Context([fpga.device]), RW, DATA.nbytes).get_sub_region(0, 512)]

def test_pointers(fpga):
    context = cl.Context([fpga.device])
    queue = cl.CommandQueue(context)
    mapped = cl.Buffer(context, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros_like(DATA))
    view, _ = cl.enqueue_map_buffer(queue, mapped, cl.map_flags.WRITE, 0, DATA.shape, DATA.dtype)
    view[:] = DATA
    memory = np.zeros_like(DATA)
    over = cl.Buffer(context, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=memory)
    cl.Kernel(cl.Program(context, SOURCE).build(cache_dir=False), "twice")(queue, DATA.shape, None, over)
    cl.enqueue_copy(queue, over, DATA)
    KEPT[:] = queue, mapped, view, over, memory
    raise AssertionError

def test_after_pointers(fpga):
    queue, mapped, view, over, memory = KEPT
    found = np.empty_like(DATA)
    view.base.release(queue)
    cl.enqueue_copy(queue, found, mapped)
    assert (found == DATA).all()
    assert not memory.any()
    cl.enqueue_copy(queue, found, over)
    assert (found == DATA).all()

def test_fails_and_leaves_a_buffer(fpga, fpga_trace):
    context = cl.Context([fpga.device])
    buffer = cl.Buffer(context, RW, DATA.nbytes)
    cl.enqueue_copy(cl.CommandQueue(context), buffer, DATA)
    assert fpga_trace.bytes("write") == 0
"""
)


def test_what_tests_leave_behind_is_told_and_keeps_place_and_contents(project: pytest.Pytester) -> None:
    """What a failed test left is not told, because its traceback holds it; its figures are."""
    result = run(project, LEAVING)
    result.assert_outcomes(passed=9, failed=2, warnings=4)
    result.stdout.fnmatch_lines_random(
        [
            "*::test_leak",
            "*LeakWarning: test_leak left behind: buffer 1 of 3 MiB",
            "*test_command left behind: a command that has not ended",
            "*test_usm left behind: device allocation 2 of 1 KiB",
            "*test_part left behind: sub-buffer ? of 512 bytes",  # the host has released the whole
            "*fpgart report*",
            "*device 0: aocl_mmd_write: 1 call, 1 KiB*",
        ]
    )


def test_a_leak_is_an_error_where_the_project_says_so(project: pytest.Pytester) -> None:
    run(project, LEAKS, "-W", "error::fpgart.testing.LeakWarning").assert_outcomes(passed=2, errors=1)


def test_workers_of_xdist_have_boards_of_their_own_and_their_traces_become_one_report(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    tests = """
@pytest.mark.parametrize("number", range(3))
def test_buffer(fpga, fpga_trace, number):
    context = cl.Context([fpga.device])
    buffer = cl.Buffer(context, RW, 1024 * (number + 1))
    cl.enqueue_copy(cl.CommandQueue(context), buffer, np.zeros(1024 * (number + 1), np.uint8))
    assert fpga_trace.transfers("write")[0].address == 1 << 48
"""
    run(project, tests, "-p", "xdist", "-n", "2", "--fpgart-traces", "kept").assert_outcomes(passed=3)
    files = sorted((project.path / "kept").iterdir())
    assert len(files) == 3
    assert {file.name.split("-")[0] for file in files} == {"gw0", "gw1"}
    found = report.of(report.merged([report.ordered(file) for file in files], [file.stem for file in files]))
    assert found.boards == dict.fromkeys(range(3), "usm_s10")
    assert sorted(traffic.bytes for (_, call), traffic in found.traffic.items() if "write" in call) == [
        1024,
        2048,
        3072,
    ]


def test_faults_of_the_whole_session_stay_and_spare_the_plugins_own_work(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = """
import fpgart.faults

@pytest.fixture(scope="module")
def table():
    context = cl.create_some_context(interactive=False)
    return cl.Buffer(context, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=DATA)

@pytest.mark.parametrize("turn", range(3))
def test_it(table, fpga, fpga_trace, fpga_faults, turn):
    fpga_faults.add("write:fail:size=1G")
    with pytest.raises(cl.Error):
        cl.enqueue_copy(cl.CommandQueue(table.context), np.empty_like(DATA), table)
        cl.enqueue_copy(cl.CommandQueue(table.context), np.empty_like(DATA), table)
    assert fpga_trace.bytes("read") == 0
    assert fpga_trace.faults()[0].rule == "read:fail"
    assert fpga_faults.injected == 0
    assert fpga.env["FPGART_FAULTS"] == "read:fail; write:fail:size=1G"
    assert len(fpgart.faults.active()) == 2
"""
    monkeypatch.setenv("FPGART_FAULTS", "read:fail")
    run(project, tests).assert_outcomes(passed=3)


def test_the_environment_is_put_back_when_pytest_ends(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): pass")
    script = (
        "import os, pytest; ours = lambda: {n: v for n, v in os.environ.items() if n.startswith(('OCL_', 'FPGART'))}; "
        "os.environ['OCL_ICD_VENDORS'] = '/nowhere'; before = ours(); "
        f"assert pytest.main(['-p', '{PLUGIN}', '--fpgart-board=hetero', '-q']) == 0; "
        "assert ours() == before"
    )
    result = project.run(sys.executable, "-c", script)
    assert result.ret == 0, str(result.stderr)


def test_the_example_project_passes(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "testing-a-host", project.path, dirs_exist_ok=True)
    monkeypatch.setenv("CFLAGS", f"-Wall -Wextra -Werror -I{shlex.quote(str(ROOT / 'include'))}")
    run(project, board="").assert_outcomes(passed=17, warnings=0)


def test_options_that_make_no_sense_end_the_session(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FPGART_WATCHDOG", "soon")
    result = run(project, "def test_it(fpga): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*FPGART_WATCHDOG=soon: a number of seconds from 0 is expected*"])
