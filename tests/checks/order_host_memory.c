/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: two writes without order
 *
 * Two queues read into the same host memory. */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    cl_event read;
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem first = new_buffer(&host, SIZE), second = new_buffer(&host, SIZE);
    fill(host.queue, first, 1, SIZE);
    fill(other, second, 1, SIZE);
    must(clEnqueueReadBuffer(host.queue, first, CL_FALSE, 0, SIZE, data, 0, NULL, &read), "read");
    must(clEnqueueReadBuffer(other, second, CL_FALSE, 0, SIZE, data, fixed, fixed ? &read : NULL,
                             NULL),
         "read");
    finish();
    MUST(clFinish(other));
}
