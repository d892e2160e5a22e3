/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: freed while in use */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    void *memory = device_memory(SIZE);
    cl_event gate = user_event(&host);
    const size_t count = COUNT;
    cl_kernel kernel = new_kernel(&host, "add_one");
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, NULL, 1, &gate, NULL));
    if (!fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
    MUST(clSetUserEventStatus(gate, fixed ? CL_COMPLETE : -1));
    if (fixed)
        must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
    finish();
}
