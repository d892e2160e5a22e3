/* SPDX-License-Identifier: Apache-2.0
 *
 * Enqueues launches into an out-of-order queue, with a barrier after each, and waits for the last.
 */
#include "../../conformance/c/host.h"

enum { LAUNCHES = 2000, ITEMS = 64 };

int main(void)
{
    struct host host;
    cl_int found[ITEMS];
    start(&host, SPIN_SOURCE);
    cl_command_queue queue = new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem buffer = new_buffer(&host, sizeof found);
    cl_kernel add = new_kernel(&host, "add");
    cl_int amount = 1;
    fill(queue, buffer, 0, sizeof found);
    MUST(clFinish(queue));
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof amount, &amount);
    for (int i = 0; i < LAUNCHES; i++) {
        launch(queue, add, ITEMS, NULL);
        MUST(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    }
    MUST(clFinish(queue));
    read_back(queue, buffer, sizeof found, found);
    for (int i = 0; i < ITEMS; i++)
        must_be(found[i] == LAUNCHES, "each launch has added 1");
    return 0;
}
