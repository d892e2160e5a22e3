/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: access past the end */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    cl_int *memory = device_memory(SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    must(mem_fill(host.queue, memory, "", 1, SIZE, 0, NULL, NULL), "fill");
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, fixed ? COUNT : COUNT + 1, NULL);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
}
