# SPDX-License-Identifier: Apache-2.0
"""What OpenCL 3.0 promises to every host, chapter by chapter; on any driver, alone and in eight threads."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import opencl_api as cl
import pytest
from opencl_api import Host, callback, event_slot, fails, handles, status_of, strings, wait

INTS = """
kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }
kernel void ids(global int *x) {
    size_t i = get_global_id(0) - get_global_offset(0) + get_global_size(0) * (get_global_id(1) - get_global_offset(1));
    x[i] = (int)(get_global_id(0) + 100 * get_global_id(1) + 10000 * get_local_size(0) + 1000000 * get_num_groups(0));
}
kernel void total(global const int *in, global int *out, local int *part) {
    size_t l = get_local_id(0), n = get_local_size(0);
    part[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t s = n / 2; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
kernel __attribute__((reqd_work_group_size(4, 2, 1))) void required(global int *x) { x[0] = 1; }
kernel void vectors(global float4 *v, float4 a) { v[get_global_id(0)] = v[get_global_id(0)].wzyx + a; }
kernel void count(global int *x) { atomic_add(x, 1); }
kernel void spin(global uint *x, uint n) {
    uint v = x[0];
    for (uint i = 0; i < n; i++) v = v * 1664525u + 1013904223u;
    x[0] = v;
}
"""


def order_of_destructors(host: Host, kind: str, made: int) -> list[int]:
    """Releases an object that three destructor callbacks are registered for; returns their numbers as they run."""
    seen: list[int] = []
    functions = [
        callback(lambda handle, data, number=number: seen.append(number), ctypes.c_void_p, ctypes.c_void_p)
        for number in range(3)
    ]
    for function in functions:
        host.cl.check(f"clSet{kind}DestructorCallback", made, function, None)
    host.cl.check(f"clRelease{kind}", made)
    return seen


class TestPlatform:
    """4.1"""

    @pytest.mark.parametrize("query", ["PROFILE", "VERSION", "NAME", "VENDOR", "EXTENSIONS"])
    def test_strings_end_with_a_zero(self, host: Host, query: str) -> None:
        assert host.cl.text("clGetPlatformInfo", host.platform, getattr(cl, f"CL_PLATFORM_{query}")) is not None

    def test_the_version_begins_as_specified(self, host: Host) -> None:
        assert host.cl.text("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_VERSION).startswith("OpenCL 3.0 ")

    def test_the_numeric_version_is_the_same(self, host: Host) -> None:
        assert host.cl.number("clGetPlatformInfo", host.platform, cl.CL_PLATFORM_NUMERIC_VERSION) >> 22 == 3


class TestDevice:
    """4.2"""

    def test_the_largest_allocation_is_within_global_memory(self, host: Host) -> None:
        largest = host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE)
        total = host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_GLOBAL_MEM_SIZE)
        assert 0 < largest <= total

    def test_timers_of_device_and_host_go_forward_together(self, host: Host) -> None:
        first, second = handles(0), handles(0)
        host.cl.check("clGetDeviceAndHostTimer", host.device, first, second)
        later = handles(0)
        host.cl.check("clGetHostTimer", host.device, later)
        assert 0 < second[0] <= later[0]

    @pytest.mark.parametrize(("query", "size"), [("DEVICE_UUID", 16), ("DRIVER_UUID", 16), ("DEVICE_LUID", 8)])
    def test_identifiers_of_device_and_driver_have_the_size_of_their_extension(
        self, host: Host, query: str, size: int
    ) -> None:
        """Without cl_khr_device_uuid there are none."""
        asked = (host.device, getattr(cl, f"CL_{query}_KHR"))
        if "cl_khr_device_uuid" in host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS).split():
            assert len(host.cl.info("clGetDeviceInfo", *asked)) == size
        else:
            fails(host, -30, "clGetDeviceInfo", *asked, 0, None, handles(0))

    def test_retain_and_release_of_a_root_device_change_nothing(self, host: Host) -> None:
        for call in ("clRetainDevice", "clReleaseDevice", "clReleaseDevice"):
            host.cl.check(call, host.device)
        assert host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_REFERENCE_COUNT) == 1

    def test_true_is_cl_true(self, host: Host) -> None:
        """Hosts compare with CL_TRUE."""
        for query in (cl.CL_DEVICE_AVAILABLE, cl.CL_DEVICE_COMPILER_AVAILABLE, cl.CL_DEVICE_ENDIAN_LITTLE):
            assert host.cl.number("clGetDeviceInfo", host.device, query) == cl.CL_TRUE


class TestContext:
    """4.4"""

    def test_it_knows_its_devices_and_properties(self, host: Host) -> None:
        properties = handles(cl.CL_CONTEXT_PLATFORM, host.platform, 0)
        context = host.cl.make("clCreateContext", properties, 1, handles(host.device), None, None)
        assert host.cl.number("clGetContextInfo", context, cl.CL_CONTEXT_NUM_DEVICES) == 1
        assert host.cl.number("clGetContextInfo", context, cl.CL_CONTEXT_DEVICES) == host.device
        answer = host.cl.info("clGetContextInfo", context, cl.CL_CONTEXT_PROPERTIES)
        assert struct.unpack("3Q", answer) == (cl.CL_CONTEXT_PLATFORM, host.platform, 0)
        host.cl.check("clReleaseContext", context)

    def test_references_are_counted(self, host: Host) -> None:
        context = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
        host.cl.check("clRetainContext", context)
        assert host.cl.number("clGetContextInfo", context, cl.CL_CONTEXT_REFERENCE_COUNT) == 2
        host.cl.check("clReleaseContext", context)
        assert host.cl.number("clGetContextInfo", context, cl.CL_CONTEXT_REFERENCE_COUNT) == 1
        host.cl.check("clReleaseContext", context)

    def test_destructor_callbacks_run_last_registered_first(self, host: Host) -> None:
        context = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
        assert order_of_destructors(host, "Context", context) == [2, 1, 0]

    def test_a_context_lives_as_long_as_its_objects(self, host: Host) -> None:
        context = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
        buffer = host.cl.make("clCreateBuffer", context, 1, 64, None)
        host.cl.check("clReleaseContext", context)
        assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_CONTEXT) == context
        host.cl.check("clReleaseMemObject", buffer)

    def test_from_type_takes_all_devices(self, host: Host) -> None:
        properties = handles(cl.CL_CONTEXT_PLATFORM, host.platform, 0)
        context = host.cl.make("clCreateContextFromType", properties, 0xFFFFFFFF, None, None)
        found = handles(0)
        host.cl.check("clGetDeviceIDs", host.platform, 0xFFFFFFFF, 0, None, found)
        assert host.cl.number("clGetContextInfo", context, cl.CL_CONTEXT_NUM_DEVICES) == found[0] & 0xFFFFFFFF
        host.cl.check("clReleaseContext", context)


class TestImages:
    """5.3"""

    def test_a_device_has_formats_of_images_if_and_only_if_it_has_images(self, host: Host) -> None:
        count = ctypes.c_uint32(12345)
        asked = (host.context, cl.CL_MEM_READ_WRITE, cl.CL_MEM_OBJECT_IMAGE2D)
        host.cl.check("clGetSupportedImageFormats", *asked, 0, None, ctypes.byref(count))
        has_images = host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_IMAGE_SUPPORT)
        assert 0 < count.value < 12345 if has_images else count.value == 0


class TestCommandQueue:
    """5.1"""

    def test_it_knows_how_it_was_made(self, host: Host) -> None:
        assert host.cl.number("clGetCommandQueueInfo", host.queue, cl.CL_QUEUE_CONTEXT) == host.context
        assert host.cl.number("clGetCommandQueueInfo", host.queue, cl.CL_QUEUE_DEVICE) == host.device
        answer = host.cl.number("clGetCommandQueueInfo", host.queue, cl.CL_QUEUE_PROPERTIES)
        assert answer == cl.CL_QUEUE_PROFILING_ENABLE

    def test_the_property_list_comes_back_as_it_was(self, host: Host) -> None:
        answer = host.cl.info("clGetCommandQueueInfo", host.queue, cl.CL_QUEUE_PROPERTIES_ARRAY)
        assert struct.unpack("3Q", answer) == (cl.CL_QUEUE_PROPERTIES, cl.CL_QUEUE_PROFILING_ENABLE, 0)

    def test_commands_of_an_in_order_queue_see_each_other(self, host: Host) -> None:
        buffer = host.written(struct.pack("i", 0))
        kernel = host.kernel(INTS, "add", buffer, struct.pack("i", 1))
        for _ in range(50):
            host.launch(kernel, 1)
        assert host.ints(buffer, 1) == [50]

    def test_a_queue_that_is_released_finishes_its_commands(self, host: Host) -> None:
        queue, buffer = host.new_queue(), host.written(struct.pack("i", 1))
        kernel, event = host.kernel(INTS, "add", buffer, struct.pack("i", 2)), event_slot()
        host.launch(kernel, 1, queue=queue, event=event)
        host.cl.check("clReleaseCommandQueue", queue)
        wait(host, event[0])
        assert host.ints(buffer, 1) == [3]

    @pytest.mark.parametrize(
        ("barrier", "has_event"),
        [
            ("clEnqueueBarrierWithWaitList", False),
            ("clEnqueueBarrierWithWaitList", True),
            ("clEnqueueMarkerWithWaitList", True),
        ],
    )
    def test_kernels_of_an_out_of_order_queue_wait_for_a_barrier_or_for_a_marker_in_their_wait_list(
        self, host: Host, barrier: str, has_event: bool
    ) -> None:
        """Kernels, because drivers run those beside each other that nothing orders: this one would overtake."""
        queue, buffer = host.out_of_order, host.buffer(4)
        steps = struct.pack("I", 20_000_000)
        host.write(buffer, struct.pack("i", 1))
        host.launch(host.kernel(INTS, "spin", buffer, steps), 1)
        (spun,) = host.ints(buffer, 1)
        host.write(buffer, struct.pack("i", 1))
        spin, add = host.kernel(INTS, "spin", buffer, steps), host.kernel(INTS, "add", buffer, struct.pack("i", 5))
        passed, done = event_slot(), event_slot()
        host.launch(spin, 1, queue=queue)
        host.cl.check(barrier, queue, 0, None, passed if has_event else None)
        host.cl.check("clFlush", queue)
        by_event = (1, passed) if "Marker" in barrier else (0, None)
        host.cl.check("clEnqueueNDRangeKernel", queue, add, 1, None, (ctypes.c_size_t * 1)(1), None, *by_event, done)
        wait(host, done[0])
        assert host.ints(buffer, 1) == [ctypes.c_int32(spun + 5).value]


class TestEvents:
    """5.11 to 5.14"""

    def test_a_command_waits_for_a_user_event(self, host: Host) -> None:
        buffer = host.written(struct.pack("i", 0))
        user = host.cl.make("clCreateUserEvent", host.context)
        event = event_slot()
        data = struct.pack("i", 7)
        host.cl.check("clEnqueueWriteBuffer", host.queue, buffer, 0, 0, 4, data, 1, handles(user), event)
        host.cl.check("clFlush", host.queue)
        found = ctypes.create_string_buffer(4)  # by another queue, which follows nothing
        host.cl.check("clEnqueueReadBuffer", host.out_of_order, buffer, 1, 0, 4, found, 0, None, None)
        assert (found.raw, status_of(host, event[0]) > 0) == (bytes(4), True)
        host.cl.check("clSetUserEventStatus", user, 0)
        wait(host, event[0])
        assert host.ints(buffer, 1) == [7]

    def test_a_failed_user_event_fails_those_that_wait_for_it(self, host: Host) -> None:
        user, buffer = host.cl.make("clCreateUserEvent", host.context), host.buffer(4)
        first, second = event_slot(), event_slot()
        data = bytes(4)
        host.cl.check("clEnqueueWriteBuffer", host.queue, buffer, 0, 0, 4, data, 1, handles(user), first)
        host.cl.check("clEnqueueMarkerWithWaitList", host.out_of_order, 1, first, second)
        host.cl.check("clSetUserEventStatus", user, -5)
        fails(host, -14, "clWaitForEvents", 1, second)
        assert status_of(host, first[0]) < 0
        assert status_of(host, second[0]) < 0

    def test_profiling_times_only_go_forward(self, host: Host) -> None:
        buffer, event = host.buffer(4096), event_slot()
        data = bytes(4096)
        host.cl.check("clEnqueueWriteBuffer", host.queue, buffer, 0, 0, 4096, data, 0, None, event)
        wait(host, event[0])
        names = ("QUEUED", "SUBMIT", "START", "END")
        times = [
            host.cl.number("clGetEventProfilingInfo", event[0], getattr(cl, f"CL_PROFILING_COMMAND_{name}"))
            for name in names
        ]
        assert times == sorted(times)
        assert times[0] > 0

    @pytest.mark.parametrize("launches", [False, True], ids=["a marker", "a kernel"])
    def test_callbacks_come_in_the_order_of_the_states(self, host: Host, launches: bool) -> None:
        user, event = host.cl.make("clCreateUserEvent", host.context), event_slot()
        if launches:
            kernel = host.kernel(INTS, "add", host.buffer(4), struct.pack("i", 1))
            host.launch(kernel, 1)
            host.finish()
            host.launch(kernel, 1, wait=(user,), event=event)
        else:
            host.cl.check("clEnqueueMarkerWithWaitList", host.queue, 1, handles(user), event)
        seen: list[int] = []
        done = threading.Event()

        def note(handle: int, status: int, data: int) -> None:
            seen.append(status)
            if status == 0:
                done.set()

        function = callback(note, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
        for state in (0, 1, 2):
            host.cl.check("clSetEventCallback", event[0], state, function, None)
        host.cl.check("clFlush", host.queue)
        host.cl.check("clSetUserEventStatus", user, 0)
        wait(host, event[0])
        done.wait()
        assert seen == [2, 1, 0]

    def test_a_callback_for_a_state_that_is_past_is_called(self, host: Host) -> None:
        user, called = host.cl.make("clCreateUserEvent", host.context), threading.Event()
        host.cl.check("clSetUserEventStatus", user, 0)
        function = callback(lambda *_: called.set(), ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
        host.cl.check("clSetEventCallback", user, 0, function, None)
        called.wait()

    def test_events_know_their_command(self, host: Host) -> None:
        buffer, event = host.buffer(64), event_slot()
        host.cl.check("clEnqueueFillBuffer", host.queue, buffer, bytes(4), 4, 0, 64, 0, None, event)
        host.finish()
        assert host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_COMMAND_TYPE) == cl.CL_COMMAND_FILL_BUFFER
        assert host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_COMMAND_QUEUE) == host.queue
        assert host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_CONTEXT) == host.context

    def test_the_marker_of_opencl_1_1_has_an_event(self, host: Host) -> None:
        event = event_slot()
        host.cl.check("clEnqueueMarker", host.queue, event)
        wait(host, event[0])
        assert host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_COMMAND_TYPE) == cl.CL_COMMAND_MARKER

    def test_polling_an_event_makes_progress(self, host: Host) -> None:
        buffer, event = host.buffer(4), event_slot()
        data = bytes(4)
        host.cl.check("clEnqueueWriteBuffer", host.queue, buffer, 0, 0, 4, data, 0, None, event)
        host.cl.check("clFlush", host.queue)
        while status_of(host, event[0]) != 0:
            threading.Event().wait(0.001)


HOST_FLAGS = [
    # flags, call, status
    (1 << 7, "read", -59),  # CL_MEM_HOST_WRITE_ONLY
    (1 << 7, "write", 0),
    (1 << 8, "read", 0),  # CL_MEM_HOST_READ_ONLY
    (1 << 8, "write", -59),
    (1 << 9, "read", -59),  # CL_MEM_HOST_NO_ACCESS
    (1 << 9, "write", -59),
]


class TestBuffers:
    """5.2, 5.4"""

    def test_what_is_written_is_read(self, host: Host) -> None:
        buffer = host.written(bytes(1000))
        host.write(buffer, b"hello", 500)
        assert host.read(buffer, 1000) == bytes(500) + b"hello" + bytes(495)

    @pytest.mark.parametrize(("flags", "call", "status"), HOST_FLAGS)
    def test_host_access_flags_are_kept(self, host: Host, flags: int, call: str, status: int) -> None:
        buffer, data = host.buffer(64, 1 | flags), ctypes.create_string_buffer(64)
        name = "clEnqueueReadBuffer" if call == "read" else "clEnqueueWriteBuffer"
        fails(host, status, name, host.queue, buffer, 1, 0, 64, data, 0, None, None)

    @pytest.mark.parametrize("flags", [0, cl.CL_MEM_ALLOC_HOST_PTR, cl.CL_MEM_HOST_READ_ONLY, cl.CL_MEM_WRITE_ONLY])
    def test_flags_are_those_of_the_call_and_none_are_read_write(self, host: Host, flags: int) -> None:
        buffers = [host.buffer(4096, flags) for _ in range(3)]
        region = (cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 1024))
        parts = [host.cl.make("clCreateSubBuffer", buffer, 0, *region) for buffer in buffers]
        for each in (*buffers, *parts):
            assert host.cl.number("clGetMemObjectInfo", each, cl.CL_MEM_FLAGS) == (flags or cl.CL_MEM_READ_WRITE)

    @pytest.mark.parametrize("flags", [0, cl.CL_MEM_ALLOC_HOST_PTR])
    @pytest.mark.parametrize("access", [cl.CL_MEM_READ_ONLY, cl.CL_MEM_WRITE_ONLY, cl.CL_MEM_READ_WRITE])
    def test_a_part_of_a_buffer_without_access_flags_may_have_any(self, host: Host, flags: int, access: int) -> None:
        region = (cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 1024))
        part = host.cl.make("clCreateSubBuffer", host.buffer(4096, flags), access, *region)
        assert host.cl.number("clGetMemObjectInfo", part, cl.CL_MEM_FLAGS) & 7 == access

    def test_queries(self, host: Host) -> None:
        data = ctypes.create_string_buffer(b"x" * 256, 256)
        buffer = host.buffer(256, 1 | 8, data)
        query = "clGetMemObjectInfo"
        assert host.cl.number(query, buffer, cl.CL_MEM_TYPE) == cl.CL_MEM_OBJECT_BUFFER
        assert host.cl.number(query, buffer, cl.CL_MEM_FLAGS) == 1 | 8
        assert host.cl.number(query, buffer, cl.CL_MEM_SIZE) == 256
        assert host.cl.number(query, buffer, cl.CL_MEM_HOST_PTR) == ctypes.addressof(data)
        assert host.cl.number(query, buffer, cl.CL_MEM_MAP_COUNT) == 0
        assert host.cl.number(query, buffer, cl.CL_MEM_CONTEXT) == host.context
        assert host.cl.number(query, buffer, cl.CL_MEM_OFFSET) == 0
        assert host.cl.number(query, buffer, cl.CL_MEM_ASSOCIATED_MEMOBJECT) == 0
        assert host.read(buffer, 256) == b"x" * 256

    def test_a_rectangle_goes_where_its_pitches_say(self, host: Host) -> None:
        buffer = host.written(bytes(64))
        data = bytes(range(1, 7))
        host.cl.check(
            "clEnqueueWriteBufferRect", host.queue, buffer, 1, handles(2, 3, 0), handles(0, 0, 0), handles(3, 2, 1),
            8, 0, 3, 0, data, 0, None, None,
        )  # fmt: skip
        rows = [bytes(8)] * 3 + [b"\0\0\1\2\3\0\0\0", b"\0\0\4\5\6\0\0\0"] + [bytes(8)] * 3
        assert host.read(buffer, 64) == b"".join(rows)
        back = ctypes.create_string_buffer(6)
        host.cl.check(
            "clEnqueueReadBufferRect", host.queue, buffer, 1, handles(2, 3, 0), handles(0, 0, 0), handles(3, 2, 1),
            8, 0, 0, 0, back, 0, None, None,
        )  # fmt: skip
        assert back.raw == data

    def test_a_rectangle_is_copied_within_a_buffer(self, host: Host) -> None:
        buffer = host.written(bytes(range(64)))
        host.cl.check(
            "clEnqueueCopyBufferRect", host.queue, buffer, buffer, handles(0, 0, 0), handles(4, 4, 0),
            handles(4, 4, 1), 8, 0, 8, 0, 0, None, None,
        )  # fmt: skip
        expected = bytearray(range(64))
        for row in range(4):
            expected[(row + 4) * 8 + 4 : (row + 5) * 8] = bytes(range(row * 8, row * 8 + 4))
        assert host.read(buffer, 64) == bytes(expected)

    @pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 128])
    def test_a_fill_repeats_its_pattern(self, host: Host, size: int) -> None:
        buffer, pattern = host.buffer(1024), bytes(range(1, size + 1))
        host.cl.check("clEnqueueFillBuffer", host.queue, buffer, pattern, size, size, 1024 - 2 * size, 0, None, None)
        assert host.read(buffer, 1024 - 2 * size, size) == pattern * ((1024 - 2 * size) // size)

    def test_a_copy_takes_its_part(self, host: Host) -> None:
        source, target = host.written(bytes(range(100))), host.written(bytes(100))
        host.cl.check("clEnqueueCopyBuffer", host.queue, source, target, 10, 50, 20, 0, None, None)
        assert host.read(target, 100) == bytes(50) + bytes(range(10, 30)) + bytes(30)

    def test_a_mapped_region_can_be_changed(self, host: Host) -> None:
        buffer = host.written(bytes(range(100)))
        pointer = host.cl.make("clEnqueueMapBuffer", host.queue, buffer, 1, 1 | 2, 10, 20, 0, None, None)
        assert ctypes.string_at(pointer, 20) == bytes(range(10, 30))
        ctypes.memset(pointer, 255, 20)
        host.cl.check("clEnqueueUnmapMemObject", host.queue, buffer, pointer, 0, None, None)
        assert host.read(buffer, 100) == bytes(range(10)) + b"\xff" * 20 + bytes(range(30, 100))

    @pytest.mark.parametrize("migrated", ["buffer", "sub-buffer"])
    @pytest.mark.parametrize("mapped", ["buffer", "sub-buffer"])
    def test_what_the_host_wrote_into_a_mapped_region_stays_when_the_buffer_migrates(
        self, host: Host, mapped: str, migrated: str
    ) -> None:
        buffer = host.written(bytes(100))
        part = host.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 50))
        owner = part if mapped == "sub-buffer" else buffer
        pointer = host.cl.make("clEnqueueMapBuffer", host.queue, owner, 1, cl.CL_MAP_WRITE, 10, 20, 0, None, None)
        ctypes.memset(pointer, 7, 20)
        moved = handles(part if migrated == "sub-buffer" else buffer)
        host.cl.check("clEnqueueMigrateMemObjects", host.queue, 1, moved, cl.CL_MIGRATE_MEM_OBJECT_HOST, 0, None, None)
        host.finish()
        assert ctypes.string_at(pointer, 20) == b"\7" * 20
        host.cl.check("clEnqueueUnmapMemObject", host.queue, owner, pointer, 0, None, None)
        assert host.read(buffer, 100) == bytes(10) + b"\7" * 20 + bytes(70)

    def test_a_buffer_migrates_though_a_region_of_a_released_sub_buffer_is_still_mapped(self, host: Host) -> None:
        memory = ctypes.create_string_buffer(100)
        buffer = host.buffer(100, cl.CL_MEM_USE_HOST_PTR, memory)
        host.write(buffer, bytes(100))
        part = host.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 50))
        host.cl.make("clEnqueueMapBuffer", host.queue, part, 1, cl.CL_MAP_READ, 10, 20, 0, None, None)
        host.cl.check("clReleaseMemObject", part)
        host.write(buffer, b"\7" * 100)
        flags = cl.CL_MIGRATE_MEM_OBJECT_HOST
        host.cl.check("clEnqueueMigrateMemObjects", host.queue, 1, handles(buffer), flags, 0, None, None)
        host.finish()
        assert memory.raw == b"\7" * 100

    def test_a_sub_buffer_that_migrates_without_contents_leaves_those_beside_it(self, host: Host) -> None:
        buffer = host.written(b"\7" * 100)
        part = host.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 50))
        flags = cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
        host.cl.check("clEnqueueMigrateMemObjects", host.queue, 1, handles(part), flags, 0, None, None)
        assert host.read(buffer, 50, 50) == b"\7" * 50

    def test_maps_are_counted(self, host: Host) -> None:
        buffer = host.buffer(100)
        for count, offset in enumerate((0, 50)):
            assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT) == count
            host.cl.make("clEnqueueMapBuffer", host.queue, buffer, 1, 1, offset, 10, 0, None, None)
        assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT) == 2

    def test_what_is_unmapped_does_not_count(self, host: Host) -> None:
        buffer = host.buffer(100)
        pointers = [host.cl.make("clEnqueueMapBuffer", host.queue, buffer, 1, 1, k, 10, 0, None, None) for k in (0, 50)]
        for pointer in pointers:
            host.cl.check("clEnqueueUnmapMemObject", host.queue, buffer, pointer, 0, None, None)
        host.finish()
        assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT) == 0

    def test_destructor_callbacks_run_last_registered_first(self, host: Host) -> None:
        assert order_of_destructors(host, "MemObject", host.buffer(64)) == [2, 1, 0]

    def test_destructor_callbacks_of_a_pipe_run_in_that_order_too(self, host: Host) -> None:
        pipe, status = host.cl.attempt("clCreatePipe", host.context, 0, 4, 16, None)
        if status == cl.CL_INVALID_OPERATION:
            pytest.skip("the driver has no pipes")
        assert order_of_destructors(host, "MemObject", pipe) == [2, 1, 0]

    def test_a_sub_buffer_is_a_part_of_its_buffer(self, host: Host) -> None:
        align = host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_MEM_BASE_ADDR_ALIGN) // 8
        data = ctypes.create_string_buffer(2 * align)
        buffer = host.buffer(2 * align, cl.CL_MEM_USE_HOST_PTR, data)
        window = host.cl.make("clCreateSubBuffer", buffer, 1, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(align, align))
        host.write(window, b"inside")
        assert host.read(buffer, 6, align) == b"inside"
        assert host.cl.number("clGetMemObjectInfo", window, cl.CL_MEM_OFFSET) == align
        assert host.cl.number("clGetMemObjectInfo", window, cl.CL_MEM_HOST_PTR) == ctypes.addressof(data) + align
        assert host.cl.number("clGetMemObjectInfo", window, cl.CL_MEM_ASSOCIATED_MEMOBJECT) == buffer

    def test_a_sub_buffer_keeps_its_buffer_alive(self, host: Host) -> None:
        buffer = host.buffer(4096)
        host.write(buffer, b"kept")
        window = host.cl.make("clCreateSubBuffer", buffer, 1, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, 64))
        host.cl.check("clReleaseMemObject", buffer)
        assert host.read(window, 4) == b"kept"

    def test_properties_come_back_as_they_were(self, host: Host) -> None:
        plain, listed = host.buffer(64), host.cl.make(
            "clCreateBufferWithProperties", host.context, handles(0), 1, 64, None
        )  # fmt: skip
        assert host.cl.info("clGetMemObjectInfo", plain, cl.CL_MEM_PROPERTIES) == b""
        assert host.cl.info("clGetMemObjectInfo", listed, cl.CL_MEM_PROPERTIES) == bytes(8)


class TestPrograms:
    """5.8"""

    def test_the_source_is_what_was_given(self, host: Host) -> None:
        program = host.cl.make("clCreateProgramWithSource", host.context, 2, strings("kernel void", " k(){}"), None)
        assert host.cl.text("clGetProgramInfo", program, cl.CL_PROGRAM_SOURCE) == "kernel void k(){}"

    def test_options_define_macros(self, host: Host) -> None:
        source = "kernel void k(global int *x) { x[0] = VALUE; }"
        assert host.result_of(host.program(source, "-DVALUE=42")) == 42

    def test_a_wrong_program_fails_with_a_log(self, host: Host) -> None:
        program = host.cl.make("clCreateProgramWithSource", host.context, 1, strings("kernel void k( {"), None)
        fails(host, -11, "clBuildProgram", program, 0, None, None, None, None)
        status = host.cl.info("clGetProgramBuildInfo", program, host.device, cl.CL_PROGRAM_BUILD_STATUS)
        assert struct.unpack("i", status) == (-2,)
        assert "error" in host.cl.text("clGetProgramBuildInfo", program, host.device, cl.CL_PROGRAM_BUILD_LOG)

    def test_the_build_callback_is_called(self, host: Host) -> None:
        program = host.cl.make("clCreateProgramWithSource", host.context, 1, strings("kernel void k() {}"), None)
        called = threading.Event()
        function = callback(lambda *_: called.set(), ctypes.c_void_p, ctypes.c_void_p)
        host.cl.check("clBuildProgram", program, 0, None, None, function, None)
        called.wait()

    def test_kernel_names_are_listed(self, host: Host) -> None:
        program = host.program("kernel void b() {} kernel void a() {}")
        assert set(host.cl.text("clGetProgramInfo", program, cl.CL_PROGRAM_KERNEL_NAMES).split(";")) == {"a", "b"}
        assert host.cl.number("clGetProgramInfo", program, cl.CL_PROGRAM_NUM_KERNELS) == 2

    def test_a_device_without_intermediate_languages_has_no_specialization_constants(self, host: Host) -> None:
        if host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_IL_VERSION):
            pytest.skip("the device takes an intermediate language")
        value = struct.pack("i", 7)
        status = cl.CL_INVALID_OPERATION
        fails(host, status, "clSetProgramSpecializationConstant", host.program(INTS), 0, 4, value)

    def test_binaries_work_again(self, host: Host) -> None:
        program = host.program(INTS)
        size = host.cl.number("clGetProgramInfo", program, cl.CL_PROGRAM_BINARY_SIZES)
        data = ctypes.create_string_buffer(size)
        places = handles(ctypes.addressof(data))
        host.cl.check("clGetProgramInfo", program, cl.CL_PROGRAM_BINARIES, 8, places, None)
        state = ctypes.c_int32(1)
        again = host.cl.make(
            "clCreateProgramWithBinary", host.context, 1, handles(host.device), handles(size), places,
            ctypes.byref(state),
        )  # fmt: skip
        assert state.value == 0
        host.cl.check("clBuildProgram", again, 0, None, None, None, None)
        buffer = host.written(struct.pack("i", 4))
        kernel = host.cl.make("clCreateKernel", again, b"add")
        host.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
        host.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", 5))
        host.launch(kernel, 1)
        assert host.ints(buffer, 1) == [9]

    def test_a_binary_that_cannot_be_loaded_has_that_status(self, host: Host) -> None:
        data, state = ctypes.create_string_buffer(b"no program at all", 17), ctypes.c_int32(1)
        made = host.cl.attempt(
            "clCreateProgramWithBinary", host.context, 1, handles(host.device), handles(17),
            handles(ctypes.addressof(data)), ctypes.byref(state),
        )  # fmt: skip
        assert (made, state.value) == ((0, -42), -42)

    @staticmethod
    def compiled(host: Host, *sources: str) -> list[int]:
        """Programs that are compiled and not linked."""
        made = []
        for source in sources:
            program = host.cl.make("clCreateProgramWithSource", host.context, 1, strings(source), None)
            host.cl.check("clCompileProgram", program, 0, None, None, 0, None, None, None, None)
            made.append(program)
        return made

    def link_that_fails(self, host: Host) -> int:
        """What clLinkProgram gives for two programs that have the same kernel."""
        programs = self.compiled(host, "kernel void k(global int *x) {}", "kernel void k(global int *x) { x[0] = 1; }")
        made, status = host.cl.attempt("clLinkProgram", host.context, 0, None, None, 2, handles(*programs), None, None)
        assert status == cl.CL_LINK_PROGRAM_FAILURE
        assert made
        return made

    def test_a_link_that_fails_gives_a_program_with_the_log(self, host: Host) -> None:
        program = self.link_that_fails(host)
        status = host.cl.info("clGetProgramBuildInfo", program, host.device, cl.CL_PROGRAM_BUILD_STATUS)
        assert struct.unpack("i", status) == (-2,)
        assert "multiply defined" in host.cl.text(
            "clGetProgramBuildInfo", program, host.device, cl.CL_PROGRAM_BUILD_LOG
        )
        host.cl.check("clReleaseProgram", program)

    def test_what_did_not_link_has_no_kernels(self, host: Host) -> None:
        program = self.link_that_fails(host)
        assert host.cl.attempt("clCreateKernel", program, b"k") == (0, cl.CL_INVALID_PROGRAM_EXECUTABLE)
        host.cl.check("clReleaseProgram", program)

    def test_a_linked_program_cannot_be_built_again(self, host: Host) -> None:
        made = self.compiled(host, "kernel void k(global int *x) { x[0] = 1; }")
        program = host.cl.make("clLinkProgram", host.context, 0, None, None, 1, handles(*made), None, None)
        fails(host, cl.CL_INVALID_OPERATION, "clBuildProgram", program, 0, None, None, None, None)
        host.cl.make("clCreateKernel", program, b"k")

    def test_compiled_and_linked_kernels_take_arguments_of_every_kind(self, host: Host) -> None:
        main = """#include "shift.h"
        kernel void k(global int *x, int y, local int *z, constant int *w) { z[0] = shift(y); x[0] = z[0] + w[0]; }"""
        made = [
            host.cl.make("clCreateProgramWithSource", host.context, 1, strings(text), None)
            for text in (main, "int shift(int v);", "int shift(int v) { return v << 4; }")
        ]
        names = strings("shift.h")
        host.cl.check("clCompileProgram", made[0], 0, None, None, 1, handles(made[1]), names, None, None)
        host.cl.check("clCompileProgram", made[2], 0, None, None, 0, None, None, None, None)
        linked = host.cl.make("clLinkProgram", host.context, 0, None, None, 2, handles(made[0], made[2]), None, None)
        kernel, buffers = host.cl.make("clCreateKernel", linked, b"k"), [host.buffer(4), host.buffer(4)]
        host.write(buffers[1], struct.pack("i", 3))
        for index, (size, value) in enumerate(
            [(8, handles(buffers[0])), (4, struct.pack("i", 2)), (16, None), (8, handles(buffers[1]))]
        ):
            host.cl.check("clSetKernelArg", kernel, index, size, value)
        host.launch(kernel, 1)
        assert host.ints(buffers[0], 1) == [35]

    def test_the_first_of_two_headers_of_one_name_is_included(self, host: Host) -> None:
        texts = '#include "two.h"\nkernel void k(global int *x) { x[0] = TWO; }', "#define TWO 1", "#define TWO 2"
        made = [host.cl.make("clCreateProgramWithSource", host.context, 1, strings(text), None) for text in texts]
        names = strings("two.h", "two.h")
        host.cl.check("clCompileProgram", made[0], 0, None, None, 2, handles(*made[1:]), names, None, None)
        linked = host.cl.make("clLinkProgram", host.context, 0, None, None, 1, handles(made[0]), None, None)
        assert host.result_of(linked) == 1

    def test_a_program_with_kernels_is_not_built_again(self, host: Host) -> None:
        program = host.program(INTS)
        kernel = host.cl.make("clCreateKernel", program, b"add")
        fails(host, -59, "clBuildProgram", program, 0, None, None, None, None)
        host.cl.check("clReleaseKernel", kernel)

    def test_a_program_whose_kernels_are_gone_is_built_again_with_other_options(self, host: Host) -> None:
        source = """kernel void k(global int *x) { x[0] = VALUE; }
        #if VALUE == 2
        kernel void two() {}
        #endif"""
        program = host.cl.make("clCreateProgramWithSource", host.context, 1, strings(source), None)
        for value, names in ((1, {"k"}), (2, {"k", "two"})):
            host.cl.check("clBuildProgram", program, 0, None, f"-DVALUE={value}".encode(), None, None)
            assert set(host.cl.text("clGetProgramInfo", program, cl.CL_PROGRAM_KERNEL_NAMES).split(";")) == names
            assert host.result_of(program) == value


ARG_INFO = "kernel void k(global const int *restrict a, float b, local char *c, constant uint4 *d) {}"
ARGUMENTS = [
    # name, type, address space, access, type qualifier
    ("a", "int*", 0x119B, 0x11A3, 1 | 2),
    ("b", "float", 0x119E, 0x11A3, 0),
    ("c", "char*", 0x119C, 0x11A3, 0),
    ("d", "uint4*", 0x119D, 0x11A3, 1),
]


class TestKernels:
    """5.9"""

    @pytest.mark.parametrize("index", range(4))
    def test_argument_information(self, host: Host, index: int) -> None:
        program = host.program(ARG_INFO, "-cl-kernel-arg-info")
        kernel = host.cl.make("clCreateKernel", program, b"k")
        query = ("clGetKernelArgInfo", kernel, index)
        found = (
            host.cl.text(*query, cl.CL_KERNEL_ARG_NAME),
            host.cl.text(*query, cl.CL_KERNEL_ARG_TYPE_NAME),
            host.cl.number(*query, cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER),
            host.cl.number(*query, cl.CL_KERNEL_ARG_ACCESS_QUALIFIER),
            host.cl.number(*query, cl.CL_KERNEL_ARG_TYPE_QUALIFIER),
        )
        name, type_name, address, access, qualifier = ARGUMENTS[index]
        assert found[:4] == (name, type_name, address, access)
        assert found[4] & qualifier == qualifier & found[4] | (qualifier & ~1)

    def test_queries(self, host: Host) -> None:
        kernel = host.kernel(INTS, "add")
        assert host.cl.text("clGetKernelInfo", kernel, cl.CL_KERNEL_FUNCTION_NAME) == "add"
        assert host.cl.number("clGetKernelInfo", kernel, cl.CL_KERNEL_NUM_ARGS) == 2
        assert host.cl.number("clGetKernelInfo", kernel, cl.CL_KERNEL_CONTEXT) == host.context
        assert host.cl.number("clGetKernelInfo", kernel, cl.CL_KERNEL_PROGRAM) == host.program(INTS)

    def test_the_attributes_of_a_kernel_are_those_in_its_source(self, host: Host) -> None:
        attributes = {
            name: host.cl.text("clGetKernelInfo", host.kernel(INTS, name), cl.CL_KERNEL_ATTRIBUTES)
            for name in ("required", "add")
        }
        assert "reqd_work_group_size(4,2,1)" in "".join(attributes["required"].split())
        assert attributes["add"] == ""

    def test_the_required_work_group_size_is_told_and_kept(self, host: Host) -> None:
        buffer = host.buffer(4)
        kernel = host.kernel(INTS, "required", buffer)
        query = ("clGetKernelWorkGroupInfo", kernel, host.device, cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE)
        assert struct.unpack("3Q", host.cl.info(*query)) == (4, 2, 1)
        enqueue = ("clEnqueueNDRangeKernel", host.queue, kernel, 2, None, handles(8, 8))
        fails(host, -54, *enqueue, handles(2, 2), 0, None, None)
        host.cl.check(*enqueue, handles(4, 2), 0, None, None)
        assert host.ints(buffer, 1) == [1]

    def test_the_required_work_group_size_is_taken_where_none_is_given(self, host: Host) -> None:
        source = """kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(global int *x) {
            x[0] = get_local_size(0) * 10 + get_local_size(1);
        }"""
        buffer = host.buffer(4)
        host.launch(host.kernel(source, "k", buffer), 8, 8)
        assert host.ints(buffer, 1) == [42]

    def test_arguments_are_taken_when_the_kernel_is_enqueued(self, host: Host) -> None:
        buffer = host.written(bytes(4))
        kernel = host.kernel(INTS, "add", buffer, struct.pack("i", 1))
        user = host.cl.make("clCreateUserEvent", host.context)
        host.launch(kernel, 1, wait=(user,))
        host.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", 100))
        host.cl.check("clSetUserEventStatus", user, 0)
        assert host.ints(buffer, 1) == [1]

    def test_a_clone_has_the_arguments_and_then_its_own(self, host: Host) -> None:
        buffer = host.written(bytes(4))
        kernel = host.kernel(INTS, "add", buffer, struct.pack("i", 1))
        clone = host.cl.make("clCloneKernel", kernel)
        host.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", 100))
        host.launch(clone, 1)
        assert host.ints(buffer, 1) == [1]

    def test_no_buffer_is_a_null_pointer(self, host: Host) -> None:
        source = "kernel void k(global int *x, global int *y) { y[0] = x == 0; }"
        buffer = host.buffer(4)
        kernel = host.kernel(source, "k", None, buffer)
        host.cl.check("clSetKernelArg", kernel, 0, 8, None)
        host.launch(kernel, 1)
        assert host.ints(buffer, 1) == [1]


class TestExecution:
    """5.10, 6"""

    def test_ids_offsets_and_sizes(self, host: Host) -> None:
        buffer = host.buffer(4 * 16)
        kernel = host.kernel(INTS, "ids", buffer)
        host.cl.check(
            "clEnqueueNDRangeKernel", host.queue, kernel, 2, handles(5, 7), handles(8, 2), handles(4, 1), 0, None, None
        )
        expected = [(x + 5) + 100 * (y + 7) + 10000 * 4 + 1000000 * 2 for y in range(2) for x in range(8)]
        assert host.ints(buffer, 16) == expected

    @pytest.mark.parametrize("group", [1, 16, 64])
    def test_local_memory_and_barriers(self, host: Host, group: int) -> None:
        source, target = host.written(struct.pack("256i", *range(256))), host.buffer(4 * (256 // group))
        kernel = host.kernel(INTS, "total", source, target)
        host.cl.check("clSetKernelArg", kernel, 2, 4 * group, None)
        host.cl.check(
            "clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(256), handles(group), 0, None, None
        )
        assert host.ints(target, 256 // group) == [sum(range(k, k + group)) for k in range(0, 256, group)]

    def test_vectors_by_value(self, host: Host) -> None:
        buffer = host.written(struct.pack("8f", *range(8)))
        kernel = host.kernel(INTS, "vectors", buffer, struct.pack("4f", 10, 20, 30, 40))
        host.launch(kernel, 2)
        assert struct.unpack("8f", host.read(buffer, 32)) == (13, 22, 31, 40, 17, 26, 35, 44)

    def test_atomics_count_every_work_item(self, host: Host) -> None:
        buffer = host.written(bytes(4))
        host.launch(host.kernel(INTS, "count", buffer), 1000)
        assert host.ints(buffer, 1) == [1000]

    def test_integers_are_divided_by_zero_without_an_exception(self, host: Host) -> None:
        source = """kernel void k(global int *x, int by) {
            size_t i = get_global_id(0);
            x[i] = i ? x[i] / 5 : x[i] / by;
        }"""
        buffer = host.written(struct.pack("4i", 5, 10, 15, 20))
        host.launch(host.kernel(source, "k", buffer, struct.pack("i", 0)), 4)
        assert host.ints(buffer, 4)[1:] == [2, 3, 4]

    def test_a_task_is_one_work_item(self, host: Host) -> None:
        buffer = host.written(bytes(4))
        kernel = host.kernel(INTS, "count", buffer)
        host.cl.check("clEnqueueTask", host.queue, kernel, 0, None, None)
        assert host.ints(buffer, 1) == [1]

    @pytest.mark.parametrize("is_launched_before", [True, False])
    @pytest.mark.parametrize("sizes", [(0,), (4, 0), (0, 4, 4)])
    def test_a_launch_of_no_work_items_ends_in_its_turn(
        self, host: Host, sizes: tuple[int, ...], is_launched_before: bool
    ) -> None:
        buffer, event = host.written(bytes(4)), event_slot()
        kernel = host.kernel(INTS, "count", buffer)
        if is_launched_before:
            host.launch(kernel, 1)
        user = host.cl.make("clCreateUserEvent", host.context)
        host.launch(host.kernel(INTS, "count", buffer), 1, wait=(user,))
        host.launch(kernel, *sizes, event=event)
        assert status_of(host, event[0]) > 0
        host.cl.check("clSetUserEventStatus", user, 0)
        wait(host, event[0])
        command = host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_COMMAND_TYPE)
        assert command == cl.CL_COMMAND_NDRANGE_KERNEL
        assert host.ints(buffer, 1) == [1 + is_launched_before]

    def test_a_launch_of_no_work_items_fails_with_its_wait_list(self, host: Host) -> None:
        event, user = event_slot(), host.cl.make("clCreateUserEvent", host.context)
        kernel = host.kernel(INTS, "count", host.buffer(4))
        host.launch(kernel, 1)
        host.launch(kernel, 0, wait=(user,), event=event)
        host.cl.check("clSetUserEventStatus", user, -5)
        fails(host, -14, "clWaitForEvents", 1, event)
        assert status_of(host, event[0]) < 0

    def test_a_launch_of_no_work_items_needs_all_arguments(self, host: Host) -> None:
        kernel = host.kernel(INTS, "add", host.buffer(4))
        fails(host, -52, "clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(0), None, 0, None, None)

    def test_non_blocking_commands_return_before_the_kernel_in_front_has_ended(self, host: Host) -> None:
        buffer, event = host.written(bytes(4)), event_slot()
        user = host.cl.make("clCreateUserEvent", host.context)
        kernel = host.kernel(INTS, "spin", buffer, struct.pack("I", 1000))
        host.launch(kernel, 1, wait=(user,))
        target = ctypes.create_string_buffer(b"\xee" * 4, 4)
        host.cl.check("clEnqueueReadBuffer", host.queue, buffer, 0, 0, 4, target, 0, None, event)
        assert status_of(host, event[0]) > 0
        assert target.raw == b"\xee" * 4
        host.cl.check("clSetUserEventStatus", user, 0)
        wait(host, event[0])
        assert target.raw != b"\xee" * 4

    def test_kernels_of_two_queues_are_ordered_by_events(self, host: Host) -> None:
        other, buffer = host.new_queue(), host.written(bytes(4))
        add = host.kernel(INTS, "add", buffer, struct.pack("i", 1))
        last: tuple[int, ...] = ()
        for turn in range(20):
            event = event_slot()
            host.launch(add, 1, queue=(host.queue, other)[turn % 2], wait=last, event=event)
            host.cl.check("clFlush", (host.queue, other)[turn % 2])
            last = (int(event[0]),)
        wait(host, *last)
        assert host.ints(buffer, 1) == [20]


@contextmanager
def coarse_grained(host: Host, size: int) -> Iterator[int]:
    """An SVM allocation; skips on devices that have none."""
    capabilities = host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_SVM_CAPABILITIES)
    if not capabilities & 1:
        pytest.skip("the device has no coarse-grained SVM")
    allocate = host.cl.library.clSVMAlloc
    allocate.restype = ctypes.c_void_p
    pointer = allocate(ctypes.c_void_p(host.context), ctypes.c_uint64(1), ctypes.c_size_t(size), 0)
    assert pointer
    yield pointer
    host.finish()
    host.cl.library.clSVMFree(ctypes.c_void_p(host.context), ctypes.c_void_p(pointer))


class TestAnswersAgain:
    """5.x.x "Queries": what is asked once more is answered as things are now."""

    def test_what_changes_is_told_as_it_is_now(self, host: Host) -> None:
        buffer = host.buffer(64)
        for references in (1, 2, 3):
            assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_REFERENCE_COUNT) == references
            host.cl.check("clRetainMemObject", buffer)
        for maps in (0, 1, 2):
            assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT) == maps
            host.cl.make("clEnqueueMapBuffer", host.queue, buffer, 1, cl.CL_MAP_READ, 0, 64, 0, None, None)

    def test_new_objects_are_not_taken_for_old_ones_that_lay_where_they_lie(self, host: Host) -> None:
        for size in range(64, 64 + 10_000):  # handles are used again
            buffer = host.cl.make("clCreateBuffer", host.context, 1, size, None)
            assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_SIZE) == size
            host.cl.check("clReleaseMemObject", buffer)

    def test_an_event_is_told_to_have_ended_when_it_has(self, host: Host) -> None:
        event = host.cl.make("clCreateUserEvent", host.context)
        status = functools.partial(host.cl.number, "clGetEventInfo", event, cl.CL_EVENT_COMMAND_EXECUTION_STATUS)
        assert [status(), status()] == [cl.CL_SUBMITTED] * 2
        host.cl.check("clSetUserEventStatus", event, cl.CL_COMPLETE)
        assert [status(), status()] == [cl.CL_COMPLETE] * 2
        for _ in range(2):
            host.cl.check("clWaitForEvents", 1, handles(event))

    def test_waiting_for_what_has_failed_fails_each_time(self, host: Host) -> None:
        event, fine = (host.cl.make("clCreateUserEvent", host.context) for _ in range(2))
        host.cl.check("clSetUserEventStatus", event, -1)
        host.cl.check("clSetUserEventStatus", fine, cl.CL_COMPLETE)
        for _ in range(2):
            host.cl.check("clWaitForEvents", 1, handles(fine))
            fails(host, -14, "clWaitForEvents", 2, handles(fine, event))

    def test_ended_events_of_two_contexts_are_refused_each_time(self, host: Host) -> None:
        other = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
        events = [host.cl.make("clCreateUserEvent", context) for context in (host.context, other)]
        for event in events:
            host.cl.check("clSetUserEventStatus", event, cl.CL_COMPLETE)
        for _ in range(2):
            for event in events:
                host.cl.check("clWaitForEvents", 1, handles(event))
            fails(host, cl.CL_INVALID_CONTEXT, "clWaitForEvents", 2, handles(*events))

    def test_a_known_answer_needs_its_room(self, host: Host) -> None:
        for _ in range(2):
            assert host.cl.number("clGetContextInfo", host.context, cl.CL_CONTEXT_NUM_DEVICES) >= 1
            room = ctypes.create_string_buffer(2)
            fails(host, cl.CL_INVALID_VALUE, "clGetContextInfo", host.context, cl.CL_CONTEXT_NUM_DEVICES, 2, room, None)
            assert room.raw == bytes(2)

    @pytest.mark.usefixtures("fpgart_alone")
    def test_a_query_is_answered_for_its_own_kind_of_object_alone(self, host: Host) -> None:
        """With other drivers, what is no such object may end the process."""
        assert host.cl.number("clGetContextInfo", host.context, cl.CL_CONTEXT_NUM_DEVICES) >= 1
        room = ctypes.create_string_buffer(8)
        arguments = (cl.CL_CONTEXT_NUM_DEVICES, 8, room, None)
        fails(host, cl.CL_INVALID_COMMAND_QUEUE, "clGetCommandQueueInfo", host.context, *arguments)
        buffer = host.cl.make("clCreateBuffer", host.context, 1, 64, None)
        assert host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_SIZE) == 64
        host.cl.check("clReleaseMemObject", buffer)
        fails(host, cl.CL_INVALID_MEM_OBJECT, "clGetMemObjectInfo", buffer, cl.CL_MEM_SIZE, 8, room, None)


