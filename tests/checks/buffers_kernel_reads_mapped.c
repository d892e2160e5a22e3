/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: read while mapped for writing */
#include "check.h"

static void run(void)
{
    cl_int status;
    start(&host, ADD_ONE);
    cl_mem from = new_buffer(&host, SIZE), to = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "copy");
    fill(host.queue, from, 0, SIZE);
    set_argument(kernel, 0, sizeof from, &from);
    set_argument(kernel, 1, sizeof to, &to);
    size_t first = fixed ? COUNT / 2 : 0; /* of the mapped elements */
    cl_int *mapped =
        clEnqueueMapBuffer(host.queue, from, CL_TRUE, CL_MAP_WRITE, first * sizeof(cl_int),
                           SIZE - first * sizeof(cl_int), 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    for (size_t i = first; i < COUNT; i++)
        mapped[i - first] = (cl_int)i;
    launch(host.queue, kernel, fixed ? first : COUNT, NULL);
    must(clEnqueueUnmapMemObject(host.queue, from, mapped, 0, NULL, NULL), "unmap");
    finish();
}
