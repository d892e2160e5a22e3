/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: write without order after a read */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT], next[COUNT];
    cl_event read;
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 1, SIZE);
    finish();
    must(clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 0, NULL, &read), "read");
    MUST(clFlush(host.queue));
    must(clEnqueueWriteBuffer(other, buffer, CL_TRUE, 0, SIZE, next, fixed, fixed ? &read : NULL,
                              NULL),
         "write");
    finish();
}
