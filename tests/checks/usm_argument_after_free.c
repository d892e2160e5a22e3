/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: use after free */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    void *memory = host_memory(SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    if (!fixed) {
        must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
        must_be(set_pointer(kernel, 0, memory) == CL_INVALID_ARG_VALUE, "freed memory is refused");
        return;
    }
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, COUNT, NULL);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
}
