"""`fpgart report --perfetto`, decoded by the classes of Perfetto's own format."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpgart.watch import report
from fpgart.watch.perfetto import wire
from fpgart.watch.perfetto.export import SIMULATED

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
ROOT = Path(__file__).resolve().parent.parent


def fpgart(*words: object) -> None:
    command = [sys.executable, "-m", "fpgart.cli", *map(str, words)]
    subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tutorial's host, with the simulated clock."""
    folder = tmp_path_factory.mktemp("perfetto")
    host, source = folder / "sums", ROOT / "examples" / "tutorial" / "sums.c"
    subprocess.run(["gcc", "-g", f"-I{ROOT / 'include'}", source, "-o", host, "-lOpenCL"], check=True)
    fpgart("run", "--board", "a10_ref", "--time", "model", "--trace", folder / "t.json", "--", host)
    return folder / "t.json"


@pytest.fixture(scope="module")
def decoded(trace: Path) -> Any:
    """The same, through Perfetto's format."""
    file = trace.with_suffix(".pftrace")
    fpgart("report", trace, "--perfetto", file)
    made = pb.Trace()
    made.ParseFromString(file.read_bytes())
    return made


def slices(decoded: Any) -> list[tuple[int, str, str, Any]]:
    """GPU slices with the names of hardware queue and stage."""
    interned = decoded.packet[0].interned_data.gpu_specifications
    names = {each.iid: each.name for each in interned}
    assert len(names) == len({(each.iid, each.name) for each in interned})
    made = [(packet.timestamp, packet.gpu_render_stage_event) for packet in decoded.packet]
    return [(at, names[e.hw_queue_iid], names[e.stage_iid], e) for at, e in made if e.event_id]


def test_kernels_have_the_times_of_the_report(trace: Path, decoded: Any) -> None:
    """Here, and in simulated time, on GPUs of their own."""
    found = report.read(trace)
    here: Counter[str] = Counter()
    simulated: Counter[str] = Counter()
    for _, queue, stage, event in slices(decoded):
        if stage == "kernel":
            (simulated if event.gpu_id >= SIMULATED else here)[queue] += event.duration
    assert here == {f"kernel {name}": round(runs.microseconds * 1000) for (_, name), runs in found.kernels.items()}
    modelled = {name: each.nanoseconds for (_, name), each in found.modelled.items() if name.startswith("kernel ")}
    assert simulated == modelled


def test_directions_have_the_bytes_of_the_report(trace: Path, decoded: Any) -> None:
    found = report.read(trace)
    moved: Counter[str] = Counter()
    for _, _, stage, event in slices(decoded):
        if event.gpu_id < SIMULATED and stage in ("write", "read"):
            moved[stage] += sum(int(each.value) for each in event.extra_data if each.name == "bytes")
    assert moved == {each: found.traffic[0, f"aocl_mmd_{each}"].bytes for each in ("write", "read")}


def test_kernels_lead_to_the_calls_that_enqueued_them(decoded: Any) -> None:
    """By the submission of GPU slices, and by arrows from calls to operations, which begin where those do."""
    begins, ends = {}, defaultdict(list)
    for packet in decoded.packet:
        for flow in packet.track_event.flow_ids:
            begins[flow] = packet
        for flow in packet.track_event.terminating_flow_ids:
            ends[flow].append(packet)
    assert begins.keys() == ends.keys()
    assert all(begins[flow].timestamp <= end.timestamp for flow, each in ends.items() for end in each)
    submitted = {event.submission_id for _, _, stage, event in slices(decoded) if stage == "kernel"}
    assert {begins[number].track_event.name for number in submitted} == {"clEnqueueNDRangeKernel"}


def test_banks_have_counters_of_bytes_and_of_bandwidth(trace: Path, decoded: Any) -> None:
    """Bytes in use end at nothing; the bandwidth of a bank, summed over time, is what was moved there."""
    names: dict[int, Any] = {}
    values: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for packet in decoded.packet:
        event = packet.gpu_counter_event
        names |= {spec.counter_id: (event.gpu_id, spec.name) for spec in event.counter_descriptor.specs}
        for each in event.counters:
            values[each.counter_id].append((packet.timestamp, each.double_value))
    found = {names[number]: each for number, each in values.items()}
    held = found[0, "DDR bank 1: in use"]
    assert (max(value for _, value in held), held[-1][1]) == ((8 << 20) + 64, 0)
    rates = found[0, "DDR bank 1: bandwidth"]
    total = sum(value * (after - at) / 1e9 for (at, value), (after, _) in pairwise(rates))
    traffic = report.read(trace).traffic
    assert total == pytest.approx(traffic[0, "aocl_mmd_write"].bytes + traffic[0, "aocl_mmd_read"].bytes)
    assert (SIMULATED, "memory 'DDR' bank 1: bandwidth") in found


def test_each_track_is_named_and_its_slices_end(decoded: Any) -> None:
    tracks = {each.track_descriptor.uuid for each in decoded.packet if each.HasField("track_descriptor")}
    depths: Counter[int] = Counter()
    events = [packet for packet in decoded.packet if packet.HasField("track_event")]
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        depths[packet.track_event.track_uuid] += 1 if packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN else -1
    assert tracks >= depths.keys()
    assert set(depths.values()) == {0}


def test_a_name_that_ends_in_gz_is_compressed(trace: Path, decoded: Any) -> None:
    """Perfetto opens both; the page and a merged trace, too."""
    file = trace.with_suffix(".pftrace.gz")
    fpgart("report", trace, "--perfetto", file)
    assert gzip.decompress(file.read_bytes()) == trace.with_suffix(".pftrace").read_bytes()
    merged = trace.with_suffix(".json.gz")
    fpgart("report", trace, "--merged", merged)
    assert json.loads(gzip.decompress(merged.read_bytes()))


@given(st.integers(0, (1 << 64) - 1), st.floats(allow_nan=False), st.text(max_size=300))
def test_the_encoding_is_that_of_protocol_buffers(number: int, real: float, text: str) -> None:
    """A counter's number and value, a name, and a flow, whose field has 64 bits."""
    event = pb.TrackEvent.FromString(wire.message((11, number), (44, real), (23, text), (47, wire.Fixed(number))))
    assert (event.track_uuid, event.double_counter_value, event.name, list(event.flow_ids)) == (
        number, real, text, [number],
    )  # fmt: skip
