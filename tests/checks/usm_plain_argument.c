/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: pointer that the device may not use */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    find_usm(&host);
    cl_kernel kernel = new_kernel(&host, "add_one");
    if (!fixed) {
        must_be(set_pointer(kernel, 0, data) == CL_INVALID_ARG_VALUE, "plain memory is refused");
        return;
    }
    void *memory = host_memory(SIZE);
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, COUNT, NULL);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
}
