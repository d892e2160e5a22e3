/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: indirect access that was not announced */
#include "check.h"

static void run(void)
{
    start(&host, "kernel void follow(global ulong *where, global int *out)\n"
                 "{ out[0] = ((global int *)where[0])[3]; }\n");
    find_usm(&host);
    const cl_int seven = 7;
    const cl_bool yes = CL_TRUE;
    cl_int *target = device_memory(SIZE), *out = device_memory(SIZE), got;
    cl_ulong *where = device_memory(SIZE), address = (cl_ulong)target;
    must(mem_fill(host.queue, target, &seven, sizeof seven, SIZE, 0, NULL, NULL), "fill");
    must(mem_copy(host.queue, CL_TRUE, where, &address, sizeof address, 0, NULL, NULL), "copy");
    cl_kernel kernel = new_kernel(&host, "follow");
    must(set_pointer(kernel, 0, where), "clSetKernelArgMemPointerINTEL");
    must(set_pointer(kernel, 1, out), "clSetKernelArgMemPointerINTEL");
    if (fixed)
        MUST(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                                 sizeof yes, &yes));
    launch(host.queue, kernel, 1, NULL);
    must(mem_copy(host.queue, CL_TRUE, &got, out, sizeof got, 0, NULL, NULL), "copy");
    must_be(got == 7, "the check lets the kernel go on");
    MUST(clReleaseKernel(kernel));
    must(mem_free(host.context, target), "clMemFreeINTEL");
    must(mem_free(host.context, where), "clMemFreeINTEL");
    must(mem_free(host.context, out), "clMemFreeINTEL");
}
