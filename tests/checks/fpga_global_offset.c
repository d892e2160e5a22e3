/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: work-group that the .aocx does not have */
#include "check.h"

static void run(void)
{
    start(&host,
          "__attribute__((uses_global_work_offset(0))) kernel void add_one(global int *data)\n"
          "{ data[get_global_id(0)] += 1; }\n");
    const size_t offset = fixed ? 0 : COUNT / 2, count = COUNT / 2;
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, &offset, &count, NULL, 0, NULL, NULL));
    finish();
}
