/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a kernel and runs it once. What makes that difficult is around the host: its PATH, its
 * folders, its limits. */
#include "../../conformance/c/host.h"

int main(void)
{
    struct host host;
    cl_int found = 0, amount = 1;
    start(&host, SPIN_SOURCE);
    cl_mem buffer = new_buffer(&host, sizeof found);
    cl_kernel add = new_kernel(&host, "add");
    fill(host.queue, buffer, 41, sizeof found);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof amount, &amount);
    launch(host.queue, add, 1, NULL);
    read_back(host.queue, buffer, sizeof found, &found);
    must_be(found == 42, "the launch has added 1");
    return 0;
}
