/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: buffers: host memory in use by a command */
#include "check.h"

#include <sys/mman.h>

static cl_int *mapped(void *place, int flags)
{
    void *made =
        mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    must_be(made != MAP_FAILED, "there is memory");
    return made;
}

static void run(void)
{
    start(&host, ADD_ONE);
    cl_int *data = mapped(NULL, 0);
    memset(data, 1, SIZE);
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 0, SIZE);
    cl_event gate = user_event(&host);
    must(clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 1, &gate, NULL), "read");
    if (!fixed) {
        munmap(data, SIZE);
        memset(mapped(data, MAP_FIXED), 2, SIZE); /* the next one to get it */
    }
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
    munmap(data, SIZE);
}
