"""Calls of the API that fail on request, whether Python or C answers them, and `fpgart errors` (docs/faults.md)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from c_hosts import ROOT, build, plain_environment
from processes import fpgart

from fpgart.cli.failing import Call, Failing, Run, chosen
from fpgart.cli.running import RunError

UNCHANGED = ["launches: 40", "references: 1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hosts")


@pytest.fixture(scope="module")
def repeating(folder: Path) -> Path:
    return build("failing_calls", folder, "-g", "-pthread")


def lines_of(host: Path, faults: str, **variables: str) -> list[str]:
    environment = {**plain_environment(), "FPGART_FAULTS": faults, **variables}
    run = subprocess.run([host], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.returncode == 0
    return run.stdout.splitlines()


def test_calls_that_c_answers_fail_too(repeating: Path) -> None:
    """The same call has been carried out thirty times and more by then."""
    functions = (
        "clFinish",
        "clWaitForEvents",
        "clGetEventInfo",
        "clRetainEvent",
        "clReleaseEvent",
        "clEnqueueReadBuffer",
        "clGetContextInfo",
        "clRetainMemObject",
    )
    faults = "; ".join(f"api:{name}:CL_OUT_OF_RESOURCES:{31 + index}" for index, name in enumerate(functions))
    told = [f"{31 + index} {name} -5" for index, name in enumerate(functions)]
    # What was not retained, and what was released nevertheless, makes the last release one too many.
    assert lines_of(repeating, f"{faults}; api:clReleaseMemObject:CL_OUT_OF_HOST_MEMORY:38") == [
        *told,
        "38 clReleaseMemObject -6",
        *UNCHANGED,
    ]


def test_a_launch_that_fails_does_not_run_and_an_argument_that_fails_stays(repeating: Path) -> None:
    faults = "api:clEnqueueNDRangeKernel:CL_OUT_OF_RESOURCES:35; api:clSetKernelArg:CL_INVALID_ARG_VALUE:61"
    assert lines_of(repeating, faults) == [
        "31 clSetKernelArg -50",
        "35 clEnqueueNDRangeKernel -5",
        "launches: 39",
        "references: 1",
    ]


def test_a_buffer_that_is_not_released_has_its_reference(repeating: Path) -> None:
    told = lines_of(repeating, "api:clReleaseMemObject:CL_OUT_OF_RESOURCES:7")
    assert told == ["7 clReleaseMemObject -5", "launches: 40", "references: 2"]


def test_a_thread_has_faults_of_its_own(repeating: Path) -> None:
    assert lines_of(repeating, "api:clFinish, clGetContextInfo:CL_OUT_OF_RESOURCES:thread=1") == [
        *UNCHANGED,
        "1000 clFinish -5",
        "1000 clGetContextInfo -5",
    ]


def test_the_first_call_of_all_can_fail(repeating: Path) -> None:
    environment = {**plain_environment(), "FPGART_FAULTS": "api:*:CL_OUT_OF_HOST_MEMORY:1"}
    run = subprocess.run([repeating], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, "clGetPlatformIDs(1, &host->platform, NULL): status -6\n")


def test_all_calls_are_listed_with_their_places(repeating: Path, tmp_path: Path) -> None:
    lines_of(repeating, "api:clFinish:CL_OUT_OF_RESOURCES:3", FPGART_CALLS=str(tmp_path / "calls"))
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert calls[0]["call"] == "clGetPlatformIDs"
    assert calls[0]["place"].split(":")[0].endswith("host.h")
    finishes = [call for call in calls if call["call"] == "clFinish"]
    assert [call.get("fault", "") for call in finishes] == ["", "", "CL_OUT_OF_RESOURCES", *[""] * 38]
    assert [call["thread"] for call in finishes] == [0] * 40 + [1]
    assert len({call["place"] for call in finishes}) == 2, "the same line of go_round(), from main() and from a thread"


# fpgart errors

CARELESS = """
calls=$FPGART_CALLS
fails() { case $FPGART_FAULTS in *:$1) true ;; *) false ;; esac; }
call() {
    if fails $1; then fault=', "fault": "CL_OUT_OF_HOST_MEMORY"'; else fault=; fi
    echo '{"process": 1, "thread": 0, "call": "'$2'", "place": "main.c:'$1'"'"$fault"'}' >> $calls
}
call 1 clCreateContext; fails 1 && { echo no context; exit 1; }
call 2 clEnqueueMapBuffer; fails 2 && kill -SEGV $$
call 3 clEnqueueWriteBuffer
call 4 clEnqueueReadBuffer; if fails 4; then sum=0; else sum=many; fi
call 5 clGetDeviceInfo
call 6 clFlush; fails 6 && { sleep 1000000 & wait; }
call 7 clEnqueueFillBuffer; if fails 7; then call 8 clEnqueueFillBuffer; fi
call 9 clCreateKernel; fails 9 && echo clCreateKernel failed >&2
call 10 clSetKernelArg; fails 10 && echo "status -6"
call 11 clEnqueueNDRangeKernel; if fails 11; then least=-6; else least=5; fi
echo least $least
echo sum $sum after $$ microseconds
"""


@pytest.fixture
def careless(tmp_path: Path) -> Failing:
    """A host whose calls are played by a shell: what is judged is how it ends and what it prints."""
    script = tmp_path / "careless.sh"
    script.write_text(CARELESS)
    return Failing(("sh", str(script)), {}, "CL_OUT_OF_HOST_MEMORY", 600.0)


MISTAKES = {
    1: "",
    2: "crashed: signal 11 (Segmentation fault)",
    3: "exit status 0, as if the call had not failed",
    4: "exit status 0, and the output differs without an error: sum 0 after",
    5: "",
    7: "",
    9: "",
    10: "",
    11: "exit status 0, and the output differs without an error: least -6",
}


@pytest.mark.parametrize("nth", MISTAKES)
def test_what_a_host_does_not_survive(careless: Failing, nth: int) -> None:
    mistake = careless.mistake(careless.run(nth))
    assert mistake.startswith(MISTAKES[nth])
    assert bool(mistake) == bool(MISTAKES[nth])


def test_a_host_that_does_not_end_is_ended_with_its_children(careless: Failing) -> None:
    careless.seconds = 0.5  # for ever, however slow the machine is: it waits for a sleep of days
    run = careless.run(6)
    assert run.status is None
    assert careless.mistake(run) == "did not end in time"


def test_a_host_that_fails_by_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="sh: exit status 7, although no call fails"):
        Failing(("sh", "-c", "exit 7"), {}, "CL_OUT_OF_HOST_MEMORY", 600.0)


def test_output_that_changes_by_itself_is_not_compared(tmp_path: Path) -> None:
    """Words that are other ones in each run say nothing about the results of a run with a failure."""
    mark = tmp_path / "mark"
    listed = '{"process": 1, "thread": 0, "call": "clFinish", "place": ""}'
    script = f"echo '{listed}' > $FPGART_CALLS; test -e {mark} || echo first; touch {mark}"
    failing = Failing(("sh", "-c", script), {}, "CL_OUT_OF_HOST_MEMORY", 600.0)
    run = Run(0, b"other", b"", (Call(1, "clFinish", "", failed=True),))
    assert failing.mistake(run) == "exit status 0, as if the call had not failed"


def test_calls_from_one_place_can_be_limited() -> None:
    calls = tuple(Call(nth, "clFinish", "a" if nth < 4 else "b") for nth in range(1, 6))
    assert [call.nth for call in chosen(calls, 0)] == [1, 2, 3, 4, 5]
    assert [call.nth for call in chosen(calls, 1)] == [1, 4]
    assert [call.nth for call in chosen((*calls, *calls), 0)] == [1, 2, 3, 4, 5], "a run of several processes"


def test_the_command_names_the_line_of_each_call_that_is_not_survived(folder: Path) -> None:
    host = build("unchecked", folder, "-g")
    run = fpgart("errors", "--", host, env=plain_environment())
    source = (ROOT / "tests/programs/unchecked.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "clEnqueueMapBuffer(" in text)
    assert run.stderr == ""
    first, *rest = run.stdout.splitlines()
    assert first == "7 calls; 7 runs for 7 places"
    assert rest[0].startswith("call 6, clEnqueueMapBuffer, ")
    assert rest[0].endswith(f"unchecked.c:{line} in main: crashed: signal 11 (Segmentation fault)")
    assert rest[1:] == ["6 ended with an error, 1 not survived"]
    assert run.returncode == 3