class TestSharedVirtualMemory:
    """5.6"""

    @pytest.mark.parametrize("flag", ["USE", "COPY"])
    def test_a_buffer_from_an_allocation_ends_within_it(self, host: Host, flag: str) -> None:
        flags = getattr(cl, f"CL_MEM_{flag}_HOST_PTR")
        with coarse_grained(host, 400) as pointer:
            for _ in range(2):
                host.cl.check("clReleaseMemObject", host.buffer(400, flags, ctypes.c_void_p(pointer)))
                more = (flags, 401, ctypes.c_void_p(pointer))
                assert host.cl.attempt("clCreateBuffer", host.context, *more) == (0, cl.CL_INVALID_BUFFER_SIZE)
                host.launch(host.kernel(INTS, "add", host.written(bytes(4)), bytes(4)), 1)

    def test_the_list_of_a_kernels_allocations_can_be_empty(self, host: Host) -> None:
        with coarse_grained(host, 400) as pointer:
            kernel = host.kernel(INTS, "add", None, struct.pack("i", 5))
            query = cl.CL_KERNEL_EXEC_INFO_SVM_PTRS
            host.cl.check("clSetKernelExecInfo", kernel, query, 8, handles(pointer))
            host.cl.check("clSetKernelExecInfo", kernel, query, 0, None)

    def test_a_migration_ends_in_its_turn(self, host: Host) -> None:
        event, user = event_slot(), host.cl.make("clCreateUserEvent", host.context)
        with coarse_grained(host, 400) as pointer:
            kernel = host.kernel(INTS, "add", None, struct.pack("i", 5))
            host.cl.check("clSetKernelArgSVMPointer", kernel, 0, pointer)
            host.cl.check("clEnqueueSVMMemFill", host.queue, pointer, bytes(4), 4, 400, 0, None, None)
            host.launch(kernel, 100, wait=(user,))
            one = 1, handles(pointer), None, 0
            host.cl.check("clEnqueueSVMMigrateMem", host.queue, *one, 0, None, event)
            host.launch(kernel, 100)
            assert status_of(host, event[0]) > 0
            host.cl.check("clSetUserEventStatus", user, 0)
            wait(host, event[0])
            command = host.cl.number("clGetEventInfo", event[0], cl.CL_EVENT_COMMAND_TYPE)
            assert command == cl.CL_COMMAND_SVM_MIGRATE_MEM
            host.cl.check("clEnqueueSVMMap", host.queue, 1, 1, pointer, 400, 0, None, None)
            assert ctypes.string_at(pointer, 400) == struct.pack("100i", *[10] * 100)
            host.cl.check("clEnqueueSVMUnmap", host.queue, pointer, 0, None, None)

    def test_a_blocking_map_returns_behind_the_commands_before_it(self, host: Host) -> None:
        steps, buffer = struct.pack("I", 20_000_000), host.written(struct.pack("i", 1))
        host.launch(host.kernel(INTS, "spin", buffer, steps), 1)
        spun = host.read(buffer, 4)
        with coarse_grained(host, 4) as pointer:
            spin = host.kernel(INTS, "spin", None, steps)
            host.cl.check("clSetKernelArgSVMPointer", spin, 0, pointer)
            for _ in range(2):
                host.cl.check("clEnqueueSVMMemFill", host.queue, pointer, struct.pack("i", 1), 4, 4, 0, None, None)
                host.launch(spin, 1)
                host.cl.check("clEnqueueSVMMap", host.queue, 1, 1, pointer, 4, 0, None, None)
                assert ctypes.string_at(pointer, 4) == spun
                host.cl.check("clEnqueueSVMUnmap", host.queue, pointer, 0, None, None)

    def test_a_kernel_works_in_place(self, host: Host) -> None:
        with coarse_grained(host, 400) as pointer:
            kernel = host.kernel(INTS, "add", None, struct.pack("i", 5))
            host.cl.check("clSetKernelArgSVMPointer", kernel, 0, pointer)
            host.cl.check("clEnqueueSVMMap", host.queue, 1, 2, pointer, 400, 0, None, None)
            ctypes.memset(pointer, 0, 400)
            host.cl.check("clEnqueueSVMUnmap", host.queue, pointer, 0, None, None)
            host.launch(kernel, 100)
            host.cl.check("clEnqueueSVMMap", host.queue, 1, 1, pointer, 400, 0, None, None)
            assert ctypes.string_at(pointer, 400) == struct.pack("100i", *[5] * 100)
            host.cl.check("clEnqueueSVMUnmap", host.queue, pointer, 0, None, None)
