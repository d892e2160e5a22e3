/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: ivdep on a dependence */
#include "check.h"

#define SUMS(pragma)                                                                               \
    "kernel void sums(global int *data, int count)\n"                                              \
    "{\n" pragma "    for (int i = 1; i < count; i++) data[i] = data[i - 1] + data[i];\n"          \
    "}\n"

static void run(void)
{
    const cl_int count = COUNT;
    const size_t one = 1;
    start(&host, fixed ? SUMS("") : SUMS("    #pragma ivdep\n"));
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "sums");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof count, &count);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    finish();
}
