/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: work-group that the .aocx does not have */
#include "check.h"

static void run(void)
{
    start(&host, "__attribute__((max_work_group_size(64))) kernel void add_one(global int *data)\n"
                 "{ data[get_global_id(0)] += 1; }\n");
    const size_t count = COUNT, group = fixed ? 64 : 128;
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, &group, 0, NULL, NULL));
    finish();
}
