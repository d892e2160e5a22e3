/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: two writes without order */
#include "check.h"

static void run(void)
{
    cl_event filled;
    start(&host, ADD_ONE);
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem buffer = new_buffer(&host, SIZE);
    const cl_int one = 1, two = 2;
    must(clEnqueueFillBuffer(queue, buffer, &one, sizeof one, 0, SIZE, 0, NULL, &filled), "fill");
    must(clEnqueueFillBuffer(queue, buffer, &two, sizeof two, SIZE / 2, SIZE / 2, fixed,
                             fixed ? &filled : NULL, NULL),
         "fill");
    MUST(clFinish(queue));
}
