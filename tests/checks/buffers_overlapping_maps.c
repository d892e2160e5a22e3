/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: overlapping mappings */
#include "check.h"

static void run(void)
{
    cl_int status;
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 0, SIZE);
    void *first = clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, SIZE / 2, 0,
                                     NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    void *second =
        clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_READ, fixed ? SIZE / 2 : SIZE / 4,
                           SIZE / 2, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    must(clEnqueueUnmapMemObject(host.queue, buffer, first, 0, NULL, NULL), "unmap");
    must(clEnqueueUnmapMemObject(host.queue, buffer, second, 0, NULL, NULL), "unmap");
    finish();
}
