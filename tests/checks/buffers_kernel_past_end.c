/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: access past the end */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "add_one");
    fill(host.queue, buffer, 1, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(host.queue, kernel, fixed ? COUNT : COUNT + 1, NULL);
    finish();
    return 0;
}
