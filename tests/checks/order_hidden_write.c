/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: two writes without order
 *
 * The kernel hands its pointer on: what it does with it shows only when it has run. */
#include "check.h"

static void run(void)
{
    cl_event filled;
    start(&host, "void set(global int *p) { p[0] = 7; }\n"
                 "kernel void hidden(global int *data) { set(data + get_global_id(0)); }\n");
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "hidden");
    const cl_int one = 1, two = 2;
    set_argument(kernel, 0, sizeof buffer, &buffer);
    must(clEnqueueFillBuffer(queue, buffer, &one, sizeof one, 0, SIZE, 0, NULL, &filled), "fill");
    MUST(clWaitForEvents(1, &filled));
    launch(queue, kernel, COUNT, &filled);
    if (fixed)
        MUST(clWaitForEvents(1, &filled));
    must(clEnqueueFillBuffer(queue, buffer, &two, sizeof two, 0, SIZE, 0, NULL, NULL), "fill");
    MUST(clFinish(queue));
}
