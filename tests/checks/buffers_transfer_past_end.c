/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: transfer past the end
 *
 * The host does not look at the status. */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    const size_t offset = fixed ? 0 : sizeof data[0];
    clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, offset, SIZE, data, 0, NULL, NULL);
}
