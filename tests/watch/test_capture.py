"""FPGART_CAPTURE and `fpgart replay`: a launch is kept with all it needs, and runs again alone."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compilation import compiled
from machine import Machine, listening
from processes import ROOT, fpgart, output

from fpgart.base.option_values import Launches, launches
from fpgart.board.catalogue import shipped
from fpgart.cli.comparison import Elements, compare
from fpgart.watch.capture import Capture
from fpgart.watch.captured import CapturedLaunch, CaptureError

CONFORMANCE = ROOT / "conformance"

PYTHON_HOST = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
flags = cl.mem_flags
def build(source, options=[]):
    return cl.Program(context, source).build(options=options, cache_dir=False)
def buffer(data):
    return cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=data)
"""
SCALE = """
scale = cl.Kernel(build("kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }"), "scale")
data = buffer(np.arange(64, dtype=np.float32))
for by in (2, 3, 4, 5):
    scale(queue, (64,), None, data, np.float32(by))
    queue.finish()
"""


def capture(folder: Path, body: str, *options: str) -> None:
    pytest.importorskip("pyopencl")
    host = [sys.executable, "-c", PYTHON_HOST + body]
    output(fpgart("run", "--capture", folder, *options, "--", *host))


def replayed(folder: Path, *options: str, status: int = 0, **variables: str) -> str:
    result = fpgart("replay", folder, *options, **variables)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout + result.stderr


def manifest(folder: Path) -> Any:
    return json.loads((folder / "launch.json").read_text())


def test_the_first_launch_of_each_kernel_is_captured_unless_others_are_named(tmp_path: Path) -> None:
    capture(tmp_path / "first", SCALE)
    assert [path.name for path in (tmp_path / "first").iterdir()] == ["scale-1"]
    capture(tmp_path / "named", SCALE, "--capture-kernels", "other,sc*:2-3,scale:4")
    assert sorted(path.name for path in (tmp_path / "named").iterdir()) == ["scale-2", "scale-3", "scale-4"]


def test_a_manifest_says_what_the_launch_was_given(tmp_path: Path) -> None:
    capture(tmp_path, SCALE, "--capture-kernels", "scale:2")
    found = manifest(tmp_path / "scale-2")
    assert (found["kernel"], found["number"], found["status"]) == ("scale", 2, 0)
    assert (found["offset"], found["global_size"], found["local_size"]) == ([0], [64], [])
    pointer, value = found["arguments"]
    assert (pointer["kind"], pointer["name"], pointer["type_name"], pointer["size"]) == ("memory", "x", "float*", 256)
    assert (value["kind"], bytes.fromhex(value["value"])) == ("value", b"\0\0\x40\x40")
    assert "global float *x" in (tmp_path / "scale-2" / "program.cl").read_text()


def test_a_replay_starts_from_what_was_there_before(tmp_path: Path) -> None:
    capture(tmp_path, SCALE, "--capture-kernels", "scale")
    told = replayed(tmp_path)
    assert [line.split(",")[1].strip() for line in told.splitlines() if line.startswith("scale")] == [
        f"launch {number}" for number in (1, 2, 3, 4)
    ]
    assert told.count("argument 'x': the same") == 4


@pytest.mark.parametrize("board", shipped())
def test_a_replay_is_on_the_board_that_the_launch_was_captured_on(board: str, tmp_path: Path) -> None:
    capture(tmp_path, SCALE, "--board", board)
    assert manifest(tmp_path / "scale-1")["board"] == board
    assert "the same" in replayed(tmp_path)


MODEL = """
import fpgart
@fpgart.kernel("scale")
def scale(x, by):
    x *= by
    x[7] += 1e-3
"""


def test_differences_are_told_and_give_status_1(tmp_path: Path) -> None:
    capture(tmp_path / "kept", SCALE)
    (tmp_path / "model.py").write_text(MODEL)
    model = str(tmp_path / "model.py")
    told = replayed(tmp_path / "kept", status=1, FPGART_MODELS=model)
    assert "1 of 64 values differ\n    x[7]: captured 14.0, now 14.00100040435791\n" in told
    assert "the same" in replayed(tmp_path / "kept", "--tolerance", "1e-4", FPGART_MODELS=model)


def test_a_replay_runs_on_another_board_and_a_chosen_engine(tmp_path: Path) -> None:
    capture(tmp_path, SCALE)
    assert "the same" in replayed(tmp_path, "--board", "hetero", "--engine", "pocl")
    assert "FPGART_ENGINE=none" in replayed(tmp_path, "--engine", "none", status=2)
    assert "not one of" in replayed(tmp_path, "--board", "no-such-board", status=2)


