/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: device memory as host memory */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    cl_mem buffer = new_buffer(&host, SIZE);
    void *memory = fixed ? host_memory(SIZE) : device_memory(SIZE);
    fill(host.queue, buffer, 1, SIZE);
    read_back(host.queue, buffer, SIZE, memory);
    must(mem_free(host.context, memory), "clMemFreeINTEL");
}
