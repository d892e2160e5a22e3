/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a kernel with a private array of 12 MiB, more than the stack of a thread has by default. */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void fold(global int *data, int length)\n"
                            "{\n"
                            "    volatile int room[3145728];\n"
                            "    for (int i = 0; i < length; i++) room[i] = i;\n"
                            "    data[0] = room[length - 1];\n"
                            "}\n";

int main(void)
{
    struct host host;
    cl_int found = 0, length = 3145728;
    start(&host, SOURCE);
    cl_mem buffer = new_buffer(&host, sizeof found);
    cl_kernel fold = new_kernel(&host, "fold");
    set_argument(fold, 0, sizeof buffer, &buffer);
    set_argument(fold, 1, sizeof length, &length);
    launch(host.queue, fold, 1, NULL);
    read_back(host.queue, buffer, sizeof found, &found);
    must_be(found == length - 1, "the kernel has used its array");
    return 0;
}
