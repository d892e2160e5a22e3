/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a kernel and runs it; the actions of all signals are what they were before. */
#include "../../conformance/c/host.h"

#include <signal.h>

int main(void)
{
    struct host host;
    static struct sigaction before[NSIG], after; /* of two signals the C library tells nothing */
    for (int number = 1; number < NSIG; number++)
        sigaction(number, NULL, &before[number]);
    start(&host, SPIN_SOURCE);
    cl_int amount = 1;
    cl_mem buffer = new_buffer(&host, sizeof amount);
    cl_kernel add = new_kernel(&host, "add");
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof amount, &amount);
    launch(host.queue, add, 1, NULL);
    MUST(clFinish(host.queue));
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &after) == 0)
            must_be(after.sa_handler == before[number].sa_handler, strsignal(number));
    }
    return 0;
}
