/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: use after free */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    find_usm(&host);
    void *memory = device_memory(SIZE);
    if (!fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
    cl_int status = mem_copy(host.queue, CL_TRUE, data, memory, SIZE, 0, NULL, NULL);
    if (fixed)
        must(status, "clEnqueueMemcpyINTEL");
    else if (status != CL_INVALID_VALUE)
        must(CL_INVALID_VALUE, "clEnqueueMemcpyINTEL with memory that was freed");
    if (fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
}
