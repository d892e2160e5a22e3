/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: device memory accessed by the host */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    static cl_int data[COUNT];
    cl_int *memory = device_memory(SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    if (fixed)
        must(mem_copy(host.queue, CL_TRUE, memory, data, SIZE, 0, NULL, NULL), "copy");
    else
        memset(memory, 0, SIZE);
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, COUNT, NULL);
    must(mem_copy(host.queue, CL_TRUE, data, memory, SIZE, 0, NULL, NULL), "copy");
    for (int i = 0; i < COUNT; i++)
        must_be(data[i] == 1, "the kernel reaches the memory");
    must(mem_free(host.context, memory), "clMemFreeINTEL");
}
