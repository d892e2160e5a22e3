"""`fpgart report --perfetto`, decoded by the classes of Perfetto's own format, and queried in SQL.

The queries run on Perfetto's trace processor if it is in PATH, or if TRACE_PROCESSOR names it. Everywhere they run on
the tables that the trace processor makes of these packets, which this module makes in SQLite.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import processes
import pytest
from c_hosts import host_of
from hypothesis import given
from hypothesis import strategies as st

from fpgart.watch import report
from fpgart.watch.perfetto import wire
from fpgart.watch.perfetto.export import SIMULATED

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
ROOT = Path(__file__).resolve().parents[2]


def fpgart(*words: object, statuses: tuple[int, ...] = (0,)) -> None:
    done = processes.fpgart(*words)
    assert done.returncode in statuses, done.stdout + done.stderr


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tutorial's host, with the simulated clock. It has a race, so that its results are sometimes wrong."""
    folder = tmp_path_factory.mktemp("perfetto")
    host = host_of(ROOT / "examples" / "tutorial" / "sums.c", folder / "sums", "-g")
    fpgart("run", "--board", "a10_ref", "--time", "model", "--trace", folder / "t.json", "--", host, statuses=(0, 1))
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
    """Bytes in use begin and end at nothing; the bandwidth of a bank, summed over time, is what was moved there.

    A sample has the value since the sample before it.
    """
    names: dict[int, Any] = {}
    values: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for packet in decoded.packet:
        event = packet.gpu_counter_event
        names |= {spec.counter_id: (event.gpu_id, spec.name) for spec in event.counter_descriptor.specs}
        for each in event.counters:
            values[each.counter_id].append((packet.timestamp, each.double_value))
    found = {names[number]: each for number, each in values.items()}
    held = found[0, "DDR bank 1: in use"]
    assert (held[0][1], max(value for _, value in held)) == (0, (8 << 20) + 64)
    rates = found[0, "DDR bank 1: bandwidth"]
    total = sum(value * (at - before) / 1e9 for (before, _), (at, value) in pairwise(rates))
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


Query = Callable[[str], list[tuple[Any, ...]]]
TIMES = """
    SELECT gpu_slice.name, COUNT(*), SUM(gpu_slice.dur)
    FROM gpu_slice JOIN track ON gpu_slice.track_id = track.id
    WHERE track.name = 'kernel ' || gpu_slice.name OR track.name LIKE 'kernel ' || gpu_slice.name || ' (%)'
    GROUP BY gpu_slice.name
"""
BYTES = """
    SELECT gpu_slice.name, COUNT(*), SUM(CAST(EXTRACT_ARG(gpu_slice.arg_set_id, 'bytes') AS INT))
    FROM gpu_slice
    WHERE gpu_slice.name IN ('host to board', 'board to host')
    GROUP BY gpu_slice.name
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace without the simulated clock: each kernel ran on one GPU."""
    folder = tmp_path_factory.mktemp("measured")
    host = host_of(ROOT / "examples" / "tutorial" / "sums.c", folder / "sums", "-g")
    fpgart("run", "--board", "a10_ref", "--trace", folder / "t.json", "--", host, statuses=(0, 1))
    fpgart("report", folder / "t.json", "--perfetto", folder / "t.pftrace")
    return folder / "t.json"


@pytest.fixture(params=["sqlite", "trace processor"])
def query(request: pytest.FixtureRequest, measured: Path) -> Iterator[Query]:
    """Answers a statement about the trace in Perfetto's format."""
    file = measured.with_suffix(".pftrace")
    yield from in_sqlite(file) if request.param == "sqlite" else in_trace_processor(file)


def in_sqlite(file: Path) -> Iterator[Query]:
    """Tables of GPU slices: a track is a hardware queue of a GPU, extra data are arguments."""
    decoded = pb.Trace.FromString(file.read_bytes())
    args: list[dict[str, str]] = []
    with closing(sqlite3.connect(":memory:")) as tables:
        tables.create_function("EXTRACT_ARG", 2, lambda number, key: args[number].get(key))
        tables.execute("CREATE TABLE track (id, name)")
        tables.execute("CREATE TABLE gpu_slice (ts, dur, name, track_id, arg_set_id)")
        tracks: dict[tuple[int, str], int] = {}
        for at, queue, _, event in slices(decoded):
            track = tracks.setdefault((event.gpu_id, queue), len(tracks))
            row = (at, event.duration, event.name, track, len(args))
            tables.execute("INSERT INTO gpu_slice VALUES (?, ?, ?, ?, ?)", row)
            args.append({each.name: each.value for each in event.extra_data})
        tables.executemany("INSERT INTO track VALUES (?, ?)", ((number, name) for (_, name), number in tracks.items()))
        yield lambda statement: tables.execute(statement).fetchall()


def in_trace_processor(file: Path) -> Iterator[Query]:
    """Perfetto's own tables."""
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    found = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if not found:
        pytest.skip("no trace_processor_shell in PATH, and TRACE_PROCESSOR names none")
    with TraceProcessor(trace=str(file), config=TraceProcessorConfig(bin_path=found)) as processor:
        yield lambda statement: [tuple(vars(row).values()) for row in processor.query(statement)]


def test_sql_finds_the_launches_and_times_of_the_report(measured: Path, query: Query) -> None:
    kernels = report.read(measured).kernels
    expected = [(name, runs.launches, round(runs.microseconds * 1000)) for (_, name), runs in kernels.items()]
    assert len(expected) == 1
    assert query(TIMES) == expected


def test_sql_finds_the_calls_and_bytes_of_the_report(measured: Path, query: Query) -> None:
    traffic = report.read(measured).traffic
    names = {"board to host": "aocl_mmd_read", "host to board": "aocl_mmd_write"}
    expected = [(name, traffic[0, call].calls, traffic[0, call].bytes) for name, call in names.items()]
    assert all(calls and size for _, calls, size in expected)
    assert query(BYTES) == expected


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
