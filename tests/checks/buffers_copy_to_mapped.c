/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: written while mapped */
#include "check.h"

static void run(void)
{
    cl_int status;
    start(&host, ADD_ONE);
    cl_mem from = new_buffer(&host, SIZE), to = new_buffer(&host, SIZE);
    fill(host.queue, from, 0, SIZE);
    fill(host.queue, to, 0, SIZE);
    void *mapped = clEnqueueMapBuffer(host.queue, to, CL_TRUE, CL_MAP_READ, SIZE / 2, SIZE / 2, 0,
                                      NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    must(clEnqueueCopyBuffer(host.queue, from, to, 0, 0, fixed ? SIZE / 2 : SIZE, 0, NULL, NULL),
         "copy");
    must(clEnqueueUnmapMemObject(host.queue, to, mapped, 0, NULL, NULL), "unmap");
    finish();
}
