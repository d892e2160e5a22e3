/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: read without order after a write */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    cl_event added;
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, COUNT, &added);
    MUST(clFlush(host.queue));
    MUST(clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, SIZE, data, fixed, fixed ? &added : NULL,
                             NULL));
    finish();
}