def test_sub_buffers_of_one_buffer_stay_parts_of_one_memory(tmp_path: Path) -> None:
    body = """
kernel = cl.Kernel(build("kernel void blend(global int *a, global int *b, global int *none, local int *t) "
                         "{ if (!none) a[64] += b[0]; }"), "blend")
whole = buffer(np.arange(1024, dtype=np.int32))
a, b = whole.get_sub_region(1024, 1024), whole.get_sub_region(2048, 256)
kernel(queue, (1,), (1,), a, b, None, cl.LocalMemory(64))
cl.enqueue_copy(queue, out := np.zeros(1024, np.int32), whole)
assert out[320] == 320 + 512
"""
    capture(tmp_path, body)
    found = manifest(tmp_path / "blend-1")
    assert [argument["kind"] for argument in found["arguments"]] == ["memory", "memory", "null", "local"]
    assert [argument["offset"] for argument in found["arguments"][:2]] == [1024, 2048]
    assert [memory["size"] for memory in found["memories"]] == [4096]
    assert "the same" in replayed(tmp_path)


def test_build_options_and_the_folder_they_refer_to_are_kept(tmp_path: Path) -> None:
    (tmp_path / "three.h").write_text("#define THREE 3\n")
    body = f"""
import os
os.chdir({str(tmp_path)!r})
source = '#include "three.h"\\nkernel void put(global int *x) {{ *x = THREE * FOUR; }}'
kernel = cl.Kernel(build(source, ["-I", ".", "-DFOUR=4"]), "put")
kernel(queue, (1,), None, buffer(np.zeros(1, np.int32)))
queue.finish()
"""
    capture(tmp_path / "kept", body)
    assert "the same" in replayed(tmp_path / "kept")


def test_buffers_that_stay_in_the_hosts_memory_are_captured(tmp_path: Path) -> None:
    body = """
data = np.arange(1024, dtype=np.int32)
inside = cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=data)
kernel = cl.Kernel(build("kernel void once(global int *x) { x[get_global_id(0)] += 1; }"), "once")
kernel(queue, data.shape, None, inside)
queue.finish()
"""
    capture(tmp_path, body, "--board", "soc_a10")
    assert manifest(tmp_path / "once-1")["memories"][0]["after"]
    assert "the same" in replayed(tmp_path)


def build(name: str) -> Path:
    return compiled([CONFORMANCE / "c" / f"{name}.c"])


@pytest.mark.parametrize("name", ["usm_life", "svm_list"])
def test_pointers_that_are_stored_in_memory_lead_to_the_same_places(name: str, tmp_path: Path) -> None:
    host = build(name)
    kept = tmp_path / "kept"
    output(fpgart("run", "--capture", kept, "--", host))
    told = replayed(kept)
    assert "allocation" in told
    assert "differ" not in told


def test_kernels_that_wait_for_others_are_captured_but_do_not_run_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    output(fpgart("run", "--capture", kept, "--", build("channels"), "pipe_objects"))
    assert "pipe" in {argument["kind"] for argument in manifest(kept / "sum-1")["arguments"]}
    assert "kernel 'sum' waits for other kernels (channels, pipes), so it cannot run alone" in replayed(kept, status=2)


