/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: device memory accessed by the host */
#include "check.h"
#include <sched.h>

/* The kernel has no part in the memory, and runs until the host has read it. */
static void run(void)
{
    start(&host, "kernel void wait(global volatile int *x)\n"
                 "{\n"
                 "    atomic_xchg(&x[0], 1);\n"
                 "    while (atomic_or(&x[1], 0) == 0);\n"
                 "}\n");
    find_usm(&host);
    const cl_int seven = 7;
    cl_int *memory = device_memory(SIZE), *meeting = host_memory(SIZE), got = 7;
    must(mem_fill(host.queue, memory, &seven, sizeof seven, SIZE, 0, NULL, NULL), "fill");
    finish();
    memset(meeting, 0, SIZE);
    cl_kernel kernel = new_kernel(&host, "wait");
    must(set_pointer(kernel, 0, meeting), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, 1, NULL);
    MUST(clFlush(host.queue));
    while (__atomic_load_n(&meeting[0], __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    if (!fixed)
        got = memory[3];
    __atomic_store_n(&meeting[1], 1, __ATOMIC_SEQ_CST);
    finish();
    must_be(got == 7, "the check lets the program go on");
    MUST(clReleaseKernel(kernel));
    must(mem_free(host.context, memory), "clMemFreeINTEL");
    must(mem_free(host.context, meeting), "clMemFreeINTEL");
}
