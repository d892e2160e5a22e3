/* SPDX-License-Identifier: Apache-2.0
 *
 * The process exits behind a row of launches, which nobody has flushed, while a kernel
 * of another queue runs. */
#include "host.h"

enum { WARM = 4, ROW = 10, ROUNDS = 100000000 };

int main(void)
{
    struct host host;
    cl_int amount = 1, status = CL_QUEUED;
    cl_uint rounds = ROUNDS;
    cl_event running;
    start(&host, SPIN_SOURCE);
    cl_kernel add = new_kernel(&host, "add"), spin = new_kernel(&host, "spin");
    cl_mem added = new_buffer(&host, sizeof(cl_int)), spun = new_buffer(&host, sizeof(cl_uint));
    set_argument(add, 0, sizeof added, &added);
    set_argument(add, 1, sizeof amount, &amount);
    set_argument(spin, 0, sizeof spun, &spun);
    set_argument(spin, 1, sizeof rounds, &rounds);
    for (int i = 0; i < WARM; i++)
        launch(host.queue, add, 1, NULL);
    MUST(clFinish(host.queue));
    cl_command_queue other = new_queue(&host);
    launch(other, spin, 1, &running);
    MUST(clFlush(other));
    while (status != CL_RUNNING && status != CL_COMPLETE)
        MUST(clGetEventInfo(running, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                            NULL));
    for (int i = 0; i < ROW; i++)
        launch(host.queue, add, 1, NULL);
    return 0;
}
