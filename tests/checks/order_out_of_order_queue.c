/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: read without order after a write */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem from = new_buffer(&host, SIZE), to = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "copy");
    set_argument(kernel, 0, sizeof from, &from);
    set_argument(kernel, 1, sizeof to, &to);
    must(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, SIZE, data, 0, NULL, NULL), "write");
    if (fixed)
        must(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), "barrier");
    launch(queue, kernel, COUNT, NULL);
    MUST(clFinish(queue));
}
