/* SPDX-License-Identifier: Apache-2.0
 *
 * Retains and releases what the host has no reference to. */
#include "host.h"

int main(void)
{
    struct host host;
    cl_event event;
    start(&host, "kernel void nothing(void) {}\n");
    cl_mem buffer = new_buffer(&host, 64);
    const cl_int zero = 0;
    MUST(clEnqueueFillBuffer(host.queue, buffer, &zero, sizeof zero, 0, 64, 0, NULL, &event));
    MUST(clWaitForEvents(1, &event));
    MUST(clReleaseEvent(event));
    must_be(clReleaseEvent(event) == CL_INVALID_EVENT, "an event is released once");
    must_be(clRetainMemObject((cl_mem)host.queue) == CL_INVALID_MEM_OBJECT, "a queue is no buffer");
    must_be(clReleaseDevice((cl_device_id)buffer) == CL_INVALID_DEVICE, "a buffer is no device");
    must_be(clRetainSampler((cl_sampler)buffer) == CL_INVALID_SAMPLER, "boards have no samplers");
    MUST(clReleaseContext(host.context));
    must_be(clReleaseContext(host.context) == CL_INVALID_CONTEXT, "only the queue needs it");
    return 0;
}
