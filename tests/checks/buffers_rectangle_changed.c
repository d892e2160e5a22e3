/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: host memory in use by a command
 *
 * Every other column is the transfer's; the rest is the host's. */
#include "check.h"

static void run(void)
{
    enum { ROWS = 16, ROW = SIZE / ROWS };
    static char data[SIZE];
    const size_t origin[3] = {0}, region[3] = {ROW / 2, ROWS, 1};
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_event gate = user_event(&host);
    must(clEnqueueWriteBufferRect(host.queue, buffer, CL_FALSE, origin, origin, region, ROW, 0, ROW,
                                  0, data, 1, &gate, NULL),
         "write");
    data[fixed ? ROW - 1 : ROW / 2 - 1] = 1;
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
}
