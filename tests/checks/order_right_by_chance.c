/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: order: read without order after a write
 *
 * The data is right: the queue is flushed and the host is in no hurry. */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    cl_int status = CL_QUEUED;
    cl_event added;
    const struct timespec pause = {0, 1000000};
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, COUNT, &added);
    MUST(clFlush(host.queue));
    if (fixed)
        while (status != CL_COMPLETE)
            MUST(clGetEventInfo(added, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                NULL));
    else
        for (int i = 0; i < 500; i++)
            nanosleep(&pause, NULL);
    read_back(other, buffer, SIZE, data);
    must_be(data[COUNT - 1] == 2, "the data is right");
    finish();
}
