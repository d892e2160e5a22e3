/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: shared memory written while a kernel uses it */
#include "check.h"
#include <sched.h>

/* The kernel runs until the host has written. */
static void run(void)
{
    start(&host, "kernel void wait(global const int *in, global volatile int *x)\n"
                 "{\n"
                 "    x[2] = in[0];\n"
                 "    atomic_xchg(&x[0], 1);\n"
                 "    while (atomic_or(&x[1], 0) == 0);\n"
                 "}\n");
    find_usm(&host);
    cl_int status, *meeting = host_memory(SIZE);
    cl_int *in = shared_alloc(host.context, host.device, NULL, SIZE, 0, &status);
    must(status, "clSharedMemAllocINTEL");
    memset(meeting, 0, SIZE);
    in[0] = 7;
    cl_kernel kernel = new_kernel(&host, "wait");
    must(set_pointer(kernel, 0, in), "clSetKernelArgMemPointerINTEL");
    must(set_pointer(kernel, 1, meeting), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, kernel, 1, NULL);
    MUST(clFlush(host.queue));
    while (__atomic_load_n(&meeting[0], __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    if (!fixed)
        in[0] = 8;
    __atomic_store_n(&meeting[1], 1, __ATOMIC_SEQ_CST);
    finish();
    in[0] = 8;
    must_be(meeting[2] == 7 && in[0] == 8, "the check lets the program go on");
    MUST(clReleaseKernel(kernel));
    must(mem_free(host.context, in), "clMemFreeINTEL");
    must(mem_free(host.context, meeting), "clMemFreeINTEL");
}
