/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: access past the end */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, fixed ? COUNT : COUNT + 1, NULL);
    finish();
}
