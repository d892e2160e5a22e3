/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: pointer into another memory than the kernel's
 * board: two_memories.xml */
#include "check.h"

static void run(void)
{
    start(&host, "kernel void set(global __attribute__((buffer_location(\"HBM\"))) int *data)\n"
                 "{ data[get_global_id(0)] = 1; }\n");
    find_usm(&host);
    cl_mem_properties_intel place[] = {CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, fixed, 0};
    cl_int status;
    void *memory = device_alloc(host.context, host.device, place, SIZE, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    cl_kernel kernel = new_kernel(&host, "set");
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, COUNT, NULL);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
}
