/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: overlapping sub-buffers used at once */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    cl_mem parent = new_buffer(&host, SIZE);
    fill(host.queue, parent, 0, SIZE);
    finish();
    cl_mem windows[2] = {
        region_of(parent, CL_MEM_READ_WRITE, 0, SIZE / 2),
        region_of(parent, CL_MEM_READ_WRITE, fixed ? SIZE / 2 : SIZE / 4, SIZE / 2),
    };
    cl_command_queue queues[2] = {host.queue, new_queue(&host)};
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = new_kernel(&host, "add_one");
        set_argument(kernel, 0, sizeof windows[i], &windows[i]);
        launch(queues[i], kernel, COUNT / 2, NULL);
    }
    finish();
    MUST(clFinish(queues[1]));
}
