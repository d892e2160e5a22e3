/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: access past the end
 *
 * What the allocator adds to a buffer of 4000 bytes is not the kernel's. */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, 4000);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, 4000);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, fixed ? 1000 : 1001, NULL);
    finish();
}
