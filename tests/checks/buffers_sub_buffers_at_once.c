/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: overlapping sub-buffers used at once */
#include "check.h"

static cl_mem window(cl_mem parent, size_t origin)
{
    cl_int status;
    const cl_buffer_region region = {origin, SIZE / 2};
    cl_mem made = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                    &region, &status);
    must(status, "clCreateSubBuffer");
    return made;
}

static void run(void)
{
    start(&host, ADD_ONE);
    cl_mem parent = new_buffer(&host, SIZE);
    fill(host.queue, parent, 0, SIZE);
    finish();
    cl_mem windows[2] = {window(parent, 0), window(parent, fixed ? SIZE / 2 : SIZE / 4)};
    cl_command_queue queues[2] = {host.queue, new_queue(&host)};
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = new_kernel(&host, "add_one");
        set_argument(kernel, 0, sizeof windows[i], &windows[i]);
        launch(queues[i], kernel, COUNT / 2, NULL);
    }
    finish();
    MUST(clFinish(queues[1]));
}
