/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: read before anything was written */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    if (fixed)
        fill(host.queue, buffer, 0, SIZE);
    read_back(host.queue, buffer, SIZE, data);
    finish();
}
