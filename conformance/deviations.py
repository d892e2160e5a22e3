# SPDX-License-Identifier: Apache-2.0
"""What other drivers do otherwise than the specification says; their runs leave these tests out."""

from __future__ import annotations

# Test, with its parameters in brackets where it is about these alone: what PoCL 3.0 does.
POCL = {
    "TestDevice::test_timers_of_device_and_host_go_forward_together": "has no clGetDeviceAndHostTimer",
    "TestPlatformQueries::test_times_of_the_host_go_forward_in_multiples_of_the_timer_resolution": (
        "has no clGetHostTimer"
    ),
    "TestDeviceQueries::test_ulongs_sizes_bitfields_and_handles_have_eight_bytes[DEVICE_ENQUEUE_CAPABILITIES]": (
        "answers with a cl_bool, as drafts of OpenCL 3.0 had it"
    ),
    "TestContext::test_destructor_callbacks_run_last_registered_first": "has no clSetContextDestructorCallback",
    "TestEvents::test_a_failed_user_event_fails_those_that_wait_for_it": "does not pass failures on",
    "TestBuffers::test_what_is_unmapped_does_not_count": (
        "lowers the count behind the end of the command: clFinish may return before"
    ),
    "TestBuffers::test_properties_come_back_as_they_were": "has no CL_MEM_PROPERTIES",
    "TestSharedVirtualMemory::test_a_buffer_from_an_allocation_ends_within_it[COPY]": "copies what is behind it",
    "TestPrograms::test_a_device_without_intermediate_languages_has_no_specialization_constants": (
        "looks at the program first: CL_INVALID_PROGRAM"
    ),
    "TestPrograms::test_a_link_that_fails_gives_a_program_with_the_log": "destroys what did not link",
    "TestPrograms::test_what_did_not_link_has_no_kernels": "destroys what did not link",
    "TestPrograms::test_a_linked_program_cannot_be_built_again": "builds it again",
    "TestKernels::test_the_required_work_group_size_is_taken_where_none_is_given": "refuses the launch",
    "test_exit_with_work_in_flight_ends_with_the_hosts_own_status": "crashes now and then where kernels still run",
    "test_a_launch_that_needs_more_is_refused": "runs it, and crashes",
    "TestExecution::test_a_launch_of_no_work_items_fails_with_its_wait_list": (
        "crashes now and then where user events fail in several threads"
    ),
    "TestKernels::test_a_clone_has_the_arguments_and_then_its_own": "asks for a clone's arguments again",
}

# Tests that boards of a service cannot run, and why.
SERVED = {
    "test_vectors_larger_than_what_a_dsp_sees_are_added": "has no board that a file of the test describes",
    "test_channels_are_as_deep_as_the_mode_says": "decides itself how deep channels are",
}

# Suite and test of OpenCL-CTS that fail here although the engine passes them: why.
CTS: dict[str, str] = {
    "basic/bufferreadwriterect": (
        "looks for overlaps with the pitches of the buffer, then copies with pitches of 0: with some random sizes it"
        " asks for a copy that overlaps, which PoCL refuses with CL_MEM_COPY_OVERLAP, too"
    ),
}
