/* SPDX-License-Identifier: Apache-2.0
 *
 * A handler of exit(), which was registered before the first launch, launches a kernel and reads
 * its result. Libraries of hosts wait in such handlers for threads that use the driver. */
#include "host.h"

static struct host host;
static cl_kernel kernel;
static cl_mem buffer;

static void use(void)
{
    cl_int value = 0;
    launch(host.queue, kernel, 1, NULL);
    read_back(host.queue, buffer, sizeof value, &value);
    printf("%d\n", (int)value);
}

int main(void)
{
    cl_int amount = 3, zero = 0;
    start(&host, SPIN_SOURCE);
    kernel = new_kernel(&host, "add");
    buffer = buffer_with(&host, sizeof zero, &zero);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof amount, &amount);
    atexit(use);
    launch(host.queue, kernel, 1, NULL);
    clFinish(host.queue);
    return 0;
}