def test_a_launch_that_kills_the_process_is_kept_as_it_was_before(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    body = """
kernel = cl.Kernel(build("kernel void wild(global int *x, ulong far) { *(global int *)(x + far) = 1; }"), "wild")
kernel(queue, (1,), None, buffer(np.arange(4, dtype=np.int32)), np.uint64(1 << 60))
queue.finish()
"""
    host = [sys.executable, "-c", PYTHON_HOST + body]
    assert fpgart("run", "--capture", tmp_path, "--", *host).returncode == -signal.SIGSEGV
    found = manifest(tmp_path / "wild-1")
    assert found["status"] is None
    assert (tmp_path / "wild-1" / "0.before.bin").read_bytes() == b"".join(n.to_bytes(4, "little") for n in range(4))
    assert fpgart("replay", tmp_path).returncode == -signal.SIGSEGV


def test_a_second_run_leaves_the_first_ones_captures_alone(tmp_path: Path) -> None:
    for _ in range(2):
        capture(tmp_path, SCALE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scale-1", "scale-1.2"]


def test_a_folder_that_cannot_be_made_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = fpgart("run", "--capture", tmp_path / "file" / "x", "--", sys.executable, "-c", PYTHON_HOST)
    assert f"FPGART_CAPTURE={tmp_path}/file/x: Not a directory" in result.stderr


def test_capturing_moves_nothing_through_the_mmd(boards: Callable[..., Machine], tmp_path: Path) -> None:
    machine = boards("a10_ref")
    with listening(Capture(tmp_path, [Launches("*", 1, 1)])):
        kernel = machine.kernel(lambda pointer: None, "")
        buffer = machine.buffer(4096)
        machine.write(buffer, b"x" * 4096)
        kernel.set_buffer(0, buffer)
        before = machine.calls()
        machine.run(kernel)
        assert machine.calls() == before
    assert (tmp_path / "k-1" / "0.before.bin").read_bytes() == b"x" * 4096
    assert CapturedLaunch.load(tmp_path / "k-1").memories[0].after == ""


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("add", [Launches("add")]),
        ("add:3", [Launches("add", 3, 3)]),
        ("add:3-5, m*l:1", [Launches("add", 3, 5), Launches("m*l", 1, 1)]),
    ],
)
def test_launches_are_named(text: str, chosen: list[Launches]) -> None:
    assert list(launches(text)) == chosen
    assert launches(",".join(map(str, chosen))) == tuple(chosen)


@pytest.mark.parametrize("text", ["add:0", "add:2-1", "add:x", ":1", "add:1-", ","])
def test_what_names_no_launches_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        launches(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', "null"])
def test_a_broken_manifest_is_refused_with_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "launch.json").write_text(text)
    with pytest.raises(CaptureError, match=r"launch\.json is"):
        CapturedLaunch.load(tmp_path)
    assert "launch.json" in replayed(tmp_path, status=2)


def test_a_memory_that_was_cut_off_is_refused_with_words(tmp_path: Path) -> None:
    capture(tmp_path, SCALE)
    os.truncate(tmp_path / "scale-1" / "0.before.bin", 100)
    assert "0.before.bin has 100 bytes instead of 256" in replayed(tmp_path, status=2)


def test_a_program_that_was_cut_off_is_a_launch_that_cannot_run(tmp_path: Path) -> None:
    capture(tmp_path, SCALE)
    os.truncate(tmp_path / "scale-1" / "program.cl", 30)
    assert "CL_BUILD_PROGRAM_FAILURE" in replayed(tmp_path, status=2)
    os.truncate(tmp_path / "scale-1" / "program.cl", 0)
    assert "the program has no kernel 'scale'" in replayed(tmp_path, status=2)


def test_a_launch_that_cannot_run_keeps_no_other_from_running(tmp_path: Path) -> None:
    capture(tmp_path, SCALE, "--capture-kernels", "scale:1-2")
    (tmp_path / "scale-1" / "program.cl").unlink()
    told = replayed(tmp_path, status=2)
    assert "argument 'x': the same" in told
    assert "scale-1/program.cl: No such file or directory" in told


def test_a_folder_without_captures_is_said_so(tmp_path: Path) -> None:
    assert "no captured launch" in replayed(tmp_path, status=2)


def test_values_are_compared_as_the_pointers_type_says() -> None:
    old, new = b"\0\0\x80\x3f" * 4, b"\0\0\x80\x3f" * 3 + b"\1\0\x80\x3f"
    assert compare(old, new, "float4*", 0).told == ["[0].s3: captured 1.0, now 1.0000001192092896"]
    assert compare(old, new, "float*", 1e-6).count == 0
    assert compare(old, new, "int*", 1).told == ["[3]: captured 1065353216, now 1065353217"]
    assert compare(old, new, "struct particle*", 1).told == ["[12]: captured 0x00, now 0x01"]
    assert compare(old, new, "int*", 0, offset=8).told == ["[1]: captured 1065353216, now 1065353217"]
    nan, other = b"\0\0\xc0\x7f", b"\1\0\xc0\x7f"
    assert compare(nan, other, "float*", 0).count == 0
    assert Elements.behind("double3*").size == 32


def test_differences_far_into_a_large_memory_are_found() -> None:
    old = bytes(1 << 20)
    new = bytearray(old)
    new[-1] = 1
    found = compare(old, bytes(new), "uchar*", 0)
    assert (found.count, found.told) == (1, [f"[{(1 << 20) - 1}]: captured 0, now 1"])
