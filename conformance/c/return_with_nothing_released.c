/* SPDX-License-Identifier: Apache-2.0
 *
 * Returns from main with every kind of object alive, a buffer mapped, and commands waiting for a
 * user event that nobody will ever complete. */
#include "host.h"

static void CL_CALLBACK never(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)status, (void)unused;
}

int main(void)
{
    struct host host;
    cl_int two = 2, back[64];
    start(&host, SPIN_SOURCE);
    cl_kernel add = new_kernel(&host, "add");
    cl_mem buffer = new_buffer(&host, sizeof back);
    fill(host.queue, buffer, 40, sizeof back);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof two, &two);
    launch(host.queue, add, 64, NULL);
    read_back(host.queue, buffer, sizeof back, back);
    must_be(back[0] == 42 && back[63] == 42, "40 + 2 is 42");
    map_buffer(host.queue, buffer, CL_MAP_WRITE, 0, sizeof back);
    cl_event gate = user_event(&host), last;
    MUST(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, sizeof back, back, 1, &gate, &last));
    MUST(clSetEventCallback(last, CL_COMPLETE, never, NULL));
    MUST(clFlush(host.queue));
    puts("right");
    return 0;
}
