/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: unified memory assumed
 * board: soc_a10 */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT] __attribute__((aligned(4096)));
    cl_int status;
    start(&host, ADD_ONE);
    cl_mem buffer = clCreateBuffer(host.context, CL_MEM_USE_HOST_PTR, SIZE, data, &status);
    must(status, "clCreateBuffer");
    cl_kernel kernel = new_kernel(&host, "add_one");
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
    if (fixed)
        must_be(clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE,
                                   0, NULL, NULL, &status) == data,
                "the host's memory is mapped");
    data[0] = 100;
    if (fixed)
        must(clEnqueueUnmapMemObject(host.queue, buffer, data, 0, NULL, NULL), "unmap");
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}
