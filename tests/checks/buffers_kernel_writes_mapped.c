/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: written while mapped */
#include "check.h"

static void run(void)
{
    cl_int status;
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 0, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    void *mapped = clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL,
                                      NULL, &status);
    must(status, "clEnqueueMapBuffer");
    if (fixed)
        must(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL), "unmap");
    launch(host.queue, kernel, COUNT, NULL);
    if (!fixed)
        must(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL), "unmap");
    finish();
}
