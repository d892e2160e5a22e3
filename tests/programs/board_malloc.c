/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's own allocations in a 66AK2x's memory: a kernel works on them where they are, through a
 * buffer made over them, and the host sees the result without a command. */
#include "host.h"

#include <CL/cl_ext_ti.h>

static struct host host;
enum { COUNT = 1 << 16 };

static cl_ulong room(cl_device_info query)
{
    cl_ulong bytes;
    must(clGetDeviceInfo(host.device, query, sizeof bytes, &bytes, NULL), "a query of heaps");
    return bytes;
}

static void works_in_place(cl_int *memory, cl_int *neighbour)
{
    cl_int status;
    cl_kernel kernel = new_kernel(&host, "twice");
    must_be(memory != NULL && neighbour != NULL, "there is room");
    must_be((uintptr_t)memory % 128 == 0, "the memory is aligned to 128 bytes");
    must_be(__is_in_malloced_region(memory + COUNT - 1), "the last byte is in the region");
    for (cl_int i = 0; i < COUNT; i++)
        memory[i] = neighbour[i] = i;
    cl_mem buffer =
        clCreateBuffer(host.context, CL_MEM_USE_HOST_PTR, COUNT * sizeof(cl_int), memory, &status);
    must(status, "clCreateBuffer");
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, COUNT, NULL);
    MUST(clFinish(host.queue));
    for (cl_int i = 0; i < COUNT; i++)
        must_be(memory[i] == 2 * i && neighbour[i] == i, "what the kernel wrote is there");
    memory[0] = 100;
    launch(host.queue, kernel, COUNT, NULL);
    MUST(clFinish(host.queue));
    must_be(memory[0] == 200 && memory[1] == 4, "the kernel sees what the host wrote");
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

int main(void)
{
    cl_int *ddr = __malloc_ddr(COUNT * sizeof(cl_int)); /* before any other call */
    cl_int *msmc = __malloc_msmc(COUNT * sizeof(cl_int));
    int outside = 0;
    start(&host, "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }");
    const cl_ulong left = room(CL_DEVICE_MSMC_MEM_MAX_ALLOC_TI);
    works_in_place(ddr, msmc);
    works_in_place(msmc, ddr);
    must_be(!__is_in_malloced_region(&outside), "other memory is not in the region");
    __free_ddr(ddr);
    __free_msmc(msmc);
    must_be(!__is_in_malloced_region(ddr), "nor is what was given back");
    must_be(room(CL_DEVICE_MSMC_MEM_MAX_ALLOC_TI) == left + COUNT * sizeof(cl_int),
            "the board's memory is free again");
    must_be(__malloc_msmc(64 << 20) == NULL, "more than there is");
    __free_ddr(NULL);
    stop(&host);
    puts("ok");
    return 0;
}
