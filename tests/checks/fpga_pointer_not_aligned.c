/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: pointer below the board's alignment */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    char *memory = device_memory(2 * SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    must(mem_fill(host.queue, memory, "", 1, 2 * SIZE, 0, NULL, NULL), "clEnqueueMemFillINTEL");
    must(set_pointer(kernel, 0, memory + (fixed ? 1024 : 64)), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, COUNT, NULL);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
}
