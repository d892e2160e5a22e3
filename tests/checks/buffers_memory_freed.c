/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: host memory in use by a command */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, ADD_ONE);
    cl_int *data = malloc(SIZE);
    must_be(data != NULL, "there is memory");
    memset(data, 1, SIZE);
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 0, SIZE);
    cl_event gate = user_event(&host);
    must(clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 1, &gate, NULL), "read");
    if (!fixed) {
        free(data);
        data = memset(malloc(SIZE), 2, SIZE); /* the next one to get it */
    }
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
    free(data);
    return 0;
}
