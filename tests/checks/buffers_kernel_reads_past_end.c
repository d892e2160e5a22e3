/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: access past the end */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    cl_mem from = new_buffer(&host, fixed ? SIZE : SIZE / 2), to = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "copy");
    fill(host.queue, from, 1, fixed ? SIZE : SIZE / 2);
    set_argument(kernel, 0, sizeof from, &from);
    set_argument(kernel, 1, sizeof to, &to);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}
