/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: access before the start */
#include "check.h"

static void run(void)
{
    start(&host,
          "kernel void back(global int *data, int by) { data[get_global_id(0) - by] = 1; }\n");
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "back");
    const cl_int by = fixed ? 0 : 1;
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof by, &by);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}
