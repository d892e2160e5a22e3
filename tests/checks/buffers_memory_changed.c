/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: host memory in use by a command */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_event gate = user_event(&host), written;
    must(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 1, &gate, &written),
         "write");
    if (!fixed)
        data[COUNT - 1] = 1;
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &written));
    data[COUNT - 1] = 2;
}
